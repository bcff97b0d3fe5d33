package schemas

import (
	"fmt"
	"slices"

	"svc/acuity/evidence"
	"svc/acuity/facts"
)

// statementRecord is the name of the records for clinical statements, which make up nearly all state records.
const statementRecord = "statement-state"

// states lists the codecs, one for each kind of state record.
var states = []stateCodec{
	stateOf(statementRecord, statementStateFields),
	stateOf("unit-state", unitStateFields),
	stateOf("room-state", roomStateFields),
	stateOf("visit-state", visitStateFields),
	stateOf("dedup-state", dedupStateFields),
	stateOf("mapping-state", mappingStateFields),
	stateOf("code-state", codeStateFields),
	stateOf("rule-state", ruleStateFields),
	stateOf("place-state", placeStateFields),
	stateOf("switches-state", switchesStateFields),
	stateOf("reference-state", referenceStateFields),
	stateOf("past-staffing-state", pastStaffingStateFields),
}

// stateCodec is the codec for one kind of state record.
type stateCodec struct {
	record string
	create func() facts.Record
	encode func(dst []byte, s facts.Record) (value []byte, mine bool, err error) // mine: whether s is of this kind
	decode func(b []byte, into facts.Record) error
}

func stateOf[T any, S interface {
	*T
	facts.Record
}](record string, fields func(*Coder, *T),
) stateCodec {
	codec := NewCodec(record, fields)
	return stateCodec{
		record: record,
		create: func() facts.Record { return S(new(T)) },
		encode: func(dst []byte, s facts.Record) ([]byte, bool, error) {
			v, mine := s.(S)
			if !mine {
				return dst, false, nil
			}
			value, err := codec.Encode(dst, v)
			return value, true, err
		},
		decode: func(b []byte, into facts.Record) error {
			return codec.DecodeInto(b, into.(S)) //nolint:errcheck,forcetypeassert // the function create made the value
		},
	}
}

// EncodeState encodes s as a record, appends the record to dst and returns the extended slice. Each kind of state
// record has a separate schema.
func EncodeState(dst []byte, s facts.Record) ([]byte, error) {
	for i := range states {
		if value, mine, err := states[i].encode(dst, s); mine {
			return value, err
		}
	}
	return dst, fmt.Errorf("encode state: no schema for %T", s)
}

// DecodeState decodes a state record of any kind and any released version. The error is or wraps [ErrMalformed] or an
// [UnknownSchemaError].
func DecodeState(b []byte) (facts.Record, error) { return new(StateIntake).Read(b) }

// StateIntake decodes one state record after another. Clinical statements, which are nearly all of these records, are
// decoded into the same memory. Such a statement is valid until the next call, but the strings in it remain valid
// after that.
type StateIntake struct{ statement facts.StatementState }

// Read decodes a state record like [DecodeState].
func (in *StateIntake) Read(b []byte) (facts.Record, error) {
	id, ok := IDOf(b)
	if !ok {
		return nil, fmt.Errorf("decode state: %w: no schema registry header", ErrMalformed)
	}
	s := find(id)
	i := slices.IndexFunc(states, func(k stateCodec) bool { return s != nil && k.record == s.Record })
	if i < 0 {
		return nil, &UnknownSchemaError{ID: id, Want: "state"}
	}
	into := facts.Record(&in.statement)
	if s.Record != statementRecord {
		into = states[i].create()
	}
	if err := states[i].decode(b, into); err != nil {
		return nil, err
	}
	return into, nil
}

func unitStateFields(c *Coder, u *facts.UnitState) {
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

func pastStaffingStateFields(c *Coder, s *facts.PastStaffingState) { List(c, &s.List, staffingFields) }

func hourSpanFields(c *Coder, s *facts.HourSpan) {
	c.Int(&s.From)
	c.Int(&s.To)
}

func roomStateFields(c *Coder, room *facts.RoomState) {
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

func visitStateFields(c *Coder, v *facts.VisitState) {
	c.Text(&v.ID)
	List(c, &v.Events, eventFields)
	c.Int(&v.Folded)
	c.at(&v.FoldAt)
	c.at(&v.Touched)
	optional(c, &v.Facts, censusFactsFields)
	List(c, &v.Stays, stayFields)
}

func statementStateFields(c *Coder, h *facts.StatementState) {
	c.Long(&h.Number)
	signalFields(c, &h.Signal)
	c.at(&h.ReceivedAt)
	c.channel(&h.Feed)
	c.Bool(&h.Settled)
}

func dedupStateFields(c *Coder, s *facts.DedupState) {
	c.Text(&s.ID)
	c.Text(&s.Digest)
	c.at(&s.At)
	c.Long(&s.Version)
}

func mappingStateFields(c *Coder, m *facts.MappingState) {
	mappingFields(c, &m.Mapping)
	c.Long(&m.Version)
	c.Text(&m.By)
	c.at(&m.At)
}

func codeStateFields(c *Coder, v *facts.CodeState) {
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

func hourCountFields(c *Coder, h *facts.HourCount) {
	c.Int(&h.Hour)
	c.Int(&h.Count)
}

func censusFactsFields(c *Coder, v *facts.CensusFacts) {
	c.Text(&v.Area)
	whole(c, &v.Class)
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

func standingFields(c *Coder, s *facts.Standing) {
	diagnosisFields(c, &s.Diagnosis)
	c.at(&s.Start)
	c.at(&s.Last)
}

func newbornSeenFields(c *Coder, n *facts.ListedNewborn) {
	c.Text(&n.Visit)
	c.factor(&n.Primary)
	c.at(&n.Since)
}

func occupantFields(c *Coder, o *facts.Occupant) {
	stayFields(c, &o.CensusStay)
	censusFactsFields(c, &o.Facts)
}

func stayFields(c *Coder, s *facts.CensusStay) {
	c.Int(&s.Room)
	c.at(&s.From)
	c.at(&s.First)
	c.at(&s.Last)
	c.at(&s.To)
}
