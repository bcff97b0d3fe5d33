package hospital_test

import (
	"fmt"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// said returns an observation received at a given time, without facts.
func said(at float64, c acuity.Channel) acuity.Observation {
	return acuity.Observation{ReceivedAt: minute(at), Channel: c}
}

// clinical returns a clinical request about one room.
func clinical(at float64, room int32, signals ...sign) acuity.Observation {
	o := said(at, acuity.ChannelClinical)
	o.Room = &acuity.RoomRef{ID: room}
	for _, s := range signals {
		s.Room = room
		o.Signals = append(o.Signals, acuity.Signal(s))
	}
	return o
}

type sign acuity.Signal

// drug returns an RxNorm medication. Without a code, the medication is matched by the words in its display.
func drug(code, display string) sign {
	return sign{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: code, Display: display}
}

// loinc returns a measurement with a LOINC code.
func loinc(code, display, value string) sign {
	return sign{Kind: catalogue.KindObservation, System: codes.LOINC, Code: code, Display: display, Value: codes.ParseValue(value)}
}

// local returns an observation with a local code, or with the id of a factor.
func local(code, value string) sign {
	return sign{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: code, Value: codes.ParseValue(value)}
}

func mag() sign { return drug("6585", "") }

func fhr(value string) sign { return loinc("32421-5", "", value) }

func mews(value string) sign { return loinc("1-8", "MEWS total score", value) }

func bmi(value string) sign { return loinc("39156-5", "", value) }

func manual(factor string) sign { return local(factor, "") }

func (s sign) seen(m float64) sign {
	s.ObservedAt = minute(m)
	return s
}

func (s sign) since(m float64) sign {
	s.StartedAt = minute(m)
	return s
}

func (s sign) status(to acuity.SignalStatus) sign {
	s.Status = to
	return s
}

// fetus sets the fetus that a signal refers to.
func (s sign) fetus(label string) sign {
	s.Fetus = label
	return s
}

func (s sign) off() sign { return s.status(acuity.SignalEnded) }

// census returns a full census.
func census(at float64, rows ...acuity.CensusRoom) acuity.Observation {
	o := said(at, acuity.ChannelCensus)
	o.Census = &acuity.Census{AsOf: minute(at), TotalRooms: -1, Rooms: rows}
	return o
}

// holds returns the census row for a room with a patient. Each word is one of:
//
//   - the id of a primary factor or a modifier, or an ICD-10-CM or SNOMED CT code
//   - "area=", "visit=", "label=", "class=" or "service=" with a value
//   - "since=" or "born=" with a number of minutes, or "not-born" to withdraw the birth
//   - "baby", or "baby=" with a primary factor
//   - "cesarean"
//   - "no-modifiers", "no-diagnoses" or "no-babies" for an empty list
func holds(id int32, words ...string) acuity.CensusRoom {
	row := acuity.CensusRoom{ID: id, Status: acuity.RoomOccupied}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "area":
			row.Area = value
		case "visit":
			row.Visit = value
		case "label":
			row.Label = value
		case "class":
			row.Class = value[0]
		case "service":
			row.Service = value
		case "since":
			row.PrimarySince = minuteOf(value)
		case "born":
			row.DeliveredAt = minuteOf(value)
		case "not-born":
			row.WithdrawBirth()
		case "cesarean":
			row.Cesarean = true
		case "baby":
			row.HasNewborns = true
			f, _ := catalogue.FactorByID(value)
			row.Newborns = append(row.Newborns, acuity.CensusNewborn{Primary: f})
		case "no-modifiers":
			row.HasModifiers = true
		case "no-diagnoses":
			row.HasDiagnoses = true
		case "no-babies":
			row.HasNewborns = true
		default:
			f, known := catalogue.FactorByID(w)
			switch {
			case !known:
				row.HasDiagnoses = true
				row.Diagnoses = append(row.Diagnoses, code(w))
			case f.IsPrimary():
				row.Primary = f
			default:
				row.HasModifiers = true
				row.Modifiers = append(row.Modifiers, f)
			}
		}
	}
	return row
}

func empty(id int32) acuity.CensusRoom {
	return acuity.CensusRoom{ID: id, Status: acuity.RoomEmpty}
}

func minuteOf(text string) acuity.Instant {
	m, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return minute(m)
}

// code returns a SNOMED CT diagnosis if the text consists of digits, and an ICD-10-CM diagnosis if not. The text may
// end with "@" and the onset in minutes.
func code(text string) acuity.Diagnosis {
	text, onset, dated := strings.Cut(text, "@")
	d := acuity.Diagnosis{System: codes.ICD10CM, Code: text}
	if strings.Trim(text, "0123456789") == "" {
		d.System = codes.SNOMED
	}
	if dated {
		d.OnsetAt = minuteOf(onset)
	}
	return d
}

