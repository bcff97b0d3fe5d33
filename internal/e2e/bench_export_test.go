package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"svc/internal/analysis/archive"
)

// BenchmarkExportKafka measures how long svc export takes to export the observations in a real Kafka as Parquet, and
// its peak resident memory. The export of a busy log has a few large files; the export of months of a quiet log has
// thousands of small ones.
func BenchmarkExportKafka(b *testing.B) {
	for name, log := range map[string]struct {
		records, hospitals int
		step               time.Duration
	}{"busy": {600_000, 6, 2 * time.Second}, "quiet": {60_000, 40, time.Minute}} {
		b.Run(name, func(b *testing.B) {
			s := startSystem(b)
			s.fill(b, partitions, log.records, log.hospitals, 12, log.step)
			for b.Loop() {
				dir := b.TempDir()
				cmd := exec.Command(binary(b), "export", "--topic", "observations", "--out", dir)
				cmd.Env = append(os.Environ(), s.env...)
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				m, err := archive.ReadManifest(filepath.Join(dir, "observations"))
				if err != nil || m.Counts.Rows != int64(log.records) {
					b.Fatalf("%+v, %v", m, err)
				}
				b.ReportMetric(float64(len(m.Files)), "files")
				usage, is := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				if !is {
					b.Fatal("no usage")
				}
				b.ReportMetric(float64(usage.Maxrss)/1024, "resident-MiB")
				spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				b.ReportMetric(float64(spent.Nanoseconds())/float64(log.records), "cpu-ns/record")
			}
			b.ReportMetric(float64(log.records)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
			machineLoad(b)
		})
	}
}
