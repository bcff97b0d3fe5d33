package hospital

import (
	"testing"

	"svc/acuity"
	"svc/acuity/registry"
)

// Rooms beyond a hospital's limit are refused, whether a census, a clinical request, an event with a room number or a
// row of the location table names them. The event is rejected; each of the other inputs gets a warning. Known rooms
// remain usable.
func TestKnownRoomsAreCapped(t *testing.T) {
	few := registry.Usual
	few.Known = 3
	few, registry.Usual = registry.Usual, few
	defer func() { registry.Usual = few }()
	row := func(id int32) acuity.CensusRoom { return acuity.CensusRoom{ID: id, Status: acuity.RoomEmpty} }
	event := func(id string, place acuity.Location) []acuity.Event {
		return []acuity.Event{{ID: id, Type: acuity.A01, At: day, Visit: id, Class: 'I', Place: place}}
	}
	for name, c := range map[string]struct {
		o    func(room int32) acuity.Observation
		code string // code of the warning; if empty, the event is rejected
	}{
		"a census": {func(room int32) acuity.Observation {
			return acuity.Observation{Channel: acuity.ChannelCensus, Census: &acuity.Census{AsOf: day + 2000, TotalRooms: -1, Rooms: []acuity.CensusRoom{row(1), row(2), row(3), row(room)}}}
		}, reasonRooms},
		"a signal": {func(room int32) acuity.Observation {
			return acuity.Observation{Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: room}}
		}, reasonRooms},
		"an event with the number of a room": {func(room int32) acuity.Observation {
			return acuity.Observation{Channel: acuity.ChannelADT, Events: event("v1", acuity.Location{HasRoomID: true, RoomID: room})}
		}, ""},
		"a row of the location table": {func(room int32) acuity.Observation {
			return acuity.Observation{Channel: acuity.ChannelLocations, Locations: []acuity.Place{{HasRoomID: true, RoomID: room, Label: "hall"}}}
		}, reasonRooms},
	} {
		t.Run(name, func(t *testing.T) {
			u := New(testHospital)
			u.Apply(&acuity.Observation{Hospital: testHospital, ReceivedAt: day + 1000, Channel: acuity.ChannelCensus, Census: &acuity.Census{
				AsOf: day, TotalRooms: -1, Rooms: []acuity.CensusRoom{row(1), row(2), row(3)},
			}}, 0)
			say := func(at acuity.Instant, room int32) acuity.Change {
				o := c.o(room)
				o.Hospital, o.ReceivedAt = testHospital, at
				return u.Apply(&o, int64(at))
			}
			refused := func(change acuity.Change) bool {
				if c.code == "" {
					return change.Items[0].Outcome == acuity.Rejected && change.Items[0].Reason == reasonRooms
				}
				for _, w := range change.Warnings {
					if w.Code == c.code {
						return true
					}
				}
				return false
			}
			if !refused(say(day+3000, 4)) || u.registry.Room(4) != nil || len(u.registry.Rooms) != 3 {
				t.Errorf("a fourth room is taken: %d rooms", len(u.registry.Rooms))
			}
			if refused(say(day+4000, 3)) {
				t.Error("a room that is known is refused")
			}
		})
	}
	t.Run("places", func(t *testing.T) {
		u := New(testHospital)
		var reasons []string
		for i, room := range []string{"L1", "L2", "L3", "L4", "L1"} {
			o := acuity.Observation{Hospital: testHospital, ReceivedAt: day.Add(1000), Channel: acuity.ChannelADT}
			o.Events = event("v"+string(rune('1'+i)), acuity.Location{PointOfCare: "ICU", Room: room})
			reasons = append(reasons, u.Apply(&o, int64(i)).Items[0].Reason)
		}
		if reasons[2] != "" || reasons[3] != reasonRooms || reasons[4] != "" {
			t.Errorf("places are taken and refused as %q", reasons)
		}
	})
}
