package schemas

import "svc/acuity"

// EncodeUnitChart appends the record of u to dst, which it returns.
func EncodeUnitChart(dst []byte, u *acuity.UnitChart) ([]byte, error) {
	w := begin(dst, &unitChartV3)
	w.unitChart(u)
	return w.end(&unitChartV3)
}

// DecodeUnitChart reads a record of any released version into u, which it
// overwrites. The errors are [ErrMalformed] and [UnknownSchemaError].
func DecodeUnitChart(b []byte, u *acuity.UnitChart) error {
	r, err := open(b, &unitChartV3)
	if err != nil {
		return err
	}
	*u = acuity.UnitChart{}
	r.unitChart(u)
	return r.close(&unitChartV3)
}

// EncodeRoomChart appends the record of room to dst, which it returns.
func EncodeRoomChart(dst []byte, room *acuity.RoomChart) ([]byte, error) {
	w := begin(dst, &roomChartV1)
	w.roomChart(room)
	return w.end(&roomChartV1)
}

// DecodeRoomChart reads a record of any released version into room, an element
// of the rooms of a chart, which it overwrites. The errors are [ErrMalformed]
// and [UnknownSchemaError].
func DecodeRoomChart(b []byte, room *acuity.RoomChart) error {
	r, err := open(b, &roomChartV1)
	if err != nil {
		return err
	}
	*room = acuity.RoomChart{}
	r.roomChart(room)
	return r.close(&roomChartV1)
}

func (w *writer) unitChart(u *acuity.UnitChart) {
	w.long(u.Version)
	w.at(u.Since)
	w.at(u.Clock)
	w.staffings(u.Staffing)
	if w.some(u.Roster != nil) {
		w.roster(u.Roster)
	}
	w.bool(u.HasCensus)
	w.at(u.CensusAt)
	w.int(u.TotalRooms)
	w.instants(u.Moves)
	w.int(u.Unplaced)
	w.int(u.UnknownLocations)
	w.int(u.CancelsWaiting)
	w.int(u.StatementsWaiting)
	w.rules(u.Rules)
	w.bool(u.StaffingFromRoster)
	w.at(u.ObservedAt)
}

func (r *reader) unitChart(u *acuity.UnitChart) {
	u.Version = r.long()
	u.Since = r.at()
	u.Clock = r.at()
	u.Staffing = r.staffings()
	if r.some() {
		u.Roster = new(acuity.Roster)
		r.roster(u.Roster)
	}
	u.HasCensus = r.bool()
	u.CensusAt = r.at()
	u.TotalRooms = r.int()
	u.Moves = r.instants()
	u.Unplaced = r.int()
	u.UnknownLocations = r.int()
	u.CancelsWaiting = r.int()
	u.StatementsWaiting = r.int()
	u.Rules = r.rules()
	u.StaffingFromRoster = r.bool()
	u.ObservedAt = r.at()
}

func (w *writer) roomChart(room *acuity.RoomChart) {
	w.int(room.ID)
	w.text(room.Label)
	w.text(room.Area)
	w.enum(uint8(room.Status), lastRoomStatus)
	w.bool(room.Listed)
	w.at(room.NewestSignal)
	w.patientCharts(room.Patients)
}

func (r *reader) roomChart(room *acuity.RoomChart) {
	room.ID = r.int()
	room.Label = r.text()
	room.Area = r.text()
	room.Status = acuity.RoomStatus(r.enum(lastRoomStatus))
	room.Listed = r.bool()
	room.NewestSignal = r.at()
	room.Patients = r.patientCharts()
}

func (w *writer) patientChart(p *acuity.PatientChart) {
	w.text(p.Visit)
	w.at(p.Arrived)
	w.at(p.Birth)
	w.bool(p.Mother)
	w.evidences(p.Evidence)
}

func (r *reader) patientChart(p *acuity.PatientChart) {
	p.Visit = r.text()
	p.Arrived = r.at()
	p.Birth = r.at()
	p.Mother = r.bool()
	p.Evidence = r.evidences()
}

func (w *writer) patientCharts(list []acuity.PatientChart) {
	w.items(len(list))
	for i := range list {
		w.patientChart(&list[i])
	}
	w.done()
}

func (r *reader) patientCharts() (list []acuity.PatientChart) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.patientChart(&list[len(list)-1])
	}
	return list
}

func (w *writer) evidence(e *acuity.Evidence) {
	w.factor(e.Factor)
	w.octet(e.Variant)
	w.octet(e.Count)
	w.octet(e.Baby)
	w.enum(uint8(e.Kind), lastEvidenceKind)
	w.bool(e.Silent)
	w.at(e.Start)
	w.at(e.Last)
	w.text(e.AssignedBy)
	w.source(&e.Source)
}

func (r *reader) evidence(e *acuity.Evidence) {
	e.Factor = r.factor()
	e.Variant = r.octet()
	e.Count = r.octet()
	e.Baby = r.octet()
	e.Kind = acuity.EvidenceKind(r.enum(lastEvidenceKind))
	e.Silent = r.bool()
	e.Start = r.at()
	e.Last = r.at()
	e.AssignedBy = r.text()
	r.source(&e.Source)
}

func (w *writer) evidences(list []acuity.Evidence) {
	w.items(len(list))
	for i := range list {
		w.evidence(&list[i])
	}
	w.done()
}

func (r *reader) evidences() (list []acuity.Evidence) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.evidence(&list[len(list)-1])
	}
	return list
}

func (w *writer) source(s *acuity.Source) {
	w.text(string(s.Feed))
	w.text(string(s.System))
	w.text(s.Code)
}

func (r *reader) source(s *acuity.Source) {
	s.Feed = r.channel()
	s.System = r.system()
	s.Code = r.text()
}
