package lifecycle

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Health holds the health checks of this process. Checks may be added while other checks run.
type Health struct {
	names    []string // names that checks may have
	settling []string // names of the checks that fail during every start

	mu     sync.Mutex
	checks map[string][]func(context.Context) error
}

// NewHealth returns the health of a process that has no checks yet. names lists the names that checks may have;
// settling lists the names of the checks that fail at every start.
func NewHealth(names, settling []string) *Health {
	return &Health{names: names, settling: settling, checks: map[string][]func(context.Context) error{}}
}

// Add adds a check under one of the names passed to NewHealth. It panics if the name is unknown. Several roles in a
// process may share a name. The error that a check returns is shown to operators.
func (h *Health) Add(name string, check func(context.Context) error) {
	if !slices.Contains(h.names, name) {
		panic("unknown health check " + name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks[name] = append(h.checks[name], check)
}

// healthWithin is the timeout of one run of all checks.
const healthWithin = 2 * time.Second

// Ask runs all checks concurrently. It returns the error for each name; nil means healthy.
func (h *Health) Ask(ctx context.Context) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	var (
		mu   sync.Mutex
		each sync.WaitGroup
	)
	h.mu.Lock()
	all := maps.Clone(h.checks)
	h.mu.Unlock()
	found := make(map[string]error, len(all))
	for name, checks := range all {
		each.Go(func() {
			var err error
			for _, check := range checks {
				err = errors.Join(err, check(ctx))
			}
			mu.Lock()
			found[name] = err
			mu.Unlock()
		})
	}
	each.Wait()
	return found
}

// Lines returns the errors of failing checks, one per line, except those whose names are in leftOut.
func (h *Health) Lines(ctx context.Context, leftOut []string) (lines []string) {
	found := h.Ask(ctx)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if found[name] != nil && !slices.Contains(leftOut, name) {
			for line := range strings.Lines(found[name].Error()) {
				lines = append(lines, name+": "+strings.TrimSpace(line))
			}
		}
	}
	return slices.Compact(lines)
}

// healthEvery is the interval at which the process runs its own checks.
const healthEvery = time.Second

// settleWithin is the time after the start of the process during which Watch does not log the failure of a settling
// check. Such a check may pass before it fails: a processor has nothing to process until it has acquired a partition.
const settleWithin = 10 * time.Second

// Watch logs when a check begins to fail, with the cause, and when a failing check becomes healthy. The failure of
// a settling check is logged only after [settleWithin].
func (h *Health) Watch(ctx context.Context, log *slog.Logger) error {
	began := time.Now()
	failing, told := map[string]bool{}, map[string]bool{}
	for {
		for name, err := range h.Ask(ctx) {
			settles := slices.Contains(h.settling, name) && time.Since(began) < settleWithin
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && !told[name] && !settles:
				log.WarnContext(ctx, "not healthy", "check", name, "error", strings.ReplaceAll(err.Error(), "\n", "; "))
				told[name] = true
			case err == nil && failing[name]:
				log.InfoContext(ctx, "healthy", "check", name)
			}
			failing[name] = err != nil
			told[name] = told[name] && err != nil
		}
		wait, stop := context.WithTimeout(ctx, healthEvery)
		<-wait.Done()
		stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

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
	return &Server{Address: address, Option: "private-listen", Handler: mux, Within: time.Second}
}

// onLoopback refuses requests from other machines, because a profile exposes memory and takes time to create. It also
// refuses requests to another name or address: a proxy on this machine, such as the sidecar of a service mesh, connects
// from the loopback address, too, and so does a browser on this machine whose page resolved its own name to it.
func onLoopback(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !from.Addr().Unmap().IsLoopback() || !isLoopback(r.Host) {
			http.Error(w, "profiles are served only on loopback addresses", http.StatusForbidden)
			return
		}
		handler(w, r)
	}
}

// isLoopback reports whether a Host header is localhost or a loopback address, with or without a port.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	at, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && at.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// Alive responds that the process is alive.
func Alive(w http.ResponseWriter, _ *http.Request) { writeLines(w, http.StatusOK, "ok") }

// ServeReadiness responds with 200 if all health checks pass, and otherwise with 503 and a line for each failing check.
// ?exclude=CHECK omits a check. A name that no check has causes a warning in the last line, but does not change the
// status: an upgrade that renames a check must not take every process with an old probe out of service.
func (h *Health) ServeReadiness(w http.ResponseWriter, r *http.Request) {
	excluded := r.URL.Query()["exclude"]
	status, lines := http.StatusServiceUnavailable, h.Lines(r.Context(), excluded)
	if len(lines) == 0 {
		status, lines = http.StatusOK, []string{"ready"}
	}
	if slices.ContainsFunc(excluded, func(name string) bool { return !slices.Contains(h.names, name) }) {
		known := slices.Compact(slices.Sorted(slices.Values(h.names)))
		lines = append(lines, "warning: exclude names an unknown check; the checks are "+strings.Join(known, ", ")+
			"; to exclude several, repeat exclude")
	}
	writeLines(w, status, lines...)
}

// writeLines responds with plain text for operators.
func writeLines(w http.ResponseWriter, status int, lines ...string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, strings.Join(lines, "\n")+"\n") //nolint:errcheck // an error means that the client has disconnected
}
