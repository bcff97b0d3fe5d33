package ingest

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
	"svc/internal/httpapi/syntax"
)

var roomStatuses = map[string]acuity.RoomStatus{
	"occupied": acuity.RoomOccupied, "empty": acuity.RoomEmpty, "blocked": acuity.RoomBlocked,
}

type censusAnswer struct {
	common
	Rooms    int   `json:"rooms"`
	Occupied int   `json:"occupied"`
	Empty    int   `json:"empty"`
	Blocked  int   `json:"blocked"`
	Removed  int32 `json:"removed"` // number of rooms removed from the unit, once applied
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
	b, ok := r.open(body, "", shapeOf[censusShape]())
	if !ok {
		return nil
	}
	defer b.close()
	c := &acuity.Census{AsOf: b.asOf(), TotalRooms: -1}
	list, _ := b.list("rooms")
	listed := make(map[int32]bool, len(list))
	for in := range b.each("rooms", list) {
		row := in.censusRoom()
		if listed[row.ID] {
			in.unfit(in.at("roomId"), "unique")
		}
		listed[row.ID] = true
		c.Rooms = append(c.Rooms, row)
	}
	if total, ok := b.integer("totalRooms"); ok {
		c.TotalRooms = int32(total) //nolint:gosec // within the bounds of the shape
		if int(total) < len(list) {
			b.fault("totalRooms", "min:number of rooms")
		}
	}
	return c
}

func (o object) censusRoom() acuity.CensusRoom {
	row := acuity.CensusRoom{
		ID:      o.room("roomId"),
		Label:   o.text("roomLabel"),
		Area:    o.text("area"),
		Status:  roomStatuses[o.word("status")],
		Visit:   o.identifier("visitId", hl7.KindVisit),
		Class:   o.class(),
		Service: strings.ToUpper(o.text("service")),
		Primary: o.primary(),

		Cesarean: o.word("deliveryMode") == "cesarean",
	}
	since, delivered := o.moment("primaryFactorSince"), o.moment("deliveredAt")
	row.PrimarySince, row.PrimarySinceFrom = o.resolve(since), since.Start()
	row.DeliveredAt, row.DeliveredFrom = o.resolve(delivered), delivered.Start()
	if o.isNull("deliveredAt") {
		row.WithdrawBirth()
	}
	var list [][]byte
	list, row.HasModifiers = o.list("modifiers")
	for i, raw := range list {
		path := item(o.at("modifiers"), i)
		if raw[0] != '"' {
			o.fault(path, "type:string")
			continue
		}
		if f := o.factorID(string(syntax.Unquote(raw)), path, false); f != 0 {
			row.Modifiers = append(row.Modifiers, f)
		}
	}
	var onsets []acuity.Moment
	row.Diagnoses, onsets, row.HasDiagnoses = o.diagnoses()
	o.resolveOnsets(row.Diagnoses, onsets)
	list, row.HasNewborns = o.list("newborns")
	for in := range o.each("newborns", list) {
		row.Newborns = append(row.Newborns, acuity.CensusNewborn{
			Visit: in.identifier("visitId", hl7.KindVisit), Primary: in.primary(),
		})
	}
	if row.Status == acuity.RoomEmpty || row.Status == acuity.RoomBlocked {
		o.warnOfOccupant()
	}
	return row
}

// ofOccupant are the fields of a census row that are about the patient in the room.
var ofOccupant = []string{
	"visitId", "patientClass", "service", "primaryFactor", "primaryFactorSince", "modifiers", "diagnoses", "deliveredAt", "deliveryMode",
	"newborns",
}

// warnOfOccupant warns about the fields of a census row that are about a patient. The caller uses it if the room has
// no patient.
func (o object) warnOfOccupant() {
	for _, f := range o.fields {
		text := string(bytes.Join(bytes.Fields(f.raw), nil))
		if slices.Contains(ofOccupant, string(f.name)) && !slices.Contains([]string{"null", `""`, "[]"}, text) {
			o.warn("field_not_used", o.at(string(f.name)))
		}
	}
}

// identifier parses an identifier and returns its pseudonym, or "" if it is missing.
func (o object) identifier(name, kind string) string {
	id := o.text(name)
	if id == "" {
		return ""
	}
	return o.pseudonym(kind, id)
}

// class parses patientClass, a code of HL7 table 0004, or returns 0 if it is missing.
func (o object) class() byte {
	if class := o.word("patientClass"); class != "" {
		return class[0]
	}
	return 0
}

// diagnoses parses a list of coded diagnoses with their onsets as sent; present reports whether the body has the
// list. [object.resolveOnsets] resolves coarse onsets.
func (o object) diagnoses() (all []acuity.Diagnosis, onsets []acuity.Moment, present bool) {
	list, present := o.list("diagnoses")
	for in := range o.each("diagnoses", list) {
		d := acuity.Diagnosis{Code: in.text("code")}
		var guessed bool
		if d.System, guessed = codes.NormalSystem(in.text("system"), d.Code); guessed {
			in.warn("system_assumed", in.at("system"))
		}
		d.Display = codes.MaskDisplay(in.text("display"))
		onset := in.moment("onsetAt")
		d.OnsetAt = onset.From
		all, onsets = append(all, d), append(onsets, onset)
	}
	return all, onsets, present
}

// resolveOnsets sets the onsets of diagnoses to the instants of the given moments.
func (o object) resolveOnsets(all []acuity.Diagnosis, onsets []acuity.Moment) {
	for i := range all {
		all[i].OnsetAt, all[i].OnsetFrom = o.resolve(onsets[i]), onsets[i].Start()
	}
}

type censusShape struct {
	AsOf       string            `json:"asOf,omitempty" pattern:"time"`
	TotalRooms int32             `json:"totalRooms,omitempty" minimum:"0" maximum:"10000" doc:"Number of rooms in the unit, including rooms that are not listed."`
	Rooms      []censusRoomShape `json:"rooms" maxItems:"500"`
}

type censusRoomShape struct {
	RoomID             int32            `json:"roomId" minimum:"0" maximum:"2147483647"`
	RoomLabel          string           `json:"roomLabel,omitempty" maxLength:"100"`
	Area               string           `json:"area,omitempty" maxLength:"100"`
	Status             string           `json:"status" enum:"occupied,empty,blocked"`
	VisitID            string           `json:"visitId,omitempty" maxLength:"200"`
	PatientClass       string           `json:"patientClass,omitempty" enum:"I,O,E,P,R,B,N,C,U"`
	Service            string           `json:"service,omitempty" maxLength:"64"`
	PrimaryFactor      string           `json:"primaryFactor,omitempty" maxLength:"64"`
	PrimaryFactorSince string           `json:"primaryFactorSince,omitempty" pattern:"time"`
	Modifiers          []string         `json:"modifiers,omitempty" maxItems:"100" doc:"Ids of modifiers in the catalogue."`
	Diagnoses          []diagnosisShape `json:"diagnoses,omitempty" maxItems:"100"`
	DeliveredAt        string           `json:"deliveredAt,omitempty" pattern:"time" doc:"Time of birth. null withdraws an earlier deliveredAt and deliveryMode of the patient."`
	DeliveryMode       string           `json:"deliveryMode,omitempty" enum:"vaginal,cesarean"`
	Newborns           []newbornShape   `json:"newborns,omitempty" maxItems:"10"`
}

type newbornShape struct {
	VisitID       string `json:"visitId,omitempty" maxLength:"200"`
	PrimaryFactor string `json:"primaryFactor,omitempty" maxLength:"64"`
}
