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
}](b []byte, schema *Schema, s S, fields func(*Coder, *T),
) (hospital.Record, error) {
	if err := decode(b, schema, (*T)(s), fields); err != nil {
		return nil, err
	}
	return s, nil
}

func unitStateFields(c *Coder, u *hospital.UnitState) {
	c.Long(&u.Version)
	c.Long(&u.Offset)
	c.at(&u.Clock)
	c.at(&u.Since)
	Enum(c, &u.Level, lastLevel)
	c.Long(&u.Statements)
	List(c, &u.Staffing, staffingFields)
	optional(c, &u.Roster, rosterFields)
	c.Bool(&u.HasCensus)
	c.at(&u.CensusAt)
	c.Int(&u.TotalRooms)
	c.at(&u.ObservedAt)
	c.Int(&u.Generation)
	List(c, &u.Live, hourSpanFields)
	c.at(&u.Backfill.Due)
	c.Int(&u.Backfill.From)
	c.Int(&u.Backfill.Until)
	c.Int(&u.Backfill.Next)
	levelRunFields(c, &u.Run)
}

func hourSpanFields(c *Coder, s *hospital.HourSpan) {
	c.Int(&s.From)
	c.Int(&s.To)
}

func roomStateFields(c *Coder, room *hospital.RoomState) {
	c.Int(&room.ID)
	c.Text(&room.Label)
	c.Text(&room.Area)
	c.Bool(&room.Registered)
	c.Text(&room.PointOfCare)
	c.Text(&room.Room)
	c.Bool(&room.Listed)
	Enum(c, &room.Status, lastRoomStatus)
	c.Bool(&room.Clinical)
	c.Bool(&room.Placed)
	optional(c, &room.Occupant, occupantFields)
	List(c, &room.Past, stayFields)
	Enum(c, &room.Color, lastColor)
	List(c, &room.Active, (*Coder).factor)
}

func visitStateFields(c *Coder, v *hospital.VisitState) {
	c.Text(&v.ID)
	List(c, &v.Events, eventFields)
	c.Int(&v.Folded)
	c.at(&v.FoldAt)
	c.at(&v.Touched)
	optional(c, &v.Facts, censusFactsFields)
	List(c, &v.Stays, stayFields)
}

func statementStateFields(c *Coder, h *hospital.StatementState) {
	c.Long(&h.Number)
	signalFields(c, &h.Signal)
	c.at(&h.ReceivedAt)
	c.channel(&h.Feed)
	c.Bool(&h.Settled)
}

func dedupStateFields(c *Coder, s *hospital.DedupState) {
	c.Text(&s.ID)
	c.Text(&s.Digest)
	c.at(&s.At)
	c.Long(&s.Version)
}

func mappingStateFields(c *Coder, m *hospital.MappingState) {
	mappingFields(c, &m.Mapping)
	c.Long(&m.Version)
	c.Text(&m.By)
	c.at(&m.At)
}

func codeStateFields(c *Coder, v *hospital.CodeState) {
	c.system(&v.System)
	c.Text(&v.Code)
	c.Text(&v.Display)
	Enum(c, &v.Kind, lastSignalKind)
	c.channel(&v.Feed)
	c.Long(&v.Count)
	c.at(&v.FirstSeen)
	c.at(&v.LastSeen)
	List(c, &v.Rooms, (*Coder).Int)
	List(c, &v.Hours, hourCountFields)
	c.Bool(&v.Ignored)
}

func hourCountFields(c *Coder, h *hospital.HourCount) {
	c.Int(&h.Hour)
	c.Int(&h.Count)
}

func censusFactsFields(c *Coder, v *hospital.CensusFacts) {
	c.Text(&v.Area)
	c.octet(&v.Class)
	c.Text(&v.Service)
	c.factor(&v.Primary)
	c.at(&v.PrimarySince)
	c.at(&v.DeliveredAt)
	c.Bool(&v.Cesarean)
	List(c, &v.Listed, listedFields)
	List(c, &v.Diagnoses, standingFields)
	List(c, &v.Newborns, newbornSeenFields)
}

func listedFields(c *Coder, l *evidence.Listed) {
	c.factor(&l.Factor)
	c.at(&l.Since)
	c.at(&l.Last)
}

func standingFields(c *Coder, s *hospital.Standing) {
	diagnosisFields(c, &s.Diagnosis)
	c.at(&s.Start)
	c.at(&s.Last)
}

func newbornSeenFields(c *Coder, n *hospital.ListedNewborn) {
	c.Text(&n.Visit)
	c.factor(&n.Primary)
	c.at(&n.Since)
}

func occupantFields(c *Coder, o *hospital.Occupant) {
	stayFields(c, &o.CensusStay)
	censusFactsFields(c, &o.Facts)
}

func stayFields(c *Coder, s *hospital.CensusStay) {
	c.Int(&s.Room)
	c.at(&s.From)
	c.at(&s.First)
	c.at(&s.Last)
	c.at(&s.To)
}
