package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/ingest"
	"svc/ingest/engines"
	"svc/internal/admin/audit"
	"svc/internal/admin/auditlog"
	"svc/internal/admin/settings"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/lifecycle"
	"svc/internal/metrics"
	"svc/internal/registry"
	"svc/internal/stream"
	"svc/internal/tracing"
	"svc/internal/view"
	"svc/notifier"
	"svc/notifier/people"
	"svc/processors/deadletter"
	"svc/readapi/web/actor"
	"svc/schemas"
)

// service holds the parts that the roles of one process share: connections, settings, loops,
// servers and readiness.
type service struct {
	*lifecycle.Process
	config     *config.Config
	log        *slog.Logger
	now        func() time.Time
	cluster    *stream.Cluster
	redis      *view.View
	settings   *settings.Store
	keyCheck   *settings.KeyCheck
	pseudonyms ingest.Pseudonyms // set by keyCheck
	shell      *httpapi.Shell
	audit      *auditlog.Log
	refusals   *audit.Refusals
	actors     *actor.Tokens
	letters    *deadletter.Letters // nil until a role requests them

	partitions int32  // number of partitions of the observations and verdicts topics
	generation string // id of the verdicts topic
	watermark  *view.Watermark

	router     *chi.Mux // router on which the roles mount their routes
	mllpFronts []*engines.Front
	writers    []stream.Writers // groups that write in transactions
	claim      *stream.Claim    // claim of the instance name
	metrics    *metrics.Registry
	tracer     *tracing.Tracer // nil: no traces

	dialed atomic.Bool // whether the field cluster is set
	// notified waits until the notifier has read all verdicts that are in the log at the time of the call. It returns
	// an error only if ctx ends.
	notified func(ctx context.Context) error
	// rehearse returns the component that alerts people in a demo. The component also alerts for the demo's history.
	// rehearse is nil if there is no demo.
	rehearse func(people.Config) notifier.People

	leaving func() bool // reports whether a signal asked the process to leave its groups; nil: there is no such signal
}

// revision is the commit of the build; the Makefile sets it.
var revision = "unknown"

func newLog(out io.Writer, level string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		least = slog.LevelInfo // the level was already validated with the configuration
	}
	return slog.New(tracing.Log(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: least})))
}

// newService returns a service without connections. Its health checks report that the connections are missing.
func newService(c *config.Config, log *slog.Logger, now func() time.Time) *service {
	h := &service{
		Process: newProcess(c.ShutdownWithin), config: c, log: log, now: now,
		metrics: metrics.New(revision),
	}
	h.metrics.Health(h.Health)
	publishExpiries(h.metrics, c)
	h.Health.Add("kafka", h.checkKafka)
	return h
}

// connect connects to Kafka and Redis, ensures that the topics exist, and follows the settings.
func (h *service) connect(ctx context.Context, roles []string) (err error) {
	if err = registry.Use(ctx, h.config.Registry, h.config.TopicPrefix, h.log); err != nil {
		return err
	}
	if h.cluster, err = stream.Dial(ctx, h.config.Cluster(h.log)); err != nil {
		return err
	}
	h.dialed.Store(true)
	if err = h.openTopics(ctx, roles); err != nil {
		return err
	}
	return h.openParts(ctx)
}

// openTopics ensures that the topics exist, and claims the name of the process.
func (h *service) openTopics(ctx context.Context, roles []string) (err error) {
	wanted := h.config.Topics(schemas.Topics()...)
	if err = h.cluster.Ensure(ctx, wanted...); err != nil {
		return fmt.Errorf("topics: %w; for a remedy, run svc doctor with the same options", err)
	}
	if err = claimInstance(ctx, h, roles); err != nil {
		return err
	}
	if h.generation, err = h.cluster.Generation(ctx, h.config.Topic(schemas.Verdicts())); err != nil {
		return err
	}
	h.partitions, err = h.cluster.Partitions(ctx, h.config.Topic(schemas.Verdicts()))
	return err
}

// openParts connects to Redis and creates the parts that all roles share.
func (h *service) openParts(ctx context.Context) (err error) {
	c := h.config
	if h.redis, err = view.Open(view.Config{
		URL: c.Redis, CAFile: c.RedisCA, Prefix: c.TopicPrefix + "svc:", Now: h.now, Log: h.log,
		Partition: func(hospital string) int32 { return schemas.Partition([]byte(hospital), h.partitions) },
		Current:   true,
	}); err != nil {
		return err
	}
	h.redis.Ping(ctx) //nolint:errcheck // Ping logs a failure and which option to check; Redis may start later
	h.watermark = h.redis.Watermark()
	seals, err := c.Seals()
	if err != nil {
		return err
	}
	h.settings = settings.Follow(h.cluster, h.config.Topic(schemas.Settings()), seals, h.now, h.log)
	if h.keyCheck, h.pseudonyms, err = newKeyCheck(c, h.settings, h.now); err != nil {
		return err
	}
	h.Run("settings", h.settings.Run)
	h.Run("keys", h.keyCheck.Run)
	h.Health.Add("keys", h.keyCheck.Healthy)
	h.audit = auditlog.Open(h.cluster, h.config.Topic(schemas.Audit()))
	h.refusals = &audit.Refusals{Record: h.audit.Record, Now: h.now, Log: h.log}
	h.Ready = append(h.Ready, h.settings.Ready(), h.keyCheck.Ready())
	if seals != nil {
		if seals, err = seals.For("actor"); err != nil {
			return err
		}
	}
	h.actors = actor.New(seals, h.settings.Users, h.settings.Register, h.now)
	h.shell = &httpapi.Shell{
		Now: h.now, Lookup: h.actors.Lookup, DocsURL: c.Docs(), Log: h.log,
		Origins: c.CORSOrigins, Proxies: c.Proxies, Answered: countResponses(h.metrics), Denied: h.recordDenied,
	}
	if h.tracer != nil {
		h.shell.Trace = h.tracer.Request
	}
	return nil
}

