package schemas

import (
	"fmt"

	"svc/acuity/evidence"
	"svc/acuity/hospital"
)

// EncodeState appends the record of s to dst, which it returns. Each kind of
// state has its own schema.
func EncodeState(dst []byte, s hospital.Record) ([]byte, error) {
	switch s := s.(type) {
	case *hospital.UnitState:
		return encode(dst, &unitStateV2, s, unitStateFields)
	case *hospital.RoomState:
		return encode(dst, &roomStateV1, s, roomStateFields)
	case *hospital.VisitState:
		return encode(dst, &visitStateV1, s, visitStateFields)
	case *hospital.StatementState:
		return encode(dst, &statementStateV1, s, statementStateFields)
	case *hospital.DedupState:
		return encode(dst, &dedupStateV1, s, dedupStateFields)
	case *hospital.MappingState:
		return encode(dst, &mappingStateV1, s, mappingStateFields)
	case *hospital.CodeState:
		return encode(dst, &codeStateV1, s, codeStateFields)
	case *hospital.RuleState:
		return encode(dst, &ruleStateV1, s, ruleStateFields)
	case *hospital.PlaceState:
		return encode(dst, &placeStateV1, s, placeStateFields)
	case *hospital.SwitchesState:
		return encode(dst, &switchesStateV1, s, switchesStateFields)
	case *hospital.ReferenceState:
		return encode(dst, &referenceStateV1, s, referenceStateFields)
	default:
		return dst, fmt.Errorf("encode state: no schema for %T", s)
	}
}

// DecodeState reads a record of any kind of state and of any released version.
// The errors are [ErrMalformed] and [UnknownSchemaError].
func DecodeState(b []byte) (hospital.Record, error) { return new(StateIntake).Read(b) }

// StateIntake reads records of state, one after the other. Clinical statements, nearly all
// records, are read into the same memory. Such a statement is valid until the next call; its texts
// stay valid.
type StateIntake struct{ memory *hospital.StatementState }

// statement returns the memory for a clinical statement; every field of it is overwritten.
func (in *StateIntake) statement() *hospital.StatementState {
	if in.memory == nil {
		in.memory = new(hospital.StatementState)
	}
	return in.memory
}

// Read is [DecodeState].
func (in *StateIntake) Read(b []byte) (hospital.Record, error) {
	id, ok := IDOf(b)
	if !ok {
		return nil, fmt.Errorf("decode state: %w: no header of a schema registry", ErrMalformed)
	}
	record := ""
	if s := find(id); s != nil {
		record = s.Record
	}
	switch record {
	case unitStateV2.Record:
		return decodeState(b, &unitStateV2, new(hospital.UnitState), unitStateFields)
	case roomStateV1.Record:
		return decodeState(b, &roomStateV1, new(hospital.RoomState), roomStateFields)
	case visitStateV1.Record:
		return decodeState(b, &visitStateV1, new(hospital.VisitState), visitStateFields)
	case statementStateV1.Record:
		return decodeState(b, &statementStateV1, in.statement(), statementStateFields)
	case dedupStateV1.Record:
		return decodeState(b, &dedupStateV1, new(hospital.DedupState), dedupStateFields)
	case mappingStateV1.Record:
		return decodeState(b, &mappingStateV1, new(hospital.MappingState), mappingStateFields)
	case codeStateV1.Record:
		return decodeState(b, &codeStateV1, new(hospital.CodeState), codeStateFields)
	case ruleStateV1.Record:
		return decodeState(b, &ruleStateV1, new(hospital.RuleState), ruleStateFields)
	case placeStateV1.Record:
		return decodeState(b, &placeStateV1, new(hospital.PlaceState), placeStateFields)
	case switchesStateV1.Record:
		return decodeState(b, &switchesStateV1, new(hospital.SwitchesState), switchesStateFields)
	case referenceStateV1.Record:
		return decodeState(b, &referenceStateV1, new(hospital.ReferenceState), referenceStateFields)
	default:
		return nil, &UnknownSchemaError{ID: id, Want: "state"}
	}
}

func decodeState[T any, S interface {
	*T
	hospital.Record
}](b []byte, schema *Schema, s S, fields func(*coder, *T),
) (hospital.Record, error) {
	if err := decode(b, schema, (*T)(s), fields); err != nil {
		return nil, err
	}
	return s, nil
}

