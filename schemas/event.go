package schemas

import "svc/acuity"

func (w *writer) event(e *acuity.Event) {
	w.text(e.ID)
	w.text(e.Digest)
	w.enum(uint8(e.Type), lastEventType)
	w.at(e.At)
	w.enum(uint8(e.Precision), lastPrecision)
	w.at(e.RecordedAt)
	w.at(e.ReceivedAt)
	w.text(string(e.Feed))
	w.at(e.Cancels)
	w.enum(uint8(e.CancelsPrecision), lastPrecision)
	w.text(e.Visit)
	w.text(e.Patient)
	w.text(e.MotherVisit)
	w.text(e.MotherPatient)
	w.location(&e.Place)
	w.bool(e.PlaceNull)
	w.location(&e.Prior)
	w.octet(e.Class)
	w.octet(e.AdmissionType)
	w.text(e.Service)
	w.bool(e.Newborn)
	w.octet(e.Babies)
	w.factor(e.Primary)
	w.reasons(e.Reasons)
	w.enum(uint8(e.DiagnosisMode), lastDiagnosisMode)
	w.diagnoses(e.Diagnoses)
	w.text(e.Resource)
	w.at(e.UpdatedAt)
	w.bool(e.Void)
	w.text(e.Encounter)
	w.text(e.Subject)
	w.warnings(e.Warnings)
}

func (r *reader) event(e *acuity.Event) {
	e.ID = r.text()
	e.Digest = r.text()
	e.Type = acuity.EventType(r.enum(lastEventType))
	e.At = r.at()
	e.Precision = acuity.Precision(r.enum(lastPrecision))
	e.RecordedAt = r.at()
	e.ReceivedAt = r.at()
	e.Feed = r.channel()
	e.Cancels = r.at()
	e.CancelsPrecision = acuity.Precision(r.enum(lastPrecision))
	e.Visit = r.text()
	e.Patient = r.text()
	e.MotherVisit = r.text()
	e.MotherPatient = r.text()
	r.location(&e.Place)
	e.PlaceNull = r.bool()
	r.location(&e.Prior)
	e.Class = r.octet()
	e.AdmissionType = r.octet()
	e.Service = r.text()
	e.Newborn = r.bool()
	e.Babies = r.octet()
	e.Primary = r.factor()
	e.Reasons = r.reasons()
	e.DiagnosisMode = acuity.DiagnosisMode(r.enum(lastDiagnosisMode))
	e.Diagnoses = r.diagnoses()
	e.Resource = r.text()
	e.UpdatedAt = r.at()
	e.Void = r.bool()
	e.Encounter = r.text()
	e.Subject = r.text()
	e.Warnings = r.warnings()
}

func (w *writer) events(list []acuity.Event) {
	w.items(len(list))
	for i := range list {
		w.event(&list[i])
	}
	w.done()
}

func (r *reader) events() (list []acuity.Event) {
	memory := r.eventList()
	list = listAgain(memory)
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.event(&list[len(list)-1])
	}
	return listRead(memory, list, keptEvents)
}

func (w *writer) location(l *acuity.Location) {
	w.bool(l.HasRoomID)
	w.int(l.RoomID)
	w.text(l.Label)
	w.text(l.PointOfCare)
	w.text(l.Room)
	w.text(l.Bed)
	w.text(l.Facility)
}

func (r *reader) location(l *acuity.Location) {
	l.HasRoomID = r.bool()
	l.RoomID = r.int()
	l.Label = r.text()
	l.PointOfCare = r.text()
	l.Room = r.text()
	l.Bed = r.text()
	l.Facility = r.text()
}

func (w *writer) diagnosis(d *acuity.Diagnosis) {
	w.text(string(d.System))
	w.text(d.Code)
	w.text(d.Display)
	w.at(d.OnsetAt)
	w.bool(d.Delete)
}

func (r *reader) diagnosis(d *acuity.Diagnosis) {
	d.System = r.system()
	d.Code = r.text()
	d.Display = r.text()
	d.OnsetAt = r.at()
	d.Delete = r.bool()
}

func (w *writer) diagnoses(list []acuity.Diagnosis) {
	w.items(len(list))
	for i := range list {
		w.diagnosis(&list[i])
	}
	w.done()
}

func (r *reader) diagnoses() (list []acuity.Diagnosis) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.diagnosis(&list[len(list)-1])
	}
	return list
}

func (w *writer) warning(warning *acuity.Warning) {
	w.text(warning.Code)
	w.text(warning.Path)
}

func (r *reader) warning(warning *acuity.Warning) {
	warning.Code = r.text()
	warning.Path = r.text()
}

func (w *writer) warnings(list []acuity.Warning) {
	w.items(len(list))
	for i := range list {
		w.warning(&list[i])
	}
	w.done()
}

func (r *reader) warnings() (list []acuity.Warning) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.warning(&list[len(list)-1])
	}
	return list
}
