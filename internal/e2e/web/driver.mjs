// Drives a browser for the tests of the pages: a command a line on standard input, its
// answer a line on standard output. The tests say what must hold (internal/e2e).
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";

const require = createRequire(process.env.MODULES + "/node_modules/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({
  executablePath: process.env.BROWSER,
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
});

const open = new Map(); // by name: {context, page, faults}

// Whatever the browser complains about, and whatever it asks another origin for.
function watch(page, faults, origin) {
  page.on("console", m => faults.push(`console ${m.type()}: ${m.text()} ${m.location().url}`));
  page.on("pageerror", e => faults.push(`error: ${e.message}`));
  page.on("request", r => {
    const url = r.url();
    if (!url.startsWith(origin + "/") && !url.startsWith("data:") && url !== "about:blank") faults.push(`foreign request: ${url}`);
  });
  // A page that is left ends what it was loading.
  page.on("requestfailed", r => r.failure()?.errorText !== "net::ERR_ABORTED" && faults.push(`failed request: ${new URL(r.url()).pathname} ${r.failure()?.errorText}`));
}

const commands = {
  async open({ name, origin, width, height, theme, script, language, cookies, headers }) {
    const context = await browser.newContext({
      viewport: { width, height }, colorScheme: theme, javaScriptEnabled: script, locale: language,
      reducedMotion: "reduce", extraHTTPHeaders: headers, timezoneId: "Asia/Tokyo",
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
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce", forcedColors: forced ? "active" : "none" });
  },
  async eval({ page, code }) { return await page.evaluate(code) ?? null; },
  // wait asks again and again: a page that allows no eval cannot wait by itself.
  async wait({ page, code, timeout }) {
    const began = performance.now();
    for (;;) {
      const holds = await page.evaluate(code).catch(e => /context was destroyed|navigat/.test(e.message) ? false : Promise.reject(e));
      if (holds) return performance.now() - began;
      if (performance.now() - began > timeout) throw new Error(`not within ${timeout} ms`);
      await new Promise(again => setTimeout(again, 20));
    }
  },
  async click({ page, selector }) { await page.click(selector); },
  async fill({ page, selector, text }) { await page.fill(selector, text); },
  async press({ page, key }) { await page.keyboard.press(key); },
  async type({ page, text }) { await page.keyboard.type(text); },
  async loaded({ page }) { await page.waitForLoadState("load"); return page.url(); },
  async content({ page }) { return await page.content(); },
  async shot({ page, path, full }) { await page.screenshot({ path, fullPage: full, animations: "disabled" }); },
  async media({ page, media }) { await page.emulateMedia({ media }); },
  // pdf prints the page, and returns how many sheets that takes.
  async pdf({ page, path, format }) {
    const file = await page.pdf({ path, format, preferCSSPageSize: false });
    return file.toString("latin1").match(/\/Type\s*\/Page\b/g).length;
  },
  async cookies({ context }) { return await context.cookies(); },
  // tamper changes the last letter of every cookie.
  async tamper({ context }) {
    const all = await context.cookies();
    await context.addCookies(all.map(c => ({ ...c, value: c.value.slice(0, -2) + (c.value.at(-2) === "A" ? "B" : "A") + c.value.at(-1) })));
  },
  async fetch({ context, url, method, headers }) {
    const r = await context.request.fetch(url, { method, headers, maxRedirects: 0 });
    return { status: r.status(), url: r.headers().location ?? "", body: await r.text() };
  },
  // axe names what keeps people from using the page: by all rules, or by some of them.
  async axe({ page, rules }) {
    if (!await page.evaluate("typeof axe === 'object'")) await page.evaluate(axe);
    return await page.evaluate(async rules => {
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
      const r = await axe.run(document, { runOnly: rules ?? tags, resultTypes: ["violations"] });
      return r.violations.map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " + (n.any[0] ?? n.all[0] ?? n.none[0])?.message).join(" | ")} (${v.nodes.length})`);
    }, rules);
  },
  // wide is how far the page can be scrolled sideways.
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
