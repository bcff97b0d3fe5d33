// layout runs in a page, and returns its faults of layout: texts over each other, texts that are cut off, words that
// are broken in the middle, and text outside of its figure or too small in it; on a desktop, tables that scroll sideways.
export function layout() {
  const faults = [], boxes = [], name = s => JSON.stringify(s.trim().replace(/\s+/g, " ").slice(0, 50));
  const clips = new Map(); // by element: the visible part of the page that its ancestors leave
  const page = { left: -1e9, top: -1e9, right: 1e9, bottom: 1e9 };
  const meet = (a, b) => ({ left: Math.max(a.left, b.left), top: Math.max(a.top, b.top), right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom) });
  const clip = el => {
    if (!el || el === document.documentElement || el === document.body) return page;
    if (!clips.has(el)) {
      const style = getComputedStyle(el), outer = clip(el.parentElement), hides = style.overflowX !== "visible" || style.overflowY !== "visible";
      clips.set(el, hides && !(el instanceof SVGElement) ? meet(outer, el.getBoundingClientRect()) : outer);
    }
    return clips.get(el);
  };
  const unseen = new Map(); // by element: only screen readers get it
  const clipped = el => el !== document.body && (unseen.get(el) ?? unseen.set(el, getComputedStyle(el).clipPath === "inset(50%)" || clipped(el.parentElement)).get(el));
  const hidden = el => el.closest(".skip, [hidden], script, style, noscript, option, title") || clipped(el) || !el.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node; (node = texts.nextNode());) {
    const el = node.parentElement, text = node.nodeValue;
    if (!text.trim() || hidden(el)) continue;
    const size = parseFloat(getComputedStyle(el).fontSize), svg = el.closest("svg.chart");
    range.selectNodeContents(node);
    const rects = svg ? [el.getBoundingClientRect()] : [...range.getClientRects()];
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    for (const r of rects) {
      const middle = (r.top + r.bottom) / 2, half = size * scale * .32; // the height of small letters, not of the line
      const seen = meet({ left: r.left, right: r.right, top: middle - half, bottom: middle + half }, clip(el));
      if (seen.right - seen.left > 1 && seen.bottom - seen.top > 1) boxes.push({ ...seen, node, el });
    }
    if (svg) {
      const f = svg.getBoundingClientRect(), r = rects[0];
      if (r.left < f.left - 1 || r.right > f.right + 1 || r.top < f.top - 2 || r.bottom > f.bottom + 2) faults.push(`${name(text)} lies outside of its figure`);
      if (size * scale < 10) faults.push(`${name(text)} is ${(size * scale).toFixed(1)} px high`);
    } else if (!el.closest("code, pre, [translate=no], textarea") && !text.includes("://") && getComputedStyle(el).hyphens !== "auto") {
      const dated = /^\s*(\p{L}{3} \d+|\d+ de \p{L}+)( \d{4})? \d\d:\d\d\s*$/u.test(text.replaceAll("\u00a0", " ")); // a date with its time is one word
      for (const { 0: word, index } of text.matchAll(dated ? /\S.*\S/gu : /[\p{L}\p{N}.,:]+/gu)) {
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const lines = new Set([...range.getClientRects()].filter(r => r.width > 0).map(r => Math.round(r.top)));
        if (lines.size > 1 && !/\u00ad/.test(word)) faults.push(`the word ${name(word)} is broken`);
      }
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, i) => {
    for (let k = i + 1; k < boxes.length && boxes[k].top < a.bottom; k++) {
      const b = boxes[k], both = meet(a, b);
      if (a.node !== b.node && both.right - both.left > 1.5 && both.bottom - both.top > 1.5) faults.push(`${name(a.node.nodeValue)} lies over ${name(b.node.nodeValue)}`);
    }
  });
  for (const el of document.body.querySelectorAll("*")) {
    if (hidden(el) || el instanceof SVGElement) continue;
    const style = getComputedStyle(el), own = [...el.childNodes].some(n => n.nodeType === 3 && n.nodeValue.trim());
    const wide = el.scrollWidth > el.clientWidth + 1, high = el.scrollHeight > 1.3 * el.clientHeight, clips = /hidden|clip/;
    if (el.matches("input:not([type=checkbox], [type=radio], [type=hidden], [type=file]), select")) {
      if (wide) faults.push(`the value of ${el.name} is cut: ${name(el.value)}`);
    } else if (own && (wide && clips.test(style.overflowX) || high && clips.test(style.overflowY)) && !el.matches(".r span")) {
      faults.push(`${name(el.textContent)} is cut`); // a room lists as many factors as fit; its page lists all
    }
    const r = el.getBoundingClientRect();
    if (own && style.position !== "fixed" && r.width > 0 && clip(el) === page && (r.right > document.documentElement.clientWidth + 1 || r.left < -1)) faults.push(`${name(el.textContent)} lies outside of the window`);
    if (el.matches("figure, figure *") && wide && /auto|scroll/.test(style.overflowX)) faults.push("a figure scrolls sideways");
    if (innerWidth >= 1280 && el.matches(".scroll") && wide) faults.push(`the table ${name(el.getAttribute("aria-label") ?? "")} scrolls sideways on a desktop`);
  }
  return [...new Set(faults)];
}
