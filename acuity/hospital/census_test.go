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

// listing returns a census of rooms 1 and 2, labeled L1 and L2, with the given rows.
func listing(at acuity.Instant, rows ...acuity.CensusRoom) acuity.Observation {
	c := &acuity.Census{TotalRooms: -1, AsOf: at}
	for _, id := range []int32{1, 2} {
		row := acuity.CensusRoom{ID: id, Label: map[int32]string{1: "L1", 2: "L2"}[id], Area: "LDR", Status: acuity.RoomEmpty}
		for _, r := range rows {
			if r.ID == id {
				r.Label, r.Area, r.Status = row.Label, row.Area, acuity.RoomOccupied
				row = r
			}
		}
		c.Rooms = append(c.Rooms, row)
	}
	return acuity.Observation{ReceivedAt: at, Channel: acuity.ChannelCensus, Census: c}
}

func ldr(room string) acuity.Location { return acuity.Location{PointOfCare: "LDR", Room: room} }

// occupants returns the ids of the visits in a room.
func occupants(u *State, id int32) []string {
	var out []string
	if r := u.registry.Room(id); r != nil && r.InUnit {
		for i := range r.Chart.Patients {
			out = append(out, r.Chart.Patients[i].Visit)
		}
	}
	return out
}

func warnings(c acuity.Change) []string {
	var out []string
	for _, w := range c.Warnings {
		out = append(out, w.Code)
	}
	return out
}

// A visit in two rows causes a warning at the second row.
func TestVisitInTwoRows(t *testing.T) {
	u := New(testHospital)
	o := listing(clockAt(10), acuity.CensusRoom{ID: 1, Visit: "v"}, acuity.CensusRoom{ID: 2, Visit: "v"})
	c := u.Apply(&o, 1)
	if want := []acuity.Warning{{Code: "visit_twice", Path: "rooms[1].visitId"}}; !slices.Equal(c.Warnings, want) {
		t.Errorf("%v, want %v", c.Warnings, want)
	}
}

