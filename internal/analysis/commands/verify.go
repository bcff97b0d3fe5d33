package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/replay"
	"svc/internal/analysis/verify"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/lifecycle"
	"svc/internal/metrics"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/schemas"
)

// errDiffers means that verify has found and printed a difference.
var errDiffers = errors.New("a changelog, snapshots or a view differ from those computed from the log")

// verifyOptions are the flags of svc verify.
type verifyOptions struct {
	*logCommand
	continuous, plain bool
	every, patience   time.Duration
	listen            string
	revision          string // commit of the build
}

// VerifyCommand returns the command svc verify. The command recomputes the changelog, the snapshots and the view from
// the log, and compares them with the stored ones. revision is the commit of the build, for the metrics.
func VerifyCommand(w cli.Env, revision string) *cobra.Command {
	o := &verifyOptions{revision: revision, logCommand: newLogCommand(w, config.NeedRedis)}
	run := func(ctx context.Context, _ []string) error { return o.run(ctx) }
	c := o.cobra("verify", "compare stored and served verdicts with those computed from the log", run)
	o.hospitalFlag()
	f := c.Flags()
	o.allFlag()
	f.BoolVar(&o.continuous, "continuous", false, "repeat the check continuously, and serve the results as metrics")
	f.DurationVar(&o.every, "every", time.Minute, "time between two checks with --continuous")
	f.StringVar(&o.listen, "metrics", "127.0.0.1:9095", "`address` of /metrics for --continuous")
	f.DurationVar(&o.patience, "patience", 5*time.Second, "maximum lag of the view behind the log") //nolint:mnd // the limit for reads
	f.BoolVar(&o.plain, "plain", false, "recompute everything at each step: the reference, about 100 times slower")
	o.Check = func() []error {
		faults := o.faults()
		for _, name := range []string{"every", "metrics"} {
			if !o.continuous && f.Changed(name) {
				faults = append(faults, fmt.Errorf("--%s: requires --continuous", name))
			}
		}
		if o.every <= 0 {
			faults = append(faults, errors.New("--every: must be above 0"))
		}
		return faults
	}
	return c
}

func (c *verifyOptions) run(ctx context.Context) error {
	if c.continuous {
		return c.follow(ctx)
	}
	v, closes, err := c.openVerifier(ctx)
	defer closes()
	if err != nil {
		return err
	}
	report, err := v.Round(ctx)
	c.endProgress()
	if err != nil {
		return err
	}
	if err := c.report(report); err != nil {
		return err
	}
	if report.First() != nil {
		return errDiffers
	}
	return replay.AbsentErrors(absentHospitals(v, report))
}

// absentHospitals returns the requested hospitals of which the log has no record.
func absentHospitals(v *verify.Verify, report *verify.Report) (absent []string) {
	for _, h := range v.Hospitals {
		if !slices.ContainsFunc(report.Hospitals, func(c verify.Checked) bool { return c.Hospital == h }) {
			absent = append(absent, h)
		}
	}
	return absent
}

// openVerifier connects to Kafka and Redis, and returns a verifier. The caller must call closes to end the
// connections, even after an error; closes is never nil.
func (c *verifyOptions) openVerifier(ctx context.Context) (v *verify.Verify, closes func(), err error) {
	closes = c.close
	if err = c.connect(ctx); err != nil {
		return nil, closes, err
	}
	dial, cancel := c.dialing(ctx)
	partitions, err := c.cluster.Partitions(dial, c.Config.Topic(schemas.Verdicts()))
	cancel()
	if err != nil {
		return nil, closes, err
	}
	view, err := view.Open(view.Config{
		URL: c.Config.Redis, CAFile: c.Config.RedisCA, Prefix: c.Config.TopicPrefix + "svc:", Now: c.Now,
		Partition: func(hospital string) int32 { return schemas.Partition([]byte(hospital), partitions) },
		Patient:   true,
	})
	if err != nil {
		return nil, closes, err
	}
	closes = func() {
		view.Close() //nolint:errcheck // the process ends
		c.close()
	}
	v = &verify.Verify{
		Inputs: c.log.Source(), Changes: c.committed(schemas.Verdicts()), Snapshots: c.committed(schemas.Snapshots()),
		View: viewOf(view), Shown: view.Hospitals,
		Patience: c.patience, Hospitals: c.hospitalList(), Plain: c.plain, Pace: inputlog.NewPace(c.rate),
	}
	if !c.continuous { // with --continuous, metrics report the progress
		v.Progress = c.startProgress()
	}
	if !c.cluster.Embedded() {
		v.Held = acuity.At(c.Now().Add(-schemas.Verdicts().CompactionLag))
	}
	return v, closes, nil
}

