package archive_test

import (
	"testing"
	"time"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/tables"
)

// BenchmarkExport exports the observations of six hospitals. The baseline reads the same records
// with kafka-go.
func BenchmarkExport(b *testing.B) {
	const n = 400_000
	bed := analysistest.NewKafka(b)
	bed.Put(analysistest.Shifts(n, 6, 2*time.Second))
	l := bed.Log()
	for _, f := range tables.Formats() {
		b.Run(string(f), func(b *testing.B) {
			raw := analysistest.ReadPlain(b, bed, l)
			var heap analysistest.Peak
			stop := heap.Watch()
			bytes := int64(0)
			spent := analysistest.CPU(b)
			for b.Loop() {
				m, err := analysistest.Export(l, f).Run(b.Context(), b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				if m.Counts.Rows != n {
					b.Fatalf("%d rows", m.Counts.Rows)
				}
				bytes = 0
				for i := range m.Files {
					bytes += m.Files[i].Bytes
				}
			}
			stop()
			spent = analysistest.CPU(b) - spent
			raw.Report(b, n, "records", spent, &heap)
			b.ReportMetric(float64(bytes)/n, "written-B/record")
		})
	}
}
