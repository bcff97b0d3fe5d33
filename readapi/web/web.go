// Package web serves web pages that show the results of the read API.
//
// A page shows the verdict, forecast and feeds that the API returns for the time of the request, and does not compute
// them itself. Unknown values are marked as unknown and never shown as green. Pages work without scripts. With
// scripts, they follow the changes of the unit.
package web

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity/score"
	"svc/internal/admin/layout"
	"svc/internal/admin/users"
	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/integrations"
	"svc/readapi/web/page"
	"svc/readapi/web/signin"
	"svc/readapi/web/text"
)

// Reads provides the results of the read API; [readapi.Reads] implements it. Its methods return only errors that are
// or wrap [readapi.ErrNoUnit] or [readapi.ErrAway]; any other error is a bug.
type Reads interface {
	Unit(ctx context.Context, hospital string) (*readapi.Unit, error)
	Room(ctx context.Context, hospital string, room int32, within time.Duration) (*readapi.RoomAhead, error)
	Trends(ctx context.Context, hospital string, since, until time.Time) (*readapi.Trends, error)
}

// Layouts provides the floor plans of units.
type Layouts interface {
	// Layout returns the floor plan of a hospital, or nil if it has none.
	Layout(hospital string) *layout.Layout
}

// Config holds the dependencies of the pages.
type Config struct {
	page.Config // without OfferProvider, which [Mount] sets

	Reads     Reads
	Changes   Changes
	Layouts   Layouts // nil: no hospital has a floor plan
	Links     signin.Links
	Walls     Walls            // nil: wall displays are disabled
	OIDC      *signin.Provider // nil: people sign in only with links
	Directory signin.Directory // users who sign in through the provider
	Acts      *API             // nil: acts are disabled on these pages
	// Administration holds the dependencies of the pages for administrators. It is nil if this process does not serve
	// these pages.
	Administration *integrations.Administration
	// Ends is canceled when the process shuts down, which ends the streams. If it is nil, the streams never end.
	Ends context.Context //nolint:containedctx // lives as long as the process
}

//go:embed templates/*.html
var templateFiles embed.FS

var templates = page.ParseTemplates(templateFiles)

// site holds the dependencies and the state that all pages share.
type site struct {
	Config
	*page.Site

	hub       *hub
	summaries *summaries
}

// Mount adds the pages to a router.
func Mount(r chi.Router, cfg Config) {
	s := &site{Config: cfg, hub: newHub(&cfg), summaries: newSummaries(&cfg)}
	var discovery *signin.Discovery
	if cfg.OIDC != nil && cfg.Seals != nil {
		discovery = signin.NewDiscovery(cfg.OIDC, cfg.Now)
	}
	cfg.OfferProvider = discovery.Offer
	s.Site = page.NewSite(cfg.Config)
	r.Group(func(r chi.Router) {
		r.Use(s.SetHeaders, s.RefuseCrossOrigin)
		r.Get("/assets/*", s.ServeAsset)
		signin.Mount(r, s.Site, signin.Config{
			Links: cfg.Links, Discovery: discovery, Directory: cfg.Directory, Users: cfg.Users, Now: cfg.Now, Log: cfg.Log,
		})
		r.Post("/theme", s.SwitchTheme)
		r.Get("/app/units", s.RequireRole(users.Viewer, s.showUnits))
		r.Get("/app/units/events", s.RequireRole(users.Viewer, s.streamUnits))
		for _, base := range []string{auth.AppPath, auth.AppPath + "/u/{hospital}"} {
			s.mountUnit(r, base)
		}
		r.Get("/board", s.requireWall(s.showBoard))
		r.Get("/board/events", s.requireWall(s.streamBoard))
		r.Get(WallPath+"{token}", s.showWallLink)
		r.Post(WallPath+"{token}", s.openWall)
	})
}

