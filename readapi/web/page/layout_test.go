package page

import "testing"

// TestLayoutIsNoPartOfAPage: a template's line breaks and indentation are not part of the page. Between two words or
// attributes, they become a space.
func TestLayoutIsNoPartOfAPage(t *testing.T) {
	for source, want := range map[string]string{
		"{{define \"x\"}}\n  <p>\n    {{.A}}\n  </p>\n{{end}}\n": `{{define "x"}}<p>{{.A}}</p>{{end}}`,
		"<a\n  {{if .B}} class=\"b\"{{end}}>":                    `<a{{if .B}} class="b"{{end}}>`,
		"<input name=\"n\"\n  size=\"4\">":                       `<input name="n" size="4">`,
		"<b>one\n  two</b>":                                      `<b>one two</b>`,
		"<i>a</i> <i>b</i>\n{{\" \"}}\n<i>c</i>":                 `<i>a</i> <i>b</i>{{" "}}<i>c</i>`,
	} {
		if got := joinLines(source); got != want {
			t.Errorf("%q becomes %q, want %q", source, got, want)
		}
	}
}

// TestCompact: removing the layout of a script or a style sheet does not change its meaning.
func TestCompact(t *testing.T) {
	for source, want := range map[string]string{
		"// why\nconst f = () => {\n  go();\n};\n\nf()\ng()\n": "const f = () => {go();};f()\ng()\n",
		"a,\nb {\n  color: red;\n}\n":                          "a,b {color: red;}\n",
	} {
		if got := string(compact([]byte(source))); got != want {
			t.Errorf("%q becomes %q, want %q", source, got, want)
		}
	}
}
