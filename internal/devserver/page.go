package devserver

import (
	"html/template"
	"net/http"
	"slices"
	"sync"

	"github.com/go-chi/chi/v5"

	"svc/internal/cli"
)

// pageKept is how many things a page shows.
const pageKept = 200

// latestPage shows the latest things that svc dev has caught, in HTML and as JSON.
type latestPage[T any] struct {
	html *template.Template

	mu     sync.Mutex
	latest []*T // newest first
}

func (p *latestPage[T]) keep(one *T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = slices.Insert(p.latest, 0, one)
	p.latest = p.latest[:min(len(p.latest), pageKept)]
}

func (p *latestPage[T]) items() []*T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*T{}, p.latest...)
}

// mount adds the page and its list as JSON.
func (p *latestPage[T]) mount(r chi.Router, path string) {
	r.Get(path, func(w http.ResponseWriter, _ *http.Request) {
		// The policy of the API allows no styles. These pages have one, and no script.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		p.html.Execute(w, p.items()) //nolint:errcheck // the browser is gone
	})
	r.Get(path+".json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		cli.PrintItems(w, p.items()) //nolint:errcheck // the browser is gone
	})
}