// message returns one ADT event. Each word is one of:
//
//   - "PL:ROOM" or "#id" for the location, "from=PL:ROOM" for the prior location, or "null" to remove the location
//   - "v=" with the visit (v1 if missing), "mother=" with the mother's visit, or "alone" for no visit number
//   - "account=" for an account number in addition to the visit number, or "account" for an account number alone
//   - "p=" with the patient, "class=", "service=", "reason=" or "babies="
//   - "at=" with the time of the event in minutes, "recorded=" or "cancels="
//   - a primary factor
//   - codes as a snapshot of diagnoses, "clear" for an empty snapshot, "delta" to add the codes instead, or
//     "-CODE" to delete one
func message(at float64, kind acuity.EventType, words ...string) acuity.Observation {
	e := acuity.Event{Type: kind, At: minute(at), Visit: "v1"}
	for _, w := range words {
		name, value, isPair := strings.Cut(w, "=")
		switch {
		case w == "null":
			e.PlaceNull = true
		case w == "alone":
			e.ByPatient = true
		case w == "newborn":
			e.Newborn = true
		case name == "type":
			e.AdmissionType = value[0]
		case w == "account":
			e.Account = e.Visit
		case name == "account":
			e.Account = value
		case name == "p":
			e.Patient = value
		case w == "minute":
			e.Precision = acuity.Minute
		case w == "clear":
			e.DiagnosisMode = acuity.DiagnosisClear
		case w == "delta":
			e.DiagnosisMode = acuity.DiagnosisDelta
		case !isPair && (strings.HasPrefix(w, "#") || strings.Contains(w, ":")):
			e.Place = place(w)
		case !isPair:
			if f, known := catalogue.FactorByID(w); known {
				e.Primary = f
				continue
			}
			d := code(strings.TrimPrefix(w, "-"))
			d.Delete = strings.HasPrefix(w, "-")
			e.Diagnoses = append(e.Diagnoses, d)
			e.DiagnosisMode = max(e.DiagnosisMode, acuity.DiagnosisSnapshot)
		case name == "from":
			e.Prior = place(value)
		case name == "v":
			e.Visit = value
		case name == "class":
			e.Class = value[0]
		case name == "at":
			e.At = minuteOf(value)
		case name == "recorded":
			e.RecordedAt = minuteOf(value)
		case name == "cancels":
			e.Cancels = minuteOf(value)
		case name == "mother":
			e.MotherVisit, e.Newborn = value, true
		case name == "babies":
			e.Babies = value[0] - '0'
		case name == "service":
			e.Service = value
		case name == "reason":
			e.Reasons = adt.ParseReasons(value)
		default:
			panic(w)
		}
	}
	if e.ByPatient {
		e.Visit = "of " + e.Patient
	}
	// As in real feeds, events with equal facts have the same id.
	e.ID = fmt.Sprint(kind, e.Visit, e.At, e.RecordedAt, e.Place, e.Prior, e.Cancels, e.Diagnoses)
	o := said(at, acuity.ChannelADT)
	o.Events = []acuity.Event{e}
	return o
}

func place(text string) acuity.Location {
	if id, isID := strings.CutPrefix(text, "#"); isID {
		n, err := strconv.Atoi(id)
		if err != nil {
			panic(err)
		}
		return acuity.Location{HasRoomID: true, RoomID: int32(n)}
	}
	parts := strings.Split(text, ":")
	l := acuity.Location{PointOfCare: parts[0]}
	if len(parts) > 1 {
		l.Room = parts[1]
	}
	if len(parts) > 2 {
		l.Bed = parts[2]
	}
	return l
}

// mapped returns an observation that sets a row in the location table.
func mapped(at float64, p acuity.Place) acuity.Observation {
	o := said(at, acuity.ChannelLocations)
	o.Locations = []acuity.Place{p}
	return o
}

func mapping(at float64, id string, system codes.System, code, factor string) acuity.Observation {
	f, _ := catalogue.FactorByID(factor)
	o := said(at, acuity.ChannelTerminology)
	o.Mappings = []acuity.Mapping{{ID: id, System: system, Code: code, Factor: f}}
	return o
}

// staffing returns an observation with the number of nurses on duty.
func staffing(at float64, nurses int32, call acuity.Tristate) acuity.Observation {
	o := said(at, acuity.ChannelStaffing)
	o.Staffing = &acuity.Staffing{AsOf: minute(at), Nurses: nurses, Call: call}
	return o
}

// late returns the observation, received at a later minute.
func late(o acuity.Observation, received float64) acuity.Observation {
	o.ReceivedAt = minute(received)
	return o
}
