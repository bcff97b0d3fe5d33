// Package integrations serves the pages of administrators.
//
// To add a section:
//
//  1. Write <name>.go with a function that returns the [section], and call that function in [sections]. The section's
//     name is part of the path, and "int.<name>" is the key of its title.
//  2. For each page, write a function that takes an [adminRequest]. The function reads the API with
//     [adminRequest.read] or a [list], fills a struct that embeds the [adminPage] of [adminRequest.newPage], and shows
//     the struct with [adminRequest.show]. A page with a form describes the form's fields to [adminRequest.useForm].
//     Define the page's template in templates/<name>.html, under a name with a prefix for the section, such as
//     "alerts.episodes". Its body starts with {{template "admin" .}} and ends with {{template "admin.end" .}}.
//  3. For each act, write a function that executes the act with [adminRequest.do] and the version in the form. If the
//     API refuses the act, [adminRequest.do] shows the form again, with the API's errors at the fields. After success,
//     the function waits until this process shows the change ([list.wait]). It then redirects with
//     [adminRequest.leaveNotice], which shows a notice, or [adminRequest.leaveSecret], which displays a secret once.
//  4. Add each act to the table of package page, which says whether the act requires a sign-in within the last hour.
//     An act that is missing from the table requires it.
//  5. Add the operations that the section covers to TestEveryOperationHasAPage.
package integrations

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity/score"
	"svc/internal/admin/users"
	"svc/internal/httpapi/contract"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// rootPath is the prefix of the paths of these pages, below the base of the pages of a hospital.
const rootPath = "/integrations"

// Administration holds the API and the other dependencies of the pages.
type Administration struct {
	// API handles every request of the pages, both reads and writes.
	API http.Handler
	// Token returns an API key that is valid for one minute and represents an administrator.
	Token func(hospital, user string) string
	// Counts returns how many resources of each kind a hospital has, by section name.
	Counts func(hospital string) map[string]int
	// ShowOnce records that a session displays the secret that was created at madeAt. The error is [users.ErrShown]
	// if the session has already displayed the secret. A nil ShowOnce means that nothing is recorded.
	ShowOnce func(ctx context.Context, session string, madeAt time.Time) error
	// Past tries changed rules on recorded observations. If it is nil, the pages do not offer such trials.
	Past Past
	// URL is the base URL of the API for senders, without a path; if it is "", the URL of the page is used.
	URL string
	// MLLP is the address at which this process accepts HL7 over MLLP; if it is "", another process accepts HL7.
	MLLP string
	// TestRequest rebuilds the request that a webhook test sent, with its signatures. It returns "" if the request
	// cannot be rebuilt. A nil TestRequest means that no request can be rebuilt.
	TestRequest func(ctx context.Context, hospital, webhook, command, event string, occurred, sent time.Time) string
	// Operations are the operations of the API, with a sample of each request body.
	Operations []contract.Operation
}

// Config holds the dependencies of the pages for administrators.
type Config struct {
	Administration *Administration // if nil, the process cannot change settings
	// Verdict returns the current verdict on a hospital, or nil if nothing has been recorded. An error means that the
	// verdict is currently unknown.
	Verdict func(ctx context.Context, hospital string) (*score.Verdict, error)
	Secure  bool // whether the pages are served over HTTPS
	Now     func() time.Time
	Log     *slog.Logger
}

// site holds the dependencies and the state that all pages for administrators share.
type site struct {
	*page.Site
	Config
	imports imports
}

// section is one part of the pages for administrators.
type section struct {
	name   string
	shows  map[string]handler // page handlers, by the path below the section: "", "/new", "/{id}"
	acts   map[string]handler // form (POST) handlers, by the path below the section
	counts bool               // whether the navigation shows the number of resources
}

// handler shows a page, or executes the act of its form.
type handler struct {
	serve   func(*adminRequest)
	imports bool // whether the act imports a file of many rows; concurrent imports are limited
}

// sections returns the sections in the order of the navigation.
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

// Mount adds the pages for administrators to a router. base is the path of a hospital's pages, below which they are
// added.
func Mount(r chi.Router, base string, shell *page.Site, cfg Config) {
	s := &site{Site: shell, Config: cfg}
	base += rootPath
	r.Get(base, s.serve(nil, handler{serve: showFirstRun}))
	for _, one := range sections() {
		for path, h := range one.shows {
			r.Get(base+"/"+one.name+path, s.serve(one, h))
		}
		for path, h := range one.acts {
			r.Post(base+"/"+one.name+path, s.serve(one, h))
		}
	}
}

