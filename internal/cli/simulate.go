package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/analysis/simulate"
)

// simulateOptions are the flags of svc simulate.
type simulateOptions struct {
	unit  simulate.Options
	pace  float64 // multiple of real time; 0: as fast as the server accepts
	lines bool    // whether requests are printed as lines of NDJSON instead of sent

	start, span, zone, speed string // values of the flags, not yet parsed
	to                       sendOptions
}

// toLines is the value of --to that prints the requests instead of sending them.
const toLines = "ndjson"

// simulateCommand returns the command svc simulate, which generates the feeds of a unit and prints or sends them.
func simulateCommand(w Env) *cobra.Command {
	o := &simulateOptions{}
	c := &cobra.Command{
		Use: "simulate", Short: "simulate the feeds of a unit, as lines of JSON or sent to a server",
		Long:    "Simulates the feeds of a maternity unit with invented patients.",
		PreRunE: func(*cobra.Command, []string) error { return errors.Join(o.faults(w.Now())...) },
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c.Context(), w) },
	}
	f := c.Flags()
	f.Uint64Var(&o.unit.Seed, "seed", 1, "`number` of the random sequence: equal seeds produce equal output")
	OneOf(c, &o.unit.Profile, "profile", "medium", "kind of unit: "+either(simulate.Profiles()), simulate.Profiles()...)
	f.IntVar(&o.unit.Births, "births", 0, "`births` a year (default: 900 for small, 7000 for large, 3000 for others)")
	f.StringVar(&o.start, "start", "",
		"first `instant`, RFC 3339 or a date (default: 2026-01-05 for lines; for a server, chosen so that the simulation ends now, "+
			"or now with --speed); to continue with --from, repeat the same start and use --speed max")
	f.StringVar(&o.span, "for", "52w", "how long: a `duration` such as 52w, 28d or 12h")
	f.StringVar(&o.zone, "timezone", "America/Chicago", "time `zone` of the unit")
	f.BoolVar(&o.unit.Steady, "steady", false, "simulate no late records and no outages")
	f.StringVar(&o.speed, "speed", "max", "max, or the `speed` relative to real time after the simulation has reached the present: 1, 60 …")
	f.StringVar(&o.to.to, "to", toLines,
		"ndjson for lines of {at, path, body}, or the `address` of a server: http://HOST:PORT, https://…, dev for the running svc dev")
	o.to.addFlags(f, "request", time.Minute)
	return c
}

func (o *simulateOptions) run(ctx context.Context, w Env) error {
	if o.pace > 0 {
		now := w.Now()
		o.unit.Clock = simulate.Course{{Unit: now, Real: now, Speed: o.pace}}.Real
	}
	requests, err := simulate.Requests(o.unit)
	if err != nil {
		return Usage(err)
	}
	if o.lines {
		return o.print(ctx, requests, w)
	}
	t, err := o.to.target()
	if err != nil {
		return err
	}
	if !o.to.json {
		w.Stdout = w.Stderr // the summary goes to standard error, too
	}
	start := o.unit.Start.Format(time.RFC3339)
	fmt.Fprintf(w.Stderr, "%s unit, seed %d, from %s for %v\n", o.unit.Profile, o.unit.Seed, start, o.unit.For)
	err = newSending(&o.to, w, func(fn func(payload) error) error {
		return o.send(requests, w.Now(), fn)
	}).run(ctx, t)
	if err != nil {
		return fmt.Errorf("%w (of --start %s)", err, start)
	}
	return nil
}

// send sends the requests. If the simulation starts at most 28 days ago, send first sends the past ADT events in
// batches, because the forecast learns past hours only from batches. It then sends all other requests in order.
func (o *simulateOptions) send(requests iter.Seq[simulate.Request], now time.Time, fn func(payload) error) error {
	// The forecast learns from at most 28 past days, so a longer history is not sent in batches.
	learnt := o.unit.Start.After(now.Add(-28 * 24 * time.Hour).Add(-time.Minute))
	isPast := func(r *simulate.Request) bool {
		return learnt && path.Base(r.Path) == "adt" && (o.pace == 0 || !r.At.After(now))
	}
	var events simulate.Batch
	batch := func(body []byte) error {
		if body == nil {
			return nil
		}
		return fn(payload{path: "batch", body: body, async: o.pace == 0})
	}
	for r := range requests {
		if o.pace > 0 && r.At.After(now) {
			break
		}
		if isPast(&r) {
			if err := batch(events.Add(r.Body)); err != nil {
				return err
			}
		}
	}
	if err := batch(events.Flush()); err != nil {
		return err
	}
	for r := range requests {
		if isPast(&r) {
			continue
		}
		p := payload{path: path.Base(r.Path), body: r.Body, async: o.pace == 0}
		if o.pace > 0 {
			p.due = r.At
		}
		if err := fn(p); err != nil {
			return err
		}
	}
	return nil
}

