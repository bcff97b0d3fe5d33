// Package loadgen generates observations at a constant rate. Benchmarks and tests choose the number of hospitals, the
// number of rooms per hospital and the interval between observations. Patients arrive, move, are examined, receive
// medications and leave. Censuses and staffing reports arrive in between. All patients are fictitious. The same
// arguments always generate the same observations.
//
// The units in internal/analysis/simulate send as many requests as real units: 540 per day on average, and at most
// 5,600. A benchmark needs 200,000 requests per day from one unit.
package loadgen

import (
	"fmt"
	"math/rand/v2"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Feeds generates the observations of several hospitals in the order of receipt.
type Feeds struct {
	units  []*unit
	rooms  int
	now    acuity.Instant
	step   time.Duration
	random *rand.Rand
	visits int
}

// unit is the state of one hospital.
type unit struct {
	id    string
	rooms []room
}

// room is a room and its patient.
type room struct {
	visit   string // empty if the room is empty
	moves   int    // number of ADT events so far
	started acuity.Instant
}

// New returns the feeds of hospitals h000, h001 … with the given number of rooms each. The first observation is
// received one step after the instant from, and each further observation one step after the previous one.
func New(hospitals, rooms int, from acuity.Instant, step time.Duration) *Feeds {
	random := rand.New(rand.NewPCG(1, uint64(hospitals))) //nolint:gosec // random numbers must be repeatable
	f := &Feeds{rooms: rooms, now: from, step: step, random: random}
	for i := range hospitals {
		f.units = append(f.units, &unit{id: fmt.Sprintf("h%03d", i), rooms: make([]room, rooms)})
	}
	return f
}

// Next returns the next observation. About 87% are clinical, 10% are ADT, 2% are staffing and 1% are censuses of the
// whole unit.
func (f *Feeds) Next() *acuity.Observation {
	f.now = f.now.Add(f.step)
	u := f.units[f.random.IntN(len(f.units))]
	o := &acuity.Observation{Hospital: u.id, ReceivedAt: f.now, Source: "k-0123456789ab"}
	switch kind := f.random.IntN(200); {
	case kind < 2:
		f.census(u, o)
	case kind < 6:
		o.Channel = acuity.ChannelStaffing
		o.Staffing = &acuity.Staffing{Nurses: int32(f.rooms/3 + f.random.IntN(f.rooms/3)), Call: acuity.Yes} //nolint:gosec // a small number
	case kind < 26:
		f.event(u, o)
	default:
		f.clinical(u, o)
	}
	return o
}

// event generates an admission, a transfer, a diagnosis or a discharge of one patient.
func (f *Feeds) event(u *unit, o *acuity.Observation) {
	id := f.random.IntN(f.rooms)
	r := &u.rooms[id]
	e := acuity.Event{At: f.now.Add(-time.Minute), Class: 'I', Feed: acuity.ChannelHL7, Service: "OBS"}
	switch {
	case r.visit == "":
		f.visits++
		*r = room{visit: fmt.Sprintf("%032x", f.visits)}
		e.Type = acuity.A01
	case r.moves < 3:
		e.Type, e.DiagnosisMode = acuity.A08, acuity.DiagnosisSnapshot
		code := [...]string{"O14.13", "O72.1", "O24.4", "O30.0", "Z37.0", "O60.0"}[f.random.IntN(6)]
		e.Diagnoses = []acuity.Diagnosis{{System: codes.ICD10CM, Code: code}}
	case r.moves < 5:
		e.Type = acuity.A02
		to := f.random.IntN(f.rooms)
		if other := &u.rooms[to]; other.visit == "" {
			*other, *r = *r, room{}
			id, r = to, other
		}
	default:
		e.Type = acuity.A03
	}
	r.moves++
	e.Visit, e.Patient = r.visit, r.visit
	e.ID = fmt.Sprintf("%s-%d", r.visit, r.moves)
	e.Digest = e.ID
	number := int32(id + 1) //nolint:gosec // the number of a room is small
	e.Place = acuity.Location{HasRoomID: true, RoomID: number, PointOfCare: "LD", Room: fmt.Sprint(number)}
	if e.Type == acuity.A03 {
		*r = room{}
	}
	o.Channel, o.Events = acuity.ChannelHL7, []acuity.Event{e}
}

// clinical generates one clinical signal for an occupied room. If none of three randomly drawn rooms is occupied, the
// signal is for another random room.
func (f *Feeds) clinical(u *unit, o *acuity.Observation) {
	id := f.random.IntN(f.rooms)
	for range 3 {
		if u.rooms[id].visit != "" {
			break
		}
		id = f.random.IntN(f.rooms)
	}
	r := &u.rooms[id]
	number := int32(id + 1) //nolint:gosec // the number of a room is small
	s := acuity.Signal{Room: number, Kind: catalogue.KindObservation, System: codes.LOINC, ObservedAt: f.now.Add(-20 * time.Second)}
	switch kind := f.random.IntN(20); {
	case kind < 8:
		s.Code, s.Kind = "32421-5", catalogue.KindDevice
		s.Value = codes.ParseValue([...]string{"Category I", "Category I", "Category I", "Category II", "Category III"}[f.random.IntN(5)])
	case kind < 14:
		s.Code, s.Display = "88888-8", "MEWS total score"
		s.Value = codes.NumberValue(codes.Milli(f.random.IntN(7)*1000), "")
	case kind < 17:
		s.Code, s.Display = "8480-6", "Systolic blood pressure"
		s.Value = codes.NumberValue(codes.Milli((100+f.random.IntN(60))*1000), "mm[Hg]")
	default:
		s = acuity.Signal{Room: number, Kind: catalogue.KindMedication, System: codes.RxNorm}
		s.Code = [...]string{"6585", "7824", "5856"}[f.random.IntN(3)]
		switch {
		case r.started == 0 || f.random.IntN(3) > 0:
			if r.started == 0 {
				r.started = f.now
			}
			s.StartedAt = r.started
		default:
			s.Status, r.started = acuity.SignalEnded, 0
		}
	}
	o.Channel, o.Room, o.Signals = acuity.ChannelClinical, &acuity.RoomRef{ID: s.Room}, []acuity.Signal{s}
}

// census lists all rooms with their visits.
func (f *Feeds) census(u *unit, o *acuity.Observation) {
	c := &acuity.Census{AsOf: f.now, TotalRooms: int32(f.rooms), Rooms: make([]acuity.CensusRoom, f.rooms)} //nolint:gosec // small
	for i := range c.Rooms {
		row := &c.Rooms[i]
		*row = acuity.CensusRoom{ID: int32(i + 1), Label: fmt.Sprintf("LDR %d", i+1), Area: "L&D", Status: acuity.RoomEmpty}
		if visit := u.rooms[i].visit; visit != "" {
			row.Status, row.Visit, row.Class = acuity.RoomOccupied, visit, 'I'
		}
	}
	o.Channel, o.Census = acuity.ChannelCensus, c
}
