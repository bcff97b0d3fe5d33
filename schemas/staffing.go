package schemas

import "svc/acuity"

func (w *writer) staffing(s *acuity.Staffing) {
	w.at(s.AsOf)
	w.int(s.Nurses)
	w.enum(uint8(s.Call), lastTristate)
}

func (r *reader) staffing(s *acuity.Staffing) {
	s.AsOf = r.at()
	s.Nurses = r.int()
	s.Call = acuity.Tristate(r.enum(lastTristate))
}

func (w *writer) staffings(list []acuity.Staffing) {
	w.items(len(list))
	for i := range list {
		w.staffing(&list[i])
	}
	w.done()
}

func (r *reader) staffings() (list []acuity.Staffing) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.staffing(&list[len(list)-1])
	}
	return list
}

func (w *writer) roster(roster *acuity.Roster) {
	w.at(roster.AsOf)
	w.rosterNurses(roster.Nurses)
}

func (r *reader) roster(roster *acuity.Roster) {
	roster.AsOf = r.at()
	roster.Nurses = r.rosterNurses()
}

func (w *writer) rosterNurse(nurse *acuity.RosterNurse) {
	w.text(nurse.ExternalID)
	w.text(nurse.JobCode)
	w.int(int32(nurse.Skill))
	w.int(nurse.HiredDays)
	w.ints(nurse.Rooms)
}

func (r *reader) rosterNurse(nurse *acuity.RosterNurse) {
	nurse.ExternalID = r.text()
	nurse.JobCode = r.text()
	nurse.Skill = r.skill()
	nurse.HiredDays = r.int()
	nurse.Rooms = r.ints()
}

func (w *writer) rosterNurses(list []acuity.RosterNurse) {
	w.items(len(list))
	for i := range list {
		w.rosterNurse(&list[i])
	}
	w.done()
}

func (r *reader) rosterNurses() (list []acuity.RosterNurse) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.rosterNurse(&list[len(list)-1])
	}
	return list
}
