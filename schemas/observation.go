package schemas

import "svc/acuity"

// EncodeObservation appends the record of o to dst, which it returns.
func EncodeObservation(dst []byte, o *acuity.Observation) ([]byte, error) {
	w := begin(dst, &observationV3)
	w.observation(o)
	return w.end(&observationV3)
}

// DecodeObservation reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeObservation(b []byte) (*acuity.Observation, error) {
	return decodeObservation(b, new(acuity.Observation), nil)
}

func decodeObservation(b []byte, o *acuity.Observation, again *Intake) (*acuity.Observation, error) {
	p, err := observationV3.payload(b)
	if err != nil {
		return nil, err
	}
	r := reader{buf: p, again: again}
	if len(p) <= shared {
		r.all = string(p)
	}
	r.observation(o)
	if err := r.close(&observationV3); err != nil {
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
	w.rules(o.Rules)
	w.places(o.Locations)
	if w.some(o.Switches != nil) {
		w.switches(o.Switches)
	}
	w.codeMarks(o.Marks)
	if w.some(o.Act != nil) {
		w.act(o.Act)
	}
	if w.some(o.Request != nil) {
		w.request(o.Request)
	}
	w.referents(o.Referents)
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
		o.Room = r.newRoom()
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
	o.Rules = r.rules()
	o.Locations = r.places()
	if r.some() {
		o.Switches = new(acuity.Switches)
		r.switches(o.Switches)
	}
	o.Marks = r.codeMarks()
	if r.some() {
		o.Act = new(acuity.Act)
		r.act(o.Act)
	}
	if r.some() {
		o.Request = new(acuity.Request)
		r.request(o.Request)
	}
	o.Referents = r.referents()
}

func (w *writer) roomRef(ref *acuity.RoomRef) {
	w.int(ref.ID)
	w.text(ref.Label)
}

func (r *reader) roomRef(ref *acuity.RoomRef) {
	ref.ID = r.int()
	ref.Label = r.text()
}

func (w *writer) request(q *acuity.Request) {
	w.text(q.Key)
	w.text(q.Digest)
}

func (r *reader) request(q *acuity.Request) {
	q.Key = r.text()
	q.Digest = r.text()
}
