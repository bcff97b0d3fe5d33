package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"svc/ingest"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/limit"
	"svc/internal/lifecycle"
	"svc/internal/openapi"
	"svc/internal/registry"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/processors/projection"
	"svc/readapi"
)

// registryPath is the path of the read-only registry of the build.
const registryPath = "/registry"

// operations returns the operations of all roles. The description of the API does not depend on
// the roles of a process.
func operations() []contract.Operation {
	return slices.Concat(ingest.Operations(), readapi.Operations(), keys.Operations(), subscribers.Operations(),
		users.Operations(), walls.Operations(), layout.Operations(), contract.Operations(healthRoutes()))
}

// describe mounts the routes that every process with a public port has.
func (h *service) describe() {
	contract.Mount(h.router, h.shell, h, healthRoutes())
	openapi.Mount(h.router, openapi.Config{Shell: h.shell, Operations: operations()})
	registry.Mount(h.router, registryPath, registry.Subjects(h.config.TopicPrefix))
}

func healthRoutes() []contract.Route[*service] {
	all := []contract.Route[*service]{
		{Operation: contract.Operation{
			Path: "/healthz", ID: "getHealth", Summary: "The process is alive",
		}, Serve: func(_ *service, w http.ResponseWriter, r *http.Request) { lifecycle.Alive(w, r) }},
		{Operation: contract.Operation{
			Path: "/readyz", ID: "getReadiness", Summary: "The process has caught up and reaches what it needs",
			About: "Otherwise 503, with a line for each thing that is not, which begins with the name of the check.",
			Parameters: []contract.Parameter{{
				Name: "exclude", In: "query", About: "The name of a check that is left out; may be given more than once.", Example: "view",
			}},
		}, Serve: func(h *service, w http.ResponseWriter, r *http.Request) { h.Health.ServeReadiness(w, r) }},
	}
	for i := range all {
		all[i].Method, all[i].Group, all[i].Bare = http.MethodGet, "Health", []string{"text/plain"}
	}
	return all
}

// limits limits the rates of keys, and notes when keys were used.
func (h *service) limits() {
	limits := limit.New(h.redis, h.now)
	h.shell.Limits = limits
	h.Run("limits", limits.Run)
	h.metrics.Counter("svc_rate_limited_requests_total",
		"Requests refused, or messages made to wait, because their key had sent too many.", limits.Limited)
	h.metrics.Gauge("svc_rate_limited_keys", "Keys that were refused at least once lately.", limits.Clients)

	rate := h.config.StrangersRate
	strangers := limit.NewStrangers(limit.Rate{PerSecond: float64(rate), Burst: strangersBurst * rate}, h.now)
	h.shell.Strangers = strangers
	h.metrics.Counter("svc_unauthorized_limited_total",
		"Requests without a valid key that were too many from their address.", strangers.Limited)

	used := keys.NewLastUse(h.now)
	h.shell.Used = used.Note
	h.Run("last use", func(ctx context.Context) error { return used.Run(ctx, h.redis.Use) })
}

// shares limits each hospital to its share of the processors.
func (h *service) shares() *limit.Share {
	share := limit.NewShare(h.redis, h.now)
	for _, reason := range limit.Reasons() {
		h.metrics.Labelled("svc_ingest_beyond_share_total",
			"Requests and messages refused, or not taken, because their hospital was beyond its share of the processors, by reason.",
			"reason", reason.String(), func() int64 { return share.Refused(reason) })
	}
	return share
}

// strangersBurst is the burst of requests without a key, in seconds of their rate.
const strangersBurst = 30

// servers returns the public servers. Each is a function that serves until its context
// ends and then finishes open requests.
func (h *service) servers(needs config.Need) (servers []func(context.Context) error) {
	if needs&config.NeedHTTP != 0 {
		servers = append(servers, h.public().Run)
	}
	for _, front := range h.mllpFronts {
		servers = append(servers, front.Run)
	}
	return servers
}

// public is the server of the API: the routes of the roles on one port.
func (h *service) public() *lifecycle.Server {
	opened := make(chan struct{})
	h.Ports = append(h.Ports, opened)
	return &lifecycle.Server{
		Name: "public", Address: h.config.Listen, Handler: h.router, Wrap: h.shell.Listener,
		After: h.Ready, Opened: opened, Drain: h.config.Drain, Within: h.config.ShutdownWithin,
	}
}

// front makes the router of the public port. All roles share it, so that a path lists the methods
// of all roles. [http.ServeMux] would answer a path such as //x/.. with a redirect in HTML, and
// every answer must have the envelope.
func (h *service) front() {
	h.router = h.shell.Router()
	h.describe()
}

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
	{"redis", "read", "Redis does not answer", "reads: 503 `view_away` at once"},
	{"view", "process", "what is committed cannot be written to Redis", "reads: 503 `processing_behind` after five seconds"},
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

// reachesKafka fails while no broker answers.
func (h *service) reachesKafka(context.Context) error {
	if !h.dialed.Load() {
		return stream.Reached(nil)
	}
	return stream.Reached(h.cluster)
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

// shows fails while a partition of the view cannot be read.
func (h *service) shows(ctx context.Context) error { return partitionsRead(ctx, h, h.redis.Faults) }

// partitionsRead fails while a partition of some view cannot be read. ask returns the fault of
// each.
func partitionsRead(ctx context.Context, h *service, ask func(context.Context, int32) (map[int32]error, error)) error {
	found, err := ask(ctx, h.partitions)
	if err != nil {
		return err
	}
	return view.PartitionFaults(found, int(h.partitions))
}

// lookEvery is how often current looks. Somebody waits for the prompt.
const lookEvery = 5 * time.Millisecond

// current waits until every partition of all views can be read.
func (h *service) current(ctx context.Context) error {
	for h.shows(ctx) != nil || partitionsRead(ctx, h, h.models().Faults) != nil || partitionsRead(ctx, h, h.redis.Lists().Faults) != nil {
		if err := cli.Pause(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}
