package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/lifecycle"
	"svc/internal/statefulset"
)

// env is the environment of a command.
type env = cli.Env

// role is one job of the service. wire connects the parts of the role and is defined in the file named after the
// role.
type role struct {
	needs config.Need
	wire  func(ctx context.Context, h *service) error
}

func allRoles() map[string]role {
	return map[string]role{
		"ingest":  {config.NeedHTTP | config.NeedTopics | config.NeedRedis | config.NeedIngest, wireIngest},
		"notify":  {config.NeedTopics | config.NeedRedis | config.NeedNotify, wireNotify},
		"process": {config.NeedTopics | config.NeedRedis | config.NeedProcess, wireProcess},
		"read":    {config.NeedHTTP | config.NeedTopics | config.NeedRedis | config.NeedPages, wireRead},
	}
}

// roleCommand returns the command that runs one role.
func roleCommand(name, short string, w env) *cobra.Command {
	needs := allRoles()[name].needs
	c := &config.Config{}
	cmd := &cobra.Command{Use: name, Short: short}
	c.Bind(cmd.Flags(), needs)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return errors.Join(c.Faults(cmd.Flags(), needs)...) }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return runConfigured(cmd.Context(), c, needs, []string{name}, w)
	}
	return cmd
}

// runCommand returns the command svc run, which runs several roles in one process.
func runCommand(w env) *cobra.Command {
	all := slices.Sorted(maps.Keys(allRoles()))
	c := &config.Config{}
	cmd := &cobra.Command{
		Use: "run [ROLES]", Short: "run several roles in one process",
		Long:      "ROLES is a list separated by commas, such as ingest,read (default: all roles).",
		ValidArgs: all,
	}
	c.Bind(cmd.Flags(), needsOf(all))
	var names []string
	cmd.PersistentPreRunE = func(cmd *cobra.Command, args []string) (err error) {
		names, err = parseRoles(args, all)
		cli.Idle(cmd.Flags(), "not an option of these roles", config.Unneeded(cmd.Flags(), needsOf(names))...)
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

// parseRoles parses a list of roles. An empty list means all roles.
func parseRoles(args, all []string) ([]string, error) {
	if len(args) == 0 {
		return all, nil
	}
	names := strings.Split(args[0], ",")
	var unknown []error
	for _, name := range names {
		if !slices.Contains(all, name) {
			unknown = append(unknown, fmt.Errorf("unknown role %q; the roles are ingest, notify, process and read", name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(unknown...)
}

func needsOf(names []string) (needs config.Need) {
	for _, name := range names {
		needs |= allRoles()[name].needs
	}
	return needs
}

func runConfigured(ctx context.Context, c *config.Config, needs config.Need, names []string, w env) (err error) {
	if c.Instance == "" {
		if c.Instance, err = os.Hostname(); err != nil {
			return fmt.Errorf("cannot determine the host name; set --instance: %w", err)
		}
	}
	h := newService(c, newLog(w.Stderr, c.LogLevel), w.Now)
	h.leaving = statefulset.Leaving()
	defer h.close() //nolint:contextcheck // the last spans are exported after ctx has ended
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

// build connects the process and wires its roles.
func (h *service) build(ctx context.Context, names []string) error {
	h.metrics.Roles(names)
	if err := h.openTracer(ctx, names); err != nil {
		return err
	}
	if err := h.connect(ctx, names); err != nil {
		return err
	}
	h.wireLimits()
	h.createRouter()
	h.metrics.Gauge("svc_partitions", "Number of partitions, which is the same for the observations and verdicts topics.",
		func() int64 { return int64(h.partitions) })
	h.watchServers()
	h.Run("health", func(ctx context.Context) error { return h.Health.Watch(ctx, h.log) })
	for _, name := range names {
		if err := allRoles()[name].wire(ctx, h); err != nil {
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
