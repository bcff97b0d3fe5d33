package main

import (
	"context"
	"fmt"
	"time"

	"svc/internal/lifecycle"
	"svc/internal/view"
	"svc/processors/projection"
)

// healthCheck is a reason why a process may not be ready. Its name is the value of the label "check" of svc_healthy,
// a line of /readyz, and a row of docs/reference/health.md.
type healthCheck struct {
	name      string
	roles     string
	fails     string // condition under which the check fails
	meanwhile string // effect on callers while the check fails
}

// healthChecks lists all health checks, in the order of docs/reference/health.md. The roles add the functions that
// perform the checks with [lifecycle.Health.Add].
var healthChecks = []healthCheck{
	{
		"start", "every role",
		"the settings or the topics that the role reads have not been read yet, or a public port is not open",
		"its public port is closed",
	},
	{
		"stop", "every role",
		"the process was asked to stop",
		"requests are answered until `--drain` ends; requests that are still open then have `--shutdown-within` to finish",
	},
	{"kafka", "every role", "no broker responds", "writes: 503 at once; reads: 503 `processing_behind` after five seconds"},
	{
		"keys", "every role",
		"the secrets key or the pseudonym key is not the key of the installation; the line names the key",
		"ingest: its public port is closed; notify: acquires no partitions, so that other instances can",
	},
	{"disk", "`svc dev`", "the disk of the embedded Kafka is full, or a write to it has failed", "writes: 503 at once; reads continue"},
	{"redis", "read", "Redis does not respond", "reads: 503 `view_away` at once; writes: `applied: false`"},
	{"view", "process", "committed changes cannot be written to Redis", "reads: 503 `processing_behind` after five seconds; writes: `applied: false`"},
	{
		"view", "read",
		"a partition is incomplete in Redis, has not been written for five seconds, or has a change that has waited for two seconds",
		"reads of its hospitals: 503 `view_incomplete` or `processing_behind`",
	},
	{
		"processing", "process",
		"observations of an owned partition have waited for two seconds, or Kafka has not responded for five seconds",
		"reads of its hospitals: 503 `processing_behind`; writes: `applied: false`",
	},
	{"verdict", "process", "the process has not acquired a partition since it started", "nothing, if another process owns the partitions"},
	{
		"lists", "notify",
		"deliveries, endpoints, commands and alert episodes cannot be written to Redis, " +
			"or changes of an owned partition have waited for three seconds",
		"reads of these lists: 503 `processing_behind` after five seconds; deliveries and alerts continue",
	},
	{
		"lists", "read",
		"the lists of a partition are incomplete, no notifier has written them for five seconds, " +
			"or have a change that has waited for three seconds",
		"reads of these lists: 503 `view_incomplete` or `processing_behind`; `status` of an endpoint is null; acknowledgments are kept",
	},
	{
		"forecast", "process",
		"models cannot be written to Redis, or snapshots of an owned partition have waited for three seconds",
		"`GET /api/v1/predict`: 503 `processing_behind` after five seconds; verdicts continue",
	},
	{
		"forecast", "read",
		"the models of a partition are incomplete, have not been written for five seconds, or have a snapshot that has waited for two seconds",
		"`GET /api/v1/predict`: 503 `view_incomplete` or `processing_behind`",
	},
	{"notify", "notify", "the process has not acquired a partition since it started", "nothing, if another process owns the partitions"},
}

// settling lists the checks that fail during every start.
var settling = []string{"start", "view", "lists", "forecast", "processing", "verdict", "notify"}

// newProcess returns a process without loops. within is the time limit for completing in-flight requests during
// shutdown.
func newProcess(within time.Duration) *lifecycle.Process {
	names := make([]string, len(healthChecks))
	for i := range healthChecks {
		names[i] = healthChecks[i].name
	}
	p := lifecycle.NewProcess(names, settling)
	p.Within = within
	return p
}

// checkProcessing returns a check that fails while an input has been pending for longer than the limit most. If most
// is 0, the limit is the time after which reads return 503.
func checkProcessing(v *projection.Projection, most time.Duration) func(context.Context) error {
	return func(context.Context) error { return view.PartitionFaults(v.Faults(most)) }
}

// checkProjector returns a check that fails while the projector cannot write its view.
func checkProjector(what string, p *view.Projector) func(context.Context) error {
	return func(context.Context) error {
		if err := p.Fault(); err != nil {
			return fmt.Errorf("%s cannot be written: %w", what, err)
		}
		return nil
	}
}