func (c *logCommand) report(r *verify.Report) error {
	if c.JSON {
		return cli.PrintJSON(c.Stdout, r)
	}
	for i := range r.Hospitals {
		h := &r.Hospitals[i]
		if h.Difference != nil {
			fmt.Fprintln(c.Stdout, "DIFFERS", h.Difference)
			continue
		}
		fmt.Fprintf(c.Stdout, "ok %s: %d inputs, %d changes", h.Hospital, h.Inputs, h.Changes)
		if h.Unheld > 0 {
			fmt.Fprintf(c.Stdout, "; %d more were compacted", h.Unheld)
		}
		fmt.Fprintf(c.Stdout, ", %d snapshots, version %d, served %d\n", h.Snapshots, h.Version, h.Served)
	}
	if r.Pending > 0 {
		fmt.Fprintf(c.Stdout, "%d inputs have not been applied yet\n", r.Pending)
	}
	return nil
}

// viewOf returns the function that reads the view of a hospital.
func viewOf(b *view.View) func(context.Context, string) (*verify.View, error) {
	return func(ctx context.Context, hospital string) (*verify.View, error) {
		w, err := b.Whole(ctx, hospital)
		switch {
		case errors.Is(err, view.ErrNoUnit), errors.Is(err, view.ErrNotWhole):
			return nil, verify.ErrNoView // the verifier retries until the view is complete or --patience has elapsed
		case err != nil:
			return nil, err
		}
		v := &verify.View{Version: w.Version, Unit: w.Chart, Rooms: map[int32]string{}, Site: w.LocalSettings, Foreign: w.Foreign}
		for _, room := range w.Rooms {
			v.Rooms[room.ID] = room.Chart
		}
		return v, nil
	}
}

// follow verifies in rounds and serves the results as metrics. A difference remains in the metrics until the process
// restarts.
func (c *verifyOptions) follow(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return fmt.Errorf("--metrics: %s is in use, or is not an address of this machine", c.listen)
	}
	process := lifecycle.NewProcess([]string{"kafka"}, nil)
	all := metrics.New(c.revision)
	all.Health(process.Health)
	var cluster atomic.Pointer[stream.Cluster]
	process.Health.Add("kafka", func(context.Context) error { return stream.Reached(cluster.Load()) })
	seen := NewVerifyMetrics(all)
	private := process.Private("", all.Handler())
	private.Listener = listener
	fmt.Fprintf(c.Stderr, "verify: metrics on http://%s/metrics\n", listener.Addr())
	c.awaits = true
	closes := c.close
	defer func() { closes() }()
	return process.Live(ctx, private, func(ctx context.Context) ([]func(context.Context) error, error) {
		v, closesAll, err := c.openVerifier(ctx)
		closes = closesAll
		if err != nil {
			return nil, err
		}
		cluster.Store(c.cluster)
		process.Run("verify", func(ctx context.Context) error { return c.runRounds(ctx, v, seen) })
		return nil, nil
	})
}

// runRounds repeats the verification until ctx ends, even after a failed round. It prints the first difference of
// each hospital once, and each requested hospital without a record once.
func (c *verifyOptions) runRounds(ctx context.Context, v *verify.Verify, seen *VerifyMetrics) error {
	named, missed := map[string]bool{}, map[string]bool{}
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
			for _, h := range absentHospitals(v, report) {
				if !missed[h] {
					missed[h] = true
					fmt.Fprintf(c.Stderr, "verify: %v\n", replay.AbsentError(h))
				}
			}
			seen.hospitals.Store(int64(len(report.Hospitals)))
			seen.differences.Store(n)
			seen.pending.Store(report.Pending)
			seen.rounds.Add(1)
			seen.last.Store(c.Now().UnixMilli())
		}
		if err := cli.Pause(ctx, c.every); err != nil {
			return err
		}
	}
}

// VerifyMetrics holds the metrics of svc verify --continuous.
type VerifyMetrics struct{ hospitals, differences, pending, rounds, failed, last atomic.Int64 }

// NewVerifyMetrics registers the metrics.
func NewVerifyMetrics(m *metrics.Registry) *VerifyMetrics {
	f := &VerifyMetrics{}
	m.Gauge("svc_verify_hospitals", "Hospitals checked.", f.hospitals.Load)
	const differences = "Hospitals whose changelog, snapshots or view differ from those computed from the log."
	m.Gauge("svc_verify_differences", differences, f.differences.Load)
	m.Gauge("svc_verify_pending_records", "Observations not yet applied in the last round.", f.pending.Load)
	m.Gauge("svc_verify_last_round_timestamp_ms", "Time at which the last round ended, Unix ms; 0: none has ended.", f.last.Load)
	m.Counter("svc_verify_rounds_total", "Rounds completed.", f.rounds.Load)
	m.Counter("svc_verify_failed_rounds_total", "Rounds not completed because a server was unavailable.", f.failed.Load)
	return f
}
