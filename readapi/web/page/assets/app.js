// Pages can be read without this script. With it, they follow the unit and support arrow keys.
const d = document, body = d.body, get = id => d.getElementById(id), all = s => [...d.querySelectorAll(s)];
const [say, live, warn] = ["say", "live", "warn"].map(get), path = body.dataset.events;
let policy = {createHTML: s => s};
policy = self.trustedTypes?.createPolicy("svc", policy) ?? policy;
const parse = html => {
  const t = d.createElement("template");
  t.innerHTML = policy.createHTML(html);
  return t.content;
};

// morph changes an element to match another one, but keeps what is open, typed or focused. A form
// is kept only if the user has touched it and its action is unchanged, because its button must do
// what the page says. The action of a parsed form is only a path, because it has no base URL.
const touched = f => f.querySelector(":focus,:user-valid,:user-invalid");
const morph = (old, fresh) => {
  if (old.nodeType !== 1 || old.nodeName !== fresh.nodeName) return old.isEqualNode(fresh) || old.replaceWith(fresh);
  if (old.nodeName === "FORM")
    return old.cloneNode().isEqualNode(fresh.cloneNode()) || old.action.endsWith(fresh.action) && touched(old) || old.replaceWith(fresh);
  const was = old.className;
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  fill(old, fresh);
  if (was !== old.className && old.matches(".r")) {
    old.classList.add("new");
    setTimeout(() => old.classList.remove("new"), 2e3);
  }
};

const fill = (old, fresh) => {
  const have = [...old.childNodes], want = [...fresh.childNodes];
  want.forEach((w, i) => have[i] ? morph(have[i], w) : old.append(w));
  have.slice(want.length).forEach(n => n.remove());
};

const put = (id, html) => {
  const el = get(id), fresh = parse(html);
  if (el) {
    el.hidden = !fresh.firstChild;
    fill(el, fresh);
  }
};

// The state of the connection.
let lastEvent = Date.now(), level, tag = "", since, left = Infinity, source;
const flag = (name, value) => {
  if (value) body.dataset[name] = value;
  else delete body.dataset[name];
};
const mark = (name, text) => {
  flag("lost", name);
  if (live.textContent !== text) {
    live.textContent = text;
    if (name || since) say.textContent = text;
  }
};
const alive = () => {
  lastEvent = Date.now();
  mark("", live.dataset.live);
  since = "";
};
const lost = () => {
  since ||= get("clock")?.textContent ?? "?";
  const old = Date.now() - lastEvent > 18e5;
  mark(old ? "old" : "lost", live.dataset.lost.replace("{time}", since) + (old ? ". " + live.dataset.old : ""));
};
const end = () => {
  left = -1;
  source?.close();
  const main = parse("<main class=room1><p></p><a href=/></a></main>").firstChild;
  main.firstChild.textContent = warn?.dataset.gone;
  main.lastChild.textContent = warn?.dataset.in ?? "/";
  body.replaceChildren(main);
};

// again fetches the page and applies the differences.
const again = async stay => {
  const r = await fetch("", { headers: { "If-None-Match": tag, ...stay && { "X-Stay": 1 } } });
  if (r.redirected || r.status === 401) return end();
  if (r.status === 304) return alive();
  if (!r.ok) return lost();
  tag = r.headers.get("ETag");
  const text = await r.text(), page = parse(text.slice(text.indexOf("<body")));
  for (const s of ["#level", "main", "#clock"]) {
    const el = d.querySelector(s), fresh = page.querySelector(s);
    if (el && fresh) morph(el, fresh);
  }
  quiet();
  alive();
};
const poll = () => again().catch(lost);

