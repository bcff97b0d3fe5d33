package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"svc/internal/admin/auditlog"
	"svc/internal/admin/keys"
	"svc/internal/admin/settings"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/devserver"
	"svc/internal/stream"
	"svc/schemas"
)

// admin is a command that works on a Kafka: its flags, and its outputs.
type admin struct {
	env
	flags  *pflag.FlagSet
	json   bool
	data   string
	config *config.Config
	needs  config.Need   // of further options of the configuration
	within time.Duration // for the whole command
	isDev  bool          // the Kafka is that of a running svc dev

	check   func() []error // other faults of the flags; nil: none are possible
	offline func() bool    // with these flags the command needs no Kafka; nil: it always does
}

// adminWithin bounds one administrative command.
const adminWithin = 20 * time.Second

func newAdmin(w env, needs config.Need) *admin {
	return &admin{env: w, needs: needs, within: adminWithin, config: &config.Config{}}
}

// command returns a cobra command that runs on a Kafka.
func (a *admin) command(use, short string, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) },
	}
	a.flags = cmd.Flags()
	a.config.Bind(a.flags, a.needs)
	a.flags.VisitAll(func(f *pflag.Flag) { cli.ServerFlags(a.flags, f.Name) })
	a.flags.BoolVar(&a.json, "json", false, "print JSON")
	a.flags.StringVar(&a.data, "data", cli.DefaultData, "data `folder` of the running svc dev to work on, if no Kafka is named")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		faults := a.config.Faults(a.flags, a.needs)
		if a.offline == nil || !a.offline() {
			faults = append(faults, a.locate())
		}
		if a.check != nil {
			faults = append(a.check(), faults...)
		}
		return errors.Join(faults...)
	}
	return cmd
}

// locate uses the servers of a running svc dev, unless the flags name a Kafka.
func (a *admin) locate() error {
	named := false
	a.flags.Visit(func(f *pflag.Flag) { named = named || strings.HasPrefix(f.Name, "kafka") })
	if named {
		return nil
	}
	running, err := cli.RunningDev(a.data, func(d *cli.DevFile) string { return d.Kafka })
	if err != nil {
		return fmt.Errorf("name a Kafka by --kafka or SVC_KAFKA, or start svc dev (%w)", err)
	}
	a.isDev = true
	a.config.Kafka, a.config.Redis = []string{running.Kafka}, running.Redis
	if a.needs&config.NeedSecrets != 0 && a.config.SecretsKey == "" {
		key, err := devserver.ReadSecretsKey(a.data)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // svc dev --ephemeral writes no file
			return err
		}
		a.config.SecretsKey = key
	}
	return nil
}

// group returns a command with subcommands.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(below...)
	return cmd
}

// connected calls do once the settings have been read.
func (a *admin) connected(ctx context.Context, do func(context.Context, *settings.Store, *keys.Ring) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.within)
	defer cancel()
	log := slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := useRegistry(ctx, a.config, log); err != nil {
		return err
	}
	cluster, err := stream.Dial(ctx, a.config.Cluster(log))
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err = cluster.Ensure(ctx, topics(a.config.TopicPrefix, 0, schemas.Settings(), schemas.Audit())...); err != nil {
		return err
	}
	seals, err := a.config.Seals()
	if err != nil {
		return err
	}
	s := settings.Follow(cluster, a.config.TopicPrefix+schemas.Settings().Name, seals, a.Now, log)
	follow, stop := context.WithCancel(ctx)
	g, run := errgroup.WithContext(follow)
	g.Go(func() error { return s.Run(run) })
	g.Go(func() error {
		defer stop()
		select {
		case <-s.Ready():
			return do(run, s, s.Ring(auditlog.Open(cluster, a.config.TopicPrefix+schemas.Audit().Name).Record, a.Now))
		case <-run.Done():
			return fmt.Errorf("read the settings: %w", context.Cause(run))
		}
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
