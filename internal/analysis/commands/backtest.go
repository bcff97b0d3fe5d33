package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"svc/acuity"
	"svc/internal/admin/keys"
	"svc/internal/admin/settings"
	"svc/internal/analysis/backtest"
	"svc/internal/analysis/backtest/hours"
	"svc/internal/analysis/inputlog"
	"svc/internal/cli"
	"svc/internal/kafkacli"
	"svc/internal/stream"
	"svc/schemas"
)

// Sources of the hours for a backtest. Any other source is the name of a file.
const (
	fromSnapshots    = "snapshots"
	fromObservations = "observations"
)

// backtestCommand is one run of svc backtest.
type backtestCommand struct {
	*kafkacli.Command
	options backtest.Options
	source  string
	from    string // value of the flag, not yet parsed
	to      string
	gate    bool
	compare string
	out     string

	models, warmup, zone string // values of the flags, not yet parsed
}

// errGate means that --gate is set and the forecast did not pass the gate.
var errGate = errors.New("forecast quality is below the limits")

// BacktestCommand returns the command svc backtest, which measures the forecast of a hospital on the recorded hours.
func BacktestCommand(w cli.Env) *cobra.Command {
	b := &backtestCommand{Command: kafkacli.New(w, 0)}
	c := b.Cobra("backtest", "measure the forecast on recorded hours", func(ctx context.Context, _ []string) error { return b.run(ctx) })
	f := c.Flags()
	f.StringVar(&b.options.Hospital, "hospital", "", "`id` of the hospital")
	f.StringVar(&b.from, "from", "",
		"first `instant` whose forecast counts: a date in the hospital's time zone, or RFC 3339 (default: the first recorded hour)")
	f.StringVar(&b.to, "to", "", "`instant` before which forecasts count (default: the last recorded hour)")
	f.StringVar(&b.source, "source", fromSnapshots,
		"snapshots: the recorded hours; observations: hours recomputed from the log; "+
			"or a `FILE` with the output of svc simulate, - for standard input")
	f.StringVar(&b.models, "model", "",
		"`models` to compare with, separated by commas (default: all of "+strings.Join(backtest.Models(), ", ")+")")
	f.StringVar(&b.compare, "compare", "",
		"`FILE` with the forecasts of your own model, to compare with: "+
			"CSV with the columns at, hours_ahead, nurses and optionally rooms (docs/forecast.md)")
	f.StringVar(&b.warmup, "warmup", "8w", "observed `hours` to learn before the first forecast counts, such as 8w or 28d")
	f.StringVar(&b.zone, "timezone", "America/Chicago", "time `zone` of a unit whose hours come from a FILE")
	f.BoolVar(&b.gate, "gate", false, "exit with code 1 if the forecast does not meet the limits")
	f.StringVar(&b.out, "out", "", "`folder` for report.json, report.csv and report.html")
	cli.Require(f, "out")
	b.Check, b.Offline = b.faults, b.isFile
	return c
}

func (b *backtestCommand) run(ctx context.Context) error {
	if err := b.readForeign(); err != nil {
		return err
	}
	list, err := b.readHours(ctx)
	if err != nil {
		return err
	}
	if err = b.setSpan(); err != nil {
		return err
	}
	shown := cli.NewProgress(b.Env, "backtest", "hours")
	b.options.Progress = shown.Tell
	report, err := backtest.Run(list, b.options)
	shown.End()
	if errors.Is(err, backtest.ErrTooFew) {
		return fmt.Errorf("%w; set the number of hours to learn with --warmup", err)
	} else if err != nil {
		return err
	}
	if err := b.write(report); err != nil {
		return err
	}
	if b.gate && !report.Gate.Passed {
		return errGate
	}
	return nil
}

// readForeign reads the forecasts of an external model. It must be called before the hours are read, so that an error
// in the file is reported without waiting for that slow step.
func (b *backtestCommand) readForeign() error {
	if b.compare == "" {
		return nil
	}
	f, err := os.Open(b.compare)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // the file was only read
	name := filepath.Base(b.compare)
	b.options.Compare, err = backtest.ReadForeign(strings.TrimSuffix(name, filepath.Ext(name)), f)
	if err != nil {
		return fmt.Errorf("%s: %w", b.compare, err)
	}
	return nil
}

