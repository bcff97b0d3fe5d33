package hospital

import (
	"slices"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/catalogue/cataloguetest"
	"svc/acuity/codes"
	"svc/acuity/facts"
)

// primaries returns the primary factors of a room in ascending order.
func primaries(u *State, room int32) []string {
	var out []string
	if rv := u.roomVerdict(room); rv != nil {
		for i := range rv.Factors {
			if f := rv.Factors[i].Factor; f.IsPrimary() {
				out = append(out, f.ID())
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestNewbornsGoWithTheirMothers(t *testing.T) {
	mother := arrival(clockAt(0), acuity.Event{ID: "m", Type: acuity.A01, Visit: "m", Class: 'I', Place: ldr("L1")})
	baby := func(place acuity.Location) acuity.Observation {
		return arrival(clockAt(10), acuity.Event{ID: "b", Type: acuity.A01, Visit: "b", MotherVisit: "m", Newborn: true, Class: 'I', Place: place})
	}
	moves := arrival(clockAt(20), acuity.Event{ID: "m2", Type: acuity.A02, Visit: "m", Place: ldr("L2")})
	tests := map[string]struct {
		feed     []acuity.Observation
		one, two int // number of newborn factors in room 1 and in room 2
	}{
		"placed with her":           {feed: []acuity.Observation{mother, baby(ldr("L1"))}, one: 1},
		"placed nowhere":            {feed: []acuity.Observation{mother, baby(acuity.Location{})}, one: 1},
		"she moves":                 {feed: []acuity.Observation{mother, baby(ldr("L1")), moves}, two: 1},
		"it moves":                  {feed: []acuity.Observation{mother, baby(ldr("L1")), arrival(clockAt(20), acuity.Event{ID: "b2", Type: acuity.A02, Visit: "b", Place: ldr("L2")})}, two: 1},
		"it is discharged":          {feed: []acuity.Observation{mother, baby(ldr("L1")), arrival(clockAt(20), acuity.Event{ID: "b2", Type: acuity.A03, Visit: "b"})}},
		"she is discharged":         {feed: []acuity.Observation{mother, baby(ldr("L1")), arrival(clockAt(20), acuity.Event{ID: "m2", Type: acuity.A03, Visit: "m"})}},
		"it is told of before her":  {feed: []acuity.Observation{baby(acuity.Location{}), arrival(clockAt(11), acuity.Event{ID: "m", Type: acuity.A01, At: clockAt(0), Visit: "m", Class: 'I', Place: ldr("L1")})}, one: 1},
		"a census shows her moved":  {feed: []acuity.Observation{mother, baby(ldr("L1")), listing(clockAt(30), acuity.CensusRoom{ID: 2, Visit: "m"})}, two: 1},
		"a census lists it as well": {feed: []acuity.Observation{mother, baby(ldr("L1")), listing(clockAt(30), acuity.CensusRoom{ID: 1, Visit: "m", HasNewborns: true, Newborns: []acuity.CensusNewborn{{}}})}, one: 1},
		"a census lists another":    {feed: []acuity.Observation{mother, baby(ldr("L1")), listing(clockAt(30), acuity.CensusRoom{ID: 1, Visit: "m", HasNewborns: true, Newborns: []acuity.CensusNewborn{{}, {}}})}, one: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u := New(testHospital)
			feed(u, listing(clockAt(-10)))
			feed(u, tc.feed...)
			for room, want := range map[int32]int{1: tc.one, 2: tc.two} {
				got := 0
				for _, p := range u.registry.Room(room).Chart.Patients {
					for _, e := range p.Evidence {
						if e.Factor.IsNewborn() {
							got++
						}
					}
				}
				if got != want {
					t.Errorf("room %d has %d newborns, want %d: %+v", room, got, want, u.registry.Room(room).Chart.Patients)
				}
			}
			if u.registry.Chart.Unit.Unplaced != 0 {
				t.Errorf("%d unplaced", u.registry.Chart.Unit.Unplaced)
			}
		})
	}
}

func TestPrimaryOfCensusAndADT(t *testing.T) {
	couplet := acuity.CensusRoom{ID: 1, Visit: "v", Primary: cataloguetest.Factor(t, "pp-couplet")}
	admit := arrival(clockAt(0), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")})
	tests := map[string]struct {
		feed []acuity.Observation
		room int32
		want string
	}{
		"ADT alone":                        {[]acuity.Observation{admit}, 1, "labor-standard"},
		"a census states another":          {[]acuity.Observation{admit, listing(clockAt(10), couplet)}, 1, "pp-couplet"},
		"the next does not mention it":     {[]acuity.Observation{admit, listing(clockAt(10), couplet), listing(clockAt(20), acuity.CensusRoom{ID: 1, Visit: "v"})}, 1, "pp-couplet"},
		"a move within the area":           {[]acuity.Observation{admit, listing(clockAt(10), couplet), arrival(clockAt(20), acuity.Event{ID: "b", Type: acuity.A02, Visit: "v", Place: ldr("L2")})}, 2, "pp-couplet"},
		"a move to another area":           {[]acuity.Observation{admit, listing(clockAt(10), couplet), arrival(clockAt(20), acuity.Event{ID: "b", Type: acuity.A02, Visit: "v", Place: acuity.Location{PointOfCare: "OBOR", HasRoomID: true, RoomID: 2}})}, 2, "csection-intraop"},
		"somebody without a visit":         {[]acuity.Observation{listing(clockAt(10), acuity.CensusRoom{ID: 1, Primary: cataloguetest.Factor(t, "ap-stable")})}, 1, "ap-stable"},
		"somebody, by the area of the row": {[]acuity.Observation{listing(clockAt(10), acuity.CensusRoom{ID: 1})}, 1, "labor-standard"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u := New(testHospital)
			feed(u, listing(clockAt(-10)))
			feed(u, tc.feed...)
			if got := primaries(u, tc.room); !slices.Equal(got, []string{tc.want}) {
				t.Errorf("primaries %v, want %s", got, tc.want)
			}
		})
	}
}

func TestEventsThatComeAgain(t *testing.T) {
	u := New(testHospital)
	e := acuity.Event{ID: "a", Digest: "1", Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")}
	feed(u, arrival(clockAt(0), e))
	e.Digest, e.Place = "2", ldr("L2")
	c := last(feed(u, arrival(clockAt(5), e)))
	if c.Outcome != acuity.Duplicate || !slices.Equal(warnings(c), []string{"event_id_reused"}) || c.Items[0].Outcome != acuity.Duplicate {
		t.Errorf("change %+v", c)
	}
	c = last(feed(u, acuity.Observation{ReceivedAt: clockAt(6), Channel: acuity.ChannelBatch, Events: []acuity.Event{
		{ID: "b", Type: acuity.EventOther, At: clockAt(6), Visit: "v"},
		{ID: "c", Type: acuity.A02, At: clockAt(6)},
		{ID: "d", Type: acuity.A02, At: clockAt(6), Visit: "v", Place: ldr("L2")},
		{ID: "e", Type: acuity.A12, At: clockAt(6), Visit: "w", Cancels: clockAt(1)},
	}}))
	want := []acuity.ItemResult{
		{Outcome: acuity.Ignored, Reason: "event_type"},
		{Outcome: acuity.Ignored, Reason: "visit_unknown"},
		{HasRoom: true, RoomID: u.ownRoom(ldr("L2"))},
		{},
	}
	if !slices.Equal(c.Items, want) || c.Outcome != acuity.Applied || !slices.Contains(warnings(c), "cancel_waiting") {
		t.Errorf("items %+v, want %+v; warnings %v", c.Items, want, warnings(c))
	}
}

func (u *State) ownRoom(l acuity.Location) int32 { return u.locations.Table.Resolve(l).Room }

func TestStatementsAboutAVisitOrPatient(t *testing.T) {
	u := New(testHospital)
	about := func(at int, visit, patient string) acuity.Observation {
		s := magnesium(clockAt(at), acuity.SignalActive)
		s.Visit, s.Patient = visit, patient
		return acuity.Observation{ReceivedAt: clockAt(at), Channel: acuity.ChannelFHIR, Signals: []acuity.Signal{s}}
	}
	feed(u, listing(clockAt(-10)), about(0, "v", ""))
	feed(u, arrival(clockAt(5), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Patient: "p", Class: 'I', Place: ldr("L1")}))
	if !u.roomVerdict(1).Has(cataloguetest.Factor(t, "high-mag")) {
		t.Error("what was said of the visit before it came is lost")
	}
	feed(u, arrival(clockAt(6), acuity.Event{ID: "b", Type: acuity.A01, Visit: "w", Patient: "q", Class: 'I', Place: ldr("L2")}), about(7, "", "q"))
	if !u.roomVerdict(2).Has(cataloguetest.Factor(t, "high-mag")) {
		t.Error("what was said of the patient is lost")
	}
	if c := last(feed(u, about(8, "", "nobody"))); !slices.Equal(warnings(c), []string{"reference_waiting"}) {
		t.Errorf("warnings %v", warnings(c))
	}
	together := arrival(clockAt(9), acuity.Event{ID: "c", Type: acuity.A01, Visit: "x", Patient: "r", Class: 'I', Place: ldr("L3")})
	together.Signals = about(9, "", "r").Signals
	if c := last(feed(u, together)); len(c.Warnings) != 0 || len(c.Activated) == 0 {
		t.Errorf("of a patient whose visit comes in the same request: warnings %v, activated %v", warnings(c), c.Activated)
	}
}

func TestRejectedInputIsNotSilent(t *testing.T) {
	u := New(testHospital)
	feed(u, listing(clockAt(0), acuity.CensusRoom{ID: 1}))
	before := rendered(u.Chart().Rooms)
	c := u.Reject("schema_unknown", clockAt(5), 17)
	if c.Version != 2 || c.Offset != 17 || c.Outcome != acuity.Rejected || c.Reason != "schema_unknown" || len(c.Effects) != 0 || c.AppliedAt != clockAt(5) {
		t.Errorf("change %+v", c)
	}
	if after := rendered(u.Chart().Rooms); after != before {
		t.Errorf("rooms differ\n%s", difference(before, after))
	}
}

// If a unit is restored from records that were written under different rules, a step is due at once, and that step
// reports the changed color.
func TestRestoreUnderOtherRulesIsDueAtOnce(t *testing.T) {
	u := New(testHospital)
	feed(u, said4())
	log := changelog{}
	log.write(u)
	room, ok := log[testHospital+"/room/4"].(*facts.RoomState)
	if !ok {
		t.Fatal("no record of the room")
	}
	room.Color = acuity.ColorGreen // as if different rules had been in effect
	r := log.restore(t)
	if due := r.Due(); due != clockAt(0) {
		t.Fatalf("due %v", due.Time())
	}
	c, more := r.Advance(clockAt(0))
	if !more || len(c.Effects) != 1 || c.Effects[0].PriorColor != acuity.ColorGreen || c.Effects[0].Color != acuity.ColorOrange {
		t.Errorf("change %+v", c)
	}
	if _, more := r.Advance(clockAt(0)); more {
		t.Error("told twice")
	}
}

func said4() acuity.Observation {
	return clinicalRequest(clockAt(0), 4, magnesium(clockAt(0), acuity.SignalActive))
}

func TestRestoreTakesRecordsAway(t *testing.T) {
	u := New(testHospital)
	feed(u, said4(), arrival(clockAt(1), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")}))
	feed(u, acuity.Observation{ReceivedAt: clockAt(2), Mappings: []acuity.Mapping{{ID: "m", System: codes.SystemLocal, Code: "X"}}})
	feed(u, clinicalRequest(clockAt(3), 4, acuity.Signal{Kind: catalogue.KindLab, System: codes.SystemLocal, Code: "Y"}))
	log := changelog{}
	log.write(u)
	if len(log) != 9 { // unit, two rooms, visit, event identity, mapping, code, two statements
		t.Fatalf("%d records", len(log))
	}
	r := New(testHospital)
	for key, s := range log {
		if err := r.Restore(key, s); err != nil {
			t.Fatal(err)
		}
	}
	for key := range log {
		if err := r.Restore(key, nil); err != nil {
			t.Fatal(err)
		}
	}
	r.Restored()
	if x, y := rendered(r.Chart()), rendered(New(testHospital).Chart()); x != y || len(r.registry.Visits)+len(r.registry.Rooms)+len(r.dedup.ByID.Rows)+len(r.worklist.Codes.Rows)+len(r.settings.Rows) != 0 {
		t.Errorf("not empty\n%s\n%s", x, y)
	}
	for _, key := range []string{"other/unit", testHospital + "/else/1", testHospital + "/room/x", testHospital + "/statement/x"} {
		if err := r.Restore(key, nil); err == nil {
			t.Errorf("%s was taken", key)
		}
	}
}

// The first step of each hour removes the visits whose discharge and last fact were both at least a week ago. No
// visit is removed earlier.
func TestVisitIsForgottenAfterAWeek(t *testing.T) {
	u := New(testHospital)
	feed(
		u, arrival(clockAt(10), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")}),
		arrival(clockAt(70), acuity.Event{ID: "b", Type: acuity.A03, Visit: "v"}),
	)
	const week = 7 * 24 * 60
	for _, c := range []struct {
		at    int
		there bool
	}{{week - 30, true}, {week + 65, true}, {week + 119, true}, {week + 121, false}} {
		feed(u, clinicalRequest(clockAt(c.at), 2, acuity.Signal{Room: 2, Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "X"}))
		if there := u.registry.Visits["v"] != nil; there != c.there {
			t.Errorf("a week and %d min after its admission: %v, want %v", c.at-week, there, c.there)
		}
	}
	feed(u, arrival(clockAt(10+2*week), acuity.Event{ID: "c", Type: acuity.A01, Visit: "w", Class: 'I', Place: ldr("L1")}),
		arrival(clockAt(20+2*week), acuity.Event{ID: "d", Type: acuity.A03, Visit: "w"}),
		clinicalRequest(clockAt(3*week+25), 2, acuity.Signal{Room: 2, Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "X"}))
	if u.registry.Visits["w"] != nil {
		t.Error("a visit is there after the first step of the hour in which it may be forgotten")
	}
	if len(u.registry.Slots.Visits) != 2 || u.registry.Slots.Visits[1] != nil || len(u.registry.Slots.Vacant) != 1 {
		t.Errorf("one slot after the other: %d for two visits, of which %d are vacant", len(u.registry.Slots.Visits)-1, len(u.registry.Slots.Vacant))
	}
}