// recordDenied writes an audit record if a request to the administration API was refused because its key or its token
// lacks the scope. Refusals of other requests are only logged, because interface engines retry forever.
func (h *service) recordDenied(ctx context.Context, key *access.Key, method, route string, scope access.Scope) {
	if scope == access.Admin {
		h.refusals.Add(ctx, audit.Act{
			Hospital: key.Hospital, By: key.ID, Action: audit.ActRefuse, Subject: method + " " + route, Reason: "scope",
		})
	}
}

// leaves reports whether the process leaves its consumer groups when it stops.
func (h *service) leaves() bool {
	return h.config.Leave || h.leaving != nil && h.leaving()
}

func (h *service) close() {
	if err := h.tracer.Close(context.Background()); err != nil {
		h.log.Warn("traces not exported", "error", err)
	}
	if h.redis != nil {
		h.redis.Close() //nolint:errcheck // the process ends
	}
	if h.cluster != nil {
		h.cluster.Close()
	}
}

// claimInstance claims the name of the process, once for each role that is a member of a group. A
// svc process and a svc notify may have the same name.
func claimInstance(ctx context.Context, h *service, roles []string) (err error) {
	var names []string
	for _, role := range []string{"process", "notify"} {
		if slices.Contains(roles, role) {
			names = append(names, h.config.TopicPrefix+"svc-"+role+"-"+h.config.Instance)
		}
	}
	if len(names) == 0 || h.cluster.Embedded() {
		return nil
	}
	if h.claim, err = stream.NewClaim(ctx, h.cluster, names...); err != nil {
		return err
	}
	h.Run("instance", h.claim.Run)
	return nil
}

// newKeyCheck returns the check of this process's keys, and the pseudonyms, which are set when the check succeeds.
func newKeyCheck(c *config.Config, s *settings.Store, now func() time.Time) (k *settings.KeyCheck, p ingest.Pseudonyms, err error) {
	check := settings.KeyCheckConfig{Store: s, Now: now, Strict: c.KeysFixed}
	if c.PseudonymKey != "" {
		if check.Pseudonyms, err = c.PseudonymRing(); err != nil {
			return nil, p, err
		}
		p = ingest.NewPseudonyms(nil)
		check.Begin = p.Begin
		// If an older release has already stored data, it used the oldest of these keys, even if an operator
		// configures a new key while the older release is still running.
		check.FirstData = []byte(append(c.PseudonymsOld, c.PseudonymKey)[0])
	}
	return settings.NewKeyCheck(check), p, nil
}

// notifyGroup is the consumer group of the notifiers.
const notifyGroup = "svc-notifier"

// models returns the view of the forecast models. It has separate keys, because reads of a unit do not need the models.
func (h *service) models() *view.View { return h.redis.Derived("forecast:") }

// writeSettings registers this process as a writer of the settings topic.
func writeSettings(h *service) {
	settings := h.config.Topic(schemas.Settings())
	if !slices.ContainsFunc(h.writers, func(w stream.Writers) bool { return w.ID == settings }) {
		h.writers = append(h.writers, stream.Writers{ID: settings, Topics: []string{settings}})
	}
}

// checkKafka fails while no broker responds.
func (h *service) checkKafka(context.Context) error {
	if !h.dialed.Load() {
		return stream.Reached(nil)
	}
	return stream.Reached(h.cluster)
}

// checkView fails while a partition of the view cannot be read.
func (h *service) checkView(ctx context.Context) error {
	return checkPartitions(ctx, h, h.redis.Faults)
}

// checkPartitions fails while a partition of a view cannot be read. faults returns the fault of each partition.
func checkPartitions(ctx context.Context, h *service, faults func(context.Context, int32) (map[int32]error, error)) error {
	found, err := faults(ctx, h.partitions)
	if err != nil {
		return err
	}
	return view.PartitionFaults(found, int(h.partitions))
}

// lookEvery is the polling interval of awaitCurrent. It is short, because a person is waiting for the prompt.
const lookEvery = 5 * time.Millisecond

// awaitCurrent waits until every partition of all views can be read.
func (h *service) awaitCurrent(ctx context.Context) error {
	for h.checkView(ctx) != nil || checkPartitions(ctx, h, h.models().Faults) != nil ||
		checkPartitions(ctx, h, h.redis.Lists().Faults) != nil {
		if err := cli.Pause(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}
