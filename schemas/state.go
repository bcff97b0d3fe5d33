package schemas

import (
	"fmt"

	"svc/acuity"
)

// EncodeState appends the record of s to dst, which it returns. Each kind of
// state has its own schema.
func EncodeState(dst []byte, s acuity.State) ([]byte, error) {
	switch s := s.(type) {
	case *acuity.UnitState:
		w := begin(dst, &unitStateV2)
		w.unitState(s)
		return w.end(&unitStateV2)
	case *acuity.RoomState:
		w := begin(dst, &roomStateV1)
		w.roomState(s)
		return w.end(&roomStateV1)
	case *acuity.VisitState:
		w := begin(dst, &visitStateV2)
		w.visitState(s)
		return w.end(&visitStateV2)
	case *acuity.HeardState:
		w := begin(dst, &heardStateV2)
		w.heardState(s)
		return w.end(&heardStateV2)
	case *acuity.SeenState:
		w := begin(dst, &seenStateV2)
		w.seenState(s)
		return w.end(&seenStateV2)
	case *acuity.MappingState:
		w := begin(dst, &mappingStateV2)
		w.mappingState(s)
		return w.end(&mappingStateV2)
	case *acuity.CodeState:
		w := begin(dst, &codeStateV2)
		w.codeState(s)
		return w.end(&codeStateV2)
	case *acuity.RuleState:
		w := begin(dst, &ruleStateV1)
		w.ruleState(s)
		return w.end(&ruleStateV1)
	case *acuity.PlaceState:
		w := begin(dst, &placeStateV1)
		w.placeState(s)
		return w.end(&placeStateV1)
	case *acuity.SwitchesState:
		w := begin(dst, &switchesStateV1)
		w.switchesState(s)
		return w.end(&switchesStateV1)
	case *acuity.ReferentState:
		w := begin(dst, &referentStateV1)
		w.referentState(s)
		return w.end(&referentStateV1)
	default:
		return dst, fmt.Errorf("encode state: no schema for %T", s)
	}
}

// DecodeState reads a record of any kind of state and of any released version.
// The errors are [ErrMalformed] and [UnknownSchemaError].
func DecodeState(b []byte) (acuity.State, error) { return new(StateIntake).Read(b) }

// StateIntake reads one record of state after the other, for callers that are done with a
// record before they read the next. Clinical statements, nearly all records, are read into the
// same memory. Such a statement is valid until the next call; its texts stay valid.
type StateIntake struct{ heard *acuity.HeardState }

// statement returns the memory for a clinical statement; every field of it is overwritten.
func (in *StateIntake) statement() *acuity.HeardState {
	if in.heard == nil {
		in.heard = new(acuity.HeardState)
	}
	return in.heard
}

// Read is [DecodeState].
func (in *StateIntake) Read(b []byte) (acuity.State, error) {
	f, ok := FingerprintOf(b)
	if !ok {
		return nil, fmt.Errorf("decode state: %w: no single-object header", ErrMalformed)
	}
	record := ""
	if s := find(f); s != nil {
		record = s.Record
	}
	switch record {
	case unitStateV2.Record:
		return decodeState(b, &unitStateV2, new(acuity.UnitState), (*reader).unitState)
	case roomStateV1.Record:
		return decodeState(b, &roomStateV1, new(acuity.RoomState), (*reader).roomState)
	case visitStateV2.Record:
		return decodeState(b, &visitStateV2, new(acuity.VisitState), (*reader).visitState)
	case heardStateV2.Record:
		return decodeState(b, &heardStateV2, in.statement(), (*reader).heardState)
	case seenStateV2.Record:
		return decodeState(b, &seenStateV2, new(acuity.SeenState), (*reader).seenState)
	case mappingStateV2.Record:
		return decodeState(b, &mappingStateV2, new(acuity.MappingState), (*reader).mappingState)
	case codeStateV2.Record:
		return decodeState(b, &codeStateV2, new(acuity.CodeState), (*reader).codeState)
	case ruleStateV1.Record:
		return decodeState(b, &ruleStateV1, new(acuity.RuleState), (*reader).ruleState)
	case placeStateV1.Record:
		return decodeState(b, &placeStateV1, new(acuity.PlaceState), (*reader).placeState)
	case switchesStateV1.Record:
		return decodeState(b, &switchesStateV1, new(acuity.SwitchesState), (*reader).switchesState)
	case referentStateV1.Record:
		return decodeState(b, &referentStateV1, new(acuity.ReferentState), (*reader).referentState)
	default:
		return nil, &UnknownSchemaError{Fingerprint: f, Want: "state"}
	}
}

func decodeState[S acuity.State](b []byte, schema *Schema, s S, read func(*reader, S)) (acuity.State, error) {
	r, err := open(b, schema)
	if err != nil {
		return nil, err
	}
	read(&r, s)
	if err := r.close(schema); err != nil {
		return nil, err
	}
	return s, nil
}

func (w *writer) unitState(u *acuity.UnitState) {
	w.long(u.Version)
	w.long(u.Offset)
	w.at(u.Clock)
	w.at(u.Since)
	w.enum(uint8(u.Level), lastLevel)
	w.long(u.Heard)
	w.staffings(u.Staffing)
	if w.some(u.Roster != nil) {
		w.roster(u.Roster)
	}
	w.bool(u.HasCensus)
	w.at(u.CensusAt)
	w.int(u.TotalRooms)
	w.at(u.ObservedAt)
	w.int(u.Generation)
	w.hourSpans(u.Live)
	w.at(u.Backfill.Due)
	w.int(u.Backfill.From)
	w.int(u.Backfill.Until)
	w.int(u.Backfill.Next)
}

