package ingest

import (
	"net/http"
	"strings"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
)

const (
	maxTotalRooms = 10_000
	maxModifiers  = 100
	maxNewborns   = 10
)

var (
	roomStatuses = []string{"occupied", "empty", "blocked"} // in the order of acuity.RoomStatus, from RoomOccupied on
	// classes are the patient classes of HL7 table 0004.
	classes       = []string{"I", "O", "E", "P", "R", "B", "N", "C", "U"}
	deliveryModes = []string{"vaginal", "cesarean"}
)

type censusAnswer struct {
	common
	Rooms    int   `json:"rooms"`
	Occupied int   `json:"occupied"`
	Empty    int   `json:"empty"`
	Blocked  int   `json:"blocked"`
	Removed  int32 `json:"removed"` // rooms that left the unit, once applied
}

func (s *server) census(w http.ResponseWriter, r *http.Request) {
	got, ok := s.submitBody(w, r, acuity.ChannelCensus, func(in *reader, body []byte, o *acuity.Observation) { o.Census = in.census(body) })
	if !ok {
		return
	}
	census := got.observation.Census
	answer := censusAnswer{common: got.answer(), Rooms: len(census.Rooms), Removed: got.receipt.change.Removed}
	for i := range census.Rooms {
		switch census.Rooms[i].Status {
		case acuity.RoomOccupied:
			answer.Occupied++
		case acuity.RoomEmpty:
			answer.Empty++
		case acuity.RoomBlocked:
			answer.Blocked++
		case acuity.RoomUnknown:
		}
	}
	httpapi.OK(w, r, answer)
}

func (r *reader) census(body []byte) *acuity.Census {
	b, ok := r.open(body, "")
	if !ok {
		return nil
	}
	defer b.close()
	c := &acuity.Census{AsOf: b.asOf(), TotalRooms: -1}
	list, _ := b.list("rooms", required, maxRooms)
	listed := make(map[int32]bool, len(list))
	for i, raw := range list {
		in, ok := b.open(raw, item("rooms", i))
		if !ok {
			continue
		}
		row := in.censusRoom()
		if listed[row.ID] {
			in.unfit(in.at("roomId"), "unique")
		}
		listed[row.ID] = true
		c.Rooms = append(c.Rooms, row)
	}
	if total, ok := b.integer("totalRooms", optional, maxTotalRooms); ok {
		c.TotalRooms = int32(total) //nolint:gosec // within the bounds
		if int(total) < len(list) {
			b.fault("totalRooms", "min:number of rooms")
		}
	}
	return c
}

func (o object) censusRoom() acuity.CensusRoom {
	defer o.close()
	row := acuity.CensusRoom{
		ID:      o.room("roomId", required),
		Label:   o.text("roomLabel", optional, maxLabel),
		Area:    o.text("area", optional, maxLabel),
		Status:  acuity.RoomStatus(o.one("status", required, roomStatuses) + 1), //nolint:gosec // a small index
		Visit:   o.identifier("visitId", optional, hl7.KindVisit),
		Class:   o.class(),
		Service: strings.ToUpper(o.text("service", optional, maxName)),
		Primary: o.primary(),

		PrimarySince: o.time("primaryFactorSince", optional).at,
		DeliveredAt:  o.time("deliveredAt", optional).at,
		Cesarean:     o.one("deliveryMode", optional, deliveryModes) == 1,
	}
	var list [][]byte
	list, row.HasModifiers = o.list("modifiers", optional, maxModifiers)
	for i, raw := range list {
		path := item(o.at("modifiers"), i)
		if raw[0] != '"' {
			o.fault(path, "type:string")
			continue
		}
		if f := o.factorID(string(unquote(raw)), path, false); f != 0 {
			row.Modifiers = append(row.Modifiers, f)
		}
	}
	row.Diagnoses, row.HasDiagnoses = o.diagnoses()
	list, row.HasNewborns = o.list("newborns", optional, maxNewborns)
	for i, raw := range list {
		if in, ok := o.open(raw, item(o.at("newborns"), i)); ok {
			row.Newborns = append(row.Newborns, acuity.CensusNewborn{
				Visit: in.identifier("visitId", optional, hl7.KindVisit), Primary: in.primary(),
			})
			in.close()
		}
	}
	return row
}

// identifier reads an identifier as its pseudonym; "" if there is none.
func (o object) identifier(name string, n need, kind string) string {
	id := o.text(name, n, maxID)
	if id == "" {
		return ""
	}
	return o.pseudonym(kind, id)
}

// class reads patientClass; 0 if there is none.
func (o object) class() byte {
	if i := o.one("patientClass", optional, classes); i >= 0 {
		return classes[i][0]
	}
	return 0
}

// diagnoses reads a list of coded diagnoses; present is false if it is not there.
func (o object) diagnoses() (all []acuity.Diagnosis, present bool) {
	list, present := o.list("diagnoses", optional, maxDiagnoses)
	for i, raw := range list {
		in, ok := o.open(raw, item(o.at("diagnoses"), i))
		if !ok {
			continue
		}
		d := acuity.Diagnosis{Code: in.text("code", required, maxCode)}
		var guessed bool
		if d.System, guessed = codes.NormalSystem(in.text("system", optional, maxName), d.Code); guessed {
			in.warn("system_assumed", in.at("system"))
		}
		d.Display = codes.MaskDisplay(in.text("display", optional, maxText))
		d.OnsetAt = in.time("onsetAt", optional).at
		in.close()
		all = append(all, d)
	}
	return all, present
}
