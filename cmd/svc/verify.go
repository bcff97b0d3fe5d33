package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"svc/acuity"
	"svc/internal/board"
	"svc/internal/replay"
	"svc/schemas"
)

// errDiffers is that verify has found a difference, which it has told.
var errDiffers = errors.New("what was written or is served differs from what the log makes")

// verifySettings are how a round is made.
type verifySettings struct {
	patience time.Duration
	plain    bool
}

// runVerify folds the log and holds changelog and view against it.
func runVerify(ctx context.Context, args []string, w world) error {
	var all, continuous, plain bool
	var every, patience time.Duration
	var listen string
	c := newLogCommand("verify", w)
	c.needs = needRedis
	c.flags.StringVar(&c.hospitals, "hospital", "", "hospital `ids`, separated by commas (default: all)")
	c.flags.BoolVar(&all, "all", false, "all hospitals; the same as none named")
	c.flags.BoolVar(&continuous, "continuous", false, "go on with what comes, and serve the findings as metrics")
	c.flags.DurationVar(&every, "every", time.Minute, "continuous: between two rounds")
	c.flags.StringVar(&listen, "metrics", "127.0.0.1:9095", "continuous: `address` of /metrics")
	c.flags.DurationVar(&patience, "patience", 5*time.Second, "how long the view may be behind the log")
	c.flags.BoolVar(&plain, "plain", false, "derive everything anew at every step: the reference, about a hundred times slower")
	faults := c.read(args)
	if c.config != nil && all && c.hospitals != "" {
		faults = append(faults, errors.New("--all: leave out --hospital"))
	}
	for _, name := range []string{"every", "metrics"} {
		if c.config != nil && !continuous && given(c.flags)[name] {
			faults = append(faults, fmt.Errorf("--%s: is that of --continuous", name))
		}
	}
	if c.config != nil && every <= 0 {
		faults = append(faults, errors.New("--every: must be above 0"))
	}
	if err := c.wrong(faults); err != nil {
		return err
	}
	settings := verifySettings{patience, plain}
	if continuous {
		return c.follow(ctx, settings, every, listen)
	}
	v, closes, err := c.verifier(ctx, settings)
	defer closes()
	if err != nil {
		return err
	}
	report, err := v.Round(ctx)
	if err != nil {
		return err
	}
	if err := c.report(report); err != nil {
		return err
	}
	if report.First() != nil {
		return errDiffers
	}
	for _, h := range v.Hospitals {
		if !slices.ContainsFunc(report.Hospitals, func(c replay.Checked) bool { return c.Hospital == h }) {
			return replay.AbsentError(h)
		}
	}
	return nil
}

// verifier connects to what is compared; closes is never nil.
func (c *logCommand) verifier(ctx context.Context, s verifySettings) (v *replay.Verify, closes func(), err error) {
	closes = c.close
	if err := c.connect(ctx); err != nil {
		return nil, closes, err
	}
	partitions, err := c.cluster.Partitions(ctx, c.topic(schemas.Verdicts()))
	if err != nil {
		return nil, closes, err
	}
	view, err := board.Open(board.Config{
		URL: c.config.Redis, CAFile: c.config.RedisCA, Prefix: c.config.TopicPrefix + "svc:", Now: c.Now,
		Partition: func(hospital string) int32 { return schemas.Partition([]byte(hospital), partitions) },
		Late:      c.nice > 0,
	})
	if err != nil {
		return nil, closes, err
	}
	closes = func() {
		view.Close() //nolint:errcheck // the process ends
		c.close()
	}
	v = &replay.Verify{
		Inputs: c.inputs(), Changes: c.committed(schemas.Verdicts()), View: viewOf(view), Shown: view.Hospitals,
		Patience: s.patience, Hospitals: c.hospitalList(), Plain: s.plain, Pace: c.pace(), Progress: c.progress(),
	}
	if !c.cluster.Embedded() {
		v.Held = acuity.At(c.Now().Add(-schemas.Verdicts().CompactionLag))
	}
	return v, closes, nil
}

