package ingest

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/internal/httpapi"
)

// These limits bound the bodies: lengths in characters, lists in elements.
const (
	maxLabel     = 100
	maxCode      = 64
	maxName      = 64
	maxID        = 200
	maxText      = 2000 // of a display or a value, before it is reduced
	maxSignals   = 500
	maxRooms     = 500
	maxEvents    = 500
	maxDiagnoses = 100
	maxRoomID    = math.MaxInt32
)

var (
	signalKinds   = []string{"medication", "observation", "lab", "device"} // in the order of acuity.SignalKind
	signalSystems = []string{"RxNorm", "LOINC", "SNOMED", "local", "SNOMED-CT"}
	systemsOf     = []codes.System{codes.RxNorm, codes.LOINC, codes.SNOMED, codes.SystemLocal, codes.SNOMED}
)

// statuses are the signal statuses with a meaning of their own. Any other status counts
// as active and adds a warning.
var statuses = map[string]acuity.SignalStatus{
	"": acuity.SignalActive, "active": acuity.SignalActive, "in-progress": acuity.SignalActive,
	"preliminary": acuity.SignalActive, "final": acuity.SignalActive, "amended": acuity.SignalActive,
	"corrected": acuity.SignalActive,
	"completed": acuity.SignalEnded, "stopped": acuity.SignalEnded,
	"cancelled": acuity.SignalEnded, "canceled": acuity.SignalEnded,
	"entered-in-error": acuity.SignalRetracted, "on-hold": acuity.SignalOnHold,
}

type clinicalAnswer struct {
	common
	RoomID    int32    `json:"roomId"`
	RoomLabel *string  `json:"roomLabel"` // as the unit state shows it; before the observation is applied, as the sender wrote it
	Received  int      `json:"received"`  // number of signals
	Active    []string `json:"active"`    // factors of the room, once the observation is applied
}

func (s *server) clinical(w http.ResponseWriter, r *http.Request) {
	got, ok := s.submitBody(w, r, acuity.ChannelClinical, (*reader).clinical)
	if !ok {
		return
	}
	o := got.observation
	answer := clinicalAnswer{common: got.answer(), RoomID: o.Room.ID, Received: len(o.Signals), Active: []string{}}
	if label := cmp.Or(got.receipt.change.RoomLabel, o.Room.Label); label != "" {
		answer.RoomLabel = &label
	}
	for _, f := range got.receipt.change.Active {
		answer.Active = append(answer.Active, f.ID())
	}
	httpapi.OK(w, r, answer)
}

func (r *reader) clinical(body []byte, o *acuity.Observation) {
	b, ok := r.open(body, "")
	if !ok {
		return
	}
	defer b.close()
	o.Room = &acuity.RoomRef{ID: b.room("roomId", required), Label: b.text("roomLabel", optional, maxLabel)}
	list, _ := b.list("signals", required, maxSignals)
	for i, raw := range list {
		if in, ok := b.open(raw, item("signals", i)); ok {
			o.Signals = append(o.Signals, in.signal(o.Room.ID))
		}
	}
}

// room reads a roomId. It returns 0 also if there is none.
func (o object) room(name string, n need) int32 {
	id, _ := o.integer(name, n, maxRoomID)
	return int32(id) //nolint:gosec // within the bounds
}

func (o object) signal(room int32) acuity.Signal {
	defer o.close()
	s := acuity.Signal{Room: room}
	s.Kind = acuity.SignalKind(o.one("kind", required, signalKinds) + 1) //nolint:gosec // a small index
	if i := o.one("system", required, signalSystems); i >= 0 {
		s.System = systemsOf[i]
	}
	s.Code = o.text("code", required, maxCode)
	s.Display = codes.MaskDisplay(o.text("display", optional, maxText))
	s.Value = o.value("value")
	status, known := statuses[strings.ToLower(o.text("status", optional, maxName))]
	if s.Status = status; !known {
		o.warn("status_unknown", o.at("status"))
	}
	s.ObservedAt = o.time("observedAt", optional).at
	s.StartedAt = o.time("startedAt", optional).at
	return s
}

// value reads a string or a number and reduces it to what may be stored.
func (o object) value(name string) codes.Value {
	raw, ok := o.find(name, optional)
	switch {
	case !ok:
		return codes.Value{}
	case raw[0] == '"':
		text := string(unquote(raw))
		if utf8.RuneCountInString(text) > maxText {
			o.fault(o.at(name), "maxLength:"+strconv.Itoa(maxText))
			return codes.Value{}
		}
		return codes.ParseValue(text)
	case isNumber(raw) && len(raw) <= maxName:
		return codes.ParseValue(string(raw))
	default:
		o.fault(o.at(name), "type:string|number")
		return codes.Value{}
	}
}
