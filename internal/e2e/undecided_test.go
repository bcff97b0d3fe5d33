package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// faulty are parts of pages with a fault that depends on the window or the theme, by the rule of axe that finds it, and
// parts that only seem to have one.
var faulty = []struct{ rule, name, part string }{
	{"color-contrast", "pale", `<p style="color:#999">too pale</p>`},
	{"color-contrast", "on a colored ancestor", `<div style="background:#c33"><p><b style="color:#a22">red on red</b></p></div>`},
	{"color-contrast", "over its edge", `<div style="background:#fff"><div style="background:#000;color:#ddd;width:60px;height:20px"><p style="margin:0 0 0 80px;width:90px">outside</p></div></div>`},
	{"color-contrast", "over another box", `<div style="position:relative;height:60px"><div style="position:absolute;inset:0;background:#222"></div><p style="position:absolute;margin:0;color:#000">behind</p></div>`},
	{"color-contrast", "translucent text", `<p style="color:rgba(0,0,0,.4)">translucent</p>`},
	{"color-contrast", "translucent element", `<div style="opacity:.4"><p>translucent</p></div>`},
	{"color-contrast", "translucent box", `<div style="background:#fff"><p style="background:rgba(0,0,0,.5);color:#333">translucent</p></div>`},
	{"color-contrast", "mixed color", `<p style="color:color-mix(in srgb,#000 40%,#fff)">mixed</p>`},
	{"color-contrast", "fill color", `<p style="-webkit-text-fill-color:#999">too pale</p>`},
	{"color-contrast", "on a sibling below", `<div style="position:relative"><div style="background:#222;height:40px"></div><p style="position:absolute;top:0;margin:0;color:#000">black</p></div>`},
	{"color-contrast", "in a scroller", `<div tabindex="0" style="overflow:auto;width:80px;background:#eee"><p style="width:900px;text-align:right;color:#aaa">scrolled out</p></div>`},
	{"color-contrast", "large, but pale", `<p style="font-size:30px;color:#aaa">large</p>`},
	{"color-contrast", "field", `<label>Field <input value="text" style="color:#bbb;background:#fff"></label>`},
	{"target-size", "small ones close together", `<p><button style="width:10px;height:10px;padding:0;border:0" aria-label="a"></button><button style="width:10px;height:10px;padding:0;border:0" aria-label="b"></button></p>`},
	{"target-size", "small one at a large one", `<div style="display:flex"><button style="width:80px;height:40px">Save</button><button style="width:12px;height:12px;padding:0;border:0" aria-label="c"></button></div>`},
	{"target-size", "role", `<p style="display:flex"><span role="button" tabindex="0" style="width:9px;height:9px" aria-label="d"></span><span role="button" tabindex="0" style="width:9px;height:9px" aria-label="e"></span></p>`},
	{"target-size", "covered", `<div style="position:relative;height:50px"><button style="position:absolute;left:0;top:0;width:60px;height:30px">One</button><button style="position:absolute;left:10px;top:4px;width:60px;height:40px">Two</button></div>`},
	{"scrollable-region-focusable", "scrolls", `<div style="overflow:auto;width:60px;height:40px"><p style="width:500px">a long line that continues outside of its box</p></div>`},
	{"link-in-text-block", "not underlined", `<p>Some text with <a href="#x" style="text-decoration:none;color:#111">a link</a> in it, which is not underlined.</p>`},
	{"", "right", `<p>Text with <a href="#x">a link</a></p><button style="width:40px;height:30px">Save</button><table><tr><td>cell</td></tr></table>`},
	{"", "right, but large", `<p style="font-size:30px;color:#888">large</p>`},
	{"", "right, over a sibling", `<div style="position:relative"><div style="background:#222;height:40px"></div><p style="position:absolute;top:0;margin:0;color:#000;background:#fff">black</p></div>`},
	{"", "right, in a colored box", `<div style="background:#000"><p style="color:#fff">white</p></div>`},
}

// TestPagesUndecided: wherever axe finds a fault that depends on the window or the theme, undecided.mjs leaves the
// decision to axe. Otherwise, inspect would miss the fault.
func TestPagesUndecided(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const before = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Test</title>
			<style>html { background: #fff; color: #000 } a { color: #00c }</style><main id="x"><h1>Test</h1>`
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for _, one := range faulty {
			if r.URL.Query().Get("name") == one.name {
				io.WriteString(w, before+one.part+"</main></html>") //nolint:errcheck // without the page, the test fails
			}
		}
	}))
	defer server.Close()
	v := b.window(t, server.URL, windows[1])
	for _, one := range faulty {
		t.Run(one.rule+"/"+one.name, func(t *testing.T) {
			v := *v
			v.t = t
			v.wants("/?name="+strings.ReplaceAll(one.name, " ", "+"), http.StatusOK)
			for _, as := range windows[1:] {
				v.look(as)
				var all, undecided struct{ Violations []string }
				v.do("inspect", map[string]any{"rules": "look", "placed": false}, &all)
				v.do("inspect", map[string]any{"rules": "undecided", "placed": false}, &undecided)
				if !slices.Equal(all.Violations, undecided.Violations) {
					t.Errorf("at %d px, axe finds %q, and only %q among the undecided elements", as.width, all.Violations, undecided.Violations)
				}
				if found := len(all.Violations) > 0; found != (one.rule != "") || found && !strings.HasPrefix(all.Violations[0], one.rule+":") {
					t.Errorf("at %d px, axe finds %q", as.width, all.Violations)
				}
			}
		})
	}
}
