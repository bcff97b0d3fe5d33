package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	"svc/internal/simulate"
)

// simulateOptions are the flags of svc simulate.
type simulateOptions struct {
	unit  simulate.Options
	pace  float64 // 0: as fast as it is taken
	lines bool    // to standard output
	to    sendOptions
}

// toLines is the --to that prints.
const toLines = "ndjson"

// runSimulate makes up the feeds of a unit: as lines, or into a server.
func runSimulate(ctx context.Context, args []string, w world) error {
	o, err := parseSimulate(args, w)
	if err != nil {
		return err
	}
	if o.pace > 0 {
		now := w.Now()
		o.unit.Clock = simulate.Course{{Unit: now, Real: now, Speed: o.pace}}.Real
	}
	requests, err := simulate.Requests(o.unit)
	if err != nil {
		return usageError(err)
	}
	if o.lines {
		return o.print(ctx, requests, w)
	}
	t, err := o.to.target()
	if err != nil {
		return err
	}
	if !o.to.json {
		w.Stdout = w.Stderr // all that is said is about the sending
	}
	start := o.unit.Start.Format(time.RFC3339)
	fmt.Fprintf(w.Stderr, "%s unit, seed %d, from %s for %v\n", o.unit.Profile, o.unit.Seed, start, o.unit.For)
	err = newSending(&o.to, w, func(each func(payload) error) error {
		return o.send(requests, w.Now(), each)
	}).run(ctx, t)
	if err != nil {
		return fmt.Errorf("%w (of --start %s)", err, start)
	}
	return nil
}

// send hands out the requests: first the ADT events of the past in batches, as a hospital tells its history,
// which the forecast learns from; then all others in their order.
func (o *simulateOptions) send(requests iter.Seq[simulate.Request], now time.Time, each func(payload) error) error {
	isPast := func(r *simulate.Request) bool { return path.Base(r.Path) == "adt" && (o.pace == 0 || !r.At.After(now)) }
	var events eventBatch
	batch := func(body []byte) error {
		if body == nil {
			return nil
		}
		return each(payload{path: "batch", body: body, async: o.pace == 0})
	}
	for r := range requests {
		if o.pace > 0 && r.At.After(now) {
			break
		}
		if isPast(&r) {
			if err := batch(events.add(r.Body)); err != nil {
				return err
			}
		}
	}
	if err := batch(events.take()); err != nil {
		return err
	}
	for r := range requests {
		if isPast(&r) {
			continue
		}
		p := payload{path: path.Base(r.Path), body: bytes.Clone(r.Body), async: o.pace == 0}
		if o.pace > 0 {
			p.due = r.At
		}
		if err := each(p); err != nil {
			return err
		}
	}
	return nil
}

