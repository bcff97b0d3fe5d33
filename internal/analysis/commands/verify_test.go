package commands

import (
	"testing"
	"time"

	"svc/internal/metrics"
)

// TestVerifyBegins: until the first round has ended, the age of the last round is the age of the command, so that
// SvcNotVerified allows it an hour.
func TestVerifyBegins(t *testing.T) {
	m := metrics.New("test")
	began := time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)
	NewVerifyMetrics(m, began)
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "svc_verify_last_round_timestamp_ms" {
			if got := int64(f.GetMetric()[0].GetGauge().GetValue()); got != began.UnixMilli() {
				t.Errorf("%d, want %d", got, began.UnixMilli())
			}
			return
		}
	}
	t.Error("there is no such metric")
}
