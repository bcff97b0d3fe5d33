package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Health holds the checks of this process. Checks may be added while others run.
type Health struct {
	names    []string // of checks that may be added
	settling []string // checks that fail at every start

	mu     sync.Mutex
	checks map[string][]func(context.Context) error
}

// NewHealth returns the health of a process without checks. names are the names that checks may
// have; settling are those that fail at every start.
func NewHealth(names, settling []string) *Health {
	return &Health{names: names, settling: settling, checks: map[string][]func(context.Context) error{}}
}

// Add adds a check under a name of the process. Several roles of one process may share a name.
// Operators see the error of a check.
func (h *Health) Add(name string, check func(context.Context) error) {
	if !slices.Contains(h.names, name) {
		panic("there is no health check " + name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks[name] = append(h.checks[name], check)
}

// healthWithin bounds one run of all checks.
const healthWithin = 2 * time.Second

// Ask runs all checks at once. It returns the error of each name; nil means healthy.
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

// Lines returns the errors of failing checks, one a line, except for the names in leftOut.
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

// healthEvery is how often the process runs its own checks.
const healthEvery = time.Second

// settleWithin is how long after the start of the process a settling check may fail before it
// is logged. None of them is healthy in the first second.
const settleWithin = 10 * time.Second

// Watch logs when a check begins to fail, with its cause, and when it is healthy again. A start
// that makes no progress is logged after [settleWithin].
func (h *Health) Watch(ctx context.Context, log *slog.Logger) error {
	began := time.Now()
	failing, told, passed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for {
		for name, err := range h.Ask(ctx) {
			settles := !passed[name] && slices.Contains(h.settling, name) && time.Since(began) < settleWithin
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
			passed[name] = passed[name] || err == nil
		}
		wait, stop := context.WithTimeout(ctx, healthEvery)
		<-wait.Done()
		stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
