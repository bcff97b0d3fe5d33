package schemas

import "svc/acuity"

// EncodeObservation appends the record of o to dst, which it returns.
func EncodeObservation(dst []byte, o *acuity.Observation) ([]byte, error) {
	w := begin(dst, &observationV1)
	w.observation(o)
	return w.end(&observationV1)
}

// DecodeObservation reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeObservation(b []byte) (*acuity.Observation, error) {
	p, err := observationV1.payload(b)
	if err != nil {
		return nil, err
	}
	r := reader{buf: p}
	if len(p) <= shared {
		r.all = string(p)
	}
	o := new(acuity.Observation)
	r.observation(o)
	if err := r.close(&observationV1); err != nil {
		return nil, err
	}
	return o, nil
}

func (w *writer) observation(o *acuity.Observation) {
	w.text(o.Hospital)
	w.at(o.ReceivedAt)
	w.at(o.AppliedAt)
	w.text(string(o.Channel))
	w.text(o.Source)
	w.events(o.Events)
	w.signals(o.Signals)
	if w.some(o.Room != nil) {
		w.roomRef(o.Room)
	}
	if w.some(o.Census != nil) {
		w.census(o.Census)
	}
	if w.some(o.Staffing != nil) {
		w.staffing(o.Staffing)
	}
	if w.some(o.Roster != nil) {
		w.roster(o.Roster)
	}
	w.mappings(o.Mappings)
}

func (r *reader) observation(o *acuity.Observation) {
	o.Hospital = r.text()
	o.ReceivedAt = r.at()
	o.AppliedAt = r.at()
	o.Channel = r.channel()
	o.Source = r.text()
	o.Events = r.events()
	o.Signals = r.signals()
	if r.some() {
		o.Room = new(acuity.RoomRef)
		r.roomRef(o.Room)
	}
	if r.some() {
		o.Census = new(acuity.Census)
		r.census(o.Census)
	}
	if r.some() {
		o.Staffing = new(acuity.Staffing)
		r.staffing(o.Staffing)
	}
	if r.some() {
		o.Roster = new(acuity.Roster)
		r.roster(o.Roster)
	}
	o.Mappings = r.mappings()
}

func (w *writer) roomRef(ref *acuity.RoomRef) {
	w.int(ref.ID)
	w.text(ref.Label)
}

func (r *reader) roomRef(ref *acuity.RoomRef) {
	ref.ID = r.int()
	ref.Label = r.text()
}

func (w *writer) mapping(m *acuity.Mapping) {
	w.text(m.ID)
	w.text(string(m.System))
	w.text(m.Code)
	w.enum(uint8(m.Kind), lastSignalKind)
	w.factor(m.Factor)
	w.enum(uint8(m.Op), lastComparator)
	w.long(int64(m.Than))
	w.bool(m.Delete)
}

func (r *reader) mapping(m *acuity.Mapping) {
	m.ID = r.text()
	m.System = r.system()
	m.Code = r.text()
	m.Kind = acuity.SignalKind(r.enum(lastSignalKind))
	m.Factor = r.factor()
	m.Op = acuity.Comparator(r.enum(lastComparator))
	m.Than = acuity.Milli(r.long())
	m.Delete = r.bool()
}

func (w *writer) mappings(list []acuity.Mapping) {
	w.items(len(list))
	for i := range list {
		w.mapping(&list[i])
	}
	w.done()
}

func (r *reader) mappings() (list []acuity.Mapping) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.mapping(&list[len(list)-1])
	}
	return list
}
