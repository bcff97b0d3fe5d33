// Package commands implements the commands that analysts run on the log.
package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/analysis/inputlog"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/kafkacli"
	"svc/internal/lifecycle"
	"svc/internal/registry"
	"svc/internal/stream"
	"svc/schemas"
)

// logCommand is the common part of the commands that read the log: export, import, replay and
// verify.
type logCommand struct {
	*kafkacli.Command
	what      string // name of the command, for the progress line
	hospitals string
	from, to  string
	all       bool
	rate      int
	awaits    bool // whether the command waits for Kafka indefinitely

	// interrupted is the suffix of the message after an interruption, such as "; to continue, run the same command again".
	interrupted string

	shown *cli.Progress

	span    [2]time.Time
	cluster *stream.Cluster
	log     *inputlog.Log
}

func newLogCommand(w cli.Env, needs config.Need) *logCommand {
	return &logCommand{Command: kafkacli.New(w, needs)}
}

// cobra returns a command that reads the log.
func (c *logCommand) cobra(use, short string, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := c.Cobra(use, short, func(ctx context.Context, args []string) error {
		err := run(ctx, args)
		if err != nil && ctx.Err() != nil {
			return errors.New("interrupted" + c.interrupted)
		}
		return err
	})
	c.what = cmd.Name()
	cmd.Flags().IntVar(&c.rate, "rate", 0, "maximum `records` per second (default: unlimited)")
	c.Check = c.faults
	return cmd
}

// spanFlags adds --from and --to.
func (c *logCommand) spanFlags() {
	c.Flags.StringVar(&c.from, "from", "", "first `instant`: a date in UTC, or RFC 3339 (default: the beginning of the log)")
	c.Flags.StringVar(&c.to, "to", "", "`instant` before which records are read (default: the end of the log when the command starts)")
}

// allFlag adds --all.
func (c *logCommand) allFlag() {
	c.Flags.BoolVar(&c.all, "all", false, "all hospitals (default)")
}

// hospitalFlag adds --hospital.
func (c *logCommand) hospitalFlag() {
	c.Flags.StringVar(&c.hospitals, "hospital", "", "hospital `ids`, separated by commas (default: all)")
}

// faults returns the errors in the flags that all log commands have in common.
func (c *logCommand) faults() (faults []error) {
	for i, at := range []struct{ name, text string }{{"from", c.from}, {"to", c.to}} {
		var err error
		if c.span[i], err = parseInstant(at.text, time.UTC); err != nil {
			faults = append(faults, fmt.Errorf("--%s: must be a date, or an instant such as 2026-03-02T07:00:00Z", at.name))
		}
	}
	if len(faults) == 0 && c.from != "" && c.to != "" && !c.span[0].Before(c.span[1]) {
		faults = append(faults, errors.New("--to: must be after --from"))
	}
	for i, text := range []string{c.from, c.to} {
		if text != "" {
			c.span[i] = inKafka(c.span[i])
		}
	}
	if c.all && c.hospitals != "" {
		faults = append(faults, errors.New("--all: cannot be combined with --hospital"))
	}
	if c.rate < 0 {
		faults = append(faults, errors.New("--rate: must not be negative"))
	}
	return faults
}

// The first and the last instant for which Kafka can be searched. Kafka gives timestamps before 1970 other meanings, and
// the client of the log cannot represent later ones.
var (
	firstInKafka = time.Unix(0, 0)
	lastInKafka  = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// inKafka returns the instant nearest to t for which Kafka can be searched. No record of svc is outside of these limits.
func inKafka(t time.Time) time.Time {
	switch {
	case t.Before(firstInKafka):
		return firstInKafka
	case t.After(lastInKafka):
		return lastInKafka
	}
	return t
}

// parseInstant parses a date in a zone, or an instant. It returns the zero time for an empty string.
func parseInstant(text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil {
		t, err = time.Parse(time.RFC3339, text)
	}
	return t, err
}

// connect connects to Kafka with two clients. c.log is the independent client, which reads the observations;
// c.cluster reads the other topics.
func (c *logCommand) connect(ctx context.Context) error {
	lifecycle.CollectLess()
	log := c.Log()
	options := c.Config.Cluster(log)
	options.Patient = true
	dial, cancel := c.dialing(ctx)
	defer cancel()
	var err error
	if err = registry.Use(dial, c.Config.Registry, c.Config.TopicPrefix, log); err != nil {
		return err
	}
	if c.cluster, err = stream.Dial(dial, options); err != nil {
		return err
	}
	if c.log, err = inputlog.OpenLog(&options, c.Config.Topic(schemas.Observations())); err != nil {
		return err
	}
	return nil
}

// dialing returns a context for requests that are repeated until Kafka responds and has the topic. It ends after
// [kafkacli.Within], unless the command waits for Kafka indefinitely.
func (c *logCommand) dialing(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.awaits {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, kafkacli.Within)
}

func (c *logCommand) close() {
	if c.log != nil {
		c.log.Close()
	}
	if c.cluster != nil {
		c.cluster.Close()
	}
}

// committed returns the source for a topic that is written in transactions.
func (c *logCommand) committed(t schemas.Topic) inputlog.Source {
	return inputlog.Committed(c.cluster, c.Config.Topic(t))
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

// startProgress starts the progress line, and returns the function that updates it.
func (c *logCommand) startProgress() func(done, total int64) {
	c.shown = cli.NewProgress(c.Env, c.what, "records")
	return c.shown.Tell
}

// endProgress ends the progress line, so that other output begins on a new line.
func (c *logCommand) endProgress() {
	if c.shown != nil {
		c.shown.End()
	}
}
