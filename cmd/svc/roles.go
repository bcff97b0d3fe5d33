package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/spf13/cobra"

	"svc/ingest"
	"svc/ingest/engines"
	"svc/internal/admin/auditlog"
	"svc/internal/admin/settings"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/internal/lifecycle"
	"svc/internal/metrics"
	"svc/internal/registry"
	"svc/internal/statefulset"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/processors/deadletter"
	"svc/readapi/web/actor"
	"svc/schemas"
)

// role is one job of the service. wire connects its parts, in the file with the name of the role.
type role struct {
	needs config.Need
	wire  func(ctx context.Context, h *service) error
}

func roles() map[string]role {
	return map[string]role{
		"ingest":  {config.NeedHTTP | config.NeedTopics | config.NeedRedis | config.NeedIngest, wireIngest},
		"notify":  {config.NeedTopics | config.NeedRedis | config.NeedNotify, wireNotify},
		"process": {config.NeedTopics | config.NeedRedis | config.NeedProcess, wireProcess},
		"read":    {config.NeedHTTP | config.NeedTopics | config.NeedRedis | config.NeedPages, wireRead},
	}
}

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
	actors     *actor.Tokens
	letters    *deadletter.Letters // nil until a role asks for them

	partitions int32  // of observations and verdicts
	generation string // id of the verdicts topic
	watermark  *view.Watermark

	router     *chi.Mux // the roles mount their routes on it
	mllpFronts []*engines.Front
	writers    []stream.Writers // groups that write in transactions
	claim      *stream.Claim    // of the name of the instance
	metrics    *metrics.Registry

	dialed  atomic.Bool // the cluster is set
	leaving func() bool // reports that a signal asked to leave the groups; nil: there is no such signal
}

// roleCommand returns the command that runs one role.
func roleCommand(name, short string, w env) *cobra.Command {
	needs := roles()[name].needs
	c := &config.Config{}
	cmd := &cobra.Command{Use: name, Short: short}
	c.Bind(cmd.Flags(), needs)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return errors.Join(c.Faults(cmd.Flags(), needs)...) }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return runConfigured(cmd.Context(), c, needs, []string{name}, w)
	}
	return cmd
}

// runCommand is svc run. It runs several roles in one process.
func runCommand(w env) *cobra.Command {
	all := slices.Sorted(maps.Keys(roles()))
	c := &config.Config{}
	cmd := &cobra.Command{
		Use: "run [ROLES]", Short: "run several roles in one process",
		Long:      "ROLES are separated by commas, as in ingest,read; without them all run.",
		ValidArgs: all,
	}
	c.Bind(cmd.Flags(), needsOf(all))
	var names []string
	cmd.PersistentPreRunE = func(cmd *cobra.Command, args []string) (err error) {
		names, err = parseRoles(args, all)
		cli.Idle(cmd.Flags(), "none of these roles has it", config.Unneeded(cmd.Flags(), needsOf(names))...)
		return cli.Usage(err)
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return errors.Join(c.Faults(cmd.Flags(), needsOf(names))...)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return runConfigured(cmd.Context(), c, needsOf(names), names, w)
	}
	return cmd
}

// parseRoles parses a list of roles. Without one it returns all roles.
func parseRoles(args, all []string) ([]string, error) {
	if len(args) == 0 {
		return all, nil
	}
	names := strings.Split(args[0], ",")
	var unknown []error
	for _, name := range names {
		if !slices.Contains(all, name) {
			unknown = append(unknown, fmt.Errorf("no role %q; there are ingest, notify, process and read", name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(unknown...)
}

func needsOf(names []string) (needs config.Need) {
	for _, name := range names {
		needs |= roles()[name].needs
	}
	return needs
}

func runConfigured(ctx context.Context, c *config.Config, needs config.Need, names []string, w env) (err error) {
	if c.Instance == "" {
		if c.Instance, err = os.Hostname(); err != nil {
			return fmt.Errorf("find the host name; give --instance: %w", err)
		}
	}
	h := newService(c, newLog(w.Stderr, c.LogLevel), w.Now)
	h.leaving = statefulset.Leaving()
	defer h.close()
	if needs&config.NeedHTTP != 0 {
		lifecycle.CollectLess()
	}
	private := h.Private(h.config.PrivateListen, h.metrics.Handler())
	return h.Live(ctx, private, func(ctx context.Context) ([]func(context.Context) error, error) {
		if err := h.build(ctx, names); err != nil {
			return nil, err
		}
		return h.servers(needs), nil
	})
}

func newLog(out io.Writer, level string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		least = slog.LevelInfo // the word was checked with the configuration
	}
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: least}))
}

