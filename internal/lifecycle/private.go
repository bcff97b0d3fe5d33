package lifecycle

import (
	"io"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"
)

// Private returns the server for operators: metrics, profiles and health.
func (p *Process) Private(address string, metrics http.Handler) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", Alive)
	mux.HandleFunc("GET /readyz", p.Health.ServeReadiness)
	mux.Handle("GET /metrics", metrics)
	for path, handler := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		mux.HandleFunc("/debug/pprof/"+path, onLoopback(handler))
	}
	return &Server{Name: "private", Address: address, Handler: mux, Within: time.Second}
}

// onLoopback refuses requests of other machines. A profile shows memory, and takes time.
func onLoopback(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !from.Addr().Unmap().IsLoopback() {
			http.Error(w, "profiles are answered on loopback only", http.StatusForbidden)
			return
		}
		handler(w, r)
	}
}

// Alive answers that the process is alive.
func Alive(w http.ResponseWriter, _ *http.Request) { writeLines(w, http.StatusOK, "ok") }

// ServeReadiness answers 200 if all health checks pass, else 503 with a line for each that fails.
// ?exclude=CHECK leaves a check out.
func (h *Health) ServeReadiness(w http.ResponseWriter, r *http.Request) {
	if lines := h.Lines(r.Context(), r.URL.Query()["exclude"]); len(lines) > 0 {
		writeLines(w, http.StatusServiceUnavailable, lines...)
		return
	}
	writeLines(w, http.StatusOK, "ready")
}

// writeLines answers with plain text for operators.
func writeLines(w http.ResponseWriter, status int, lines ...string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, strings.Join(lines, "\n")+"\n") //nolint:errcheck // a client that is gone: nobody to tell
}
