package ingest

import (
	"net/http"

	"svc/acuity"
	"svc/internal/httpapi"
)

type locationAnswer struct {
	acted
	ID string `json:"id"`
}

// setLocation sets a row of the location table.
func (s *server) setLocation(w http.ResponseWriter, r *http.Request) {
	o, in := s.beginActWithBody(w, r, acuity.ChannelLocations, func(in *reader, body []byte, o *acuity.Observation) {
		o.Locations = []acuity.Place{in.place(body)}
	})
	if o == nil {
		return
	}
	answer := locationAnswer{ID: o.Locations[0].ID()}
	var ok bool
	if answer.acted, ok = s.perform(w, r, o, in, actionLocationSet, answer.ID); ok {
		httpapi.OK(w, r, answer)
	}
}

func (s *server) deleteLocation(w http.ResponseWriter, r *http.Request) {
	o, in := s.beginAct(w, r, acuity.ChannelLocations)
	if o == nil {
		return
	}
	p, ok := acuity.PlaceByID(httpapi.PathValue(r, "id"))
	if !ok {
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Missing})
		return
	}
	p.Delete = true
	o.Locations = []acuity.Place{p}
	answer := locationAnswer{ID: p.ID()}
	if answer.acted, ok = s.perform(w, r, o, in, actionLocationDelete, answer.ID); ok {
		httpapi.OK(w, r, answer)
	}
}

// place reads a row of the location table: how the sender names the place, and what the
// place is. It is a room of ours, outside of the unit, or, with neither given, in the
// unit.
func (r *reader) place(body []byte) acuity.Place {
	b, ok := r.open(body, "")
	if !ok {
		return acuity.Place{}
	}
	defer b.close()
	p := acuity.Place{
		PointOfCare: b.text("pointOfCare", optional, maxLabel), Room: b.text("room", optional, maxLabel), Bed: b.text("bed", optional, maxLabel),
		Label: b.text("roomLabel", optional, maxLabel), Area: b.text("area", optional, maxLabel),
		Outside: b.boolean("outside") == acuity.Yes, Primary: b.primary(),
	}
	if id, ok := b.integer("roomId", optional, maxRoomID); ok {
		p.HasRoomID, p.RoomID = true, int32(id) //nolint:gosec // within the bounds
	}
	switch {
	case p.PointOfCare == "" && p.Room == "" && !p.HasRoomID:
		r.unfit("pointOfCare", "required")
	case p.PointOfCare == "" && p.Room == "" && p.Bed != "":
		r.unfit("room", "required") // a bed needs a room
	case p.Outside && p.HasRoomID:
		r.unfit("outside", "withoutRoomId")
	case !p.HasRoomID && (p.Label != "" || p.Area != ""):
		r.unfit("roomId", "required") // a label needs the room that it belongs to
	}
	return p
}