// mountUnit adds the pages of one hospital below the path base. The path or the session names the hospital.
func (s *site) mountUnit(r chi.Router, base string) {
	r.Get(base, s.RequireRole(users.Viewer, s.showUnit))
	r.Get(base+"/events", s.RequireRole(users.Viewer, s.streamPage))
	r.Get(base+"/rooms/{id}", s.RequireRole(users.Viewer, s.showRoom))
	r.Get(base+"/trends", s.RequireRole(users.Viewer, s.showTrends))
	r.Get(base+"/trends.csv", s.RequireRole(users.Viewer, s.downloadTrends))
	r.Get(base+"/print", s.RequireRole(users.Viewer, s.showSheet))
	r.Post(base+"/staffing", s.RequireRole(users.Charge, s.requireActs(s.setStaffing)))
	r.Get(base+"/alerts", s.RequireRole(users.Charge, s.requireActs(s.listAlerts)))
	r.Post(base+"/alerts/{id}", s.RequireRole(users.Charge, s.requireActs(s.acknowledgeAlert)))
	integrations.Mount(r, base, s.Site, integrations.Config{
		Administration: s.Administration, Verdict: s.verdictOf, Secure: s.Secure, Now: s.Now, Log: s.Log,
	})
	r.Get(base+"/*", s.RequireRole(users.Viewer, func(w http.ResponseWriter, r *http.Request, session *auth.Session) {
		if short := strings.TrimRight(r.URL.Path, "/"); short != r.URL.Path && short != auth.AppPath+"/u" { // a trailing slash
			http.Redirect(w, r, (&url.URL{Path: short, RawQuery: r.URL.RawQuery}).String(), http.StatusPermanentRedirect)
			return
		}
		s.ShowFault(w, r, http.StatusNotFound, session, "fault.none")
	}))
}

// verdictOf returns the verdict on a hospital, or nil if nothing has been recorded.
func (s *site) verdictOf(ctx context.Context, hospital string) (*score.Verdict, error) {
	u, err := s.Reads.Unit(ctx, hospital)
	switch {
	case errors.Is(err, readapi.ErrNoUnit):
		return nil, nil
	case err != nil:
		return nil, err //nolint:wrapcheck // already an error of package readapi
	}
	return u.Verdict, nil
}

// writer formats the parts of the pages of a unit.
type writer struct{ *page.Writer }

// writer returns the writer for the hospital of a session, in the language of the request.
func (s *site) writer(r *http.Request, session *auth.Session) *writer {
	return &writer{s.NewWriter(r, session)}
}

// readUnit returns the unit of a session. If it returns false, it has sent an error response.
func (s *site) readUnit(w http.ResponseWriter, r *http.Request, session *auth.Session) (*readapi.Unit, bool) {
	u, err := s.Reads.Unit(r.Context(), session.Hospital)
	if err == nil {
		return u, true
	}
	p := s.writer(r, session)
	n := page.Notice{Frame: s.NewFrame(r, p.Writer, session, p.T("title.unit"))}
	status := http.StatusServiceUnavailable
	n.Refresh, n.Wall = page.UnavailableSeconds, strings.HasPrefix(r.URL.Path, "/board")
	switch {
	case errors.Is(err, readapi.ErrNoUnit):
		status, n.Heading, n.Say = http.StatusOK, p.T("none"), p.T("none.do")
		if n.Wall {
			n.Say = p.T("none.wall")
		} else {
			addFirstSteps(&n, session)
		}
	case errors.Is(err, readapi.ErrBehind):
		n.Heading, n.Say = p.T("fault.away"), p.T("fault.behind")
	case errors.Is(err, readapi.ErrAway), r.Context().Err() != nil:
		n.Heading, n.Say = p.T("fault.away"), p.T("fault.away.do")
	default:
		s.Log.ErrorContext(r.Context(), "page not rendered", "error", err)
		status, n.Heading, n.Say = http.StatusInternalServerError, p.T("fault.away"), p.T("fault.away.do")
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	page.WritePage(w, r, status, n.Render())
	return nil, false
}

// addFirstSteps adds instructions to a notice for a hospital without data. Administrators see the commands that send
// the first data. Anyone else sees whom to ask.
func addFirstSteps(n *page.Notice, session *auth.Session) {
	if session.Role != users.Admin {
		n.Say = n.T("none.viewer")
		return
	}
	n.Steps = firstSteps(n.Texts, session.Hospital)
	n.Link, n.LinkSays = n.Base+"/integrations", n.T("int.first")
}

// firstSteps returns the commands that send a hospital's first data.
func firstSteps(t *text.Texts, hospital string) []page.Step {
	const post = `curl $SVC/api/ingest/%s -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '%s'`
	const census = `{"totalRooms":12,"rooms":[` +
		`{"roomId":1,"roomLabel":"LDR 1","area":"L&D","status":"occupied","primaryFactor":"labor-standard"}]}`
	return []page.Step{
		{Say: t.T("none.key"), Command: "svc keys mint --hospital " + hospital + " --name first --scopes ingest:census,ingest:staffing"},
		{Say: t.T("none.census"), Command: fmt.Sprintf(post, "census", census)},
		{Say: t.T("none.staffing"), Command: fmt.Sprintf(post, "staffing", `{"nursesOnDuty":3,"callStaffAvailable":false}`)},
	}
}
