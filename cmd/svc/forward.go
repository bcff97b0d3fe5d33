package main

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/httpapi/problem"
)

// forwardWrites makes this process serve the operations of all roles that it does not run, by forwarding them to
// --ingest-url, so that one address serves the whole API. It forwards nothing if this process runs svc ingest itself
// or if --ingest-url is not set. It reports whether the operations of svc ingest are available, either served or
// forwarded.
func (h *service) forwardWrites() bool {
	if h.router.Match(chi.NewRouteContext(), http.MethodPost, "/api/ingest/staffing") {
		return true
	}
	if h.config.IngestURL == nil {
		return false
	}
	to := &forwarder{h.config.IngestURL, &http.Transport{
		MaxIdleConnsPerHost: forwardedAtOnce, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: forwardTimeout,
	}, h.log}
	for _, o := range operations() {
		if !h.router.Match(chi.NewRouteContext(), o.Method, o.Path) {
			h.router.Method(o.Method, o.Path, to)
		}
	}
	return true
}

const (
	forwardedAtOnce = 256              // maximum number of idle connections to svc ingest
	forwardTimeout  = 30 * time.Second // svc ingest responds within ten seconds
)

// forwarder sends requests to svc ingest, which authenticates them, and copies the responses.
type forwarder struct {
	to        *url.URL
	transport http.RoundTripper
	log       *slog.Logger
}

// ServeHTTP implements [http.Handler]. If svc ingest does not respond, the response is 503: nothing was acknowledged,
// and it is safe to repeat the request.
func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	proxy := httputil.ReverseProxy{
		Transport: f.transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(f.to)
			p.Out.Host = p.In.Host // so that error.docs is a URL that the client can reach
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			if scheme := p.In.Header.Get("X-Forwarded-Proto"); scheme != "" {
				p.Out.Header.Set("X-Forwarded-Proto", scheme)
			}
			if id := w.Header().Get("X-Request-Id"); id != "" {
				p.Out.Header.Set("X-Request-Id", id)
			}
		},
		// The response headers replace headers that this process has already set.
		ModifyResponse: func(answer *http.Response) error {
			for name := range answer.Header {
				w.Header().Del(name)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			f.log.WarnContext(r.Context(), "svc ingest did not respond", "error", err)
			httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable})
		},
	}
	proxy.ServeHTTP(w, r)
}
