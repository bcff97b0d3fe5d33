// The pages of administrators also work without this script.
for (const b of all("[data-do=copy]")) b.hidden = !navigator.clipboard;
does.copy = b => navigator.clipboard.writeText(get(b.dataset.from).textContent).then(() => {
  const before = b.textContent;
  b.textContent = b.dataset.said;
  setTimeout(() => b.textContent = before, 2e3);
});
// Remove secrets when the user leaves the page, so that the back button does not show them.
addEventListener("pagehide", () => all("[data-once]").forEach(e => e.remove()));
// Refresh the page periodically, but keep a form that the user is filling in. If the server fails,
// reload, so that the page reports the failure instead of showing old data.
const pace = d.querySelector("main[data-poll]")?.dataset.poll;
const look = async () => {
  const r = await fetch("", { headers: { "If-None-Match": tag } });
  if (r.redirected || r.status === 401 || r.status > 499) return location.reload();
  if (r.status !== 200) return;
  tag = r.headers.get("ETag");
  const text = await r.text(), page = parse(text.slice(text.indexOf("<body")));
  const main = page.querySelector("main");
  if (main) morph(d.querySelector("main"), main);
};
if (pace) setInterval(() => look().catch(() => {}), pace * 1e3);
d.querySelector("[aria-invalid=true], .bad[role=alert] ~ form input")?.focus();
