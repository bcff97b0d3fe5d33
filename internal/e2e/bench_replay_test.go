package e2e

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkSenderBesideReplay measures the response time at 300 requests per second: without other work, during svc
// replay, and during svc export. Replay and export run at full speed and restart when they end. The log has 300,000
// observations in addition to the requests of the senders.
func BenchmarkSenderBesideReplay(b *testing.B) {
	s := startSystem(b, "north", "south", "west")
	processor := s.processor("sender")
	defer processor.stop()
	for _, p := range s.partners {
		eventually(b, time.Minute, func() error { return sends([]*partner{p})(0) })
	}
	const old, step = 300_000, 2 * time.Second
	s.fill(b, partitions, old, 6, 12, step)
	eventually(b, 2*time.Minute, func() error { return sends(s.partners)(0) }) // the first answers wait for the backlog
	beside := []struct {
		unit string
		args func() []string
	}{
		{"alone", nil},
		{"replay", func() []string {
			return []string{"replay", "--all", "--format", "parquet", "--out", b.TempDir()}
		}},
		{"export", func() []string { return []string{"export", "--topic", "observations", "--out", b.TempDir()} }},
	}
	openLoop(b, 300, 20*time.Second, sends(s.partners)) // warms up the broker
	p50, p99 := map[string][]float64{}, map[string][]float64{}
	for b.Loop() { // each turn measures all rows, so that other work on the machine affects every row alike
		for _, row := range beside {
			stop := func() {}
			if row.args != nil {
				stop = s.again(b, row.args)
				time.Sleep(time.Second) // excludes the start, which is negligible in a replay that takes minutes
			}
			took := openLoop(b, 300, 5*time.Second, sends(s.partners))
			stop()
			p50[row.unit], p99[row.unit] = append(p50[row.unit], percentile(took, 50)), append(p99[row.unit], percentile(took, 99))
		}
	}
	for _, row := range beside {
		b.ReportMetric(median(p50[row.unit]), row.unit+"-p50-ms")
		b.ReportMetric(median(p99[row.unit]), row.unit+"-p99-ms")
		if row.args != nil {
			b.ReportMetric(median(p99[row.unit])/median(p99["alone"]), row.unit+"-x-p99")
		}
	}
	machineLoad(b)
}

// median returns the median of the values that the turns of a benchmark measured. Unlike a mean, the median hardly
// changes when the machine is slow for a moment.
func median(turns []float64) float64 {
	slices.Sort(turns)
	return turns[len(turns)/2]
}

// again runs a command repeatedly until stop is called.
func (s *system) again(b *testing.B, args func() []string) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	name, ended := binary(b), make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			cmd := exec.CommandContext(ctx, name, args()...)
			cmd.Env = append(os.Environ(), s.env...)
			cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
			if err := cmd.Run(); err != nil && ctx.Err() == nil {
				b.Error(args()[0], err)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
