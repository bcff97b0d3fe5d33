// Drives a browser for the tests of the pages: one command per line on standard input, one
// answer per line on standard output. The tests of internal/e2e have the expectations.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";

const require = createRequire(process.env.MODULES + "/node_modules/");
const { chromium } = require("playwright-core");
const { layout } = await import("./layout.mjs");
const { undecided, visible } = await import("./undecided.mjs");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({
  executablePath: process.env.BROWSER,
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
});

const open = new Map(); // by name: {context, page, faults}

// ofLook are the axe rules that depend on the theme or the width.
const ofLook = ["color-contrast", "target-size", "scrollable-region-focusable", "link-in-text-block"];
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// survey is a script that returns what inspect needs to know of the page in the current window.
const survey = `((rules, placed) => {
  const layout = ${layout}, undecided = ${undecided}, visible = ${visible};
  const found = rules === "undecided" || rules === "changed" ? undecided() : {}, same = rules === "changed" && window.judged === visible();
  if (rules === "all") window.judged = visible();
  window.undecided = [...new Set(Object.values(found).flat())];
  return {
    same, wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    undecided: Object.keys(found).filter(rule => found[rule].length > 0), misplaced: placed ? layout() : [],
  };
})`;

// violations executes axe on the page, or on the elements that survey found.
async function violations(page, options, undecided) {
  if (!await page.evaluate("typeof axe === 'object'")) await page.evaluate(axe);
  return await page.evaluate(async ([options, undecided]) => {
    const r = await axe.run(undecided ? { include: window.undecided } : document, { ...options, resultTypes: ["violations"] });
    return r.violations.map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " + (n.any[0] ?? n.all[0] ?? n.none[0])?.message).join(" | ")} (${v.nodes.length})`);
  }, [options, undecided]);
}

// Errors and warnings of the browser, and its requests to other origins.
function watch(page, faults, origin) {
  page.on("console", m => faults.push(`console ${m.type()}: ${m.text()} ${m.location().url}`));
  page.on("pageerror", e => faults.push(`error: ${e.message}`));
  page.on("request", r => {
    const url = r.url();
    if (!url.startsWith(origin + "/") && !url.startsWith("data:") && url !== "about:blank") faults.push(`foreign request: ${url}`);
  });
  // Leaving a page cancels its pending requests.
  page.on("requestfailed", r => r.failure()?.errorText !== "net::ERR_ABORTED" && faults.push(`failed request: ${new URL(r.url()).pathname} ${r.failure()?.errorText}`));
}

// find returns the element of a step by its role and accessible name, or by its label.
function find(page, { role, label }) {
  let main = page.locator("main .stack");
  const [group, within] = label.split(" > ");
  if (within) [main, label] = [main.getByRole("group", { name: group, exact: true }), within];
  if (role === "summary") return main.locator("summary", { hasText: label });
  if (role === "field") return main.getByLabel(label, { exact: true });
  const begins = label.endsWith("*"), name = begins ? new RegExp("^" + label.slice(0, -1).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")) : label;
  return main.getByRole(role, { name, exact: role !== "checkbox" && role !== "radio" });
}

// tabs presses Tab until the target has the focus. It refuses an invisible focus, and a focus
// that moves back. It continues for at least one round over all focusable elements.
async function tabs(page, target) {
  for (let n = 0; n < 40; n++) {
    const { here, wrong, left, rest } = await target.evaluate(wanted => {
      const at = document.activeElement, of = e => `${e.localName} ${e.id || e.name || e.textContent.slice(0, 30)}`;
      const alike = (a, b) => a === b || a.type === "radio" && b.type === "radio" && a.name === b.name && a.form === b.form;
      if (!window.stops) {
        window.stops = { before: null, wrong: "" };
        document.addEventListener("focusin", ({ target }) => {
          const { before } = window.stops, style = getComputedStyle(target), box = target.getBoundingClientRect();
          const say = what => window.stops.wrong ||= `the focus ${what} ${of(target)}`;
          if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) say("cannot be seen on");
          if (box.width === 0 || box.bottom < 0 || box.top > innerHeight) say("is out of sight on");
          const again = target.matches("a.skip"); // the first element follows the last one
          if (before?.isConnected && !alike(before, target) && !again && !(before.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING)) say("goes back to");
          window.stops.before = target;
        });
      }
      const all = [...document.querySelectorAll("a[href],button,input,select,textarea,summary,[tabindex='0']")].filter(e => e.type !== "hidden" && !e.disabled && e.checkVisibility());
      const stops = all.filter((e, i) => i === 0 || !alike(e, all[i - 1])), place = e => stops.findIndex(s => alike(s, e));
      return { here: alike(at, wanted), wrong: window.stops.wrong, left: place(wanted) - place(at), rest: stops.length - place(at) };
    });
    if (wrong) throw new Error(wrong);
    if (here) return;
    for (let k = 0; k < (left > 0 ? left : rest); k++) await page.keyboard.press("Tab");
  }
  throw new Error("Tab never gets there");
}