// print writes the requests as lines to standard output. If a pace is set, it waits until each request is due.
func (o *simulateOptions) print(ctx context.Context, requests iter.Seq[simulate.Request], w Env) error {
	const looked = 1024 // number of lines between two checks of ctx
	out := bufio.NewWriterSize(w.Stdout, 1<<20)
	began, n, written, cut := w.Now(), 0, 0, false
	shown := NewProgress(w, "simulate", "hours")
	defer shown.End()
	var line []byte
	for r := range requests {
		if n++; n < o.to.from {
			continue
		}
		if n%looked == 0 {
			if cut = ctx.Err() != nil; cut {
				break
			}
			shown.Tell(int64(r.At.Sub(o.unit.Start)/time.Hour), int64(o.unit.For/time.Hour))
		}
		if wait := r.At.Sub(w.Now()); o.pace > 0 && wait > 0 {
			if err := out.Flush(); err != nil {
				return err
			}
			if Pause(ctx, wait) != nil {
				break
			}
		}
		line = simulate.AppendLine(line[:0], r)
		if _, err := out.Write(line); err != nil {
			return err
		}
		written++
	}
	if err := out.Flush(); err != nil {
		return err
	}
	shown.End()
	fmt.Fprintf(w.Stderr, "%d lines in %.1f s\n", written, w.Now().Sub(began).Seconds())
	switch {
	case cut && o.pace == 0: // with a speed, an interruption is the usual end
		return fmt.Errorf("interrupted; to write the missing lines, continue with --from %d", n)
	case o.to.from > 1 && n < o.to.from && ctx.Err() == nil:
		return beyondEnd(o.to.from)
	}
	return nil
}

// faults parses the flags and returns their errors.
func (o *simulateOptions) faults(now time.Time) (faults []error) {
	fault := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	var err error
	if o.unit.For, err = ParseSpan(o.span); err != nil {
		fault(fmt.Errorf("--for: %w", err))
		o.unit.For = time.Hour
	}
	if o.speed != "max" {
		if o.pace, err = strconv.ParseFloat(o.speed, 64); err != nil || !validSpeed(o.pace) {
			fault(errSpeed)
		}
	}
	location, err := time.LoadLocation(o.zone)
	if err != nil || o.zone == "" {
		location = time.UTC
		fault(errors.New("--timezone: must be an IANA name such as America/Chicago"))
	}
	o.lines = o.to.to == toLines
	o.unit.Start, err = o.firstInstant(o.start, location, now)
	fault(err)
	if o.pace > 0 && o.to.from > 1 {
		fault(errors.New("--from: requires --speed max"))
	}
	faults = append(faults, o.to.faults()...)
	if _, err = simulate.Requests(o.unit); err != nil {
		for line := range strings.Lines(err.Error()) {
			fault(errors.New("--" + strings.TrimSuffix(line, "\n")))
		}
	}
	if !o.lines {
		if o.to.to == "dev" {
			o.to.to = ""
		}
		fault(o.to.fill())
	}
	return faults
}

// validSpeed reports whether a simulated unit may run at a speed, which is a multiple of real time. At the highest
// speed, a shift of twelve hours still lasts half a minute. At the lowest, the unit's clock still advances visibly.
func validSpeed(speed float64) bool { return speed >= .1 && speed <= 1440 }

var errSpeed = errors.New("--speed: must be from 0.1 to 1440, or max for as fast as possible")

// firstInstant parses --start, or returns its default.
func (o *simulateOptions) firstInstant(text string, zone *time.Location, now time.Time) (time.Time, error) {
	switch {
	case text == "" && o.lines && o.pace == 0:
		return time.Date(2026, 1, 5, 0, 0, 0, 0, zone), nil
	case text == "" && o.pace > 0:
		return now.Truncate(time.Second).In(zone), nil
	case text == "":
		return now.Add(-o.unit.For).Truncate(time.Second).In(zone), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return now, errors.New("--start: must be a date, or an instant such as 2026-01-05T07:00:00Z")
	}
	return t.In(zone), nil
}

// ParseSpan parses a duration, which may also be in days or weeks.
func ParseSpan(text string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, found := strings.CutSuffix(text, suffix); found {
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil {
				return 0, errSpan
			}
			return time.Duration(n) * unit, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errSpan
	}
	return d, nil
}

var errSpan = errors.New("must be a duration such as 52w, 28d or 12h")
