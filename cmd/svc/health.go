package main

import (
	"context"
	"fmt"
	"time"

	"svc/internal/lifecycle"
	"svc/internal/view"
	"svc/processors/projection"
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
// [lifecycle.Health.Add].
var healthChecks = []healthCheck{
	{
		"start", "every role",
		"the settings, or what the role follows, are not read yet, or a public port is not open",
		"its public port is shut",
	},
	{
		"stop", "every role",
		"the process was asked to stop",
		"requests are answered until `--drain` is over, those that are open then get `--shutdown-within`",
	},
	{"kafka", "every role", "no broker answers", "writes: 503 at once; reads: 503 `processing_behind` after five seconds"},
	{
		"keys", "every role",
		"the secrets key or the pseudonym key is not that of the installation; the line says which",
		"ingest: its public port is shut; notify: takes up no partition, so that others do",
	},
	{"disk", "`svc dev`", "the disk of the embedded Kafka is full, or a write to it has failed", "writes: 503 at once; reads go on"},
	{"redis", "read", "Redis does not answer", "reads: 503 `view_away` at once; writes: `applied: false`"},
	{"view", "process", "what is committed cannot be written to Redis", "reads: 503 `processing_behind` after five seconds; writes: `applied: false`"},
	{
		"view", "read",
		"a partition is not all there, nobody has written it for five seconds, or something that it lacks has waited for two",
		"reads of its hospitals: 503 `view_incomplete` or `processing_behind`",
	},
	{
		"processing", "process",
		"observations of an own partition have waited for two seconds, or the log has not answered for five",
		"reads of its hospitals: 503 `processing_behind`; writes: `applied: false`",
	},
	{"verdict", "process", "the process has taken up no partition since its start", "nothing, while another process has them"},
	{
		"lists", "notify",
		"what it tells of deliveries, endpoints, commands and alert episodes cannot be written to Redis, " +
			"or changes of an own partition have waited for three seconds",
		"reads of these lists: 503 `processing_behind` after five seconds; deliveries and alerts go on",
	},
	{
		"lists", "read",
		"the lists of a partition are not all there, no notifier has written them for five seconds, " +
			"or something that they lack has waited for three",
		"reads of these lists: 503 `view_incomplete` or `processing_behind`; `status` of an endpoint is null; an acknowledgment is kept",
	},
	{
		"forecast", "process",
		"what is learnt cannot be written to Redis, or changes of an own partition have waited for three seconds to be learnt",
		"`GET /api/v1/predict`: 503 `processing_behind` after five seconds; verdicts go on",
	},
	{
		"forecast", "read",
		"the models of a partition are not all there, nobody has written them for five seconds, or something that they lack has waited for three",
		"`GET /api/v1/predict`: 503 `view_incomplete` or `processing_behind`",
	},
	{"notify", "notify", "the process has taken up no partition since its start", "nothing, while another process has them"},
}

// settling are the checks that fail at every start.
var settling = []string{"start", "view", "lists", "forecast", "processing", "verdict", "notify"}

// newProcess returns a process without loops. within is the time for open requests at its stop.
func newProcess(within time.Duration) *lifecycle.Process {
	names := make([]string, len(healthChecks))
	for i := range healthChecks {
		names[i] = healthChecks[i].name
	}
	p := lifecycle.NewProcess(names, settling)
	p.Within = within
	return p
}

// processes fails while an input waits for longer than most. 0: the limit of the verdicts, after
// which reads tell that they are behind.
func processes(v *projection.Projection, most time.Duration) func(context.Context) error {
	return func(context.Context) error { return view.PartitionFaults(v.Faults(most)) }
}

// writes fails while the projector cannot write its view.
func writes(what string, p *view.Projector) func(context.Context) error {
	return func(context.Context) error {
		if err := p.Fault(); err != nil {
			return fmt.Errorf("%s cannot be written: %w", what, err)
		}
		return nil
	}
}