func TestCensusAmongADT(t *testing.T) {
	admit := func(min int, visit, room string) acuity.Observation {
		return arrival(clockAt(min), acuity.Event{ID: visit + "-in", Type: acuity.A01, Visit: visit, Class: 'I', Place: ldr(room)})
	}
	late := func(at, received int, e acuity.Event) acuity.Observation {
		e.At, e.ID = clockAt(at), e.ID+e.Visit+"-late"
		return arrival(clockAt(received), e)
	}
	occupied, visible := acuity.CensusRoom{ID: 1}, acuity.CensusRoom{ID: 1, Visit: "v"}
	discharge := func(min int) acuity.Observation {
		return arrival(clockAt(min), acuity.Event{ID: "out", Type: acuity.A03, Visit: "v"})
	}
	tests := map[string]struct {
		feed     []acuity.Observation
		one, two []string
	}{
		"an empty row takes the visit out": {
			feed: []acuity.Observation{admit(0, "v", "L1"), listing(clockAt(10))},
		},
		"until it is placed again": {
			feed: []acuity.Observation{admit(0, "v", "L1"), listing(clockAt(10)), arrival(clockAt(20), acuity.Event{ID: "x", Type: acuity.A02, Visit: "v", Place: ldr("L2")})},
			two:  []string{"v"},
		},
		"a row without visit is the visit that ADT has there": {
			feed: []acuity.Observation{admit(0, "v", "L1"), listing(clockAt(10), occupied)},
			one:  []string{"v"},
		},
		"a row without visit is somebody": {
			feed: []acuity.Observation{listing(clockAt(10), occupied)},
			one:  []string{"room:1"},
		},
		"a visit in two rows is in the first, and somebody in the other": {
			feed: []acuity.Observation{listing(clockAt(10), acuity.CensusRoom{ID: 1, Visit: "v"}, acuity.CensusRoom{ID: 2, Visit: "v"})},
			one:  []string{"v"}, two: []string{"room:2"},
		},
		"also if ADT has her in the other": {
			feed: []acuity.Observation{admit(0, "v", "L2"), listing(clockAt(10), acuity.CensusRoom{ID: 1, Visit: "v"}, acuity.CensusRoom{ID: 2, Visit: "v"})},
			one:  []string{"v"}, two: []string{"room:2"},
		},
		"and until a census shows her once": {
			feed: []acuity.Observation{
				listing(clockAt(10), acuity.CensusRoom{ID: 1, Visit: "v"}, acuity.CensusRoom{ID: 2, Visit: "v"}), listing(clockAt(20), acuity.CensusRoom{ID: 2, Visit: "v"}),
			},
			two: []string{"v"},
		},
		"somebody ends when a visit is placed there later": {
			feed: []acuity.Observation{listing(clockAt(10), occupied), admit(20, "v", "L1")},
			one:  []string{"v"},
		},
		"a late event tells who somebody is": {
			feed: []acuity.Observation{listing(clockAt(10), occupied), late(5, 20, acuity.Event{Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")})},
			one:  []string{"v"},
		},
		"a late event to an empty room loses its place": {
			feed: []acuity.Observation{listing(clockAt(10)), late(5, 20, acuity.Event{Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")})},
		},
		"a discharge ends a visit that only the census has in a room": {
			feed: []acuity.Observation{listing(clockAt(10), visible), discharge(20)},
		},
		"but not if a later census shows it": {
			feed: []acuity.Observation{listing(clockAt(10), visible), discharge(20), listing(clockAt(30), visible)},
			one:  []string{"v"},
		},
		"nor if it was before the census": {
			feed: []acuity.Observation{listing(clockAt(10), visible), late(5, 20, acuity.Event{Type: acuity.A03, Visit: "v"})},
			one:  []string{"v"},
		},
		"nor if it is taken back": {
			feed: []acuity.Observation{
				listing(clockAt(10), visible), discharge(20), arrival(clockAt(30), acuity.Event{ID: "y", Type: acuity.A13, Visit: "v", Cancels: clockAt(20)}),
			},
			one: []string{"v"},
		},
		"what is taken back again leaves her where the census saw her: a transfer": {
			feed: []acuity.Observation{
				listing(clockAt(10), visible), arrival(clockAt(20), acuity.Event{ID: "x", Type: acuity.A02, Visit: "v", Place: ldr("L2")}),
				arrival(clockAt(30), acuity.Event{ID: "y", Type: acuity.A12, Visit: "v", Cancels: clockAt(20)}),
			},
			one: []string{"v"},
		},
		"an admission": {
			feed: []acuity.Observation{
				listing(clockAt(10), visible), admit(20, "v", "L2"), arrival(clockAt(30), acuity.Event{ID: "y", Type: acuity.A11, Visit: "v", Cancels: clockAt(20)}),
			},
			one: []string{"v"},
		},
		"a transfer from where the census had brought her": {
			feed: []acuity.Observation{
				admit(0, "v", "L2"), listing(clockAt(10), visible), arrival(clockAt(20), acuity.Event{ID: "x", Type: acuity.A02, Visit: "v", Place: ldr("L9")}),
				arrival(clockAt(30), acuity.Event{ID: "y", Type: acuity.A12, Visit: "v"}),
			},
			one: []string{"v"},
		},
		"a second discharge ends what a census had kept": {
			feed: []acuity.Observation{
				admit(0, "v", "L1"), discharge(5), listing(clockAt(10), visible), arrival(clockAt(20), acuity.Event{ID: "z", Type: acuity.A03, Visit: "v"}),
			},
		},
		"a row moves a visit": {
			feed: []acuity.Observation{admit(0, "v", "L1"), listing(clockAt(10), acuity.CensusRoom{ID: 2, Visit: "v"})},
			two:  []string{"v"},
		},
		"a late transfer before the census does not": {
			feed: []acuity.Observation{
				admit(0, "v", "L1"), listing(clockAt(10), acuity.CensusRoom{ID: 2, Visit: "v"}),
				late(5, 20, acuity.Event{Type: acuity.A02, Visit: "v", Place: ldr("L1")}),
			},
			two: []string{"v"},
		},
		"a cancel recorded after the census counts": {
			feed: []acuity.Observation{
				admit(0, "v", "L1"), listing(clockAt(10), acuity.CensusRoom{ID: 1, Visit: "v"}),
				arrival(clockAt(20), acuity.Event{ID: "c", Type: acuity.A11, Visit: "v", Cancels: clockAt(0)}),
			},
		},
		"a missing visit continues": {
			feed: []acuity.Observation{listing(clockAt(0), acuity.CensusRoom{ID: 1, Visit: "v"}), listing(clockAt(10), occupied)},
			one:  []string{"v"},
		},
		"a census that is older is ignored": {
			feed: []acuity.Observation{listing(clockAt(10), occupied), func() acuity.Observation { o := listing(clockAt(5)); o.ReceivedAt = clockAt(11); return o }()},
			one:  []string{"room:1"},
		},
		"a discharge after the census": {
			feed: []acuity.Observation{
				admit(0, "v", "L1"), listing(clockAt(10), acuity.CensusRoom{ID: 1, Visit: "v"}),
				arrival(clockAt(20), acuity.Event{ID: "d", Type: acuity.A03, Visit: "v"}),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u := New(testHospital)
			feed(u, tc.feed...)
			if got := occupants(u, 1); !slices.Equal(got, tc.one) {
				t.Errorf("room 1 has %v, want %v", got, tc.one)
			}
			if got := occupants(u, 2); !slices.Equal(got, tc.two) {
				t.Errorf("room 2 has %v, want %v", got, tc.two)
			}
			if u.registry.Chart.Unit.Unplaced != 0 {
				t.Errorf("%d unplaced", u.registry.Chart.Unit.Unplaced)
			}
		})
	}
}

func TestEvidenceGoesWithItsOwner(t *testing.T) {
	mag := func(observed, received int) acuity.Observation {
		s := magnesium(clockAt(observed), acuity.SignalActive)
		s.ObservedAt = clockAt(observed)
		return clinicalRequest(clockAt(received), 1, s)
	}
	in := func(at, received int, visit string) acuity.Observation {
		return arrival(clockAt(received), acuity.Event{ID: visit, Type: acuity.A01, At: clockAt(at), Visit: visit, Class: 'I', Place: ldr("L1")})
	}
	out := func(at int, visit string) acuity.Observation {
		return arrival(clockAt(at), acuity.Event{ID: visit + "-out", Type: acuity.A03, Visit: visit})
	}
	start := listing(clockAt(0))
	tests := map[string]struct {
		feed   []acuity.Observation
		active bool
	}{
		"said of whoever is there":                      {[]acuity.Observation{start, in(1, 1, "v"), mag(5, 5)}, true},
		"of one who left":                               {[]acuity.Observation{start, in(1, 1, "v"), mag(5, 5), out(9, "v"), in(20, 20, "w")}, false},
		"of one who is told of later":                   {[]acuity.Observation{start, mag(5, 5), in(3, 30, "v")}, true},
		"of one who comes within the hour":              {[]acuity.Observation{start, mag(5, 5), in(60, 60, "v")}, true},
		"not of one who comes after the hour":           {[]acuity.Observation{start, mag(5, 5), in(66, 66, "v")}, false},
		"of one who is there when it comes":             {[]acuity.Observation{start, in(90, 90, "v"), mag(5, 100)}, true},
		"not of the second who comes":                   {[]acuity.Observation{start, mag(5, 5), in(10, 10, "v"), out(20, "v"), in(30, 30, "w")}, false},
		"of one who was there then, though told of now": {[]acuity.Observation{start, in(1, 1, "v"), out(10, "v"), in(20, 20, "w"), mag(5, 30)}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u := New(testHospital)
			feed(u, tc.feed...)
			if got := u.roomVerdict(1).Has(cataloguetest.Factor(t, "high-mag")); got != tc.active {
				t.Errorf("magnesium is active: %v, want %v; chart %+v", got, tc.active, u.registry.Room(1).Chart)
			}
		})
	}
}

func TestRoomThatNobodyIsIn(t *testing.T) {
	u := New(testHospital)
	c := last(feed(u, listing(clockAt(0)), clinicalRequest(clockAt(1), 1, magnesium(clockAt(1), acuity.SignalActive))))
	if got := warnings(c); !slices.Equal(got, []string{"room_not_occupied"}) {
		t.Errorf("warnings %v", got)
	}
	if rv := u.roomVerdict(1); rv.Demand != 0 || rv.Color != acuity.ColorGray {
		t.Errorf("room %+v", rv)
	}
}

func TestCensusTakesRoomsOut(t *testing.T) {
	u := New(testHospital)
	c := last(feed(u, clinicalRequest(clockAt(0), 9, magnesium(clockAt(0), acuity.SignalActive))))
	if len(c.Effects) != 1 || c.Effects[0].RoomID != 9 {
		t.Fatalf("effects %+v", c.Effects)
	}
	c = last(feed(u, listing(clockAt(5))))
	if c.Removed != 1 || len(c.Effects) != 1 || c.Effects[0].Color != acuity.ColorGray || c.Effects[0].PriorColor != acuity.ColorOrange {
		t.Errorf("change %+v", c)
	}
	if got := ids(c.Expired); !slices.Equal(got, []string{"high-mag"}) {
		t.Errorf("expired %v", got)
	}
	c = last(feed(u, clinicalRequest(clockAt(6), 9)))
	if len(c.Active) != 0 || u.roomVerdict(9) == nil {
		t.Errorf("the room came back with %v", c.Active)
	}
}

// A factor that expires between two inputs about its room is reported once, with the second input. A statement whose
// window had already passed on arrival is reported as expired, although its factor was never active.
func TestExpiredIsToldOnce(t *testing.T) {
	u := New(testHospital)
	mews := func(at, observed int, score int64) acuity.Observation {
		return clinicalRequest(clockAt(at), 4, acuity.Signal{
			Kind: catalogue.KindObservation, System: codes.LOINC, Code: "999-1", Display: "MEWS score", Value: codes.NumberValue(codes.Milli(score)*1000, ""), ObservedAt: clockAt(observed),
		})
	}
	c := last(feed(u, mews(0, 0, 5)))
	if got := ids(c.Activated); !slices.Equal(got, []string{"mews-active"}) {
		t.Fatalf("activated %v", got)
	}
	changes := feed(u, clinicalRequest(clockAt(300), 5), clinicalRequest(clockAt(301), 4), clinicalRequest(clockAt(302), 4))
	step := changes[slices.IndexFunc(changes, func(c acuity.Change) bool { return c.AppliedAt == clockAt(240) })]
	if step.Cause != acuity.CauseTime || step.AppliedAt != clockAt(240) {
		t.Errorf("step %+v", step)
	}
	if got := changes[len(changes)-3]; len(got.Expired) != 0 {
		t.Errorf("another room: expired %v", ids(got.Expired))
	}
	if got := ids(changes[len(changes)-2].Expired); !slices.Equal(got, []string{"mews-active"}) {
		t.Errorf("expired %v, want mews-active", got)
	}
	if got := changes[len(changes)-1]; len(got.Expired) != 0 {
		t.Errorf("told twice: %v", ids(got.Expired))
	}
	c = last(feed(u, mews(600, 310, 6)))
	if len(c.Activated) != 0 || !slices.Equal(ids(c.Expired), []string{"mews-active"}) {
		t.Errorf("past its window: activated %v, expired %v", ids(c.Activated), ids(c.Expired))
	}
}

func TestMappingReadsWhatWasSaidBefore(t *testing.T) {
	u := New(testHospital)
	s := acuity.Signal{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "HAUS-7", Display: "House code"}
	c := last(feed(u, clinicalRequest(clockAt(0), 4, s)))
	if len(c.Unmapped) != 1 || c.Unmapped[0].Code != "HAUS-7" || len(c.Activated) != 0 {
		t.Fatalf("change %+v", c)
	}
	m := acuity.Mapping{ID: "m", System: codes.SystemLocal, Code: "HAUS-7", Factor: cataloguetest.Factor(t, "high-cardiac")}
	c = last(feed(u, acuity.Observation{ReceivedAt: clockAt(5), Channel: acuity.ChannelTerminology, Mappings: []acuity.Mapping{m}}))
	if got := ids(c.Activated); !slices.Equal(got, []string{"high-cardiac"}) {
		t.Errorf("activated %v", got)
	}
	m.Delete = true
	c = last(feed(u, acuity.Observation{ReceivedAt: clockAt(6), Channel: acuity.ChannelTerminology, Mappings: []acuity.Mapping{m}}))
	if got := ids(c.Expired); !slices.Equal(got, []string{"high-cardiac"}) {
		t.Errorf("expired %v", got)
	}
	kinds := map[string]int{}
	u.Dirty(func(key []byte, s facts.Record) {
		if code, ok := s.(*facts.CodeState); ok && (code.Count != 1 || !slices.Equal(code.Rooms, []int32{4})) {
			t.Errorf("worklist %+v", code)
		}
		kinds[string(key)]++
	})
	for key, n := range kinds {
		if n != 1 {
			t.Errorf("%s written %d times", key, n)
		}
	}
}

func TestStaffingPlanTakesOver(t *testing.T) {
	u := New(testHospital)
	staff := func(at int, s acuity.Staffing) acuity.Observation {
		return acuity.Observation{ReceivedAt: clockAt(at), Channel: acuity.ChannelStaffing, Staffing: &s}
	}
	feed(u, staff(0, acuity.Staffing{Nurses: 3, Call: acuity.Yes}), staff(1, acuity.Staffing{Nurses: 5, AsOf: clockAt(120)}))
	if u.scoring.verdict.OnDuty != 3 || u.Due() != clockAt(120) {
		t.Fatalf("on duty %d, due %v", u.scoring.verdict.OnDuty, u.Due().Time())
	}
	c, more := u.Advance(clockAt(120))
	if !more || u.scoring.verdict.OnDuty != 5 || u.scoring.verdict.Call != acuity.Yes {
		t.Errorf("change %+v, on duty %d, call %v", c, u.scoring.verdict.OnDuty, u.scoring.verdict.Call)
	}
	c = last(feed(u, staff(130, acuity.Staffing{Nurses: 1, AsOf: clockAt(100)})))
	if c.Outcome != acuity.Ignored || u.scoring.verdict.OnDuty != 5 {
		t.Errorf("older: %+v, on duty %d", c, u.scoring.verdict.OnDuty)
	}
}

// A late message can assign a statement to another visit. The previous visit then loses the statement, wherever that
// visit is now.
func TestLateOwnerTakesTheStatement(t *testing.T) {
	u := New(testHospital)
	s := magnesium(clockAt(5), acuity.SignalActive)
	s.ObservedAt = clockAt(5)
	feed(u, listing(clockAt(0)),
		arrival(clockAt(1), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")}),
		clinicalRequest(clockAt(5), 1, s),
		arrival(clockAt(10), acuity.Event{ID: "b", Type: acuity.A02, Visit: "v", Place: ldr("L2")}))
	mag := cataloguetest.Factor(t, "high-mag")
	if !u.roomVerdict(2).Has(mag) {
		t.Fatal("the statement did not go with her")
	}
	c := last(feed(u, arrival(clockAt(30), acuity.Event{ID: "c", Type: acuity.A01, At: clockAt(4), Visit: "w", Class: 'I', Place: ldr("L1")})))
	if !u.roomVerdict(1).Has(mag) || u.roomVerdict(2).Has(mag) {
		t.Errorf("room 1 %+v, room 2 %+v", u.roomVerdict(1), u.roomVerdict(2))
	}
	if len(c.Expired) != 1 || c.Expired[0].RoomID != 2 {
		t.Errorf("expired %+v", c.Expired)
	}
}
