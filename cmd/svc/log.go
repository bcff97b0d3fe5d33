package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/analysis/replay"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/stream"
	"svc/schemas"
)

// logCommand is the common part of the commands that read the log: export, import, replay and
// verify.
type logCommand struct {
	*admin
	what      string // name of the command, for the progress line
	hospitals string
	from, to  string
	rate      int
	awaits    bool // waits for Kafka, however long it is away

	shown      *cli.Progress
	partitions int // for svc import

	span    [2]time.Time
	cluster *stream.Cluster
	log     *replay.Log
}

func newLogCommand(w env, needs config.Need) *logCommand {
	return &logCommand{admin: newAdmin(w, needs)}
}

// command returns a command that reads the log.
func (c *logCommand) command(use, short string, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := c.admin.command(use, short, run)
	c.what = cmd.Name()
	cmd.Flags().IntVar(&c.rate, "rate", 0, "`records` in a second at most (default: as many as can be)")
	c.check = c.faults
	return cmd
}

// spanFlags adds --from and --to.
func (c *logCommand) spanFlags() {
	c.flags.StringVar(&c.from, "from", "", "first `instant`: a date in UTC, or RFC 3339 (default: the beginning)")
	c.flags.StringVar(&c.to, "to", "", "`instant` before which it ends (default: what is there when it starts)")
}

// hospitalFlag adds --hospital.
func (c *logCommand) hospitalFlag() {
	c.flags.StringVar(&c.hospitals, "hospital", "", "hospital `ids`, separated by commas (default: all)")
}

// faults returns the faults of the flags that all commands on the log have.
func (c *logCommand) faults() (faults []error) {
	for i, at := range []struct{ name, text string }{{"from", c.from}, {"to", c.to}} {
		var err error
		if c.span[i], err = parseInstant(at.text); err != nil {
			faults = append(faults, fmt.Errorf("--%s: must be a date, or an instant such as 2026-03-02T07:00:00Z", at.name))
		}
	}
	if !c.span[0].IsZero() && !c.span[1].IsZero() && !c.span[0].Before(c.span[1]) {
		faults = append(faults, errors.New("--to: must be after --from"))
	}
	if c.rate < 0 {
		faults = append(faults, errors.New("--rate: must not be negative"))
	}
	return faults
}

// parseInstant parses a date in UTC, or an instant. The zero time: the text is empty.
func parseInstant(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t, err = time.Parse(time.RFC3339, text)
	}
	return t, err
}

// connect opens both clients.
func (c *logCommand) connect(ctx context.Context) error {
	collectLess()
	log := slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	options := c.config.Cluster(log)
	options.Patient = true
	dial, cancel := ctx, context.CancelFunc(func() {})
	if !c.awaits {
		dial, cancel = context.WithTimeout(ctx, adminWithin)
	}
	defer cancel()
	var err error
	if err = useRegistry(dial, c.config, log); err != nil {
		return err
	}
	if c.cluster, err = stream.Dial(dial, options); err != nil {
		return err
	}
	if c.log, err = replay.OpenLog(&options, c.topic(schemas.Observations())); err != nil {
		return err
	}
	return nil
}

func (c *logCommand) close() {
	if c.log != nil {
		c.log.Close()
	}
	if c.cluster != nil {
		c.cluster.Close()
	}
}

func (c *logCommand) topic(t schemas.Topic) string { return c.config.TopicPrefix + t.Name }

// pace returns the limit on the records per second of all readers together.
func (c *logCommand) pace() *replay.Pace { return replay.NewPace(c.rate) }

// inputs is the source of the observations. It uses the second client.
func (c *logCommand) inputs() replay.Source {
	return replay.Source{Spans: c.log.Spans, Read: c.log.Read}
}

// committed is the source of a topic that is written in transactions.
func (c *logCommand) committed(t schemas.Topic) replay.Source {
	topic := c.topic(t)
	return replay.Source{
		Spans: func(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
			return c.cluster.Spans(ctx, topic, from, to)
		},
		Read: func(ctx context.Context, s stream.Span, each func(stream.Record) error) error {
			return c.cluster.Range(ctx, topic, s, each)
		},
	}
}

func (c *logCommand) hospitalList() []string {
	var list []string
	for h := range strings.SplitSeq(c.hospitals, ",") {
		if h = strings.TrimSpace(h); h != "" {
			list = append(list, h)
		}
	}
	return list
}

// progress starts the progress line, and returns the function that updates it.
func (c *logCommand) progress() func(done, total int64) {
	c.shown = cli.NewProgress(c.env, c.what, "records")
	return c.shown.Tell
}

// done ends the progress line, so that other output begins on a new line.
func (c *logCommand) done() {
	if c.shown != nil {
		c.shown.End()
	}
}
