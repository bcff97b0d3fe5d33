package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// screens are the sizes of wall displays.
var screens = []viewing{
	{width: 1280, height: 720}, {width: 1366, height: 768}, {width: 1920, height: 1080}, {width: 2560, height: 1440}, {width: 3840, height: 2160},
}

// misfits is a script that returns everything that does not fit on a wall display: a room outside the plan or the
// screen, an occupied room without its ratio or shape, overlapping text, or a part of the page outside the screen.
const misfits = `(() => {
	const bad = [], box = e => e.getBoundingClientRect(), screen = {left: 0, top: 0, right: innerWidth, bottom: innerHeight};
	const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
	const words = e => { const range = document.createRange(); range.selectNodeContents(e); return range.getBoundingClientRect(); };
	const plan = document.querySelector(".plan");
	if (plan.scrollHeight > plan.clientHeight + 1 || plan.scrollWidth > plan.clientWidth + 1) bad.push("the plan scrolls");
	for (const room of plan.querySelectorAll(".r")) {
		const at = box(room), label = room.querySelector("b"), ratio = room.querySelector("em"), name = label.textContent;
		if (!inside(at, box(plan)) || !inside(at, screen)) bad.push(name + " is cut");
		if (!inside(box(label), at) || !inside(words(ratio), at)) bad.push(name + " has words outside of it");
		if (box(label).bottom > box(ratio).top + 1) bad.push("the label of " + name + " lies over its ratio");
		if (parseFloat(getComputedStyle(ratio).fontSize) < 7) bad.push("the ratio of " + name + " cannot be read");
		if (room.matches(".empty, .blocked")) continue;
		const shape = ratio.querySelector(".g");
		if (!shape || !inside(box(shape), at) || box(shape).width < 7) bad.push(name + " has no shape");
		if (!ratio.textContent.includes(":")) bad.push(name + " has no ratio");
	}
	for (const part of [".slab h1", ".slab .why", ".slab .foot", ".plan", ".next", ".wall footer", "#changed"])
		if (!inside(box(document.querySelector(part)), screen)) bad.push(part + " is cut");
	const figures = [...document.querySelectorAll(".slab .fig dd")].map(words), pip = document.querySelector(".slab .pips i");
	figures.forEach((at, i) => {
		if (at.right > figures[i + 1]?.left || at.right > box(document.querySelector(".slab .fig")).right + 1) bad.push("a figure has no room");
	});
	if (pip && Math.abs(box(pip).width / box(pip).height - 14 / 26) > .02) bad.push("the symbols of nurses are stretched");
	const slab = box(document.querySelector(".slab")), level = document.querySelector(".slab h1");
	if (slab.top !== 0) bad.push("a strip above the level");
	for (const word of /^es/.test(document.documentElement.lang) ? ["Verde", "Amarillo", "Naranja", "Rojo"] : ["Green", "Yellow", "Orange", "Red"]) {
		const copy = document.createElement("b"), style = getComputedStyle(level);
		for (const name of style) if (/^(font|letter|text-transform)/.test(name)) copy.style.setProperty(name, style.getPropertyValue(name));
		copy.style.position = "fixed";
		copy.textContent = word;
		document.body.append(copy); // a change of the level itself would lay out all rooms again
		if (words(level).left + words(copy).width > slab.right - slab.width / 20) bad.push(word + " passes the edge of its color");
		copy.remove();
	}
	return [...bad, ...` + cutLabels + `];
})()`

// cutLabels is a script that returns the room labels that are cut off, and the text of the forecast that lies outside
// the map.
const cutLabels = `(() => {
	const bad = [], plan = document.querySelector(".plan").getBoundingClientRect();
	for (const label of document.querySelectorAll(".plan .r > b"))
		if (label.scrollWidth > label.clientWidth + 1 || label.scrollHeight > 1.3 * label.clientHeight) bad.push("the label " + label.textContent + " is cut");
	for (const text of document.querySelectorAll("#outlook .chart text")) {
		const at = text.getBoundingClientRect();
		if (at.width > 0 && (at.left < plan.left - 1 || at.right > plan.right + 1)) bad.push("the forecast's " + text.textContent + " passes the edge of the map");
	}
	return [...bad, ...` + crampedLabels + `];
})()`

// crampedLabels is a script that returns the labels of a floor plan that occupy too many lines, and those that touch
// the shape of their room.
const crampedLabels = `[...document.querySelectorAll(".plan .r > b")].flatMap(label => {
	const bad = [], range = document.createRange(), name = label.textContent, shape = label.parentElement.querySelector(".g");
	range.selectNodeContents(label);
	const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top))).size, at = range.getBoundingClientRect();
	if (lines > (name.length < 8 ? 1 : 3)) bad.push("the label " + name + " has " + lines + " lines");
	const g = shape?.getBoundingClientRect();
	if (g && g.left < at.right + 4 && g.right > at.left - 4 && g.top < at.bottom && g.bottom > at.top) bad.push("the label " + name + " touches the shape");
	return bad;
})`

// TestWallFits: on a wall display of any size, every room of every unit is entirely visible with its shape and its
// ratio, and so are the level, the forecast and the last line. On a phone, no room label is cut off, and the text of
// the forecast is inside the map.
func TestWallFits(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	v := map[string]*view{}
	open := func(name string, w *ward) {
		v[name] = b.window(t, d.BaseURL, screens[0])
		v[name].signIn(w.link(t, "viewer"))
	}
	var twenty *ward
	for _, n := range []int{20, 47, 80, 120} {
		name := fmt.Sprint("rooms-", n)
		w := d.ward(t, name, "Mercy Maternity")
		w.accepted(t, "census", census(t, n, "labor-standard+high-eclampsia", "csection-intraop", "pp-couplet", "labor-standard+high-preeclampsia", "empty", "pp-couplet", "blocked"))
		w.accepted(t, "staffing", staffing(n/3, true))
		if open(name, w); n == 20 {
			twenty = w
		}
	}
	spanish := screens[0]
	spanish.language = "es-US"
	v["rooms-20-es"] = b.window(t, d.BaseURL, spanish)
	v["rooms-20-es"].signIn(twenty.link(t, "viewer"))
	past := d.ward(t, "past", "Mercy Maternity")
	past.sendEvents(t, simulatedEvents(t, 1, 3))
	past.predicted(t, time.Minute) // a unit with a forecast, but without nurses on duty
	open("past", past)
	unstaffed := d.ward(t, "unstaffed", "Mercy Maternity")
	unstaffed.accepted(t, "census", census(t, 20, "labor-standard")) // needs at least ten nurses
	open("unstaffed", unstaffed)
	check := func(name string, v *view) {
		for _, as := range append(screens, viewing{width: 390, height: 844}) {
			script := misfits
			if as.width < 900 {
				script = cutLabels // on a phone, the page may scroll
			}
			ask[bool](v, "document.body.hidden = true") // so that the old page is not laid out in the new size
			v.look(as)
			eventually(t, time.Minute, func() error { // on a busy machine, the view may lag
				if status, at := v.visit("/board"); status != http.StatusOK {
					return fmt.Errorf("%d at %s", status, at)
				}
				return nil
			})
			for _, bad := range ask[[]string](v, script) {
				t.Errorf("%s at %d by %d: %s", name, as.width, as.height, bad)
			}
			v.shoot(fmt.Sprintf("wall-%s-%d", name, as.width))
		}
	}
	for name, v := range v {
		check(name, v)
	}
	past.accepted(t, "staffing", staffing(4, true)) // with nurses on duty, the forecast has a legend
	check("past-staffed", v["past"])
}
