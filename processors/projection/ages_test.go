package projection

import (
	"testing"
	"time"
)

// TestAgesFromOutside: the age of the oldest input counts from the input's timestamp. Until the timestamp is known,
// the age counts from the time at which the log was first seen to extend beyond that input. This also applies to a
// partition without a processor. If Kafka does not respond, the age is at least the time since Kafka's last response.
func TestAgesFromOutside(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	a := NewAges(3, func() time.Time { return at })
	want := func(when string, ages ...time.Duration) {
		t.Helper()
		a.Each(func(partition int32, oldest time.Duration) {
			if oldest != ages[partition] {
				t.Errorf("%s: partition %d has waited for %v, want %v", when, partition, oldest, ages[partition])
			}
		})
	}
	a.recordEnds(at, map[int32]int64{0: 0, 1: 5, 2: 5})
	a.Applied(2, 4)
	at = at.Add(10 * time.Second)
	a.recordEnds(at, map[int32]int64{0: 0, 1: 5, 2: 5})
	want("partition 1 has no processor", 0, 10*time.Second, 0)
	if got := a.stuck(); len(got) != 1 || got[1] != -1 {
		t.Errorf("the timestamps of %v are asked for", got)
	}
	a.partitions[1].oldest, a.partitions[1].oldestAt = at.Add(-time.Hour), -1
	want("its oldest input is an hour old", 0, time.Hour, 0)
	if got := a.stuck(); len(got) != 0 {
		t.Errorf("the timestamps of %v are asked for again", got)
	}
	a.Applied(1, 3)
	want("the oldest one is applied", 0, 10*time.Second, 0)
	a.Applied(1, 4)
	a.Applied(1, 2)
	want("all are applied", 0, 0, 0)
	at = at.Add(time.Minute)
	want("Kafka does not respond", time.Minute, time.Minute, time.Minute)
	a.Applied(7, 1) // the partition does not exist
}
