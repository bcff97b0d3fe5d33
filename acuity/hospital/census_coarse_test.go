package hospital

import (
	"testing"

	"svc/acuity"
)

// A birth that each census tells to the day keeps the instant at which it was first known.
func TestCoarseBirthIsKept(t *testing.T) {
	const from, first, second, exact acuity.Instant = 1_772_582_400_000, 1_772_600_000_000, 1_772_607_200_000, 1_772_590_000_000
	u := New("stmary")
	tell := func(at, told, start acuity.Instant) acuity.Instant {
		u.Apply(&acuity.Observation{Hospital: "stmary", ReceivedAt: at, Channel: acuity.ChannelCensus, Census: &acuity.Census{
			AsOf: at, TotalRooms: -1,
			Rooms: []acuity.CensusRoom{{ID: 1, Label: "1", Status: acuity.RoomOccupied, Visit: "v", DeliveredAt: told, DeliveredFrom: start}},
		}}, int64(at))
		return u.visits["v"].censusFacts().DeliveredAt
	}
	if got := tell(first, first, from); got != first {
		t.Fatalf("birth at %v", got.Time())
	}
	if got := tell(second, second, from); got != first {
		t.Errorf("told again, the birth is at %v, not %v", got.Time(), first.Time())
	}
	if got := tell(second+1, exact, 0); got != exact {
		t.Errorf("told exactly, the birth is at %v, not %v", got.Time(), exact.Time())
	}
}
