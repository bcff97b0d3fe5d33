package inputlog_test

import (
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/analysis/analysistest"
	"svc/internal/stream"
	"svc/schemas"
)

// Each input is returned once, in the order of the log, including inputs that cannot be decoded.
func TestInputs(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(300, 2, time.Minute)
	b.Put(list[:150])
	b.Write(schemas.Observations().Name, []stream.Record{{
		Partition: schemas.Partition([]byte("h001"), analysistest.Partitions), Key: []byte("h001/room/1"), Value: []byte("no record"), Timestamp: list[149].ReceivedAt.Time(),
	}})
	b.Put(list[150:])
	var got, want []acuity.Instant
	for _, o := range list {
		if o.Hospital == "h001" {
			want = append(want, o.ReceivedAt)
		}
	}
	reasons := ""
	for in, err := range b.Log().Inputs(t.Context(), "h001") {
		if err != nil {
			t.Fatal(err)
		}
		if in.Observation == nil {
			reasons += in.Reason
			continue
		}
		got = append(got, in.Observation.ReceivedAt)
	}
	if len(want) == 0 || !slices.Equal(got, want) || reasons != "malformed_record" {
		t.Errorf("%d inputs, want %d; not read: %q", len(got), len(want), reasons)
	}
}
