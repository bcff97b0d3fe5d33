package e2e

import (
	"fmt"
	picture "image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// scroller is the box of a table.
type scroller struct {
	Name                     string
	Left, Top, Right, Bottom float64 // on the page
	First                    float64 // left edge of the first column
	Wide                     bool    // whether a cell is outside of the visible part of the page
	Focus                    bool    // whether Tab reaches the box
}

// tableBoxes is a script that scrolls the box of each table to its start or its end, and returns the boxes.
const tableBoxes = `(end => {
	const box = e => e.getBoundingClientRect();
	for (const s of document.querySelectorAll(".scroll")) s.scrollLeft = end ? 1e6 : 0;
	return [...document.querySelectorAll("main table")].map(table => {
		const s = table.closest(".scroll") ?? table, at = box(s), left = Math.max(at.left, 0), right = Math.min(at.right, innerWidth);
		return {
			wide: [...table.rows].some(r => [...r.cells].some(c => box(c).right > right + 1 || box(c).left < left - 1)),
			name: s.ariaLabel ?? "", left: at.left, top: at.top + scrollY, right: at.right, bottom: at.bottom + scrollY,
			first: box(table.rows[0].cells[0]).left, focus: s !== table && s.tabIndex === 0,
		};
	});
})`

// checkScrollers expects each table of the page to be readable on a phone: if it has a cell outside of the visible part,
// Tab must reach its box, the edge where it continues must have a shadow, and the first column must remain visible.
func (v *view) checkScrollers(name string) (wide int) {
	v.t.Helper()
	v.look(windows[2])
	start := ask[[]scroller](v, tableBoxes+"(false)")
	wider := slices.DeleteFunc(slices.Clone(start), func(s scroller) bool { return !s.Wide })
	if len(wider) == 0 {
		return 0
	}
	// A strip at the right edges of the tables is enough to see.
	left, top, right, bottom := math.Inf(1), math.Inf(1), 0., 0.
	for _, s := range wider {
		left, top, right, bottom = min(left, s.Right-2), min(top, s.Top), max(right, s.Right+8), max(bottom, s.Bottom)
	}
	strip := map[string]float64{"x": math.Floor(left), "y": math.Floor(top), "width": math.Ceil(right - left), "height": math.Ceil(bottom - top)}
	shot := func() picture.Image {
		v.t.Helper()
		path := filepath.Join(pictures(v.t), name+"-tables.png")
		v.do("shot", map[string]any{"path": path, "clip": strip}, nil)
		file, err := os.Open(path)
		if err != nil {
			v.t.Fatal(err)
		}
		defer file.Close()
		shown, err := png.Decode(file)
		if err != nil {
			v.t.Fatal(err)
		}
		return shown
	}
	before := shot()
	end := ask[[]scroller](v, tableBoxes+"(true)")
	after := shot()
	for i, s := range start {
		if !s.Wide {
			continue
		}
		wide++
		where := fmt.Sprintf("%s: the table %q", name, s.Name)
		if !s.Focus {
			v.t.Errorf("%s is wider than the window, and Tab does not reach it", where)
		}
		s.Top, s.Bottom, s.Right = s.Top-strip["y"], s.Bottom-strip["y"], s.Right-strip["x"]
		paper := edge(before, s, s.Right+6)
		if got := contrast(edge(before, s, s.Right-1), paper); got < 3 {
			v.t.Errorf("%s continues, but its edge has a contrast of %.1f", where, got)
		}
		if got := contrast(edge(after, s, s.Right-1), paper); got > 1.1 {
			v.t.Errorf("%s has ended, but its edge has a contrast of %.1f", where, got)
		}
		if first := end[i].First; first < s.Left-1 {
			v.t.Errorf("%s hides its first column at its end: %.0f px", where, first)
		}
	}
	return wide
}

// edge returns the most frequent color of the pixels at x over the height of a scroller.
func edge(shown picture.Image, s scroller, x float64) (most color.Color) {
	n := map[color.Color]int{}
	for y := int(s.Top) + 1; y < int(s.Bottom)-1; y++ {
		c := shown.At(int(x), y)
		if n[c]++; most == nil || n[c] > n[most] {
			most = c
		}
	}
	return most
}

// contrast returns the contrast ratio of two colors as WCAG defines it.
func contrast(a, b color.Color) float64 {
	luminance := func(c color.Color) float64 {
		r, g, b, _ := c.RGBA()
		linear := func(v uint32) float64 {
			if s := float64(v) / 0xffff; s > .04045 {
				return math.Pow((s+.055)/1.055, 2.4)
			}
			return float64(v) / 0xffff / 12.92
		}
		return .2126*linear(r) + .7152*linear(g) + .0722*linear(b) + .05
	}
	x, y := luminance(a), luminance(b)
	return max(x, y) / min(x, y)
}