func unitStateFields(c *coder, u *hospital.UnitState) {
	c.long(&u.Version)
	c.long(&u.Offset)
	c.at(&u.Clock)
	c.at(&u.Since)
	enum(c, &u.Level, lastLevel)
	c.long(&u.Statements)
	list(c, &u.Staffing, staffingFields)
	optional(c, &u.Roster, rosterFields)
	c.bool(&u.HasCensus)
	c.at(&u.CensusAt)
	c.int(&u.TotalRooms)
	c.at(&u.ObservedAt)
	c.int(&u.Generation)
	list(c, &u.Live, hourSpanFields)
	c.at(&u.Backfill.Due)
	c.int(&u.Backfill.From)
	c.int(&u.Backfill.Until)
	c.int(&u.Backfill.Next)
	levelRunFields(c, &u.Run)
}

func hourSpanFields(c *coder, s *hospital.HourSpan) {
	c.int(&s.From)
	c.int(&s.To)
}

func roomStateFields(c *coder, room *hospital.RoomState) {
	c.int(&room.ID)
	c.text(&room.Label)
	c.text(&room.Area)
	c.bool(&room.Registered)
	c.text(&room.PointOfCare)
	c.text(&room.Room)
	c.bool(&room.Listed)
	enum(c, &room.Status, lastRoomStatus)
	c.bool(&room.Clinical)
	c.bool(&room.Placed)
	optional(c, &room.Occupant, occupantFields)
	list(c, &room.Past, stayFields)
	enum(c, &room.Color, lastColor)
	list(c, &room.Active, (*coder).factor)
}

func visitStateFields(c *coder, v *hospital.VisitState) {
	c.text(&v.ID)
	list(c, &v.Events, eventFields)
	c.int(&v.Folded)
	c.at(&v.FoldAt)
	c.at(&v.Touched)
	optional(c, &v.Facts, censusFactsFields)
	list(c, &v.Stays, stayFields)
}

func statementStateFields(c *coder, h *hospital.StatementState) {
	c.long(&h.Number)
	signalFields(c, &h.Signal)
	c.at(&h.ReceivedAt)
	c.channel(&h.Feed)
	c.bool(&h.Settled)
}

func dedupStateFields(c *coder, s *hospital.DedupState) {
	c.text(&s.ID)
	c.text(&s.Digest)
	c.at(&s.At)
	c.long(&s.Version)
}

func mappingStateFields(c *coder, m *hospital.MappingState) {
	mappingFields(c, &m.Mapping)
	c.long(&m.Version)
	c.text(&m.By)
	c.at(&m.At)
}

func codeStateFields(c *coder, v *hospital.CodeState) {
	c.system(&v.System)
	c.text(&v.Code)
	c.text(&v.Display)
	enum(c, &v.Kind, lastSignalKind)
	c.channel(&v.Feed)
	c.long(&v.Count)
	c.at(&v.FirstSeen)
	c.at(&v.LastSeen)
	list(c, &v.Rooms, (*coder).int)
	list(c, &v.Hours, hourCountFields)
	c.bool(&v.Ignored)
}

func hourCountFields(c *coder, h *hospital.HourCount) {
	c.int(&h.Hour)
	c.int(&h.Count)
}

func censusFactsFields(c *coder, v *hospital.CensusFacts) {
	c.text(&v.Area)
	c.octet(&v.Class)
	c.text(&v.Service)
	c.factor(&v.Primary)
	c.at(&v.PrimarySince)
	c.at(&v.DeliveredAt)
	c.bool(&v.Cesarean)
	list(c, &v.Listed, listedFields)
	list(c, &v.Diagnoses, standingFields)
	list(c, &v.Newborns, newbornSeenFields)
}

func listedFields(c *coder, l *evidence.Listed) {
	c.factor(&l.Factor)
	c.at(&l.Since)
	c.at(&l.Last)
}

func standingFields(c *coder, s *hospital.Standing) {
	diagnosisFields(c, &s.Diagnosis)
	c.at(&s.Start)
	c.at(&s.Last)
}

func newbornSeenFields(c *coder, n *hospital.ListedNewborn) {
	c.text(&n.Visit)
	c.factor(&n.Primary)
	c.at(&n.Since)
}

func occupantFields(c *coder, o *hospital.Occupant) {
	stayFields(c, &o.CensusStay)
	censusFactsFields(c, &o.Facts)
}

func stayFields(c *coder, s *hospital.CensusStay) {
	c.int(&s.Room)
	c.at(&s.From)
	c.at(&s.First)
	c.at(&s.Last)
	c.at(&s.To)
}
