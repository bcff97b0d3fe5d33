package ingest

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/terminology"
	"svc/internal/httpapi"
	"svc/internal/httpapi/syntax"
)

var (
	signalKinds = map[string]catalogue.SignalKind{
		"medication": catalogue.KindMedication, "observation": catalogue.KindObservation,
		"lab": catalogue.KindLab, "device": catalogue.KindDevice,
	}
	signalSystems = map[string]codes.System{
		"RxNorm": codes.RxNorm, "LOINC": codes.LOINC, "SNOMED": codes.SNOMED, "SNOMED-CT": codes.SNOMED, "local": codes.SystemLocal,
	}
)

// statuses maps the supported signal statuses. Any other status is treated as active, with a warning.
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
	RoomLabel *string  `json:"roomLabel"` // as in the unit state or, until the observation is applied, as sent
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
	b, ok := r.open(body, "", shapeOf[clinicalShape]())
	if !ok {
		return
	}
	defer b.close()
	o.Room = &acuity.RoomRef{ID: b.room("roomId"), Label: b.text("roomLabel")}
	list, _ := b.list("signals")
	for in := range b.each("signals", list) {
		o.Signals = append(o.Signals, in.signal(o.Room.ID))
	}
}

// room parses a room id. It returns 0 if the id is missing.
func (o object) room(name string) int32 {
	id, _ := o.integer(name)
	return int32(id) //nolint:gosec // within the bounds of the shape
}

func (o object) signal(room int32) acuity.Signal {
	s := acuity.Signal{Room: room, Kind: signalKinds[o.word("kind")], System: signalSystems[o.word("system")]}
	s.Code = o.text("code")
	display := o.text("display")
	s.Display = codes.MaskDisplay(display)
	named := o.text("fetus")
	if s.Fetus = terminology.FetusNamed(named); s.Fetus == "" && named != "" {
		o.warn("fetus_unreadable", o.at("fetus"))
	}
	value, fetus := o.value("value")
	s.Value, s.Fetus = value, cmp.Or(s.Fetus, terminology.FetusIn(display), fetus)
	status, known := statuses[strings.ToLower(o.text("status"))]
	if s.Status = status; !known {
		o.warn("status_unknown", o.at("status"))
	}
	observed := o.moment("observedAt")
	s.ObservedAt = o.resolve(observed)
	s.StartedAt = o.time("startedAt", observed)
	return s
}

// maxDigits is the maximum number of characters of a number.
const maxDigits = 64

// value parses a string or a number and reduces it to a value that may be stored. It also returns the label of the
// fetus that the value names, as in "Category III, fetus B".
func (o object) value(name string) (v codes.Value, fetus string) {
	raw, ok := o.find(name)
	switch {
	case !ok:
		return codes.Value{}, ""
	case raw[0] == '"':
		text := string(syntax.Unquote(raw))
		if most := o.field(name).max; int64(utf8.RuneCountInString(text)) > most {
			o.fault(o.at(name), "maxLength:"+strconv.FormatInt(most, 10))
			return codes.Value{}, ""
		}
		fetus, rest := terminology.CutFetus(text)
		return codes.ParseValue(rest), fetus
	case isNumber(raw) && len(raw) <= maxDigits:
		return codes.ParseValue(string(raw)), ""
	default:
		o.fault(o.at(name), "type:string|number")
		return codes.Value{}, ""
	}
}

type clinicalShape struct {
	RoomID    int32         `json:"roomId" minimum:"0" maximum:"2147483647"`
	RoomLabel string        `json:"roomLabel,omitempty" maxLength:"100"`
	Signals   []signalShape `json:"signals" maxItems:"500"`
}

type signalShape struct {
	Kind       string `json:"kind" enum:"medication,observation,lab,device"`
	System     string `json:"system" enum:"RxNorm,LOINC,SNOMED,local,SNOMED-CT" doc:"If system is local and code is a factor id, the signal is manual evidence of that factor."`
	Code       string `json:"code" pattern:"word" maxLength:"64"`
	Display    string `json:"display,omitempty" maxLength:"2000" doc:"Description of the code; some rules match its words."`
	Value      any    `json:"value,omitempty" types:"string,number" maxLength:"2000" doc:"A text or a number."`
	Fetus      string `json:"fetus,omitempty" maxLength:"64" doc:"Fetus that the signal is about: A to I, 1 to 9, or words such as twin B. display and value may also name the fetus. Only the label is stored."`
	Status     string `json:"status,omitempty" maxLength:"64" doc:"Default: active. completed, stopped, cancelled and entered-in-error end the signal; on-hold pauses it."`
	ObservedAt string `json:"observedAt,omitempty" pattern:"time"`
	StartedAt  string `json:"startedAt,omitempty" pattern:"time" doc:"When the medication was started; its demand decreases over time from then on."`
}
