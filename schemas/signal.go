package schemas

import "svc/acuity"

func (w *writer) signal(s *acuity.Signal) {
	w.int(s.Room)
	w.text(s.Visit)
	w.text(s.Patient)
	w.enum(uint8(s.Kind), lastSignalKind)
	w.text(string(s.System))
	w.text(s.Code)
	w.text(s.Display)
	w.value(&s.Value)
	w.enum(uint8(s.Status), lastSignalStatus)
	w.at(s.ObservedAt)
	w.at(s.StartedAt)
}

func (r *reader) signal(s *acuity.Signal) {
	s.Room = r.int()
	s.Visit = r.text()
	s.Patient = r.text()
	s.Kind = acuity.SignalKind(r.enum(lastSignalKind))
	s.System = r.system()
	s.Code = r.text()
	s.Display = r.text()
	r.value(&s.Value)
	s.Status = acuity.SignalStatus(r.enum(lastSignalStatus))
	s.ObservedAt = r.at()
	s.StartedAt = r.at()
}

func (w *writer) signals(list []acuity.Signal) {
	w.items(len(list))
	for i := range list {
		w.signal(&list[i])
	}
	w.done()
}

func (r *reader) signals() (list []acuity.Signal) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.signal(&list[len(list)-1])
	}
	return list
}

func (w *writer) value(v *acuity.Value) {
	w.enum(uint8(v.Kind), lastValueKind)
	w.enum(uint8(v.Op), lastComparator)
	w.long(int64(v.Number))
	w.text(v.Unit)
	w.text(v.Words)
}

func (r *reader) value(v *acuity.Value) {
	v.Kind = acuity.ValueKind(r.enum(lastValueKind))
	v.Op = acuity.Comparator(r.enum(lastComparator))
	v.Number = acuity.Milli(r.long())
	v.Unit = r.text()
	v.Words = r.text()
}
