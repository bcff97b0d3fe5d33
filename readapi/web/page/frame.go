// Package page writes a page of the site.
package page

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"regexp"

	"svc/readapi/web/auth"
)

//go:embed templates/*.html
var templateFiles embed.FS

// ownTemplates write what every page has around its content, and the pages of this package.
var ownTemplates = parseTemplates(template.New(""), templateFiles)

// Templates write pages within the frame.
type Templates struct{ set *template.Template }

// ParseTemplates adds the templates of a package, in its folder templates, to the templates of the
// frame. It panics if one of them is wrong, as they are embedded.
func ParseTemplates(files fs.FS) *Templates {
	return parseTemplates(template.Must(ownTemplates.set.Clone()), files)
}

func parseTemplates(set *template.Template, files fs.FS) *Templates {
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err) // a constant pattern
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err) // embedded
		}
		template.Must(set.Parse(joinLines(string(content))))
	}
	return &Templates{set}
}

var (
	breakBeforeTag = regexp.MustCompile(`\s*\n\s*(<|\{\{|$)`)
	otherBreak     = regexp.MustCompile(`\s*\n\s*`)
)

// joinLines removes the line breaks and the indentation of a template, which are for its readers
// alone. Before a tag or an action nothing is left, before an attribute a space. A space that a
// page needs between two tags is written as {{" "}} or stands within a line.
func joinLines(source string) string {
	return otherBreak.ReplaceAllString(breakBeforeTag.ReplaceAllString(source, "$1"), " ")
}

// Render writes a template. It panics if the template does not fit the data.
func (t *Templates) Render(name string, data any) []byte {
	var b bytes.Buffer
	if err := t.set.ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// Frame is what every page has. A page embeds it.
type Frame struct {
	*Writer
	Page     string // that is current in the navigation
	Title    string
	Hospital string
	Session  *auth.Session // nil: nobody is signed in
	Several  bool          // the person may look at several hospitals
	Base     string        // of the paths of its hospital
	Assets   string        // path of the files that the page uses
	Theme    string        // that the person chose; "": the theme of the system
	Auto     bool          // the theme changes with the hour
	Events   string        // path of the stream that the page follows; "": none
	Whole    bool          // the page is fetched anew after each change, as the stream has no parts of it
	State    string        // of the unit that the page shows, as the stream names it
	Held     string        // "stopped" or "old": the page does not show the present
	Poll     int           // seconds after which a script looks again, on a page with integrations.js; 0: never
	Refresh  int           // seconds after which a browser without scripts asks again; 0: never
	Clock    string        // of the unit
}

// Again returns after how many seconds a script asks again for a page that nothing else
// follows. 0: never.
func (f Frame) Again() int {
	if f.Events != "" || f.Poll > 0 {
		return 0
	}
	return f.Refresh
}

// RefreshSeconds is after how long a browser without scripts asks again.
const RefreshSeconds = 30

// UnavailableSeconds is likewise, while a page cannot be shown.
const UnavailableSeconds = 5

// Notice is a page of a few words.
type Notice struct {
	Frame

	Heading, Say string
	Token        string // of a link that signs in
	Button       string
	Provider     string // link to the identity provider; "": there is none, or it does not answer
	ProviderSays string // what the page says of the provider
	Steps        []Step // that lead to a first record
	Wall         bool   // the notice has no links
}

// Step is a command that somebody is asked to run.
type Step struct{ Say, Command string }

// Render writes the notice.
func (n *Notice) Render() []byte { return ownTemplates.Render("notice", n) }