// serve returns an HTTP handler that calls h for administrators and refuses all other requests.
func (s *site) serve(of *section, h handler) http.HandlerFunc {
	return s.RequireRole(users.Admin, func(w http.ResponseWriter, r *http.Request, session *auth.Session) {
		if s.Administration == nil {
			s.ShowFault(w, r, http.StatusServiceUnavailable, session, "fault.acts")
			return
		}
		d := &adminRequest{
			site: s, Writer: s.NewWriter(r, session), w: w, r: r, session: session, section: of, status: http.StatusOK,
		}
		atMost := int64(adminFormAtMost)
		if h.imports {
			end := d.beginImport()
			if end == nil {
				return
			}
			defer end()
			atMost = importFormAtMost
		}
		if r.Method == http.MethodPost && !d.readForm(atMost) {
			return
		}
		h.serve(d)
	})
}

// readForm parses the form of an act, which may have at most atMost bytes. If readForm returns false, it has sent an
// error response.
func (d *adminRequest) readForm(atMost int64) bool {
	d.r.Body = http.MaxBytesReader(d.w, d.r.Body, atMost)
	err := d.r.ParseForm()
	if d.r.MultipartForm == nil && err == nil {
		return true
	}
	d.ShowFault(d.w, d.r, http.StatusUnprocessableEntity, d.session, "fault.form")
	return false
}

// firstRunPage guides the setup of a new hospital. A step is shown as done once its result exists, such as a key,
// received data or a wall. No button marks a step as done.
type firstRunPage struct {
	adminPage
	Say   string
	Steps []runStep
}

type runStep struct {
	Name, Say, Link, LinkSays string
	Done, Next                bool
}

// pollEvery is the interval, in seconds, at which a page refreshes while it waits for a result.
const pollEvery = 2

func showFirstRun(d *adminRequest) {
	received, rooms, staffed, err := d.readFacts()
	if err != nil {
		d.ShowUnavailable(d.w, d.r, d.session, "facts not read", err)
		return
	}
	counts := d.counts()
	out := firstRunPage{adminPage: d.newPage("int.first")}
	out.Heading = d.T("run.heading")
	out.Poll, out.Refresh = pollEvery, page.RefreshSeconds
	done := 0
	for _, s := range []struct {
		name, link string
		done       bool
	}{
		{"key", out.Root + "/keys/new?preset=ehr", counts["keys"] > 0},
		{"feed", out.Root + "/keys/new?preset=ehr", received},
		{"room", d.session.Base, rooms},
		{"staffing", d.session.Base, staffed},
		{"tell", out.Root + "/webhooks/new", counts["webhooks"]+counts["alerts"] > 0},
		{"wall", out.Root + "/walls", counts["walls"] > 0},
	} {
		key := "run." + s.name
		step := runStep{Name: d.T(key), Say: d.T(key + ".do"), Link: s.link, LinkSays: d.T(key + ".link"), Done: s.done}
		if s.done {
			done++
		} else {
			step.Next = done == len(out.Steps)
		}
		out.Steps = append(out.Steps, step)
	}
	out.Say = d.T("run.say", "n", done, "all", len(out.Steps))
	d.show("admin.first", &out)
}

// readFacts reports whether a hospital has sent any data, whether it has sent a room, and whether it has sent the
// nurses on duty. An error means that the answers are currently unknown.
func (d *adminRequest) readFacts() (received, rooms, staffed bool, err error) {
	v, err := d.Verdict(d.r.Context(), d.session.Hospital)
	switch {
	case err != nil:
		return false, false, false, err
	case v != nil:
		received, rooms, staffed = true, len(v.Rooms) > 0, v.OnDuty >= 0
	}
	if !received { // refused messages also count as received data
		var status apiStatus
		if err := d.fetch(statusAPI, &status); err != nil {
			return false, false, false, err
		}
		if status.isUnknown() {
			return false, false, false, errFeedsUnknown
		}
		received = len(status.Feeds) > 0
	}
	return received, rooms, staffed, nil
}

// errFeedsUnknown means that the stored data about the feeds cannot be read.
var errFeedsUnknown = errors.New("feeds not known")
