package schemas

import "svc/acuity"

func (w *writer) mapping(m *acuity.Mapping) {
	w.text(m.ID)
	w.text(string(m.System))
	w.text(m.Code)
	w.enum(uint8(m.Kind), lastSignalKind)
	w.factor(m.Factor)
	w.enum(uint8(m.Op), lastComparator)
	w.long(int64(m.Than))
	w.text(m.Comment)
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
	m.Comment = r.text()
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

func (w *writer) rule(rule *acuity.Rule) {
	w.factor(rule.Factor)
	w.ruleLines(rule.Lines)
	w.text(rule.Comment)
	w.bool(rule.Delete)
}

func (r *reader) rule(rule *acuity.Rule) {
	rule.Factor = r.factor()
	rule.Lines = r.ruleLines()
	rule.Comment = r.text()
	rule.Delete = r.bool()
}

func (w *writer) rules(list []acuity.Rule) {
	w.items(len(list))
	for i := range list {
		w.rule(&list[i])
	}
	w.done()
}

func (r *reader) rules() (list []acuity.Rule) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.rule(&list[len(list)-1])
	}
	return list
}

func (w *writer) ruleLine(line *acuity.RuleLine) {
	w.text(line.Name)
	w.text(line.Text)
}

func (r *reader) ruleLine(line *acuity.RuleLine) {
	line.Name = r.text()
	line.Text = r.text()
}

func (w *writer) ruleLines(list []acuity.RuleLine) {
	w.items(len(list))
	for i := range list {
		w.ruleLine(&list[i])
	}
	w.done()
}

func (r *reader) ruleLines() (list []acuity.RuleLine) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.ruleLine(&list[len(list)-1])
	}
	return list
}

func (w *writer) place(p *acuity.Place) {
	w.text(p.PointOfCare)
	w.text(p.Room)
	w.text(p.Bed)
	w.bool(p.HasRoomID)
	w.int(p.RoomID)
	w.text(p.Label)
	w.text(p.Area)
	w.bool(p.Outside)
	w.factor(p.Primary)
	w.bool(p.Delete)
}

func (r *reader) place(p *acuity.Place) {
	p.PointOfCare = r.text()
	p.Room = r.text()
	p.Bed = r.text()
	p.HasRoomID = r.bool()
	p.RoomID = r.int()
	p.Label = r.text()
	p.Area = r.text()
	p.Outside = r.bool()
	p.Primary = r.factor()
	p.Delete = r.bool()
}

func (w *writer) places(list []acuity.Place) {
	w.items(len(list))
	for i := range list {
		w.place(&list[i])
	}
	w.done()
}

func (r *reader) places() (list []acuity.Place) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.place(&list[len(list)-1])
	}
	return list
}

func (w *writer) switches(s *acuity.Switches) {
	w.bool(s.TrustA08Location)
	w.bool(s.StaffingFromRoster)
}

func (r *reader) switches(s *acuity.Switches) {
	s.TrustA08Location = r.bool()
	s.StaffingFromRoster = r.bool()
}

func (w *writer) codeMark(m *acuity.CodeMark) {
	w.text(string(m.System))
	w.text(m.Code)
	w.enum(uint8(m.Kind), lastSignalKind)
	w.bool(m.Delete)
}

func (r *reader) codeMark(m *acuity.CodeMark) {
	m.System = r.system()
	m.Code = r.text()
	m.Kind = acuity.SignalKind(r.enum(lastSignalKind))
	m.Delete = r.bool()
}

func (w *writer) codeMarks(list []acuity.CodeMark) {
	w.items(len(list))
	for i := range list {
		w.codeMark(&list[i])
	}
	w.done()
}

func (r *reader) codeMarks() (list []acuity.CodeMark) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.codeMark(&list[len(list)-1])
	}
	return list
}

func (w *writer) act(a *acuity.Act) {
	w.bool(a.DryRun)
	w.long(a.Expect)
}

func (r *reader) act(a *acuity.Act) {
	a.DryRun = r.bool()
	a.Expect = r.long()
}

func (w *writer) ruleState(s *acuity.RuleState) {
	w.rule(&s.Rule)
	w.long(s.Version)
	w.text(s.By)
	w.at(s.At)
}

func (r *reader) ruleState(s *acuity.RuleState) {
	r.rule(&s.Rule)
	s.Version = r.long()
	s.By = r.text()
	s.At = r.at()
}

func (w *writer) placeState(s *acuity.PlaceState) {
	w.place(&s.Place)
	w.long(s.Version)
	w.text(s.By)
	w.at(s.At)
}

func (r *reader) placeState(s *acuity.PlaceState) {
	r.place(&s.Place)
	s.Version = r.long()
	s.By = r.text()
	s.At = r.at()
}

func (w *writer) switchesState(s *acuity.SwitchesState) {
	w.switches(&s.Switches)
	w.long(s.Version)
	w.text(s.By)
	w.at(s.At)
}

func (r *reader) switchesState(s *acuity.SwitchesState) {
	r.switches(&s.Switches)
	s.Version = r.long()
	s.By = r.text()
	s.At = r.at()
}
