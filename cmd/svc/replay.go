package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"svc/internal/replay"
	"svc/schemas"
)

// runReplay makes the verdicts of a hospital anew.
func runReplay(ctx context.Context, args []string, w world) error {
	var format, out, file, speed string
	var diff bool
	c := newLogCommand("replay", w)
	c.spanFlags()
	c.flags.StringVar(&c.hospitals, "hospital", "", "hospital `id`")
	c.flags.StringVar(&file, "rules", "", "`file` of rules that hold in the replay: JSON as /api/admin/rules has it, or CSV with factorId, line, text")
	c.flags.StringVar(&speed, "speed", "max", "max, or how many times as fast as it happened")
	c.flags.BoolVar(&diff, "diff", false, "tell the hours in which level, axes or rooms differ from what was recorded, not the verdicts")
	c.flags.StringVar(&format, "format", string(replay.NDJSON), "parquet, ndjson or csv")
	c.flags.StringVar(&out, "o", "-", "`file`; - is standard output")
	faults := c.read(args)
	var rules replay.Override
	times := 0.0
	if c.config != nil {
		if len(c.hospitalList()) != 1 {
			faults = append(faults, errors.New("-hospital: name one hospital"))
		}
		if !slices.Contains(replay.Formats(), replay.Format(format)) {
			faults = append(faults, errors.New("-format: must be parquet, ndjson or csv"))
		}
		var err error
		if rules, err = readRules(file); err != nil {
			faults = append(faults, fmt.Errorf("-rules: %w", err))
		}
		if times, err = parseSpeed(speed); err != nil {
			faults = append(faults, err)
		}
	}
	if err := c.wrong(faults); err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer c.close()
	to, err := openOut(out, c.stdout)
	if err != nil {
		return err
	}
	rerun := replay.Rerun{
		Inputs: c.inputs(), Hospital: c.hospitalList()[0], From: c.span[0], To: c.span[1], Rules: rules,
		Wait: c.paced(times), Rate: c.rate, Progress: c.progress(),
	}
	if diff {
		d := &replay.Diff{Rerun: rerun, Changes: c.committed(schemas.Verdicts())}
		summary, fault := d.Write(ctx, to, replay.Format(format))
		if fault = errors.Join(fault, to.Close()); fault != nil {
			return fault
		}
		fmt.Fprintln(c.stderr, "replay:", summary)
		return nil
	}
	rows, err := rerun.Write(ctx, to, replay.Format(format))
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "replay: %d changes\n", rows)
	return nil
}

func readRules(file string) (replay.Override, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file) //nolint:gosec // the file that the user named
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return replay.ReadRules(f)
}

// parseSpeed reads max, which is 0, or a number.
func parseSpeed(text string) (float64, error) {
	if text == "max" {
		return 0, nil
	}
	times, err := strconv.ParseFloat(text, 64)
	if err != nil || times <= 0 {
		return 0, errors.New("-speed: must be max, or a number above 0")
	}
	return times, nil
}

// paced holds a replay to so many times the pace of the log; 0: to none.
func (c *logCommand) paced(times float64) func(context.Context, time.Time) error {
	if times == 0 {
		return nil
	}
	var begun, first time.Time
	return func(ctx context.Context, at time.Time) error {
		if begun.IsZero() {
			begun, first = c.now(), at
		}
		wait := time.Duration(float64(at.Sub(first))/times) - c.now().Sub(begun)
		if wait <= 0 {
			return nil
		}
		return pause(ctx, wait)
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func openOut(name string, stdout io.Writer) (io.WriteCloser, error) {
	if name == "-" {
		return nopCloser{stdout}, nil
	}
	return os.Create(name) //nolint:gosec // the file that the user named
}
