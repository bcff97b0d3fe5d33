// undecided runs in a page. It returns, by axe rule, the elements that axe must judge, for the rules that depend on the
// width or the theme. It omits only elements to which these rules cannot object, and so makes most runs of axe unnecessary:
//
//   - color-contrast: text with a contrast of at least 4.6 (3.1 if it is large) to the color behind it, if the boxes that have
//     this color contain the text, and no box of another branch touches the text. axe does not judge text on images.
//   - target-size: targets of at least 24 × 24 px that touch no other target, smaller ones with enough space, and links in text.
//   - scrollable-region-focusable: elements that do not scroll, or that Tab reaches.
//   - link-in-text-block: links that are underlined, or have no text beside them.
//
// TestPagesUndecided compares it with axe.
export function undecided() {
  const found = { "color-contrast": [], "target-size": [], "scrollable-region-focusable": [], "link-in-text-block": [] };
  const meet = (a, b) => ({ left: Math.max(a.left, b.left), top: Math.max(a.top, b.top), right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom) });
  const touch = (a, b, by = 0) => a.left < b.right + by && b.left < a.right + by && a.top < b.bottom + by && b.top < a.bottom + by;
  const holds = (a, b) => a.left <= b.left + 1 && a.top <= b.top + 1 && a.right >= b.right - 1 && a.bottom >= b.bottom - 1;
  // An element with display: contents has no box, but may have visible text.
  const shown = e => e.checkVisibility({ visibilityProperty: true }) || getComputedStyle(e).display === "contents" && shown(e.parentElement);
  const all = [...document.body.querySelectorAll("*")].filter(shown);
  const known = new Map(); // by element
  const of = el => {
    if (!known.has(el)) known.set(el, { style: getComputedStyle(el), box: el.getBoundingClientRect() });
    return known.get(el);
  };
  // parse returns the channels of a color from 0 to 1, or nothing for a notation that the pages do not use.
  const colors = new Map(), parse = text => {
    if (!colors.has(text)) {
      const [, notation, list] = text.match(/^(rgba?|color)\((?:srgb )?([\d., /e-]+)\)$/) ?? [], [r, g, b, a = 1] = list?.match(/[\d.e-]+/g).map(Number) ?? [];
      const by = notation === "color" ? 1 : 255;
      colors.set(text, list && { r: r / by, g: g / by, b: b / by, a });
    }
    return colors.get(text);
  };
  const luminance = ({ r, g, b }) => [[.2126, r], [.7152, g], [.0722, b]].reduce((sum, [k, v]) => sum + k * (v > .04045 ? ((v + .055) / 1.055) ** 2.4 : v / 12.92), .05);
  const over = (below, { r, g, b, a }) => ({ r: a * r + (1 - a) * below.r, g: a * g + (1 - a) * below.g, b: a * b + (1 - a) * below.b });
  const ratio = (a, b) => (x => Math.max(...x) / Math.min(...x))([luminance(a), luminance(b)]);

  const noTarget = "[role=region], [role=search], [role=group], [role=img], [role=status], [role=alert], [role=note], [role=list], [role=listitem], [role=presentation]";
  const painted = []; // boxes with a color, from the top; axe does not judge text on images
  for (const e of all) {
    const { style, box } = of(e);
    if (style.display === "contents" || style.backgroundImage !== "none" || parse(style.backgroundColor)?.a === 0) continue;
    for (const r of style.display === "inline" ? e.getClientRects() : [box]) painted.push({ e, r });
  }
  painted.sort((a, b) => a.r.top - b.r.top);
  const bottoms = []; // bottoms[i]: the lowest edge of the boxes up to the ith
  painted.forEach(({ r }, i) => bottoms.push(Math.max(r.bottom, bottoms[i - 1] ?? -Infinity)));
  const first = y => { // the first painted box that can reach below y
    let low = 0, high = bottoms.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (bottoms[middle] > y) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  // clear reports whether the contrast of the element's texts is certainly sufficient.
  const clear = (el, texts) => {
    const { style } = of(el), color = parse(style.webkitTextFillColor);
    if (color?.a !== 1 || style.textShadow !== "none" || parseFloat(style.webkitTextStrokeWidth) > 0) return false;
    const layers = []; // the colors behind the text, from the top
    const clipped = []; // texts that a scroller hides, each with its scroller
    let seen = texts, ground, image = false; // ground: the element whose opaque color is behind the text
    for (let at = el; at; at = at.parentElement) {
      const { style, box } = of(at), root = at === document.body || at === document.documentElement;
      if (style.opacity !== "1" || style.filter !== "none" || style.mixBlendMode !== "normal" || style.backdropFilter !== "none") return false;
      if (ground || image || style.display === "contents") continue;
      if (!root && (style.overflowX !== "visible" || style.overflowY !== "visible")) {
        const hides = r => !touch(r, box);
        clipped.push(...seen.filter(hides).map(r => [r, at]));
        seen = seen.map(r => hides(r) ? Object.assign({ beyond: at }, meet(box, box)) : { beyond: r.beyond, ...meet(r, box) });
      }
      const back = parse(style.backgroundColor);
      image = style.backgroundImage !== "none";
      if (image || back?.a === 0) continue;
      if (!back || !root && !seen.every(r => holds(box, r))) return false;
      layers.push(back);
      if (back.a === 1) ground = at;
    }
    if (!ground && !image) return false;
    const size = parseFloat(style.fontSize), large = size > 24 || size > 18.7 && style.fontWeight >= 700;
    // axe does not judge text on images.
    if (!image && ratio(color, layers.reduceRight(over)) < (large ? 3.1 : 4.6)) return false;
    // above reports whether the ground is certainly painted over a box: it is positioned, and the box is a sibling before it.
    const above = e => e.parentElement === ground?.parentElement && of(e).style.position === "static" && of(ground).style.position !== "static" &&
      !(of(ground).style.zIndex < 0) && e.compareDocumentPosition(ground) & Node.DOCUMENT_POSITION_FOLLOWING;
    const covered = (text, counts) => {
      for (let i = first(text.top); i < painted.length && painted[i].r.top < text.bottom; i++) {
        const { e, r } = painted[i];
        if (e !== el && touch(r, text, -1) && !e.contains(el) && !above(e) && counts(e)) return true;
      }
      return false;
    };
    // Text that is scrolled out of sight is judged among the content of its scroller, and then at the scroller's place.
    return !clipped.some(([r, scroller]) => covered(r, e => scroller.contains(e))) && !seen.some(r => covered(r, e => !r.beyond?.contains(e)));
  };
  const range = document.createRange();
  for (const el of all) {
    if (el.closest("svg")) continue; // axe does not judge text on graphics
    let texts = [];
    if (el.matches("input, select, textarea")) texts = [of(el).box];
    for (const node of el.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.nodeValue.trim()) continue;
      range.selectNodeContents(node);
      texts.push(...range.getClientRects());
    }
    texts = texts.filter(r => r.width > 0 && r.height > 0);
    if (texts.length > 0 && !clear(el, texts)) found["color-contrast"].push(el);
  }

  const targets = all.filter(e => e.matches("a[href], button, input, select, textarea, summary, [role], [contenteditable]") && !e.matches(noTarget) && of(e).box.width > 0);
  const isLarge = ({ width, height }) => width >= 24 && height >= 24;
  const middle = ({ left, right, top, bottom }) => ({ x: (left + right) / 2, y: (top + bottom) / 2 });
  const away = ({ x, y }, r) => Math.hypot(Math.max(r.left - x, 0, x - r.right), Math.max(r.top - y, 0, y - r.bottom));
  const inText = el => of(el).style.display === "inline" && [el.previousSibling, el.nextSibling].some(n => n?.nodeType === Node.TEXT_NODE && n.nodeValue.trim());
  for (const el of targets) {
    if (inText(el)) continue; // axe exempts it
    const { box } = of(el), at = middle(box);
    const distance = other => Math.hypot(at.x - middle(other).x, at.y - middle(other).y);
    const cramps = isLarge(box) ? other => touch(other, box, -.5) : other => away(at, other) < 12.5 || !isLarge(other) && distance(other) < 24.5;
    if (targets.some(e => e !== el && touch(of(e).box, box, 24) && cramps(of(e).box))) found["target-size"].push(el);
  }
  const scrolls = (style, el) => /auto|scroll/.test(style.overflowX) && el.scrollWidth > el.clientWidth || /auto|scroll/.test(style.overflowY) && el.scrollHeight > el.clientHeight;
  for (const el of all) {
    if (el.tabIndex < 0 && scrolls(of(el).style, el)) found["scrollable-region-focusable"].push(el);
  }
  for (const el of document.body.querySelectorAll("a[href], [role=link]")) {
    if (!known.has(el)) continue; // invisible
    let block = el.parentElement;
    while (/^inline/.test(of(block).style.display) && block !== document.body) block = block.parentElement;
    const underlined = e => of(e).style.textDecorationLine.includes("underline");
    if (!/block|flex|grid|table|^list-item/.test(of(el).style.display) && (!underlined(el) || underlined(block)) && block.innerText.trim() !== el.innerText.trim()) found["link-in-text-block"].push(el);
  }
  return found;
}

// visible runs in a page. It returns the elements with their attributes, and whether each is hidden, without a size, beside
// the window, or visible. A rule of axe that depends neither on the width nor on the theme depends on nothing else but text.
// Only for links within the page, such as that past the navigation, is it important whether they are beside the window.
export function visible() {
  return [...document.querySelectorAll("*")].map(e => {
    const is = [e.localName, ...[...e.attributes].map(a => a.name + "=" + a.value)].join(" ");
    if (getComputedStyle(e).display === "contents") return is + " visible"; // if its content is
    if (!e.checkVisibility({ visibilityProperty: true })) return is + " hidden";
    const { left, right, bottom, width, height } = e.getBoundingClientRect();
    if (width === 0 || height === 0) return is + " without a size";
    return is + (e.matches("a[href^='#']") && (right <= 0 || bottom <= 0 || left >= innerWidth) ? " beside" : " visible");
  }).join("\n");
}
