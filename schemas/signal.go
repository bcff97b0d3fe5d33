package schemas

import "svc/acuity"

func (w *writer) signal(s *acuity.Signal) {
	w.int(s.Room)
	w.text(s.Visit)
	w.text(s.Patient)
	w.text(s.Subject)
	w.enum(uint8(s.Kind), lastSignalKind)
	w.text(string(s.System))
	w.text(s.Code)
	w.text(s.Display)
	w.value(&s.Value)
	w.enum(uint8(s.Status), lastSignalStatus)
	w.at(s.ObservedAt)
	w.at(s.StartedAt)
	w.text(s.Resource)
	w.at(s.UpdatedAt)
	w.codings(s.Also)
}

func (r *reader) signal(s *acuity.Signal) {
	s.Room = r.int()
	s.Visit = r.text()
	s.Patient = r.text()
	s.Subject = r.text()
	s.Kind = acuity.SignalKind(r.enum(lastSignalKind))
	s.System = r.system()
	s.Code = r.text()
	s.Display = r.text()
	r.value(&s.Value)
	s.Status = acuity.SignalStatus(r.enum(lastSignalStatus))
	s.ObservedAt = r.at()
	s.StartedAt = r.at()
	s.Resource = r.text()
	s.UpdatedAt = r.at()
	s.Also = r.codings()
}

func (w *writer) signals(list []acuity.Signal) {
	w.items(len(list))
	for i := range list {
		w.signal(&list[i])
	}
	w.done()
}

func (r *reader) signals() (list []acuity.Signal) {
	memory := r.signalList()
	list = listAgain(memory)
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.signal(&list[len(list)-1])
	}
	return listRead(memory, list, keptSignals)
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

func (w *writer) coding(c *acuity.Coding) {
	w.text(string(c.System))
	w.text(c.Code)
	w.text(c.Display)
}

func (r *reader) coding(c *acuity.Coding) {
	c.System = r.system()
	c.Code = r.text()
	c.Display = r.text()
}

func (w *writer) codings(list []acuity.Coding) {
	w.items(len(list))
	for i := range list {
		w.coding(&list[i])
	}
	w.done()
}

func (r *reader) codings() (list []acuity.Coding) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.coding(&list[len(list)-1])
	}
	return list
}