// Handlers for the events of the stream.
const handlers = {
  state(s) {
    const mine = body.dataset.id, parts = Object.entries(s.parts);
    body.dataset.id = s.id;
    if ("whole" in body.dataset || s.from && s.from !== mine) return mine === s.id ? alive() : poll();
    parts.forEach(p => put(...p));
    flag("held", s.held);
    alive();
    if (level && level !== s.level) say.textContent = s.say;
    level = s.level;
    quiet();
  },
  feeds(s) {
    put("feeds", s.feeds);
    put("clock", s.clock);
    if ("auto" in body.dataset) d.documentElement.dataset.theme = s.theme;
    alive();
  },
  rows(s) {
    const rows = get("rows"), at = d.activeElement;
    for (const id in s.parts) {
      const fresh = parse("<table>" + s.parts[id] + "</table>").querySelector("tr"), old = get(id);
      old ? morph(old, fresh) : rows.append(fresh);
    }
    [...rows.rows]
      .sort((a, b) => a.dataset.k < b.dataset.k ? -1 : 1)
      .forEach((r, i) => rows.rows[i] === r || rows.insertBefore(r, rows.rows[i]));
    at.focus();
    if (s.counts) put("counts", s.counts);
    put("clock", s.clock);
    alive();
  },
  beat(s) {
    if (s.left) left = Date.now() + s.left * 1e3;
    alive();
  },
  lost,
  gone: poll,
};

// One tab holds the stream and forwards its events to the other tabs.
const tabs = path && new BroadcastChannel(path);
const handle = (type, data) => {
  try { handlers[type](JSON.parse(data)); } catch { poll(); }
};
const open = () => {
  if (left < 0) return;
  source?.close();
  source = new EventSource(path + "?last=" + encodeURIComponent(body.dataset.id));
  for (const type in handlers) source.addEventListener(type, e => {
    handle(type, e.data);
    tabs.postMessage([type, e.data]);
  });
  source.onerror = () => {
    if (source.readyState > 1) {
      poll();
      tabs.postMessage(["gone", "{}"]);
      setTimeout(open, 3e4);
    }
  };
};
if (path) {
  tabs.onmessage = e => e.data === "stay" ? source && open() : handle(...e.data);
  if (navigator.locks) {
    navigator.locks.request(path, () => {
      open();
      return new Promise(() => {});
    });
    // Opening this tab counts as activity of the user.
    setTimeout(() => source || tabs.postMessage("stay"), 300);
  } else open();
  // The stream sends an event every 15 s, so a lost connection is shown within 20 s.
  setInterval(() => {
    const now = Date.now();
    if (left < 0) return;
    if (now - lastEvent > 18e3) lost();
    if (warn) warn.hidden = left - now > 12e4;
    if (left < now) end();
  }, 500);
}

// Actions of the user.
let filter = false;
const quiet = () => d.querySelector(".plan")?.classList.toggle("quiet", filter);
const does = {
  filter(b) {
    b.setAttribute("aria-pressed", filter = !filter);
    quiet();
  },
  show(b) {
    const only = get("rows").dataset, on = only.only !== b.dataset.show;
    only.only = on ? b.dataset.show : "";
    all("[data-show]").forEach(o => o.setAttribute("aria-pressed", on && o === b));
  },
  stay() {
    tag = "";
    again(1).then(() => {
      left = Infinity;
      source ? open() : tabs.postMessage("stay");
    }).catch(lost);
  },
};
d.onclick = e => {
  const b = e.target.closest("[data-do]");
  if (b) does[b.dataset.do](b);
};

// Arrow keys move to the nearest room in that direction; Tab still visits all rooms.
const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
d.onkeydown = e => {
  const way = ways[e.key], at = e.target.closest("a.r");
  if (!way || !at) return;
  const mid = el => {
    const r = el.getBoundingClientRect();
    return [r.x + r.width / 2, r.y + r.height / 2];
  };
  const [x, y] = mid(at);
  let best, least = 1e9;
  all("a.r").forEach(el => {
    const [a, b] = mid(el), along = (a - x) * way[0] + (b - y) * way[1];
    const far = along + 3 * Math.abs((a - x) * way[1] + (b - y) * way[0]);
    if (along > 4 && far < least) {
      least = far;
      best = el;
    }
  });
  if (best) {
    best.focus();
    e.preventDefault();
  }
};
