package hospital

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// A source hidden by another source of the same factor ends on time, both in a unit that judges only due rooms and in
// one that judges all rooms at each step.
func TestAHiddenSourceEnds(t *testing.T) {
	category := acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "11949-4", Display: "FHR category", Value: codes.ParseValue("Category II")}
	row := acuity.CensusRoom{ID: 4, Label: "L4", Status: acuity.RoomOccupied, Primary: factor("labor-standard"), HasDiagnoses: true, Diagnoses: []acuity.Diagnosis{{System: codes.ICD10CM, Code: "O68"}}}
	said := []acuity.Observation{
		{ReceivedAt: clockAt(0), Channel: acuity.ChannelCensus, Census: &acuity.Census{TotalRooms: 9, Rooms: []acuity.CensusRoom{row}}},
		clinicalRequest(clockAt(10), 4, category),
		{ReceivedAt: clockAt(255), Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{Nurses: 3}},
	}
	unit, plain := New(testHospital), NewPlain(testHospital)
	for i := range said {
		if a, b := feed(unit, said[i]), feed(plain, said[i]); rendered(a) != rendered(b) {
			t.Errorf("changes of step %d\n%s", i, difference(rendered(a), rendered(b)))
		}
		if a, b := shown(unit.scoring.verdict), shown(plain.scoring.verdict); a != b {
			t.Errorf("step %d\n%s", i, difference(a, b))
		}
		want := 2
		if i != 1 {
			want = 1
		}
		room := &unit.scoring.verdict.Rooms[0]
		if f := room.Find(factor("labor-fhr-cat-ii")); f == nil || len(room.Evidence(f)) != want || f.Next != 0 || f.Since != clockAt(0) {
			t.Errorf("step %d: %+v, want %d sources", i, f, want)
		}
		if next := room.Next; i == 1 && next != clockAt(250) {
			t.Errorf("the room changes at %v, want the end of the signal, %v", next, clockAt(250))
		}
	}
}

// A source that replaces another one counts as a change, even if nothing else changes.
func TestAnotherSourceIsAChange(t *testing.T) {
	row := func(code string) *acuity.Census {
		return &acuity.Census{TotalRooms: 9, Rooms: []acuity.CensusRoom{{
			ID: 4, Label: "L4", Status: acuity.RoomOccupied, Primary: factor("labor-standard"), HasDiagnoses: true,
			Diagnoses: []acuity.Diagnosis{{System: codes.ICD10CM, Code: code, OnsetAt: clockAt(0)}},
		}}}
	}
	for name, u := range map[string]*State{"unit": New(testHospital), "plain": NewPlain(testHospital)} {
		feed(u, acuity.Observation{ReceivedAt: clockAt(10), Channel: acuity.ChannelCensus, Census: row("O68")})
		feed(u, acuity.Observation{ReceivedAt: clockAt(20), Channel: acuity.ChannelCensus, Census: row("O68.1")})
		room := &u.scoring.verdict.Rooms[0]
		f := room.Find(factor("labor-fhr-cat-ii"))
		if f == nil || f.Since != clockAt(0) || len(room.Evidence(f)) != 1 || room.Evidence(f)[0].Source.Code != "O681" {
			t.Errorf("%s: %+v", name, f)
		}
		if u.scoring.verdict.AsOf != clockAt(20) {
			t.Errorf("%s: as of %v, want %v", name, u.scoring.verdict.AsOf, clockAt(20))
		}
	}
}
