package hospital

import (
	"fmt"
	"slices"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/catalogue/cataloguetest"
	"svc/acuity/codes"
)

// lateListing returns a census without rooms at the given minute, received later.
func lateListing(at, received int) acuity.Observation {
	o := listing(clockAt(at))
	o.ReceivedAt = clockAt(received)
	return o
}

// A census ends the statements about a room that it does not list, but only those that svc received before the time of
// the census (docs/decisions.md#clinical-only-rooms). For 24 hours, a late message can still assign them to a patient.
func TestCensusOverridesStatementsUpToItsTime(t *testing.T) {
	const room = 9
	said := func(observed, received int) acuity.Observation {
		return clinicalRequest(clockAt(received), room, acuity.Signal{
			Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "env-interpreter", ObservedAt: clockAt(observed),
		})
	}
	there := acuity.Location{HasRoomID: true, RoomID: room}
	event := func(kind acuity.EventType, at, received int, visit string, place acuity.Location) acuity.Observation {
		return arrival(clockAt(received), acuity.Event{
			ID: fmt.Sprint(visit, kind), Type: kind, At: clockAt(at), Visit: visit, Class: 'I', Place: place,
		})
	}
	passed := func(min int) acuity.Observation {
		return acuity.Observation{ReceivedAt: clockAt(min), Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{Nurses: 3}}
	}
	withRoom := lateListing(0, 0)
	withRoom.Census.Rooms = append(withRoom.Census.Rooms, acuity.CensusRoom{ID: room, Label: "L9", Area: "LDR", Status: acuity.RoomEmpty})
	tests := map[string]struct {
		feed []acuity.Observation
		in   int32 // room with the factor; 0: none
	}{
		"received after a census that is late":        {[]acuity.Observation{said(65, 65), lateListing(60, 66)}, room},
		"in the other order":                          {[]acuity.Observation{lateListing(60, 66), said(65, 67)}, room},
		"also if the room was listed":                 {[]acuity.Observation{withRoom, said(65, 65), lateListing(60, 66)}, room},
		"observed earlier, received after the census": {[]acuity.Observation{said(55, 65), lateListing(60, 66)}, room},
		"observed earlier, in the other order":        {[]acuity.Observation{lateListing(60, 62), said(55, 65)}, room},
		"until the next census":                       {[]acuity.Observation{said(65, 65), lateListing(60, 66), lateListing(70, 70)}, 0},
		"received before the census":                  {[]acuity.Observation{said(55, 55), lateListing(60, 66)}, 0},
		"a day before the census":                     {[]acuity.Observation{said(0, 0), said(2, 25*60), lateListing(24*60, 26*60)}, room},
		"a day after the census":                      {[]acuity.Observation{said(65, 65), listing(clockAt(0)), passed(26 * 60), lateListing(60, 26*60)}, room},
		"a day before, and nothing since":             {[]acuity.Observation{said(0, 0), passed(26 * 60), lateListing(25*60, 26*60)}, 0},
		"also if the room comes back": {
			[]acuity.Observation{said(55, 55), lateListing(60, 66), clinicalRequest(clockAt(70), room)}, 0,
		},
		"a patient who left by the census does not take it along": {
			[]acuity.Observation{event(acuity.A01, 0, 0, "v", there), said(65, 65), lateListing(60, 66), event(acuity.A02, 70, 70, "v", ldr("L1"))}, 0,
		},
		"nor in the other order": {
			[]acuity.Observation{event(acuity.A01, 0, 0, "v", there), lateListing(60, 61), said(65, 65), event(acuity.A02, 70, 70, "v", ldr("L1"))}, 0,
		},
		"a patient who comes after the census gets it": {
			[]acuity.Observation{event(acuity.A01, 0, 0, "v", there), said(65, 65), lateListing(60, 66), event(acuity.A01, 70, 70, "w", there)}, room,
		},
		"of a patient who is reported after the census": {
			[]acuity.Observation{said(55, 55), lateListing(60, 60), event(acuity.A01, 50, 65, "v", there), event(acuity.A02, 70, 70, "v", ldr("L1"))}, 1,
		},
		"of a patient who is reported before it": {
			[]acuity.Observation{event(acuity.A01, 50, 50, "v", there), said(55, 55), lateListing(60, 60), event(acuity.A02, 70, 70, "v", ldr("L1"))}, 1,
		},
		"of another patient, as is reported after the census": {
			[]acuity.Observation{
				event(acuity.A01, 40, 40, "v", there), said(55, 55), lateListing(60, 60), event(acuity.A02, 70, 70, "v", ldr("L1")),
				event(acuity.A01, 50, 75, "w", there), event(acuity.A02, 76, 76, "w", ldr("L2")),
			}, 2,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u, log := New(testHospital), changelog{}
			for _, o := range tc.feed {
				feed(u, o)
				log.write(u)
				restored := log.restore(t)
				if got, want := rendered(restored.Chart()), rendered(u.Chart()); got != want {
					t.Errorf("restored: %s", difference(got, want))
				}
			}
			var got int32
			for i := range u.scoring.verdict.Rooms {
				if r := &u.scoring.verdict.Rooms[i]; r.Has(cataloguetest.Factor(t, "env-interpreter")) {
					got += r.ID
				}
			}
			if got != tc.in {
				t.Errorf("the factor is in room %d, want %d", got, tc.in)
			}
		})
	}
}

// A statement that svc received before a census but applies after it, such as a retried dead letter, does not bring back
// a room that the census does not list. The response says so.
func TestStatementOlderThanTheCensus(t *testing.T) {
	u := New(testHospital)
	c := last(feed(u, listing(clockAt(60)), clinicalRequest(clockAt(55), 9, magnesium(clockAt(55), acuity.SignalActive))))
	if got := warnings(c); !slices.Equal(got, []string{"room_not_occupied"}) || len(c.Activated)+len(c.Active) != 0 {
		t.Errorf("warnings %v, activated %v", got, ids(c.Activated))
	}
	if r := u.registry.Room(9); r.InUnit {
		t.Errorf("the room is in the unit: %+v", r.Chart)
	}
	c = last(feed(u, clinicalRequest(clockAt(60), 9, magnesium(clockAt(60), acuity.SignalActive))))
	if got := ids(c.Activated); len(c.Warnings) != 0 || !slices.Equal(got, []string{"high-mag"}) {
		t.Errorf("at the time of the census: warnings %v, activated %v", c.Warnings, got)
	}
}
