package outcomes

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/feeds"
	"svc/schemas"
)

// stored collects past counts by instant.
type stored map[time.Time]map[feeds.Feed]*feeds.Sum

func (s stored) AddFeedsAt(_ context.Context, at time.Time, sums map[feeds.Feed]*feeds.Sum) (map[feeds.Feed]*feeds.Sum, error) {
	s[at] = maps.Clone(sums)
	return nil, nil
}

// TestCountsOfTheLog: observations in the log are counted at their time of receipt, with the outcomes of their
// changes. For the last day, the resolution of that time is a minute. An observation whose change is unknown is
// counted only as received.
func TestCountsOfTheLog(t *testing.T) {
	now := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	p, offset := NewPast(now), int64(0)
	received := func(ago time.Duration, change *acuity.Change) {
		t.Helper()
		offset++
		at := ingest.Position{Partition: 1, Offset: offset}
		received := now.Add(-ago)
		p.Received(at, "key_1", &acuity.Observation{
			Hospital: "north", Channel: acuity.ChannelCensus, ReceivedAt: acuity.At(received),
			Census: &acuity.Census{AsOf: acuity.At(received.Add(-time.Second))},
		})
		if change == nil {
			return
		}
		change.Hospital, change.Offset, change.Version, change.AppliedAt = "north", offset, offset, acuity.At(received)
		value, err := schemas.ChangeCodec.Encode(nil, change)
		if err != nil {
			t.Fatal(err)
		}
		p.Applied(at, value)
		p.Applied(at, value) // repeated, so not counted
	}
	const day = 24 * time.Hour
	received(3*day, &acuity.Change{Outcome: acuity.Applied})
	received(2*day, &acuity.Change{Outcome: acuity.Duplicate})
	received(90*time.Second, &acuity.Change{Outcome: acuity.Applied, Warnings: []acuity.Warning{{Code: "outside_unit"}}})
	received(80*time.Second, &acuity.Change{Outcome: acuity.Rejected, Reason: "r"})
	received(10*time.Second, nil)

	got := stored{}
	if err := p.Store(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	want := map[time.Duration]feeds.Sum{ // by the age of the observations
		2 * day: {
			Counts:        feeds.Counts{Received: 2, Applied: 1, Changed: 1, Duplicates: 1, Unchanged: 1},
			FirstReceived: now.Add(-3 * day), LastReceived: now.Add(-2 * day), LastApplied: now.Add(-3 * day),
		},
		80 * time.Second: {
			Counts:        feeds.Counts{Received: 2, Applied: 1, Changed: 1, Rejected: 1, Warnings: 1, Unused: 1, Outside: 1},
			FirstReceived: now.Add(-90 * time.Second), LastReceived: now.Add(-80 * time.Second), LastApplied: now.Add(-90 * time.Second),
		},
		10 * time.Second: {
			Counts: feeds.Counts{Received: 1}, FirstReceived: now.Add(-10 * time.Second), LastReceived: now.Add(-10 * time.Second),
		},
	}
	census := feeds.Feed{Hospital: "north", Channel: "census", Source: "key_1"}
	for ago, sum := range want {
		sum.LastEvent = sum.LastReceived.Add(-time.Second)
		at := now.Add(-ago)
		if s := got[at][census]; s == nil || s.Counts != sum.Counts || !s.FirstReceived.Equal(sum.FirstReceived) ||
			!s.LastReceived.Equal(sum.LastReceived) || !s.LastApplied.Equal(sum.LastApplied) || !s.LastEvent.Equal(sum.LastEvent) {
			t.Errorf("%v ago: %+v, want %+v", ago, s, sum)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d instants: %v", len(got), slices.Collect(maps.Keys(got)))
	}
}
