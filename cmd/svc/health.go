package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/internal/cli"
)

// healthCheck is one reason why a process is not ready. Its name is the label check of
// svc_healthy, a line of /readyz, and a row of docs/operations.md.
type healthCheck struct {
	name      string
	roles     string
	fails     string // the condition
	meanwhile string // the effect on callers
}

// healthChecks are all reasons, in the order of that page. A role adds the check itself by
// [health.add].
var healthChecks = []healthCheck{
	{"start", "every role", "the settings, or what the role follows, are not read yet, or a public port is not open", "its public port is shut"},
	{"stop", "every role", "the process was asked to stop", "requests are answered until `--drain` is over, those that are open then get `--shutdown-within`"},
	{"kafka", "every role", "no broker answers", "writes: 503 at once; reads: 503 `processing_behind` after five seconds"},
	{"keys", "every role", "the secrets key or the pseudonym key is not that of the installation; the line says which", "ingest: its public port is shut; notify: takes up no partition, so that others do"},
	{"disk", "`svc dev`", "the disk of the embedded Kafka is full, or a write to it has failed", "writes: 503 at once; reads go on"},
	{"redis", "read", "Redis does not answer", "reads: 503 `view_away` at once"},
	{"view", "process", "what is committed cannot be written to Redis", "reads: 503 `processing_behind` after five seconds"},
	{"view", "read", "a partition is not all there, nobody has written it for five seconds, or something that it lacks has waited for two", "reads of its hospitals: 503 `view_incomplete` or `processing_behind`"},
	{"processing", "process", "observations of an own partition have waited for two seconds, or the log has not answered for five", "reads of its hospitals: 503 `processing_behind`; writes: `applied: false`"},
	{"verdict", "process", "the process has taken up no partition since its start", "nothing, while another process has them"},
	{"lists", "notify", "what it tells of deliveries, endpoints, commands and alert episodes cannot be written to Redis, or changes of an own partition have waited for three seconds", "reads of these lists: 503 `processing_behind` after five seconds; deliveries and alerts go on"},
	{"lists", "read", "the lists of a partition are not all there, no notifier has written them for five seconds, or something that they lack has waited for three", "reads of these lists: 503 `view_incomplete` or `processing_behind`; `status` of an endpoint is null; an acknowledgment is kept"},
	{"forecast", "process", "what is learnt cannot be written to Redis, or changes of an own partition have waited for three seconds to be learnt", "`GET /api/v1/predict`: 503 `processing_behind` after five seconds; verdicts go on"},
	{"forecast", "read", "the models of a partition are not all there, nobody has written them for five seconds, or something that they lack has waited for three", "`GET /api/v1/predict`: 503 `view_incomplete` or `processing_behind`"},
	{"notify", "notify", "the process has taken up no partition since its start", "nothing, while another process has them"},
}

// health holds the checks of this process. Checks may be added while others run.
type health struct {
	mu     sync.Mutex
	checks map[string][]func(context.Context) error
}

func newHealth() *health { return &health{checks: map[string][]func(context.Context) error{}} }

// add adds a check under a name of [healthChecks]. Several roles of one process may share a name.
// Operators see the error of a check.
func (h *health) add(name string, check func(context.Context) error) {
	if !slices.ContainsFunc(healthChecks, func(c healthCheck) bool { return c.name == name }) {
		panic("health check " + name + " has no row in healthChecks")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks[name] = append(h.checks[name], check)
}

// healthWithin bounds one run of all checks.
const healthWithin = 2 * time.Second

// ask runs all checks at once. It returns the error of each name; nil means healthy.
func (h *health) ask(ctx context.Context) map[string]error {
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

// lines returns the errors of failing checks, one a line, except for the names in leftOut.
func (h *health) lines(ctx context.Context, leftOut []string) (lines []string) {
	found := h.ask(ctx)
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

// settleWithin is how long after the start of the process a check in settling may fail before it
// is logged. None of them is healthy in the first second.
const settleWithin = 10 * time.Second

// settling are the checks that fail at every start.
var settling = []string{"start", "view", "lists", "forecast", "processing", "verdict", "notify"}

// watch logs when a check begins to fail, with its cause, and when it is healthy again. A start
// that makes no progress is logged after [settleWithin].
func (h *health) watch(ctx context.Context, log *slog.Logger) error {
	began := time.Now()
	failing, told, passed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for {
		for name, err := range h.ask(ctx) {
			settles := !passed[name] && slices.Contains(settling, name) && time.Since(began) < settleWithin
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
		if err := pause(ctx, healthEvery); err != nil {
			return err
		}
	}
}

// started fails until the public ports are open.
func (h *service) started(context.Context) error {
	if !h.opened.Load() {
		return errors.New("waits for kafka, or makes sure of its topics")
	}
	for _, ready := range h.ready {
		select {
		case <-ready:
		default:
			return errors.New("not caught up yet")
		}
	}
	for _, opened := range h.ports {
		select {
		case <-opened:
		default:
			return errors.New("a public port is not open yet")
		}
	}
	return nil
}

// stops fails once the process has been asked to stop.
func (h *service) stops(context.Context) error {
	if h.stopping.Load() {
		return errors.New("the process ends")
	}
	return nil
}

// reachesKafka fails while no broker answers.
func (h *service) reachesKafka(context.Context) error {
	if !h.dialed.Load() {
		return errors.New("has not answered yet")
	}
	if since := h.cluster.Away(); !since.IsZero() {
		return fmt.Errorf("away since %s", cli.Stamp(since))
	}
	return nil
}
