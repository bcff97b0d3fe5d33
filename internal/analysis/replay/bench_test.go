package replay_test

import (
	"testing"
	"time"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/replay"
	"svc/internal/analysis/tables"
)

// BenchmarkReplay recomputes the verdicts of six hospitals or of one, and writes them as Parquet. The rate counts
// only inputs of the replayed hospitals.
func BenchmarkReplay(b *testing.B) {
	const n, hospitals = 120_000, 6
	bed := analysistest.NewKafka(b)
	list := analysistest.Shifts(n, hospitals, 6*time.Second)
	bed.Put(list)
	for name, row := range map[string]struct {
		hospitals []string
		events    int
	}{
		"all": {nil, n},
		"one": {[]string{"h001"}, len(analysistest.ObservationsOf("h001", list))},
	} {
		b.Run(name, func(b *testing.B) {
			raw := analysistest.ReadPlain(b, bed, bed.Log())
			var heap analysistest.Peak
			stop := heap.Watch()
			spent := analysistest.CPU(b)
			for b.Loop() {
				r := rerun(bed, row.hospitals...)
				rows, err := r.Write(b.Context(), replay.Output{Folder: b.TempDir(), Format: tables.Parquet})
				if err != nil || rows < int64(row.events) {
					b.Fatal(rows, err)
				}
			}
			spent = analysistest.CPU(b) - spent
			stop()
			raw.Report(b, float64(row.events), "events", spent, &heap)
		})
	}
}