// keys types the parts of a date in the order of American English.
async function keys(page, type, value) {
  const [date, time] = value.split("T"), [year, month, day] = date.split("-");
  if (type !== "date" && type !== "datetime-local") {
    await page.keyboard.press("Control+A");
    return page.keyboard.type(value);
  }
  await page.keyboard.type(month + day + year);
  if (type === "date") return;
  const [hour, minute] = time.split(":").map(Number), two = n => String(n).padStart(2, "0");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type(two(hour % 12 || 12) + two(minute) + (hour < 12 ? "A" : "P"));
}

// by executes one step with the mouse, or only with the keyboard.
const by = {
  async mouse(page, target, { role, value }) {
    if (role === "combobox") await target.selectOption({ label: value });
    else if (role === "field") await target.fill(value);
    else if (role === "file") await target.setInputFiles({ name: "rows.csv", mimeType: "text/csv", buffer: Buffer.from(value) });
    else await target.click();
  },
  async keyboard(page, target, { role, value }) {
    await tabs(page, target);
    const until = async (key, holds) => {
      for (let n = 0; !await target.evaluate(holds, value); n++) {
        if (n > 200) throw new Error(`${key} never gets there`);
        await page.keyboard.press(key);
      }
    };
    if (role === "combobox") {
      await page.keyboard.press("Home");
      await until("ArrowDown", (el, value) => el.selectedOptions[0].text === value);
    } else if (role === "radio") {
      await until("ArrowDown", el => el === document.activeElement);
      if (!await target.isChecked()) await page.keyboard.press("Space");
    } else if (role === "field") await keys(page, await target.getAttribute("type"), value);
    else await page.keyboard.press(role === "checkbox" ? "Space" : "Enter");
  },
};

