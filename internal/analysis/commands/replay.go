package commands

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/replay"
	"svc/internal/analysis/tables"
	"svc/internal/cli"
	"svc/schemas"
)

// replayOptions are the flags of svc replay.
type replayOptions struct {
	*logCommand
	diff                     bool
	format, out, file, speed string

	rules replay.Override
	times float64 // multiple of the original speed of the log; 0: no limit
}

// ReplayCommand returns the command svc replay, which recomputes the verdicts from the log.
func ReplayCommand(w cli.Env) *cobra.Command {
	o := &replayOptions{logCommand: newLogCommand(w, 0)}
	c := o.cobra("replay", "recompute the verdicts from the log", func(ctx context.Context, _ []string) error { return o.run(ctx) })
	o.hospitalFlag()
	f := c.Flags()
	o.allFlag()
	o.spanFlags()
	f.StringVar(&o.file, "rules", "",
		"`file` with the rules to use: JSON in the format of /api/admin/rules, or CSV with factorId, line, text")
	f.StringVar(&o.speed, "speed", "max", "max, or the `speed` relative to real time")
	f.BoolVar(&o.diff, "diff", false, "print the hours in which level, axes or rooms differ from the recorded verdicts, instead of the "+
		"verdicts")
	formatFlag(c, &o.format, tables.NDJSON)
	f.StringVar(&o.out, "out", "-", "`file`, or for several hospitals an empty folder with a file for each partition; - is standard output")
	o.Check = o.faults
	return c
}

// faults parses the flags and returns their errors.
func (c *replayOptions) faults() []error {
	faults := c.logCommand.faults()
	var err error
	if c.rules, err = readRules(c.file); err != nil {
		for line := range strings.Lines(err.Error()) {
			faults = append(faults, errors.New("--rules: "+strings.TrimSuffix(line, "\n")))
		}
	}
	if c.times, err = parseSpeed(c.speed); err != nil {
		faults = append(faults, err)
	}
	if len(c.hospitalList()) == 1 && c.out != "-" {
		if at, err := os.Stat(c.out); err == nil && !at.Mode().IsRegular() {
			faults = append(faults, fmt.Errorf("--out: %s is not a file; for one hospital, name a file, or - for standard output", c.out))
		}
	}
	if c.times > 0 && c.out == "-" && len(c.hospitalList()) != 1 {
		faults = append(faults, errors.New("--speed: requires one --hospital, or a folder with --out"))
	}
	return faults
}

func (c *replayOptions) run(ctx context.Context) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer c.close()
	rerun := replay.Rerun{
		Inputs: c.log.Source(), Hospitals: c.hospitalList(), From: c.span[0], To: c.span[1], Rules: c.rules,
		Wait: c.paced(c.times), Pace: inputlog.NewPace(c.rate), Progress: c.startProgress(),
	}
	out := replay.Output{To: c.Stdout, Format: tables.Format(c.format)}
	switch {
	case c.out == "-":
	case len(rerun.Hospitals) != 1:
		out.Folder = c.out
	default:
		out.File = c.out
	}
	said, answer, err := c.write(ctx, rerun, out)
	c.endProgress()
	switch {
	case errors.Is(err, replay.ErrFolder):
		return cli.Usage(fmt.Errorf("--out: %s is not empty; use another folder", c.out))
	case err != nil:
		return err
	case c.JSON && c.out != "-":
		return cli.PrintJSON(c.Stdout, answer)
	}
	fmt.Fprintln(c.Stderr, "replay:", said)
	return nil
}

// write writes the rows. It returns a summary twice: as text, and as the value that --json prints.
func (c *replayOptions) write(ctx context.Context, rerun replay.Rerun, out replay.Output) (said string, answer any, err error) {
	if c.diff {
		d := &replay.Diff{Rerun: rerun, Changes: c.committed(schemas.Verdicts())}
		summary, failure := d.Write(ctx, out)
		said = summary.String()
		return said, map[string]string{"summary": said}, failure
	}
	rows, err := rerun.Write(ctx, out)
	return fmt.Sprintf("%d changes", rows), map[string]int64{"changes": rows}, err
}

func readRules(file string) (replay.Override, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file) //nolint:gosec // the file that the user named
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // the file was only read
	return replay.ReadRules(f)
}

// parseSpeed parses a speed: a number, or the word max, for which it returns 0.
func parseSpeed(text string) (float64, error) {
	if text == "max" {
		return 0, nil
	}
	times, err := strconv.ParseFloat(text, 64)
	if err != nil || !(times > 0) || math.IsInf(times, 0) {
		return 0, errors.New("--speed: must be max, or a number above 0")
	}
	return times, nil
}

// paced returns a function that delays a replay. times is the maximum speed of the replay, as a multiple of the log's
// original speed; for 0, paced returns nil, which means no limit.
func (c *logCommand) paced(times float64) func(context.Context, time.Time) error {
	if times == 0 {
		return nil
	}
	var begun, first time.Time
	var once sync.Once
	return func(ctx context.Context, at time.Time) error {
		once.Do(func() { begun, first = c.Now(), at })
		return cli.Pause(ctx, time.Duration(float64(at.Sub(first))/times)-c.Now().Sub(begun))
	}
}