// print writes lines to standard output.
func (o *simulateOptions) print(ctx context.Context, requests iter.Seq[simulate.Request], w world) error {
	const looked = 1024 // lines between two looks at ctx
	out := bufio.NewWriterSize(w.Stdout, 1<<20)
	began, n, written := w.Now(), 0, 0
	var line []byte
	for r := range requests {
		if n++; n < o.to.from {
			continue
		}
		if n%looked == 0 && ctx.Err() != nil {
			break
		}
		if wait := r.At.Sub(w.Now()); o.pace > 0 && wait > 0 {
			if err := out.Flush(); err != nil {
				return err
			}
			if pause(ctx, wait) != nil {
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
	fmt.Fprintf(w.Stderr, "%d lines in %.1f s\n", written, w.Now().Sub(began).Seconds())
	return nil
}

func parseSimulate(args []string, w world) (*simulateOptions, error) {
	o := &simulateOptions{}
	var start, span, speed, zone string
	flags := flag.NewFlagSet("svc simulate", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Uint64Var(&o.unit.Seed, "seed", 1, "the same seed makes the same bytes")
	flags.StringVar(&o.unit.Profile, "profile", "medium", "kind of unit: "+strings.Join(simulate.Profiles(), ", "))
	flags.IntVar(&o.unit.Births, "births", 0, "births a year (default: 900 small, 7000 large, else 3000)")
	flags.StringVar(&start, "start", "", "first `instant`, RFC 3339 or a date (default: 2026-01-05 for lines; for a server so long ago that it ends now, or now with --speed)")
	flags.StringVar(&span, "for", "52w", "how long, such as 52w, 28d or 12h")
	flags.StringVar(&zone, "timezone", devZone, "time zone of the unit")
	flags.BoolVar(&o.unit.Steady, "steady", false, "no late records and no outages")
	flags.StringVar(&speed, "speed", "max", "max, or how much faster than real time it goes on once it has reached the present: 1, 60 …")
	flags.StringVar(&o.to.to, "to", toLines, "ndjson for lines of {at, path, body}, or the `address` of a server: http://HOST:PORT, https://…, dev for the running svc dev")
	flags.StringVar(&o.to.key, "key", "", "API `key` (default: that of the running svc dev)")
	flags.StringVar(&o.to.keyFile, "key-file", "", "`file` that holds the key")
	flags.IntVar(&o.to.connections, "connections", 1, "connections at once; with more than one the order of requests is not kept")
	flags.Float64Var(&o.to.rate, "rate", 0, "requests per second at most (default: as fast as they are answered)")
	flags.IntVar(&o.to.from, "from", 1, "number of the first request to send: where an earlier run ended; it needs the same --start, and --speed max")
	flags.DurationVar(&o.to.retryFor, "retry-for", time.Minute, "how long to try a request again that the server could not take")
	flags.DurationVar(&o.to.answer, "answer-within", 10*time.Second, "how long to wait for an answer")
	flags.StringVar(&o.to.ca, "tls-ca", "", "PEM `file` of the authorities that signed the server's certificate (default: those of the system)")
	flags.StringVar(&o.to.data, "data", defaultData, "data `folder` of the running svc dev, for --to dev")
	flags.BoolVar(&o.to.json, "json", false, "print the summary of a sending as JSON")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(w.Stdout, "usage: svc simulate [flags]\n\nMakes up the feeds of a maternity unit. Nobody in it exists.\n\n")
		flags.SetOutput(w.Stdout)
		flags.PrintDefaults()
		return nil, err
	} else if err != nil {
		return nil, usageError(err)
	}
	faults := append(fromEnvironment(flags, w.Env), bothGiven(flags)...)
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	var err error
	if o.unit.For, err = parseSpan(span); err != nil {
		faults, o.unit.For = append(faults, err), time.Hour
	}
	if speed != "max" {
		if o.pace, err = strconv.ParseFloat(speed, 64); err != nil || !validSpeed(o.pace) {
			faults = append(faults, errSpeed)
		}
	}
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "" {
		location = time.UTC
		faults = append(faults, errors.New("--timezone: must be an IANA name such as America/Chicago"))
	}
	o.lines = o.to.to == toLines
	if o.unit.Start, err = o.firstInstant(start, location, w.Now()); err != nil {
		faults = append(faults, err)
	}
	if o.pace > 0 && o.to.from > 1 {
		faults = append(faults, errors.New("--from: needs --speed max, since what lies behind a unit in motion depends on the start"))
	}
	if o.to.connections < 1 || o.to.from < 1 || o.to.rate < 0 {
		faults = append(faults, errors.New("--connections, --from: must be at least 1; --rate: at least 0"))
	}
	if _, err = simulate.Requests(o.unit); err != nil {
		for line := range strings.Lines(err.Error()) {
			faults = append(faults, errors.New("--"+strings.TrimSuffix(line, "\n")))
		}
	}
	if !o.lines {
		if o.to.to == "dev" {
			o.to.to = ""
		}
		faults = append(faults, o.to.fill())
	}
	if err = errors.Join(faults...); err != nil {
		return nil, usageError(err)
	}
	return o, nil
}

// validSpeed bounds the speed of a unit: faster, and a shift would take less than
// half a minute, slower, and nothing would ever happen.
func validSpeed(speed float64) bool { return speed >= .1 && speed <= 1440 }

var errSpeed = errors.New("--speed: must be from 0.1 to 1440, or max where nothing waits for real time")

// firstInstant reads --start, or takes its default.
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

// parseSpan reads a duration that may also be in days or weeks.
func parseSpan(text string) (time.Duration, error) {
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

var errSpan = errors.New("--for: must be a duration such as 52w, 28d or 12h")
