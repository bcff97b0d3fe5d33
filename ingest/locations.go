package ingest

import (
	"net/http"

	"svc/acuity"
	"svc/acuity/location"
	"svc/internal/httpapi"
)

type locationAnswer struct {
	acted
	ID  string   `json:"id"`  // id of the first row
	IDs []string `json:"ids"` // ids of all rows, in the order of the request
}

// setLocation sets rows of the location table, all or none.
func setLocation(in *reader, _ *http.Request, body []byte, o *acuity.Observation) ([]string, func(acted) any) {
	o.Locations = in.locations(body)
	return answerLocations(o.Locations)
}

func deleteLocation(_ *reader, r *http.Request, _ []byte, o *acuity.Observation) ([]string, func(acted) any) {
	p, ok := location.RowByID(httpapi.PathValue(r, "id"))
	if !ok {
		return nil, nil
	}
	p.Delete = true
	o.Locations = []acuity.Place{p}
	return answerLocations(o.Locations)
}

func answerLocations(rows []acuity.Place) ([]string, func(acted) any) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = location.RowID(&rows[i])
	}
	return ids, func(a acted) any { return locationAnswer{a, ids[0], ids} }
}

// locations reads the rows of a request: a list, or a single row as the whole body.
func (r *reader) locations(body []byte) (all []acuity.Place) {
	seen := map[string]bool{}
	for in := range r.rows(body, "locations", shapeOf[placesShape]()) {
		p := in.place()
		if seen[location.RowID(&p)] {
			in.unfit(in.path, "unique") // two rows have the same place, but only one could apply
		}
		seen[location.RowID(&p)] = true
		all = append(all, p)
	}
	return all
}

// place parses a row of the location table. A row maps the name that the sender uses for a place to the place itself:
// a room, which the row gives by id; a place outside the unit; or, if the row gives neither, a place in the unit.
func (o object) place() acuity.Place {
	p := acuity.Place{
		PointOfCare: o.text("pointOfCare"), Room: o.text("room"), Bed: o.text("bed"),
		Label: o.text("roomLabel"), Area: o.text("area"),
		Outside: o.boolean("outside") == acuity.Yes, Primary: o.primary(),
	}
	if id, ok := o.integer("roomId"); ok {
		p.HasRoomID, p.RoomID = true, int32(id) //nolint:gosec // within the bounds of the shape
	}
	switch {
	case p.PointOfCare == "" && p.Room == "" && !p.HasRoomID:
		o.unfit(o.at("pointOfCare"), "required")
	case p.PointOfCare == "" && p.Room == "" && p.Bed != "":
		o.unfit(o.at("room"), "required") // a bed requires a room
	case p.Outside && p.HasRoomID:
		o.unfit(o.at("outside"), "withoutRoomId")
	case !p.HasRoomID && (p.Label != "" || p.Area != ""):
		o.unfit(o.at("roomId"), "required") // a label or an area requires a room to which it belongs
	}
	return p
}

type placesShape struct {
	Locations []placeShape `json:"locations" minItems:"1" maxItems:"2000"`
}

type placeShape struct {
	PointOfCare   string `json:"pointOfCare,omitempty" maxLength:"100"`
	Room          string `json:"room,omitempty" maxLength:"100"`
	Bed           string `json:"bed,omitempty" maxLength:"100"`
	RoomID        int32  `json:"roomId,omitempty" minimum:"0" maximum:"2147483647"`
	RoomLabel     string `json:"roomLabel,omitempty" maxLength:"100" doc:"Label of the room; requires roomId."`
	Area          string `json:"area,omitempty" maxLength:"100" doc:"Area of the room; requires roomId."`
	Outside       bool   `json:"outside,omitempty" doc:"true: the location is not part of the unit; not allowed with roomId."`
	PrimaryFactor string `json:"primaryFactor,omitempty" maxLength:"64" doc:"Primary factor of patients at this location."`
}
