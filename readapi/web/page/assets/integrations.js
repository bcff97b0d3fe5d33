// The pages of administrators read and act without this.
for (const b of all("[data-do=copy]")) b.hidden = !navigator.clipboard;
does.copy = b => navigator.clipboard.writeText(get(b.dataset.from).textContent).then(() => {
  const before = b.textContent;
  b.textContent = b.dataset.said;
  setTimeout(() => b.textContent = before, 2e3);
});
// A secret is gone when its page is left, also for the way back.
addEventListener("pagehide", () => all("[data-once]").forEach(e => e.remove()));
// What arrives by itself shows by itself. A form that somebody fills in stays. What cannot be read
// now is not shown on: the page says so, and comes back.
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
