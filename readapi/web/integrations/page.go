package integrations

import (
	"embed"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/internal/admin/users"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

//go:embed templates/*.html
var templateFiles embed.FS

var templates = page.ParseTemplates(templateFiles)

// adminPage contains the data that every page for administrators needs.
type adminPage struct {
	page.Frame

	Root    string // path of the overview of these pages
	Here    string // path of the section
	Nav     []adminLink
	Tabs    []adminLink // links to the pages of the section, if it has several lists
	Heading string
	Act     *adminLink  // primary action of the page; nil: none
	Done    string      // result of the previous act
	Once    *once       // secret that is displayed on this page and never again
	Kept    string      // the value before the last change, for undo; never in a URL
	Form    *form       // see [adminRequest.useForm]
	Version string      // version of the resource that the form changes; "": the resource is new
	Refused []string    // errors of the API that do not concern a field
	Changed []overtaken // values that another user has changed in the meantime
	Pager   pager
}

// adminLink is a link in the navigation.
type adminLink struct {
	Name, Path, Count string
	Current           bool
}

// newPage returns the common data of a page. title is the key of the title's text.
func (d *adminRequest) newPage(title string) adminPage {
	out := adminPage{
		Frame: d.NewFrame(d.r, d.Writer, d.session, d.T(title)), Root: d.session.Base + rootPath, Here: d.pathTo(), Heading: d.T(title),
	}
	out.Page = "integrations"
	counts := d.counts()
	out.Nav = append(out.Nav, adminLink{Name: d.T("int.first"), Path: out.Root, Current: d.section == nil})
	for _, one := range sections() {
		current := d.section != nil && d.section.name == one.name
		link := adminLink{Name: d.T("int." + one.name), Path: out.Root + "/" + one.name, Current: current}
		if n, known := counts[one.name]; one.counts && known {
			link.Count = strconv.Itoa(n)
		}
		out.Nav = append(out.Nav, link)
	}
	d.useFlash(&out)
	d.useForm(&out, nil, nil)
	return out
}

// counts returns the number of the hospital's resources by section name.
func (d *adminRequest) counts() map[string]int {
	if d.Administration.Counts == nil {
		return nil
	}
	return d.Administration.Counts(d.session.Hospital)
}

// column is the heading of a table column.
type column struct {
	Text, Class string
	Hidden      bool // whether only screen readers present the heading
}

// Columns returns the columns of a table whose headings have the given text keys. The key "number" is not a heading:
// it marks the next column as numeric. The key "acts" is for the column with buttons.
func (p *adminPage) Columns(keys ...string) (all []column) {
	class := ""
	for _, key := range keys {
		switch key {
		case "number":
			class = "n"
			continue
		case "acts":
			all = append(all, column{Text: p.T("acts"), Hidden: true})
		default:
			all = append(all, column{Text: p.T(key), Class: class})
		}
		class = ""
	}
	return all
}

// show renders a page with a template. The HTTP status of the response depends on whether the API refused an act.
func (d *adminRequest) show(template string, data any) {
	page.WritePage(d.w, d.r, d.status, templates.Render(template, data))
}

// pager contains the links between the pages of a long list.
type pager struct {
	Newer, Older string // paths; "" if there is no such page
	Say          string // text that says which part of the list is displayed
}

// rowsAPage is the maximum number of rows of a list on one page.
const rowsAPage = 50

// cutToPage returns the range [first, last) of a list of n rows for the page number in the query, and the links to
// the other pages. A number beyond the end means the last page.
func (d *adminRequest) cutToPage(n int) (first, last int, p pager) {
	at := min(max(parseCount(d.r.URL.Query().Get("page")), 1), max((n-1)/rowsAPage+1, 1))
	first, last = (at-1)*rowsAPage, min(at*rowsAPage, n)
	if n <= rowsAPage {
		return first, last, p
	}
	if at > 1 {
		p.Newer = d.pathWithQuery("page", strconv.Itoa(at-1))
	}
	if last < n {
		p.Older = d.pathWithQuery("page", strconv.Itoa(at+1))
	}
	p.Say = d.T("int.rows", "first", first+1, "last", last, "all", n)
	return first, last, p
}

// newRows returns those rows of a list that the requested page displays, each converted by newRow. It also sets the
// page's links to the other pages of the list.
func newRows[T, R any](d *adminRequest, p *adminPage, all []T, newRow func(*adminRequest, *T) R) (rows []R) {
	first, last, links := d.cutToPage(len(all))
	p.Pager = links
	for i := range all[first:last] {
		rows = append(rows, newRow(d, &all[first+i]))
	}
	return rows
}

// newCursorPager returns the links for a list that the API returns in pages. next is the cursor of the next page; ""
// means that there is none. The link to newer rows leads to the first page.
func (d *adminRequest) newCursorPager(next string) (p pager) {
	if next != "" {
		p.Older = d.pathWithQuery("cursor", next)
	}
	if d.r.URL.Query().Get("cursor") != "" {
		p.Newer = d.pathWithQuery("cursor", "")
	}
	return p
}

// pathWithQuery returns the path of this page with a query parameter set to value; "" removes the parameter.
func (d *adminRequest) pathWithQuery(name, value string) string {
	q := d.r.URL.Query()
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	u := url.URL{Path: d.r.URL.Path, RawPath: d.r.URL.RawPath, RawQuery: q.Encode()}
	return u.RequestURI()
}

// formatTime formats a time from the API, as in "Apr 5 14:32". It returns "" if t is nil or zero. The spaces in the
// result are nonbreaking.
func (d *adminRequest) formatTime(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	in, now, layout := t.In(d.Zone), d.now().In(d.Zone), " 15:04"
	if in.Year() != now.Year() {
		layout = " 2006 15:04"
	}
	return strings.ReplaceAll(d.FormatDate(in)+in.Format(layout), " ", "\u00a0")
}

// formatSecond is like [adminRequest.formatTime], but includes seconds.
func (d *adminRequest) formatSecond(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return d.formatTime(t) + t.In(d.Zone).Format(":05")
}

// formatSince formats the time that has passed since t. If t is nil or zero, it returns a dash.
func (d *adminRequest) formatSince(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "–"
	}
	return d.T("ago", "age", d.FormatAge(d.now().Sub(*t)))
}

