package schemas

import (
	"encoding/binary"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
)

// ModelCodec encodes and decodes learned forecast models.
var ModelCodec = NewCodec("model", modelFields)

// Model is the record of a hospital's learned forecast model. It also records the hour up to which the hospital's
// snapshots have been accepted.
type Model struct {
	Version                  int32 // version of the forecast method
	Hospital                 string
	Hour, Generation, Learnt int32
	Position                 int64 // offset of the next snapshot in its partition; 0 in a record with schema version 2 or older
	Copied                   int32 // hour of the last accepted snapshot from live operation
	PastHour, PastGeneration int32 // hour and generation of the last accepted snapshot from a backfill
	Seen                     []byte
	Tables                   []ModelTable
	Pending                  []Origin
	Past                     []forecast.Measured
}

// ModelTable is one table of a model. Its values are encoded as 32-bit floats, little-endian.
type ModelTable struct {
	Name   string
	Values []byte
}

// Origin is the record of a forecast that has yet to be compared with the hours that it predicted.
type Origin struct {
	Snapshot acuity.Snapshot
	Ahead    []byte // a [forecast.Ahead] as 32-bit floats, little-endian
}

// CopyFrom fills the record from a model, reusing the record's memory. It sets Copied, PastHour and PastGeneration to
// 0, because they are not part of the model.
func (m *Model) CopyFrom(model *forecast.Model) {
	m.Version, m.Hospital, m.Hour, m.Generation = model.Version, model.Hospital, model.Hour, model.Generation
	m.Learnt, m.Position, m.Seen = model.Learnt, model.Offset, model.Seen
	m.Copied, m.PastHour, m.PastGeneration = 0, 0, 0
	all := model.Tables()
	m.Tables = resize(m.Tables, len(all))
	for i, t := range all {
		m.Tables[i] = ModelTable{t.Name, floats(m.Tables[i].Values[:0], t.Values)}
	}
	m.Past = append(m.Past[:0], model.Past...)
	m.Pending = resize(m.Pending, len(model.Pending))
	for i := range model.Pending {
		m.Pending[i] = Origin{model.Pending[i].Snapshot, floats(m.Pending[i].Ahead[:0], &model.Pending[i].Ahead)}
	}
}

// resize returns a list with n elements. If possible, it reuses the memory of the given list and of the list's
// elements.
func resize[T any](list []T, n int) []T {
	return slices.Grow(list[:0], n)[:n]
}

// Forecast returns the model. If the record does not fit this version of the forecast method, Forecast returns an
// empty model and false. The hospital's model must then be learned again.
func (m *Model) Forecast() (*forecast.Model, bool) {
	out := forecast.NewModel(m.Hospital)
	if m.Version != out.Version {
		return out, false
	}
	out.Hour, out.Generation, out.Learnt, out.Offset, out.Seen, out.Past = m.Hour, m.Generation, m.Learnt, m.Position, m.Seen, m.Past
	all := out.Tables()
	if len(all) != len(m.Tables) {
		return forecast.NewModel(m.Hospital), false
	}
	same := true
	for i, t := range all {
		same = same && t.Name == m.Tables[i].Name && read(m.Tables[i].Values, t.Values)
	}
	if len(m.Pending) > 0 {
		out.Pending = make([]forecast.Origin, len(m.Pending))
	}
	for i := range m.Pending {
		out.Pending[i].Snapshot = m.Pending[i].Snapshot
		same = same && read(m.Pending[i].Ahead, &out.Pending[i].Ahead)
	}
	if !same {
		return forecast.NewModel(m.Hospital), false
	}
	return out, true
}

// floats appends the encoding of v to dst. v must be a slice or struct of fixed-size numbers.
func floats(dst []byte, v any) []byte {
	b, err := binary.Append(slices.Grow(dst, binary.Size(v)), binary.LittleEndian, v)
	if err != nil {
		panic("schemas: " + err.Error()) // v does not have a fixed size, which any test would detect
	}
	return b
}

// read is the inverse of floats: it decodes b into v. It returns false if b does not have the size of v.
func read(b []byte, v any) bool {
	n, err := binary.Decode(b, binary.LittleEndian, v)
	return err == nil && n == len(b)
}

func modelFields(c *Coder, m *Model) {
	c.Int(&m.Version)
	c.Text(&m.Hospital)
	c.Int(&m.Hour)
	c.Int(&m.Generation)
	c.Int(&m.Learnt)
	c.Long(&m.Position)
	c.Int(&m.Copied)
	c.Int(&m.PastHour)
	c.Int(&m.PastGeneration)
	c.Bytes(&m.Seen)
	List(c, &m.Tables, modelTableFields)
	List(c, &m.Pending, originFields)
	List(c, &m.Past, measuredFields)
}

func measuredFields(c *Coder, p *forecast.Measured) {
	c.Int(&p.Hour)
	demand := int32(p.Required)
	c.Int(&demand)
	p.Required = catalogue.Demand(demand)
	c.Int(&p.Nurses)
}

func modelTableFields(c *Coder, t *ModelTable) {
	c.Text(&t.Name)
	c.Bytes(&t.Values)
}

func originFields(c *Coder, o *Origin) {
	snapshotFields(c, &o.Snapshot)
	c.Bytes(&o.Ahead)
}

// SnapshotCodec encodes and decodes the hourly snapshots of units.
var SnapshotCodec = NewCodec("snapshot", hospitalSnapshotFields)

// Snapshot is the state of a unit at one hour mark, with the id of the unit's hospital.
type Snapshot struct {
	Hospital string
	Snapshot acuity.Snapshot
	// LevelSeconds is the number of seconds that the unit spent at each level in the previous hour, best level first.
	// The sum is less than 3600 if part of the hour was not observed. Snapshots from a backfill have no LevelSeconds.
	LevelSeconds []int32
}

func hospitalSnapshotFields(c *Coder, s *Snapshot) {
	c.Text(&s.Hospital)
	snapshotFields(c, &s.Snapshot)
	List(c, &s.LevelSeconds, (*Coder).Int)
}

func snapshotFields(c *Coder, s *acuity.Snapshot) {
	c.Int(&s.Hour)
	c.Int(&s.Generation)
	c.Long(&s.Position)
	c.Int(&s.Backfill)
	c.Text(&s.RulesVersion)
	c.Bool(&s.Observed)
	List(c, &s.Visits, snapshotVisitFields)
	List(c, &s.Arrivals, snapshotArrivalFields)
	c.Int(&s.Moves)
	c.Int(&s.Occupied)
	c.Int(&s.Rooms)
	c.Int(&s.Boarders)
	class4 := s.Class4[:]
	List(c, &class4, (*Coder).Int)
	if copy(s.Class4[:], class4) < len(s.Class4) || len(class4) > len(s.Class4) {
		c.r.refuse("wrong number of hours")
	}
	c.Int(&s.Nurses)
	Enum(c, &s.Call, lastTristate)
	Enum(c, &s.Level, lastLevel)
}

func snapshotVisitFields(c *Coder, v *acuity.SnapshotVisit) {
	whole(c, &v.Visit)
	Enum(c, &v.Class, lastStageClass)
	c.Int(&v.Age)
	c.Fixed(v.Demand[:])
	c.Fixed(v.Score[:])
}

func snapshotArrivalFields(c *Coder, a *acuity.SnapshotArrival) {
	whole(c, &a.Visit)
	Enum(c, &a.Kind, lastArrivalKind)
}