// faults parses the flags and returns their errors.
func (b *backtestCommand) faults() (faults []error) {
	fault := func(wrong bool, text string) {
		if wrong {
			faults = append(faults, errors.New(text))
		}
	}
	fault(b.options.Hospital == "" && !b.isFile(), "--hospital: required")
	fault(b.source == "", "--source: must be snapshots, observations or a file")
	span, err := cli.ParseSpan(b.warmup)
	fault(err != nil, "--warmup: must be a duration such as 8w or 28d")
	b.options.Warmup = int(span / time.Hour)
	location, err := time.LoadLocation(b.zone)
	fault(err != nil || b.zone == "", "--timezone: must be an IANA name such as America/Chicago")
	b.options.Zone = location
	_, err = parseHour(b.from, time.UTC)
	fault(err != nil, "--from: must be a date, or an instant such as 2026-01-05T07:00:00Z")
	_, err = parseHour(b.to, time.UTC)
	fault(err != nil, "--to: must be a date, or an instant such as 2026-01-05T07:00:00Z")
	if b.models != "" {
		b.options.Models = strings.Split(b.models, ",")
	}
	for _, name := range b.options.Models {
		fault(!slices.Contains(backtest.Models(), name), fmt.Sprintf("--model: unknown model %q", name))
	}
	return faults
}

// parseHour parses a date in a zone, or an instant, and returns its hour in hours since the Unix epoch. It returns 0
// for an empty string.
func parseHour(text string, zone *time.Location) (int32, error) {
	t, err := parseInstant(text, zone)
	return acuity.At(t).Hour(), err
}

// setSpan sets the range of forecasts that count. The time zone of the hospital must already be known.
func (b *backtestCommand) setSpan() (err error) {
	if b.options.From, err = parseHour(b.from, b.options.Zone); err == nil {
		b.options.To, err = parseHour(b.to, b.options.Zone)
	}
	return err
}

func (b *backtestCommand) isFile() bool {
	return b.source != fromSnapshots && b.source != fromObservations
}

// readHours reads the hours of the hospital from the source. If the source is not a file, readHours also sets the
// time zone to that of the hospital.
func (b *backtestCommand) readHours(ctx context.Context) ([]*acuity.Snapshot, error) {
	if b.isFile() {
		return b.readFile(ctx)
	}
	if err := b.Connected(ctx, func(_ context.Context, s *settings.Store, _ *keys.Ring) error {
		if _, known := s.Register.Hospital(b.options.Hospital); !known {
			return fmt.Errorf("unknown hospital %q", b.options.Hospital)
		}
		b.options.Zone = s.Register.Zone(b.options.Hospital)
		return nil
	}); err != nil {
		return nil, err
	}
	if b.source == fromObservations {
		return b.readObservations(ctx)
	}
	return b.readSnapshots(ctx)
}

func (b *backtestCommand) readFile(ctx context.Context) ([]*acuity.Snapshot, error) {
	lines, err := cli.OpenInput(ctx, b.source)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", b.source, err)
	}
	defer lines.Close() //nolint:errcheck // the file was only read
	return b.read(hours.FromRequests(hours.Lines(lines), b.options.Hospital, b.options.Zone))
}

// read collects the hours in order, and reports how many have been read.
func (b *backtestCommand) read(list iter.Seq2[*acuity.Snapshot, error]) ([]*acuity.Snapshot, error) {
	shown := cli.NewProgress(b.Env, "backtest", "hours read")
	defer shown.End()
	return hours.Ordered(func(yield func(*acuity.Snapshot, error) bool) {
		read := int64(0)
		for s, err := range list {
			if !yield(s, err) {
				return
			}
			read++
			shown.Tell(read, 0) // the total is unknown
		}
	})
}

