// Package integrations is the pages of administrators.
//
// To add a section:
//
//  1. Write <name>.go with a function that returns the [section], and put that into
//     [sections]. Its name is part of the path, and "int.<name>" is the key of its title.
//  2. Show pages by functions of an [adminRequest]. They read the API by [adminRequest.read]. They
//     fill a struct that embeds the [adminPage] of [adminRequest.newPage], and write it by
//     [adminRequest.show]. The template lies in templates/<name>.html. It begins with
//     {{template "admin" .}} and ends with {{template "admin.end" .}}. Its name begins with the
//     name of the section.
//  3. Do acts by [adminRequest.send], with the version that the form carries. A refusal goes to
//     [adminRequest.newForm], which puts the words of the API at the fields. Success ends in
//     [adminRequest.leaveNotice], a redirect with a notice, or in
//     [adminRequest.leaveSecret], which shows a secret once.
//  4. Mark an act as secret if it shows or ends a secret. Without a sign-in of the last hour
//     the page asks for one, and comes back.
//  5. Name the operations that the section covers in TestEveryOperationHasAPage.
package integrations

import (
	"context"
	"embed"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity/score"
	"svc/internal/admin/users"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// rootPath begins the paths of these pages, below the base of the pages of a hospital.
const rootPath = "/integrations"

//go:embed templates/*.html
var templateFiles embed.FS

var templates = page.ParseTemplates(templateFiles)

// Config is what the pages of administrators need.
type Config struct {
	Administration *Administration // nil: the process cannot change anything
	// Verdict returns how the unit of a hospital stands; nil: nothing was recorded of it. An
	// error says that it is not known now.
	Verdict func(ctx context.Context, hospital string) (*score.Verdict, error)
	Secure  bool // the pages are served by HTTPS
	Now     func() time.Time
	Log     *slog.Logger
}

// site is what the pages of administrators share.
type site struct {
	*page.Site
	Config
}

// section is one part of the pages of administrators.
type section struct {
	name   string
	shows  map[string]func(*adminRequest) // by the path below the section: "", "/new", "/{id}"
	acts   map[string]act                 // likewise, by POST
	counts bool                           // the navigation shows how many there are
}

// act is something that an administrator does.
type act struct {
	do     func(*adminRequest)
	secret bool // it needs a sign-in of the last hour
}

// sections are the pages of administrators in the order of the navigation.
func sections() []*section {
	return []*section{
		keysSection(),
		webhooksSection(),
		alertsSection(),
		feedsSection(),
		terminologySection(),
		rulesSection(),
		wallsSection(),
		usersSection(),
		auditSection(),
	}
}

// Mount adds the pages of administrators to a router, below the base of the pages of a
// hospital.
func Mount(r chi.Router, base string, shell *page.Site, cfg Config) {
	s := &site{shell, cfg}
	base += rootPath
	r.Get(base, s.serveAdmin(nil, showFirstRun))
	for _, one := range sections() {
		for path, show := range one.shows {
			r.Get(base+"/"+one.name+path, s.serveAdmin(one, show))
		}
		for path, act := range one.acts {
			r.Post(base+"/"+one.name+path, s.serveAdmin(one, func(d *adminRequest) {
				if act.secret && !d.requireFreshSignIn() {
					return
				}
				if d.readForm() {
					act.do(d)
				}
			}))
		}
	}
}

// serveAdmin calls next for an administrator.
func (s *site) serveAdmin(of *section, next func(*adminRequest)) http.HandlerFunc {
	return s.RequireRole(users.Admin, func(w http.ResponseWriter, r *http.Request, session *auth.Session) {
		if s.Administration == nil {
			s.ShowFault(w, r, http.StatusServiceUnavailable, session, "fault.acts")
			return
		}
		next(&adminRequest{site: s, Writer: s.NewWriter(r, session), w: w, r: r, session: session, section: of})
	})
}

// adminPage is what every page of administrators has.
type adminPage struct {
	page.Frame

	Root    string // path of the first of these pages
	Here    string // path of the section
	Nav     []adminLink
	Heading string
	Act     *adminLink  // the first thing to do here; nil: nothing
	Done    string      // says what was just done
	Once    *once       // a secret that is shown only now
	Kept    string      // the value before the last change, to take the change back; never in an address
	Refused []string    // words of the API that belong to no field
	Changed []overtaken // values that somebody else has changed meanwhile
}

// adminLink is a link of the navigation.
type adminLink struct {
	Name, Path, Count string
	Current           bool
}

// newPage returns what every page has. The title is the key of a text.
func (d *adminRequest) newPage(title string) adminPage {
	out := adminPage{Frame: d.NewFrame(d.r, d.Writer, d.session, d.T(title)), Root: d.session.Base + rootPath, Here: d.pathTo(), Heading: d.T(title)}
	out.Page = "integrations"
	counts := map[string]int{}
	if d.Administration.Counts != nil {
		counts = d.Administration.Counts(d.session.Hospital)
	}
	out.Nav = append(out.Nav, adminLink{Name: d.T("int.first"), Path: out.Root, Current: d.section == nil})
	for _, one := range sections() {
		link := adminLink{Name: d.T("int." + one.name), Path: out.Root + "/" + one.name, Current: d.section != nil && d.section.name == one.name}
		if n, known := counts[one.name]; one.counts && known {
			link.Count = strconv.Itoa(n)
		}
		out.Nav = append(out.Nav, link)
	}
	d.takeFlash(&out)
	return out
}

// column is a column of a table.
type column struct {
	Text, Class string
	Hidden      bool // only screen readers tell the text
}

// Columns returns the columns of a table by the keys of their texts. The word "number" says that
// the next column has numbers. The column "acts" has buttons.
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

// show writes a page by its template.
func (d *adminRequest) show(status int, template string, data any) {
	page.WritePage(d.w, d.r, status, templates.Render(template, data))
}

// readForm reads the form of an act. It returns false after it has answered with a fault.
func (d *adminRequest) readForm() bool {
	d.r.Body = http.MaxBytesReader(d.w, d.r.Body, adminFormAtMost)
	err := d.r.ParseForm()
	if d.r.MultipartForm == nil && err == nil {
		return true
	}
	d.ShowFault(d.w, d.r, http.StatusUnprocessableEntity, d.session, "fault.form")
	return false
}

// formVersion returns the version of the thing that the form showed.
func (d *adminRequest) formVersion() string { return d.r.PostForm.Get("version") }

// pager leads through a list that is too long for one page.
type pager struct {
	Newer, Older string // paths; "": there is no such page
	Say          string // says which part of the list is shown
}

// rowsAPage is how many rows of a list are shown at once.
const rowsAPage = 50

// cutToPage cuts a list of n rows to the page that the query names, beyond the end to the
// last page. The page has the rows from first up to, not including, last.
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

// newCursorPager returns the links through a list of the API that goes on at a cursor; "":
// the list ends here.
func (d *adminRequest) newCursorPager(next string) (p pager) {
	if next != "" {
		p.Older = d.pathWithQuery("cursor", next)
	}
	if d.r.URL.Query().Get("cursor") != "" {
		p.Newer = d.pathWithQuery("cursor", "")
	}
	return p
}

// pathWithQuery returns the path of this page with another value in its query; "" removes
// the name.
func (d *adminRequest) pathWithQuery(name, value string) string {
	q := d.r.URL.Query()
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	u := url.URL{Path: d.r.URL.Path, RawPath: d.r.URL.RawPath, RawQuery: q.Encode()}
	return u.RequestURI()
}