const commands = {
  // step executes one step, and returns the status of the resulting page, if any.
  async step({ page, hand, role, label, value, leads }) {
    const target = find(page, { role: role === "file" ? "field" : role, label }), act = () => by[hand](page, target, { role, value });
    if (leads === "file") {
      const [file] = await Promise.all([page.waitForEvent("download"), act()]);
      return { text: readFileSync(await file.path(), "utf8") };
    }
    if (leads !== "page") return await act();
    const [response] = await Promise.all([page.waitForNavigation({ waitUntil: "load" }), act()]);
    return { status: response?.status() ?? 0 };
  },
  async open({ name, origin, width, height, theme, script, language, cookies, headers }) {
    const context = await browser.newContext({
      viewport: { width, height }, colorScheme: theme, javaScriptEnabled: script, locale: language,
      reducedMotion: "reduce", extraHTTPHeaders: headers, timezoneId: "Asia/Tokyo", ignoreHTTPSErrors: true,
    });
    if (cookies) await context.addCookies(cookies);
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const faults = [];
    watch(page, faults, origin);
    open.set(name, { context, page, faults });
  },
  async close({ name }) {
    await open.get(name).context.close();
    open.delete(name);
  },
  async goto({ page, url }) {
    const r = await page.goto(url, { waitUntil: "load" });
    return { status: r?.status() ?? 0, url: page.url() };
  },
  async back({ page }) { await page.goBack({ waitUntil: "load" }); },
  async look({ page, width, height, theme, forced }) {
    const now = page.viewportSize();
    if (now.width !== width || now.height !== height) await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce", forcedColors: forced ? "active" : "none" });
  },
  async eval({ page, code }) { return await page.evaluate(code) ?? null; },
  // wait polls, because a page that forbids eval cannot wait itself.
  async wait({ page, code, timeout }) {
    const began = performance.now();
    for (;;) {
      const holds = await page.evaluate(code).catch(e => /context was destroyed|navigat/.test(e.message) ? false : Promise.reject(e));
      if (holds) return performance.now() - began;
      if (performance.now() - began > timeout) throw new Error(`not within ${timeout} ms`);
      await new Promise(again => setTimeout(again, 50));
    }
  },
  async click({ page, selector }) { await page.click(selector); },
  async fill({ page, selector, text }) { await page.fill(selector, text); },
  async press({ page, key }) { await page.keyboard.press(key); },
  async type({ page, text }) { await page.keyboard.type(text); },
  async loaded({ page }) { await page.waitForLoadState("load"); return page.url(); },
  async content({ page }) { return await page.content(); },
  // shot saves a picture of the window, or of a part of the page.
  async shot({ page, path, clip }) { await page.screenshot({ path, clip, fullPage: !!clip, animations: "disabled" }); },
  async media({ page, media }) { await page.emulateMedia({ media }); },
  // pdf prints the page, and returns the number of sheets.
  async pdf({ page, path, format }) {
    const file = await page.pdf({ path, format, preferCSSPageSize: false });
    return file.toString("latin1").match(/\/Type\s*\/Page\b/g).length;
  },
  async cookies({ context }) { return await context.cookies(); },
  // tamper changes the last character of every cookie.
  async tamper({ context }) {
    const all = await context.cookies();
    await context.addCookies(all.map(c => ({ ...c, value: c.value.slice(0, -2) + (c.value.at(-2) === "A" ? "B" : "A") + c.value.at(-1) })));
  },
  async fetch({ context, url, method, headers }) {
    const r = await context.request.fetch(url, { method, headers, maxRedirects: 0 });
    return { status: r.status(), url: r.headers().location ?? "", body: await r.text() };
  },
  // axe returns the accessibility faults of the page by all rules, or only by those that depend on the look.
  async axe({ page, look }) { return await violations(page, { runOnly: look ? ofLook : tags }); },
  // inspect returns the accessibility faults of the page, the distance by which it can be scrolled horizontally, and, if
  // placed is set, the faults of the layout; see layout.mjs. rules names the rules of axe: "all" for all rules, "look" for
  // those that depend on the look, "changed" for all rules that may have another result than in the previous look, and
  // "undecided" for those of them that depend on the look. For the last two, see undecided.mjs.
  async inspect({ page, rules, placed }) {
    const at = await page.evaluate(`${survey}(${JSON.stringify(rules)}, ${placed})`), found = [];
    if (rules === "all" || rules === "look") found.push(...await commands.axe({ page, look: rules === "look" }));
    else if (at.undecided.length > 0) found.push(...await violations(page, { runOnly: at.undecided }, true));
    if (rules === "changed" && !at.same) {
      found.push(...await violations(page, { runOnly: tags, rules: Object.fromEntries(ofLook.map(rule => [rule, { enabled: false }])) }));
    }
    return { violations: found, wide: at.wide, misplaced: at.misplaced };
  },
  // wide returns the distance by which the page can be scrolled horizontally.
  async wide({ page }) { return await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"); },
  async faults({ faults }) { return faults.splice(0); },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    const { page, context, faults } = open.get(command.name) ?? {};
    const result = await commands[command.do]({ ...command, page, context, faults });
    console.log(JSON.stringify({ result: result ?? null }));
  } catch (e) {
    console.log(JSON.stringify({ error: String(e.message ?? e).split("\n").slice(0, 4).join(" ") }));
  }
}
await browser.close();