// newService returns a service without connections. Its health checks report that.
func newService(c *config.Config, log *slog.Logger, now func() time.Time) *service {
	h := &service{
		Process: newProcess(c.ShutdownWithin), config: c, log: log, now: now,
		metrics: metrics.New(revision),
	}
	h.metrics.Health(h.Health)
	h.Health.Add("kafka", h.reachesKafka)
	return h
}

// build connects to Kafka and Redis, ensures the topics, and wires the roles.
func (h *service) build(ctx context.Context, names []string) (err error) {
	h.metrics.Roles(names)
	if err = registry.Use(ctx, h.config.Registry, h.config.TopicPrefix, h.log); err != nil {
		return err
	}
	if h.cluster, err = stream.Dial(ctx, h.config.Cluster(h.log)); err != nil {
		return err
	}
	h.dialed.Store(true)
	return h.open(ctx, names)
}

func (h *service) open(ctx context.Context, names []string) error {
	c := h.config
	wanted := c.Topics(schemas.Topics()...)
	if err := h.cluster.Ensure(ctx, wanted...); err != nil {
		return fmt.Errorf("topics: %w", err)
	}
	var err error
	if err = claimInstance(ctx, h, names); err != nil {
		return err
	}
	if h.generation, err = h.cluster.Generation(ctx, h.config.Topic(schemas.Verdicts())); err != nil {
		return err
	}
	if h.partitions, err = h.cluster.Partitions(ctx, h.config.Topic(schemas.Verdicts())); err != nil {
		return err
	}
	if h.redis, err = view.Open(view.Config{
		URL: c.Redis, CAFile: c.RedisCA, Prefix: c.TopicPrefix + "svc:", Now: h.now, Log: h.log,
		Partition: func(hospital string) int32 { return schemas.Partition([]byte(hospital), h.partitions) },
		Current:   true,
	}); err != nil {
		return err
	}
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
	h.Ready = append(h.Ready, h.settings.Ready(), h.keyCheck.Ready())
	if seals != nil {
		if seals, err = seals.For("actor"); err != nil {
			return err
		}
	}
	h.actors = actor.New(seals, h.settings.Users, h.settings.Register, h.now)
	h.shell = &httpapi.Shell{
		Now: h.now, Lookup: h.actors.Lookup, DocsURL: c.Docs(), Log: h.log,
		Origins: c.CORSOrigins, Proxies: c.Proxies, Answered: h.metrics.Requests(),
	}
	h.limits()
	h.front()
	h.metrics.Gauge("svc_partitions", "Partitions of the observations and verdicts topics.", func() int64 { return int64(h.partitions) })
	h.Run("health", func(ctx context.Context) error { return h.Health.Watch(ctx, h.log) })
	for _, name := range names {
		if err := roles()[name].wire(ctx, h); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(h.writers) > 0 {
		ended := new(atomic.Int64)
		h.Run("hanging transactions", func(ctx context.Context) error { return h.cluster.EndHanging(ctx, ended, h.writers...) })
		h.metrics.Counter("svc_hanging_transactions_total", "Hanging transactions ended.", ended.Load)
	}
	return nil
}

// leaves reports whether the stopping process leaves its groups.
func (h *service) leaves() bool {
	return h.config.Leave || h.leaving != nil && h.leaving()
}

func (h *service) close() {
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

// newKeyCheck returns the check of the keys of this process, and the pseudonyms that it begins.
func newKeyCheck(c *config.Config, s *settings.Store, now func() time.Time) (k *settings.KeyCheck, p ingest.Pseudonyms, err error) {
	check := settings.KeyCheckConfig{Store: s, Now: now, Strict: c.KeysFixed}
	if c.PseudonymKey != "" {
		if check.Pseudonyms, err = c.PseudonymRing(); err != nil {
			return nil, p, err
		}
		p = ingest.NewPseudonyms(nil)
		check.Begin = p.Begin
		// An operator may change the key while an older release still runs. That release has used
		// the oldest key.
		check.FirstData = []byte(append(c.PseudonymsOld, c.PseudonymKey)[0])
	}
	return settings.NewKeyCheck(check), p, nil
}
