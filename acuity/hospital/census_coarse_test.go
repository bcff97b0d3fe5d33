package hospital

import (
	"testing"

	"svc/acuity"
	"svc/acuity/codes"
)

// A birth that each census reports with a precision of a day keeps the instant from the first census, until a census
// reports the exact time.
func TestCoarseBirthIsKept(t *testing.T) {
	const from, first, second, exact acuity.Instant = 1_772_582_400_000, 1_772_600_000_000, 1_772_607_200_000, 1_772_590_000_000
	u := New("stmary")
	tell := func(at, told, start acuity.Instant) acuity.Instant {
		u.Apply(&acuity.Observation{Hospital: "stmary", ReceivedAt: at, Channel: acuity.ChannelCensus, Census: &acuity.Census{
			AsOf: at, TotalRooms: -1,
			Rooms: []acuity.CensusRoom{{ID: 1, Label: "1", Status: acuity.RoomOccupied, Visit: "v", DeliveredAt: told, DeliveredFrom: start}},
		}}, int64(at))
		return u.registry.Visits["v"].CensusFacts().DeliveredAt
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

// A diagnosis whose onset each census reports with a precision of a day keeps the first resolved instant, even after a
// restart. A different onset gives a different start.
func TestCoarseOnsetIsKept(t *testing.T) {
	const hour = acuity.Instant(3_600_000)
	const from acuity.Instant = 1_772_582_400_000
	for name, visit := range map[string]string{"of a visit": "v", "of an occupant without one": ""} {
		u, log := New(testHospital), changelog{}
		tell := func(at, told, start acuity.Instant, code string) acuity.Instant {
			u.Apply(&acuity.Observation{Hospital: testHospital, ReceivedAt: at, Channel: acuity.ChannelCensus, Census: &acuity.Census{
				AsOf: at, TotalRooms: -1,
				Rooms: []acuity.CensusRoom{{ID: 1, Label: "1", Status: acuity.RoomOccupied, Visit: visit, HasDiagnoses: true, Diagnoses: []acuity.Diagnosis{
					{System: codes.ICD10CM, Code: code, OnsetAt: told, OnsetFrom: start},
				}}},
			}}, int64(at))
			if visit == "" {
				return u.registry.Room(1).Occupant.Facts.Diagnoses[0].Start
			}
			return u.registry.Visits[visit].CensusFacts().Diagnoses[0].Start
		}
		for i := range acuity.Instant(5) {
			if got := tell(from+(5+i)*hour, from+(5+i)*hour, from, "O14.13"); got != from+5*hour {
				t.Errorf("%s: onset at %v in census %d", name, got.Time(), i)
			}
			log.write(u)
			u = log.restore(t)
		}
		if got := tell(from+10*hour, from+2*hour, 0, "O14.13"); got != from+2*hour {
			t.Errorf("%s: told exactly, the onset is at %v", name, got.Time())
		}
		if got := tell(from+11*hour, from+11*hour, from, "O72.1"); got != from+11*hour {
			t.Errorf("%s: the onset of another diagnosis is at %v", name, got.Time())
		}
		if got := tell(from+36*hour, from+36*hour, from+24*hour, "O72.1"); got != from+36*hour {
			t.Errorf("%s: an onset on another day is at %v", name, got.Time())
		}
	}
}
