package signin

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/users"
	"svc/readapi/web/auth"
	"svc/readapi/web/page/pagetest"
)

// pages are the sign-in pages, and a unit page that needs a session.
type pages struct {
	*pagetest.Pages

	links  *pagetest.Links
	config Config
}

func newPages(t *testing.T) *pages {
	t.Helper()
	p := &pages{Pages: pagetest.New(t)}
	p.links = p.NewLinks()
	p.config = Config{Links: p.links, Users: p.Users, Now: p.Now, Log: slog.New(slog.DiscardHandler)}
	p.mount()
	return p
}

func (p *pages) mount() {
	p.Offer = p.config.Discovery.Offer
	site := p.NewSite()
	p.Router = chi.NewRouter()
	p.Router.Use(site.SetHeaders, site.RefuseCrossOrigin)
	Mount(p.Router, site, p.config)
	p.Router.Get(auth.AppPath, site.RequireRole(users.Viewer, func(w http.ResponseWriter, _ *http.Request, _ *auth.Session) {
		w.WriteHeader(http.StatusOK)
	}))
}