func (b *backtestCommand) kafka() stream.Options {
	return b.Config.Cluster(b.Log())
}

// readObservations recomputes the hours from the whole log, because the model also learns from the hours before the
// first forecast that counts.
func (b *backtestCommand) readObservations(ctx context.Context) ([]*acuity.Snapshot, error) {
	o := b.kafka()
	log, err := inputlog.OpenLog(&o, b.Config.TopicPrefix+schemas.Observations().Name)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return b.read(hours.FromInputs(log.Inputs(ctx, b.options.Hospital), b.options.Hospital))
}

// readSnapshots reads the recorded hours. They were written in transactions, which an [inputlog.Log] cannot read.
func (b *backtestCommand) readSnapshots(ctx context.Context) ([]*acuity.Snapshot, error) {
	cluster, err := stream.Dial(ctx, b.kafka())
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	topic := b.Config.TopicPrefix + schemas.Snapshots().Name
	spans, err := cluster.Spans(ctx, topic, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	span := spans[schemas.Partition([]byte(b.options.Hospital), int32(len(spans)))] //nolint:gosec // Kafka's number of partitions is an int32
	enough := errors.New("stop reading")
	return b.read(func(yield func(*acuity.Snapshot, error) bool) {
		if err := cluster.Range(ctx, topic, span, func(r stream.Record) error {
			s, err := schemas.SnapshotCodec.Decode(r.Value)
			if err != nil {
				return fmt.Errorf("snapshot %d:%d: %w", r.Partition, r.Offset, err)
			}
			if s.Hospital == b.options.Hospital && !yield(&s.Snapshot, nil) {
				return enough
			}
			return nil
		}); err != nil && !errors.Is(err, enough) {
			yield(nil, err)
		}
	})
}

// write writes the report into its folder, and prints its summary.
func (b *backtestCommand) write(r *backtest.Report) error {
	if err := os.MkdirAll(b.out, 0o750); err != nil {
		return err
	}
	for name, to := range map[string]func(io.Writer) error{
		"report.json": func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(r)
		},
		"report.csv":  r.CSV,
		"report.html": r.HTML,
	} {
		var content bytes.Buffer
		if err := to(&content); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if err := cli.WriteFile(filepath.Join(b.out, name), content.Bytes()); err != nil {
			return err
		}
	}
	if b.JSON {
		return cli.PrintJSON(b.Stdout, r)
	}
	fmt.Fprintf(b.Stdout, "%d hours, %s to %s, %.1f nurses required on average\n\n",
		r.Hours, r.From.Format(time.DateOnly), r.To.Format(time.DateOnly), r.Required)
	table := tabwriter.NewWriter(b.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	errs := func(what string, list []backtest.Errors) {
		fmt.Fprintf(table, "%s\tmean\t1 h\t2 h\t4 h\t8 h\t\n", what)
		for _, m := range list {
			fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", m.Name, m.Mean, m.MAE[0], m.MAE[1], m.MAE[3], m.MAE[7])
		}
	}
	errs("mean error, nurses", r.Models)
	fmt.Fprintf(table, "within the 80%% range\t\t%.0f%%\t%.0f%%\t%.0f%%\t%.0f%%\t\n",
		100*r.Band[0], 100*r.Band[1], 100*r.Band[3], 100*r.Band[7])
	fmt.Fprint(table, "\t\n")
	errs("mean error, rooms", r.Census)
	if c := r.Compared; c != nil {
		fmt.Fprint(table, "\t\n")
		errs(fmt.Sprintf("nurses, %d forecasts by both", c.Forecasts), c.Models[:2])
		if c.Census != nil {
			fmt.Fprint(table, "\t\n")
			errs("rooms, by both", c.Census[:2])
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	verdict := "passed"
	if !r.Gate.Passed {
		verdict = "below the limits: " + strings.Join(r.Gate.Faults, "; ")
	}
	fmt.Fprintf(b.Stdout, "\ngate: %s\nreport: %s\n", verdict, filepath.Join(b.out, "report.html"))
	return nil
}
