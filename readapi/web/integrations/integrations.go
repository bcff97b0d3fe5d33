// Package integrations is the pages of administrators.
//
// To add a section:
//
//  1. Write <name>.go with a function that returns the [section], and put that into
//     [sections]. Its name is part of the path, and "int.<name>" is the key of its title.
//  2. Show pages by functions of an [adminRequest]. They read the API by [adminRequest.read], or by
//     a [list]. They fill a struct that embeds the [adminPage] of [adminRequest.newPage], and write
//     it by [adminRequest.show]. A page with a form describes its fields to [adminRequest.useForm].
//     The template lies in templates/<name>.html. It begins with {{template "admin" .}} and ends
//     with {{template "admin.end" .}}. Its name begins with the name of the section.
//  3. Do acts by [adminRequest.do], with the version that the form carries. If the API refuses, the
//     function that shows the form shows it again, with the words of the API at the fields. Success
//     waits until this process shows the change ([list.wait]). It ends in
//     [adminRequest.leaveNotice], a redirect with a notice, or in [adminRequest.leaveSecret], which
//     shows a secret once.
//  4. Put each act into the table of package page, which says whether it needs a sign-in of the last
//     hour. An act that is not there needs it.
//  5. Name the operations that the section covers in TestEveryOperationHasAPage.
package integrations

import (
	"context"
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

// rootPath begins the paths of these pages, below the base of the pages of a hospital.
const rootPath = "/integrations"

// Administration is the API and what the pages show beside it.
type Administration struct {
	// API answers every request, those that read and those that write.
	API http.Handler
	// Token returns a key of the API that stands for an administrator for a minute.
	Token func(hospital, user string) string
	// Counts returns how many things a hospital has, by the name of the section.
	Counts func(hospital string) map[string]int
	// ShowOnce records that a session shows a secret that was made at an instant. The error is
	// [users.ErrShown] if it has shown the secret before. nil: nothing is recorded.
	ShowOnce func(ctx context.Context, session string, madeAt time.Time) error
	// Past tries rules on what was recorded; nil: the pages do not offer it.
	Past Past
	// URL is the address of the API for senders, without a path; "": the address of the page.
	URL string
	// MLLP is the address at which this process listens for HL7 over MLLP; "": another process listens.
	MLLP string
	// TestRequest returns the request of a test that was sent to a webhook, with its
	// signatures. A nil function, or "", says that the request cannot be made again.
	TestRequest func(ctx context.Context, hospital, webhook, command, event string, occurred, sent time.Time) string
	// Operations are the operations of the API, with a sample of each body.
	Operations []contract.Operation
}

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
	imports imports
}

// section is one part of the pages of administrators.
type section struct {
	name   string
	shows  map[string]handler // by the path below the section: "", "/new", "/{id}"
	acts   map[string]handler // likewise, by POST
	counts bool               // the navigation shows how many there are
}

// handler shows a page, or does what its form asks.
type handler struct {
	serve   func(*adminRequest)
	imports bool // a file of many rows; few run at once
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

// serve calls a handler for an administrator.
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

// readForm reads the form of an act, of at most so many bytes. It returns false after it has answered
// with a fault.
func (d *adminRequest) readForm(atMost int64) bool {
	d.r.Body = http.MaxBytesReader(d.w, d.r.Body, atMost)
	err := d.r.ParseForm()
	if d.r.MultipartForm == nil && err == nil {
		return true
	}
	d.ShowFault(d.w, d.r, http.StatusUnprocessableEntity, d.session, "fault.form")
	return false
}

// firstRunPage leads an empty hospital to its first picture. A step is done when its fact
// has arrived, never by a click.
type firstRunPage struct {
	adminPage
	Say   string
	Steps []runStep
}

type runStep struct {
	Name, Say, Link, LinkSays string
	Done, Next                bool
}

// pollEvery is after how many seconds a page looks again that shows what arrives by itself.
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

// readFacts returns what a hospital has sent: anything, a room, nurses on duty.
func (d *adminRequest) readFacts() (received, rooms, staffed bool, err error) {
	v, err := d.Verdict(d.r.Context(), d.session.Hospital)
	switch {
	case err != nil:
		return false, false, false, err
	case v != nil:
		received, rooms, staffed = true, len(v.Rooms) > 0, v.OnDuty >= 0
	}
	if !received { // a refused message counts, too
		var status apiStatus
		received = d.fetch(statusAPI, &status) == nil && len(status.Feeds) > 0
	}
	return received, rooms, staffed, nil
}
