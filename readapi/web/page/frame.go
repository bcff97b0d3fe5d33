// Package page writes a page of the site.
package page

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"regexp"
	"strconv"
	"time"

	"svc/acuity"
	"svc/readapi/web/auth"
	"svc/readapi/web/text"
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
	breakOfWords = regexp.MustCompile(`([^\s<>{}])\n\s*([^\s<>{}])`)
	lineBreak    = regexp.MustCompile(`\n\s*`)
)

// joinLines removes the line breaks and the indentation of a template: a page has white space only where a template
// has it within a line. A break between two words or attributes becomes a space. {{" "}} is a space between tags on
// separate lines.
func joinLines(source string) string {
	return lineBreak.ReplaceAllString(breakOfWords.ReplaceAllString(source, "$1 $2"), "")
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
	Session  *auth.Session // nil: not signed in
	Several  bool          // the person may view several hospitals
	Base     string        // of the paths of its hospital
	Address  string        // path of the page with its query; "": it cannot be asked for again
	Assets   string        // path of the files that the page uses
	Theme    string        // that the person chose; "": the theme of the system
	Auto     bool          // the theme changes with the hour
	Events   string        // path of the stream that the page follows; "": none
	Whole    bool          // the page is reloaded after each change, because the stream has no parts of it
	State    string        // of the unit that the page shows, as the stream names it
	Held     string        // "stopped" or "old": the page does not show the present
	Poll     int           // refresh interval in seconds of a page with integrations.js; 0: never
	Refresh  int           // seconds after which a browser without scripts asks again; 0: never
	Clock    string        // of the unit
}

// Again returns the refresh interval, in seconds, of a page that is not updated otherwise; 0: never.
func (f Frame) Again() int {
	if f.Events != "" || f.Poll > 0 {
		return 0
	}
	return f.Refresh
}

// RefreshSeconds is the refresh interval of a browser without scripts.
const RefreshSeconds = 30

// UnavailableSeconds is likewise, while a page cannot be shown.
const UnavailableSeconds = 5

// Notice is a page with a short message.
type Notice struct {
	Frame

	Heading, Say string
	Token        string // of a link that signs in
	Button       string
	Provider     string // link to the identity provider; "": there is none, or it does not answer
	ProviderSays string // what the page says of the provider
	Again        bool   // a session at the provider is not enough
	Forward      string // address to go on to; "": none
	Confirm      string // path of a form without fields, whose button is Button; "": none
	Steps        []Step // that lead to a first record
	Link         string // to where the person goes on; "": nowhere
	LinkSays     string
	Wall         bool // the notice has no links
}

// Step is a command for the reader to run.
type Step struct{ Say, Command string }

// Render writes the notice.
func (n *Notice) Render() []byte { return ownTemplates.Render("notice", n) }

// Hospitals provides the names and the time zones of hospitals.
type Hospitals interface {
	Hospital(id string) (name string, zone *time.Location, ok bool)
}

// Writer writes the parts of a page in one language, in the time zone of one hospital.
type Writer struct {
	*text.Texts

	HospitalName string // "": the hospital is not known
	Zone         *time.Location
}

// NewWriter returns a writer for a hospital. It writes in UTC if the hospital is not known.
func NewWriter(t *text.Texts, hospitals Hospitals, hospital string) *Writer {
	p := &Writer{Texts: t, Zone: time.UTC}
	if name, zone, ok := hospitals.Hospital(hospital); ok {
		p.HospitalName, p.Zone = name, zone
	}
	return p
}

// FormatClock writes the hour and minute of an instant.
func (p *Writer) FormatClock(t time.Time) string { return t.In(p.Zone).Format("15:04") }

// FormatInstant writes the hour and minute of an instant; "" for none.
func (p *Writer) FormatInstant(i acuity.Instant) string {
	if i == 0 {
		return ""
	}
	return p.FormatClock(i.Time())
}

// nearby is the period ahead in which a time of day is unambiguous without a date.
const nearby = 12 * time.Hour

// FormatAhead writes an instant ahead, one that is not near with its weekday; "" for none.
func (p *Writer) FormatAhead(i acuity.Instant, now time.Time) string {
	if i == 0 || i.Time().Sub(now) <= nearby {
		return p.FormatInstant(i)
	}
	weekday := (int(i.Time().In(p.Zone).Weekday())+6)%7 + 1 //nolint:mnd // Monday first
	return p.FormatInstant(i) + " " + p.T("weekday."+strconv.Itoa(weekday))
}

// FormatMoment formats an instant that may be on another day than now; "" for none.
func (p *Writer) FormatMoment(i acuity.Instant, now time.Time) string {
	t, now := i.Time().In(p.Zone), now.In(p.Zone)
	switch {
	case i == 0:
		return ""
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	case now.Sub(t).Abs() < 7*24*time.Hour:
		return p.FormatDate(t) + " " + t.Format("15:04")
	}
	return p.FormatDate(t)
}

// FormatDate writes the day of an instant.
func (p *Writer) FormatDate(t time.Time) string {
	t = t.In(p.Zone)
	return p.T("date", "day", t.Day(), "month", p.T("month."+strconv.Itoa(int(t.Month()))))
}
