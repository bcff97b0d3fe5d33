// Package kafkacli provides commands that connect to Kafka directly: to the cluster that their flags name, or to the
// one in a running svc dev.
package kafkacli

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
	"svc/internal/registry"
	"svc/internal/stream"
	"svc/schemas"
)

// Command is a command that connects to Kafka, with its flags and outputs.
type Command struct {
	cli.Env
	Flags  *pflag.FlagSet
	JSON   bool
	Data   string // folder of the running svc dev
	Config *config.Config
	Within time.Duration // timeout of the whole command
	IsDev  bool          // whether the command uses the Kafka of a running svc dev, because no flag names one

	Check   func() []error // further checks of the flags; nil: none
	Offline func() bool    // reports whether the command can run without Kafka, given its flags; nil: it always needs Kafka

	needs config.Need // features of the command, which determine its further configuration options
}

// Within is the timeout for an administrative command.
const Within = 30 * time.Second

// New returns a command with the configuration options that it needs.
func New(w cli.Env, needs config.Need) *Command {
	return &Command{Env: w, needs: needs, Within: Within, Config: &config.Config{}}
}

// Cobra returns a cobra command that connects to Kafka.
func (c *Command) Cobra(use, short string, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) },
	}
	c.Flags = cmd.Flags()
	c.Config.Bind(c.Flags, c.needs)
	c.Flags.VisitAll(func(f *pflag.Flag) { cli.ServerFlags(c.Flags, f.Name) })
	c.Flags.BoolVar(&c.JSON, "json", false, "print JSON")
	c.Flags.StringVar(&c.Data, "data", cli.DefaultData, "data `folder` of the running svc dev, if no Kafka is named")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		faults := c.Config.Faults(c.Flags, c.needs)
		if c.Offline == nil || !c.Offline() {
			faults = append(faults, c.locate())
		}
		if c.Check != nil {
			faults = append(c.Check(), faults...)
		}
		return errors.Join(faults...)
	}
	return cmd
}

// locate uses the servers of a running svc dev, unless the flags name a Kafka. If the command needs the secrets key
// and no option supplies the key, locate reads it from the data folder of svc dev.
func (c *Command) locate() error {
	named := false
	c.Flags.Visit(func(f *pflag.Flag) { named = named || strings.HasPrefix(f.Name, "kafka") })
	if named {
		return nil
	}
	running, err := cli.RunningDev(c.Data, func(d *cli.DevFile) string { return d.Kafka })
	if err != nil {
		return fmt.Errorf("name a Kafka broker with --kafka or SVC_KAFKA, or start svc dev (%w)", err)
	}
	c.IsDev = true
	c.Config.Kafka, c.Config.Redis = []string{running.Kafka}, running.Redis
	if c.needs&config.NeedSecrets != 0 && c.Config.SecretsKey == "" {
		key, err := devserver.ReadSecretsKey(c.Data)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // svc dev --ephemeral does not write the file
			return err
		}
		c.Config.SecretsKey = key
	}
	return nil
}

// Log returns a logger that writes the errors of clients to standard error.
func (c *Command) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// Connected connects to Kafka, waits until the settings have been read, and then calls the function do. All of this
// must complete within c.Within.
func (c *Command) Connected(ctx context.Context, do func(context.Context, *settings.Store, *keys.Ring) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.Within)
	defer cancel()
	log := c.Log()
	if err := registry.Use(ctx, c.Config.Registry, c.Config.TopicPrefix, log); err != nil {
		return err
	}
	options := c.Config.Cluster(log)
	options.Patient = true
	cluster, err := stream.Dial(ctx, options)
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err = cluster.Ensure(ctx, c.Config.Topics(schemas.Settings(), schemas.Audit())...); err != nil {
		return err
	}
	seals, err := c.Config.Seals()
	if err != nil {
		return err
	}
	s := settings.Follow(cluster, c.Config.Topic(schemas.Settings()), seals, c.Now, log)
	follow, stop := context.WithCancel(ctx)
	g, run := errgroup.WithContext(follow)
	g.Go(func() error { return s.Run(run) })
	g.Go(func() error {
		defer stop()
		select {
		case <-s.Ready():
			return do(run, s, s.Ring(auditlog.Open(cluster, c.Config.Topic(schemas.Audit())).Record, c.Now))
		case <-run.Done():
			return fmt.Errorf("read the settings: %w", context.Cause(run))
		}
	})
	if err = g.Wait(); errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return nil // do has returned, so there is no need to follow the settings any longer
	}
	return err
}
