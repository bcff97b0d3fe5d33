package schemas

import "svc/acuity"

// Snapshot is a unit at one full hour, with the id of its hospital.
type Snapshot struct {
	Hospital string
	Snapshot acuity.Snapshot
}

// EncodeSnapshot appends the record of s to dst, which it returns.
func EncodeSnapshot(dst []byte, s *Snapshot) ([]byte, error) {
	w := begin(dst, &snapshotV1)
	w.text(s.Hospital)
	w.snapshot(&s.Snapshot)
	return w.end(&snapshotV1)
}

// DecodeSnapshot reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeSnapshot(b []byte) (*Snapshot, error) {
	r, err := open(b, &snapshotV1)
	if err != nil {
		return nil, err
	}
	s := new(Snapshot)
	s.Hospital = r.text()
	r.snapshot(&s.Snapshot)
	if err := r.close(&snapshotV1); err != nil {
		return nil, err
	}
	return s, nil
}

func (w *writer) snapshot(s *acuity.Snapshot) {
	w.int(s.Hour)
	w.int(s.Generation)
	w.long(s.Position)
	w.int(s.Backfill)
	w.text(s.RulesVersion)
	w.bool(s.Observed)
	w.snapshotVisits(s.Visits)
	w.snapshotArrivals(s.Arrivals)
	w.int(s.Moves)
	w.int(s.Occupied)
	w.int(s.Rooms)
	w.int(s.Boarders)
	w.ints(s.Class4[:])
	w.int(s.Nurses)
	w.enum(uint8(s.Call), lastTristate)
	w.enum(uint8(s.Level), lastLevel)
}

func (r *reader) snapshot(s *acuity.Snapshot) {
	s.Hour = r.int()
	s.Generation = r.int()
	s.Position = r.long()
	s.Backfill = r.int()
	s.RulesVersion = r.text()
	s.Observed = r.bool()
	s.Visits = r.snapshotVisits()
	s.Arrivals = r.snapshotArrivals()
	s.Moves = r.int()
	s.Occupied = r.int()
	s.Rooms = r.int()
	s.Boarders = r.int()
	if class4 := r.ints(); len(class4) == len(s.Class4) {
		copy(s.Class4[:], class4)
	} else {
		r.refuse("another number of hours")
	}
	s.Nurses = r.int()
	s.Call = acuity.Tristate(r.enum(lastTristate))
	s.Level = acuity.Level(r.enum(lastLevel))
}

func (w *writer) snapshotVisit(v *acuity.SnapshotVisit) {
	w.long(int64(v.Visit)) //nolint:gosec // about the bits
	w.enum(uint8(v.Class), lastStageClass)
	w.int(v.Age)
	w.fixed(v.Demand[:])
	w.fixed(v.Score[:])
}

func (r *reader) snapshotVisit(v *acuity.SnapshotVisit) {
	v.Visit = uint64(r.long()) //nolint:gosec // about the bits
	v.Class = acuity.StageClass(r.enum(lastStageClass))
	v.Age = r.int()
	r.fixed(v.Demand[:])
	r.fixed(v.Score[:])
}

func (w *writer) snapshotVisits(list []acuity.SnapshotVisit) {
	w.items(len(list))
	for i := range list {
		w.snapshotVisit(&list[i])
	}
	w.done()
}

func (r *reader) snapshotVisits() (list []acuity.SnapshotVisit) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.snapshotVisit(&list[len(list)-1])
	}
	return list
}

func (w *writer) snapshotArrivals(list []acuity.SnapshotArrival) {
	w.items(len(list))
	for i := range list {
		w.long(int64(list[i].Visit)) //nolint:gosec // about the bits
		w.enum(uint8(list[i].Kind), lastArrivalKind)
	}
	w.done()
}

func (r *reader) snapshotArrivals() (list []acuity.SnapshotArrival) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		a := &list[len(list)-1]
		a.Visit = uint64(r.long()) //nolint:gosec // about the bits
		a.Kind = acuity.ArrivalKind(r.enum(lastArrivalKind))
	}
	return list
}
