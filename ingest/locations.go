package ingest

import (
	"net/http"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/internal/httpapi"
)

// maxPlaces is how many rows one request may have.
const maxPlaces = 2000

type locationAnswer struct {
	acted
	ID  string   `json:"id"`  // of the first row
	IDs []string `json:"ids"` // of all rows, in the order of the request
}

// setLocation sets rows of the location table, all or none.
func (s *server) setLocation(w http.ResponseWriter, r *http.Request) {
	o, in := s.beginActWithBody(w, r, acuity.ChannelLocations, func(in *reader, body []byte, o *acuity.Observation) {
		o.Locations = in.locations(body)
	})
	if o == nil {
		return
	}
	ids := make([]string, len(o.Locations))
	for i := range o.Locations {
		ids[i] = hospital.PlaceID(&o.Locations[i])
	}
	answer := locationAnswer{ID: ids[0], IDs: ids}
	var ok bool
	if answer.acted, ok = s.perform(w, r, o, in, actionLocationSet, ids...); ok {
		httpapi.OK(w, r, answer)
	}
}

func (s *server) deleteLocation(w http.ResponseWriter, r *http.Request) {
	o, in := s.beginAct(w, r, acuity.ChannelLocations)
	if o == nil {
		return
	}
	p, ok := hospital.PlaceByID(httpapi.PathValue(r, "id"))
	if !ok {
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Missing})
		return
	}
	p.Delete = true
	o.Locations = []acuity.Place{p}
	answer := locationAnswer{ID: hospital.PlaceID(&p), IDs: []string{hospital.PlaceID(&p)}}
	if answer.acted, ok = s.perform(w, r, o, in, actionLocationDelete, answer.ID); ok {
		httpapi.OK(w, r, answer)
	}
}

// locations reads the rows of a request: a list, or a single row as the whole body.
func (r *reader) locations(body []byte) []acuity.Place {
	b, ok := r.open(body, "")
	if !ok {
		return nil
	}
	if raw, listed := b.find("locations", optional); !listed && raw == nil {
		return []acuity.Place{b.place()}
	}
	defer b.close()
	list, _ := b.list("locations", required, maxPlaces)
	if len(list) == 0 && len(r.faults) == 0 {
		r.fault("locations", "minItems:1")
	}
	var all []acuity.Place
	seen := map[string]bool{}
	for i, raw := range list {
		in, ok := r.open(raw, item("locations", i))
		if !ok {
			continue
		}
		p := in.place()
		if seen[hospital.PlaceID(&p)] {
			in.unfit(in.path, "unique") // two rows are about the same place, and only one can hold
		}
		seen[hospital.PlaceID(&p)] = true
		all = append(all, p)
	}
	return all
}

// place reads a row of the location table: how the sender names the place, and what the
// place is. It is a room of ours, outside of the unit, or, with neither given, in the
// unit.
func (o object) place() acuity.Place {
	defer o.close()
	p := acuity.Place{
		PointOfCare: o.text("pointOfCare", optional, maxLabel), Room: o.text("room", optional, maxLabel), Bed: o.text("bed", optional, maxLabel),
		Label: o.text("roomLabel", optional, maxLabel), Area: o.text("area", optional, maxLabel),
		Outside: o.boolean("outside") == acuity.Yes, Primary: o.primary(),
	}
	if id, ok := o.integer("roomId", optional, maxRoomID); ok {
		p.HasRoomID, p.RoomID = true, int32(id) //nolint:gosec // within the bounds
	}
	switch {
	case p.PointOfCare == "" && p.Room == "" && !p.HasRoomID:
		o.unfit(o.at("pointOfCare"), "required")
	case p.PointOfCare == "" && p.Room == "" && p.Bed != "":
		o.unfit(o.at("room"), "required") // a bed needs a room
	case p.Outside && p.HasRoomID:
		o.unfit(o.at("outside"), "withoutRoomId")
	case !p.HasRoomID && (p.Label != "" || p.Area != ""):
		o.unfit(o.at("roomId"), "required") // a label needs the room that it belongs to
	}
	return p
}