// flashFor is how long a flash remains valid if no page shows it.
const flashFor = time.Minute

var flashCookie = auth.Cookie{Suffix: "-flash", Purpose: "svc.v1 flash", Age: flashFor}

// flash is a message that the next page shows once: the result of an act, or a secret. It is sealed in a cookie that
// the next page deletes, so it never appears in a URL, the browser history or a log. A reload of that page does not
// repeat the act or display the secret again.
type flash struct {
	Session  string `json:"s"` // id of the session
	Hospital string `json:"h"`
	MadeAt   int64  `json:"m"` // Unix milliseconds; distinguishes the secrets of a session
	Until    int64  `json:"t"` // Unix seconds
	Path     string `json:"p"` // path of the page that shows the flash
	Done     string `json:"d,omitempty"`
	Once     *once  `json:"o,omitempty"`
	Kept     string `json:"k,omitempty"` // see adminPage
	Ordered  string `json:"v,omitempty"` // verb of the displayed command; a flash with a verb is not deleted, but expires after a minute
}

// once is a secret that is displayed once.
type once struct {
	Say   string // says what the secret gives access to
	Value string
	Curl  string // a command that uses the secret; "": none
}

// useFlash adds the flash of the previous act to a page and deletes the flash from the browser.
func (d *adminRequest) useFlash(out *adminPage) {
	var f flash
	if !d.Cookies.Open(d.r, flashCookie, &f) || f.Path != d.r.URL.EscapedPath() || f.Ordered != "" {
		return
	}
	if f.Once != nil && d.isMine(&f) {
		switch err := d.showOnce(&f); {
		case errors.Is(err, users.ErrShown):
			f.Once = nil
		case err != nil: // the cookie remains, so that a reload shows the secret
			d.Log.WarnContext(d.r.Context(), "secret not shown", "error", err)
			out.Done = d.T("once.later")
			return
		}
	}
	d.Cookies.Remove(d.w, flashCookie)
	if d.isMine(&f) {
		out.Done, out.Once, out.Kept = f.Done, f.Once, f.Kept
	}
}

// showOnce records that a secret has been displayed, so that a copied cookie cannot display it again.
func (d *adminRequest) showOnce(f *flash) error {
	if d.Administration.ShowOnce == nil {
		return nil
	}
	return d.Administration.ShowOnce(d.r.Context(), d.session.ID, time.UnixMilli(f.MadeAt))
}

// isMine reports whether a flash belongs to the session and the hospital of the request, and has not expired.
func (d *adminRequest) isMine(f *flash) bool {
	return f.Session == d.session.ID && f.Hospital == d.session.Hospital && d.now().Before(time.Unix(f.Until, 0))
}

// leaveCommand redirects to the page that shows a new command.
func (d *adminRequest) leaveCommand(path, verb string) { d.leaveFlash(path, flash{Ordered: verb}) }

// orderedVerb returns the verb of the command that this page shows, or "" if the command was issued more than a
// minute ago.
func (d *adminRequest) orderedVerb() string {
	var f flash
	if !d.Cookies.Open(d.r, flashCookie, &f) || f.Path != d.r.URL.EscapedPath() || !d.isMine(&f) {
		return ""
	}
	return f.Ordered
}

// leaveNotice redirects to a page that shows a notice once. key is the notice's text key.
func (d *adminRequest) leaveNotice(path, key string, pairs ...any) {
	d.leaveFlash(path, flash{Done: d.T(key, pairs...)})
}

// leaveSecret redirects to a page that displays a secret once.
func (d *adminRequest) leaveSecret(path string, secret *once) {
	d.leaveFlash(path, flash{Once: secret})
}

func (d *adminRequest) leaveFlash(path string, f flash) {
	f.Path, _, _ = strings.Cut(path, "?")
	f.Session, f.Hospital, f.MadeAt, f.Until = d.session.ID, d.session.Hospital, d.now().UnixMilli(), d.now().Add(flashFor).Unix()
	d.Cookies.Set(d.w, flashCookie, f)
	http.Redirect(d.w, d.r, path, http.StatusSeeOther)
}
