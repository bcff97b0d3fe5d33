// Package page renders the pages of the site.
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

// ownTemplates contains the templates of the frame around every page and of the pages in this package.
var ownTemplates = parseTemplates(template.New(""), templateFiles)

// Templates render pages within the frame.
type Templates struct{ set *template.Template }

// ParseTemplates adds the templates in a package's folder "templates" to the templates of the frame. It panics if a
// template is invalid, because the templates are embedded and an invalid one is a programming error.
func ParseTemplates(files fs.FS) *Templates {
	return parseTemplates(template.Must(ownTemplates.set.Clone()), files)
}

func parseTemplates(set *template.Template, files fs.FS) *Templates {
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err) // the files are embedded
		}
		template.Must(set.Parse(joinLines(string(content))))
	}
	return &Templates{set}
}

var (
	breakOfWords = regexp.MustCompile(`([^\s<>{}])\n\s*([^\s<>{}])`)
	lineBreak    = regexp.MustCompile(`\n\s*`)
)

// joinLines removes line breaks and indentation from a template, so that they do not become part of the page. A line
// break between two words or attributes becomes a space. To get a space between tags on separate lines, a template
// uses {{" "}}.
func joinLines(source string) string {
	return lineBreak.ReplaceAllString(breakOfWords.ReplaceAllString(source, "$1 $2"), "")
}

// Render renders a template. It panics if the template does not match the data.
func (t *Templates) Render(name string, data any) []byte {
	var b bytes.Buffer
	if err := t.set.ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// Frame contains the data that every page needs. It is embedded in the data of each page.
type Frame struct {
	*Writer
	Page     string // current page in the navigation
	Title    string
	Hospital string
	Session  *auth.Session // nil: not signed in
	Several  bool          // whether the person may view several hospitals
	Base     string        // prefix of the paths of the hospital's pages
	Address  string        // path and query of the page; "" if the page cannot be requested again
	Assets   string        // path of the assets
	Theme    string        // theme that the person chose; "": the system's theme
	Auto     bool          // whether the theme depends on the time of day
	Events   string        // path of the stream that the page follows; "": none
	Whole    bool          // whether the page is reloaded after each change, because the stream does not contain the page's parts
	State    string        // id of the displayed unit state in the stream
	Held     string        // why the page does not show the current state: "stopped" or "old"; "": it shows the current state
	Poll     int           // refresh interval in seconds of a page with integrations.js; 0: never
	Refresh  int           // seconds after which a browser without scripts reloads; 0: never
	Clock    string        // current time in the unit
}

// Again returns the refresh interval of the page, in seconds. It returns 0, which means never, if a stream or a
// script updates the page.
func (f Frame) Again() int {
	if f.Events != "" || f.Poll > 0 {
		return 0
	}
	return f.Refresh
}

// RefreshSeconds is the refresh interval in a browser without scripts.
const RefreshSeconds = 30

// UnavailableSeconds is the refresh interval in a browser without scripts while a page is unavailable.
const UnavailableSeconds = 5

// Notice is a page with a short message.
type Notice struct {
	Frame

	Heading, Say string
	Token        string // token of a sign-in link
	Button       string
	Provider     string // link to the identity provider; "": there is no provider, or it does not respond
	ProviderSays string // text of the link
	Again        bool   // whether the person must authenticate again, even with an existing session at the provider
	Forward      string // URL to continue to; "": none
	Confirm      string // path of a form that has no fields, only the button Button; "": none
	Steps        []Step // steps that lead to the first recorded data
	Link         string // link with which the person continues; "": none
	LinkSays     string
	Wall         bool // whether the page is for a wall, and so has no links
}

// Step is an instruction with a command that the reader should run.
type Step struct{ Say, Command string }

// Render renders the notice.
func (n *Notice) Render() []byte { return ownTemplates.Render("notice", n) }

// Hospitals provides the names and the time zones of hospitals.
type Hospitals interface {
	Hospital(id string) (name string, zone *time.Location, ok bool)
}

// Writer formats the parts of a page in one language, in the time zone of one hospital.
type Writer struct {
	*text.Texts

	HospitalName string // "": the hospital is unknown
	Zone         *time.Location
}

// NewWriter returns a writer for a hospital. It uses UTC if the hospital is unknown.
func NewWriter(t *text.Texts, hospitals Hospitals, hospital string) *Writer {
	p := &Writer{Texts: t, Zone: time.UTC}
	if name, zone, ok := hospitals.Hospital(hospital); ok {
		p.HospitalName, p.Zone = name, zone
	}
	return p
}

// FormatClock formats the hour and minute of a time, with the zone if that time of day occurs twice.
func (p *Writer) FormatClock(t time.Time) string { return acuity.At(t).FormatClock(p.Zone) }

// FormatInstant formats the hour and minute of an instant, or returns "" for a zero instant.
func (p *Writer) FormatInstant(i acuity.Instant) string {
	if i == 0 {
		return ""
	}
	return p.FormatClock(i.Time())
}

// nearby is the period within which a future time of day is unambiguous without a date.
const nearby = 12 * time.Hour

// FormatAhead formats a future instant. It includes the weekday if the instant is more than 12 hours after now. It
// returns "" for the zero instant.
func (p *Writer) FormatAhead(i acuity.Instant, now time.Time) string {
	if i == 0 || i.Time().Sub(now) <= nearby {
		return p.FormatInstant(i)
	}
	weekday := (int(i.Time().In(p.Zone).Weekday())+6)%7 + 1 //nolint:mnd // Monday first
	return p.FormatInstant(i) + " " + p.T("weekday."+strconv.Itoa(weekday))
}

// FormatMoment formats an instant that may be on a different day than now. It returns "" for the zero instant.
func (p *Writer) FormatMoment(i acuity.Instant, now time.Time) string {
	t, now := i.Time().In(p.Zone), now.In(p.Zone)
	switch {
	case i == 0:
		return ""
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return p.FormatClock(t)
	case now.Sub(t).Abs() < 7*24*time.Hour:
		return p.FormatDate(t) + " " + p.FormatClock(t)
	}
	return p.FormatDate(t)
}

// FormatDate formats the day of an instant.
func (p *Writer) FormatDate(t time.Time) string {
	t = t.In(p.Zone)
	return p.T("date", "day", t.Day(), "month", p.T("month."+strconv.Itoa(int(t.Month()))))
}
