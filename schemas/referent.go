package schemas

import "svc/acuity"

func (w *writer) referent(f *acuity.Referent) {
	w.text(f.Name)
	w.at(f.UpdatedAt)
	w.codings(f.Codings)
	w.location(&f.Place)
	w.text(f.Patient)
}

func (r *reader) referent(f *acuity.Referent) {
	f.Name = r.text()
	f.UpdatedAt = r.at()
	f.Codings = r.codings()
	r.location(&f.Place)
	f.Patient = r.text()
}

func (w *writer) referents(list []acuity.Referent) {
	w.items(len(list))
	for i := range list {
		w.referent(&list[i])
	}
	w.done()
}

func (r *reader) referents() (list []acuity.Referent) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.referent(&list[len(list)-1])
	}
	return list
}

func (w *writer) referentState(s *acuity.ReferentState) {
	w.referent(&s.Referent)
	w.long(s.Version)
}

func (r *reader) referentState(s *acuity.ReferentState) {
	r.referent(&s.Referent)
	s.Version = r.long()
}