func (c *logCommand) report(r *replay.Report) error {
	if c.json {
		return printValue(c.Stdout, r)
	}
	for i := range r.Hospitals {
		h := &r.Hospitals[i]
		if h.Difference != nil {
			fmt.Fprintln(c.Stdout, "DIFFERS", h.Difference)
			continue
		}
		fmt.Fprintf(c.Stdout, "ok %s: %d inputs, %d changes", h.Hospital, h.Inputs, h.Changes)
		if h.Unheld > 0 {
			fmt.Fprintf(c.Stdout, " (%d more are compacted away)", h.Unheld)
		}
		fmt.Fprintf(c.Stdout, ", version %d, served %d\n", h.Version, h.Served)
	}
	if r.Pending > 0 {
		fmt.Fprintf(c.Stdout, "%d inputs are not applied yet\n", r.Pending)
	}
	return nil
}

// viewOf reads what is served of a hospital.
func viewOf(b *board.Board) func(context.Context, string) (*replay.View, error) {
	return func(ctx context.Context, hospital string) (*replay.View, error) {
		w, err := b.Whole(ctx, hospital)
		switch {
		case errors.Is(err, board.ErrNoUnit), errors.Is(err, board.ErrNotWhole): // the latter ends by itself, or patience does
			return nil, replay.ErrNoView
		case err != nil:
			return nil, err
		}
		v := &replay.View{Version: w.Version, Unit: w.Chart, Rooms: make(map[int32]string, len(w.Rooms)), Site: w.Site, Foreign: w.Foreign}
		for _, room := range w.Rooms {
			v.Rooms[room.ID] = room.Chart
		}
		return v, nil
	}
}

// follow verifies round after round and serves what it finds as metrics. A
// difference stays until the process is started anew.
func (c *logCommand) follow(ctx context.Context, s verifySettings, every time.Duration, listen string) error {
	if c.Own {
		if err := stepAside(ctx, c.nice); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("--metrics: %s is in use or not ours", listen)
	}
	h := newHouse(c.config, slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), c.Now)
	seen := h.metrics.verify()
	private := h.private()
	private.listener = listener
	fmt.Fprintf(c.Stderr, "verify: metrics on http://%s/metrics\n", listener.Addr())
	c.awaits = true
	closes := c.close
	defer func() { closes() }()
	return h.live(ctx, private, func(ctx context.Context) ([]func(context.Context) error, error) {
		v, closesAll, err := c.verifier(ctx, s)
		closes = closesAll
		if err != nil {
			return nil, err
		}
		h.cluster = c.cluster
		h.dialed.Store(true)
		h.run("verify", func(ctx context.Context) error { return c.rounds(ctx, v, seen, every) })
		return nil, nil
	})
}

// rounds are made until ctx ends.
func (c *logCommand) rounds(ctx context.Context, v *replay.Verify, seen *verifyFigures, every time.Duration) error {
	named := map[string]bool{}
	for {
		report, err := v.Round(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			seen.failed.Add(1)
			fmt.Fprintf(c.Stderr, "verify: %v\n", err)
		} else {
			n := int64(0)
			for i := range report.Hospitals {
				if d := report.Hospitals[i].Difference; d != nil {
					if n++; !named[d.Hospital] {
						named[d.Hospital] = true
						fmt.Fprintln(c.Stdout, "DIFFERS", d)
					}
				}
			}
			seen.hospitals.Store(int64(len(report.Hospitals)))
			seen.differences.Store(n)
			seen.pending.Store(report.Pending)
			seen.rounds.Add(1)
			seen.last.Store(c.Now().UnixMilli())
		}
		if err := pause(ctx, every); err != nil {
			return err
		}
	}
}

// verifyFigures are what svc verify --continuous has seen.
type verifyFigures struct{ hospitals, differences, pending, rounds, failed, last atomic.Int64 }

// verify registers them.
func (m *metrics) verify() *verifyFigures {
	f := &verifyFigures{}
	m.gauge("svc_verify_hospitals", "Hospitals that were folded.", f.hospitals.Load)
	m.gauge("svc_verify_differences", "Hospitals whose changelog or view differs from what the log makes.", f.differences.Load)
	m.gauge("svc_verify_pending_records", "Observations not yet applied at the last round.", f.pending.Load)
	m.gauge("svc_verify_last_round_timestamp_ms", "End of the last round, Unix ms.", f.last.Load)
	m.counter("svc_verify_rounds_total", "Rounds that were finished.", f.rounds.Load)
	m.counter("svc_verify_failed_rounds_total", "Rounds that were not, because a server was away.", f.failed.Load)
	return f
}