func (r *reader) unitState(u *acuity.UnitState) {
	u.Version = r.long()
	u.Offset = r.long()
	u.Clock = r.at()
	u.Since = r.at()
	u.Level = acuity.Level(r.enum(lastLevel))
	u.Heard = r.long()
	u.Staffing = r.staffings()
	if r.some() {
		u.Roster = new(acuity.Roster)
		r.roster(u.Roster)
	}
	u.HasCensus = r.bool()
	u.CensusAt = r.at()
	u.TotalRooms = r.int()
	u.ObservedAt = r.at()
	u.Generation = r.int()
	u.Live = r.hourSpans()
	u.Backfill.Due = r.at()
	u.Backfill.From = r.int()
	u.Backfill.Until = r.int()
	u.Backfill.Next = r.int()
}

func (w *writer) hourSpans(list []acuity.HourSpan) {
	w.items(len(list))
	for _, s := range list {
		w.int(s.From)
		w.int(s.To)
	}
	w.done()
}

func (r *reader) hourSpans() (list []acuity.HourSpan) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		s := &list[len(list)-1]
		s.From = r.int()
		s.To = r.int()
	}
	return list
}

func (w *writer) roomState(room *acuity.RoomState) {
	w.int(room.ID)
	w.text(room.Label)
	w.text(room.Area)
	w.bool(room.Registered)
	w.text(room.PointOfCare)
	w.text(room.Room)
	w.bool(room.Listed)
	w.enum(uint8(room.Status), lastRoomStatus)
	w.bool(room.Clinical)
	w.bool(room.Placed)
	if w.some(room.Occupant != nil) {
		w.occupant(room.Occupant)
	}
	w.stays(room.Past)
	w.enum(uint8(room.Color), lastColor)
	w.factors(room.Active)
}

func (r *reader) roomState(room *acuity.RoomState) {
	room.ID = r.int()
	room.Label = r.text()
	room.Area = r.text()
	room.Registered = r.bool()
	room.PointOfCare = r.text()
	room.Room = r.text()
	room.Listed = r.bool()
	room.Status = acuity.RoomStatus(r.enum(lastRoomStatus))
	room.Clinical = r.bool()
	room.Placed = r.bool()
	if r.some() {
		room.Occupant = new(acuity.Occupant)
		r.occupant(room.Occupant)
	}
	room.Past = r.stays()
	room.Color = acuity.Color(r.enum(lastColor))
	room.Active = r.factors()
}

func (w *writer) visitState(v *acuity.VisitState) {
	w.text(v.ID)
	w.events(v.Events)
	w.int(v.Folded)
	w.at(v.FoldAt)
	w.at(v.Touched)
	if w.some(v.Facts != nil) {
		w.censusFacts(v.Facts)
	}
	w.stays(v.Stays)
}

func (r *reader) visitState(v *acuity.VisitState) {
	v.ID = r.text()
	v.Events = r.events()
	v.Folded = r.int()
	v.FoldAt = r.at()
	v.Touched = r.at()
	if r.some() {
		v.Facts = new(acuity.CensusFacts)
		r.censusFacts(v.Facts)
	}
	v.Stays = r.stays()
}

func (w *writer) heardState(h *acuity.HeardState) {
	w.long(h.Number)
	w.signal(&h.Signal)
	w.at(h.ReceivedAt)
	w.text(string(h.Feed))
	w.bool(h.Settled)
}

func (r *reader) heardState(h *acuity.HeardState) {
	h.Number = r.long()
	r.signal(&h.Signal)
	h.ReceivedAt = r.at()
	h.Feed = r.channel()
	h.Settled = r.bool()
}

func (w *writer) seenState(s *acuity.SeenState) {
	w.text(s.ID)
	w.text(s.Digest)
	w.at(s.At)
	w.long(s.Version)
}

func (r *reader) seenState(s *acuity.SeenState) {
	s.ID = r.text()
	s.Digest = r.text()
	s.At = r.at()
	s.Version = r.long()
}

func (w *writer) mappingState(m *acuity.MappingState) {
	w.mapping(&m.Mapping)
	w.long(m.Version)
	w.text(m.By)
	w.at(m.At)
}

func (r *reader) mappingState(m *acuity.MappingState) {
	r.mapping(&m.Mapping)
	m.Version = r.long()
	m.By = r.text()
	m.At = r.at()
}

func (w *writer) codeState(c *acuity.CodeState) {
	w.text(string(c.System))
	w.text(c.Code)
	w.text(c.Display)
	w.enum(uint8(c.Kind), lastSignalKind)
	w.text(string(c.Feed))
	w.long(c.Count)
	w.at(c.FirstSeen)
	w.at(c.LastSeen)
	w.ints(c.Rooms)
	w.hourCounts(c.Hours)
	w.bool(c.Ignored)
}

func (r *reader) codeState(c *acuity.CodeState) {
	c.System = r.system()
	c.Code = r.text()
	c.Display = r.text()
	c.Kind = acuity.SignalKind(r.enum(lastSignalKind))
	c.Feed = r.channel()
	c.Count = r.long()
	c.FirstSeen = r.at()
	c.LastSeen = r.at()
	c.Rooms = r.ints()
	c.Hours = r.hourCounts()
	c.Ignored = r.bool()
}

func (w *writer) hourCount(h *acuity.HourCount) {
	w.int(h.Hour)
	w.int(h.Count)
}

func (r *reader) hourCount(h *acuity.HourCount) {
	h.Hour = r.int()
	h.Count = r.int()
}

func (w *writer) hourCounts(list []acuity.HourCount) {
	w.items(len(list))
	for i := range list {
		w.hourCount(&list[i])
	}
	w.done()
}

func (r *reader) hourCounts() (list []acuity.HourCount) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.hourCount(&list[len(list)-1])
	}
	return list
}
