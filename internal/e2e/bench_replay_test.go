package e2e

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// BenchmarkSenderBesideReplay is how long a sender waits for its answer at 300
// requests per second: alone, beside svc replay and beside svc export, which
// begin anew at full speed as soon as they are through. What they read is a log of
// 300,000 observations and what the senders add.
func BenchmarkSenderBesideReplay(b *testing.B) {
	s := startSystem(b, "north", "south", "west")
	processor := s.processor("sender")
	defer processor.stop()
	for _, p := range s.partners {
		eventually(b, time.Minute, func() error { return sends([]*partner{p})(0) })
	}
	const old, step = 300_000, 2 * time.Second
	s.fill(b, partitions, old, 6, 12, step)
	eventually(b, 2*time.Minute, func() error { return sends(s.partners)(0) }) // waits behind the backlog
	beside := []struct {
		unit string
		args func() []string
	}{
		{"alone", nil},
		{"replay", func() []string {
			return []string{"replay", "-all", "-format", "parquet", "-o", b.TempDir()}
		}},
		{"export", func() []string { return []string{"export", "-topic", "observations", "-o", b.TempDir()} }},
	}
	openLoop(b, 300, 20*time.Second, sends(s.partners)) // until the broker is as fast as it gets
	took, runs := map[string][]time.Duration{}, map[string]int{}
	for b.Loop() { // in turns: the machine may have other things to do
		for _, row := range beside {
			stop := func() int { return 0 }
			if row.args != nil {
				stop = s.again(b, row.args)
			}
			took[row.unit] = append(took[row.unit], openLoop(b, 300, 5*time.Second, sends(s.partners))...)
			runs[row.unit] += stop()
		}
	}
	for _, row := range beside {
		for _, p := range []int{50, 99} {
			ms := percentile(took[row.unit], p)
			b.ReportMetric(ms, row.unit+"-p"+strconv.Itoa(p)+"-ms")
			if row.args != nil {
				b.ReportMetric(ms/percentile(took["alone"], p), row.unit+"-x-p"+strconv.Itoa(p))
			}
		}
		if row.args != nil {
			b.ReportMetric(float64(runs[row.unit])/float64(b.N), row.unit+"-runs")
		}
	}
	machineLoad(b)
}

// again runs a command over and over until it is stopped, and tells how often it
// was begun.
func (s *system) again(b *testing.B, args func() []string) (stop func() (runs int)) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	name, ended, runs := binary(b), make(chan struct{}), 0
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			runs++
			cmd := exec.CommandContext(ctx, name, args()...)
			cmd.Env = append(os.Environ(), s.env...)
			cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
			if err := cmd.Run(); err != nil && ctx.Err() == nil {
				b.Error(args()[0], err)
				return
			}
		}
	}()
	return func() int {
		cancel()
		<-ended
		return runs
	}
}
