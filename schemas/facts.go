package schemas

import "svc/acuity"

func (w *writer) censusFacts(c *acuity.CensusFacts) {
	w.text(c.Area)
	w.octet(c.Class)
	w.text(c.Service)
	w.factor(c.Primary)
	w.at(c.PrimarySince)
	w.at(c.DeliveredAt)
	w.bool(c.Cesarean)
	w.listedList(c.Listed)
	w.standings(c.Diagnoses)
	w.newbornsSeen(c.Newborns)
}

func (r *reader) censusFacts(c *acuity.CensusFacts) {
	c.Area = r.text()
	c.Class = r.octet()
	c.Service = r.text()
	c.Primary = r.factor()
	c.PrimarySince = r.at()
	c.DeliveredAt = r.at()
	c.Cesarean = r.bool()
	c.Listed = r.listedList()
	c.Diagnoses = r.standings()
	c.Newborns = r.newbornsSeen()
}

func (w *writer) listed(l *acuity.Listed) {
	w.factor(l.Factor)
	w.at(l.Since)
	w.at(l.Last)
}

func (r *reader) listed(l *acuity.Listed) {
	l.Factor = r.factor()
	l.Since = r.at()
	l.Last = r.at()
}

func (w *writer) listedList(list []acuity.Listed) {
	w.items(len(list))
	for i := range list {
		w.listed(&list[i])
	}
	w.done()
}

func (r *reader) listedList() (list []acuity.Listed) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.listed(&list[len(list)-1])
	}
	return list
}

func (w *writer) standing(s *acuity.Standing) {
	w.diagnosis(&s.Diagnosis)
	w.at(s.Start)
	w.at(s.Last)
}

func (r *reader) standing(s *acuity.Standing) {
	r.diagnosis(&s.Diagnosis)
	s.Start = r.at()
	s.Last = r.at()
}

func (w *writer) standings(list []acuity.Standing) {
	w.items(len(list))
	for i := range list {
		w.standing(&list[i])
	}
	w.done()
}

func (r *reader) standings() (list []acuity.Standing) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.standing(&list[len(list)-1])
	}
	return list
}

func (w *writer) newbornSeen(n *acuity.NewbornSeen) {
	w.text(n.Visit)
	w.factor(n.Primary)
	w.at(n.Since)
}

func (r *reader) newbornSeen(n *acuity.NewbornSeen) {
	n.Visit = r.text()
	n.Primary = r.factor()
	n.Since = r.at()
}

func (w *writer) newbornsSeen(list []acuity.NewbornSeen) {
	w.items(len(list))
	for i := range list {
		w.newbornSeen(&list[i])
	}
	w.done()
}

func (r *reader) newbornsSeen() (list []acuity.NewbornSeen) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.newbornSeen(&list[len(list)-1])
	}
	return list
}

func (w *writer) occupant(o *acuity.Occupant) {
	w.stay(&o.Stay)
	w.censusFacts(&o.Facts)
}

func (r *reader) occupant(o *acuity.Occupant) {
	r.stay(&o.Stay)
	r.censusFacts(&o.Facts)
}

func (w *writer) stay(s *acuity.Stay) {
	w.int(s.Room)
	w.at(s.From)
	w.at(s.First)
	w.at(s.Last)
	w.at(s.To)
}

func (r *reader) stay(s *acuity.Stay) {
	s.Room = r.int()
	s.From = r.at()
	s.First = r.at()
	s.Last = r.at()
	s.To = r.at()
}

func (w *writer) stays(list []acuity.Stay) {
	w.items(len(list))
	for i := range list {
		w.stay(&list[i])
	}
	w.done()
}

func (r *reader) stays() (list []acuity.Stay) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.stay(&list[len(list)-1])
	}
	return list
}
