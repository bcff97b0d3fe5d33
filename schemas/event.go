package schemas

import "svc/acuity"

func eventFields(c *coder, e *acuity.Event) {
	c.text(&e.ID)
	c.text(&e.Digest)
	enum(c, &e.Type, lastEventType)
	c.at(&e.At)
	enum(c, &e.Precision, lastPrecision)
	c.at(&e.RecordedAt)
	c.at(&e.ReceivedAt)
	c.channel(&e.Feed)
	c.at(&e.Cancels)
	enum(c, &e.CancelsPrecision, lastPrecision)
	c.text(&e.Visit)
	c.text(&e.Patient)
	c.text(&e.MotherVisit)
	c.text(&e.MotherPatient)
	locationFields(c, &e.Place)
	c.bool(&e.PlaceNull)
	locationFields(c, &e.Prior)
	c.octet(&e.Class)
	c.octet(&e.AdmissionType)
	c.text(&e.Service)
	c.bool(&e.Newborn)
	c.octet(&e.Babies)
	c.factor(&e.Primary)
	c.reasons(&e.Reasons)
	enum(c, &e.DiagnosisMode, lastDiagnosisMode)
	list(c, &e.Diagnoses, diagnosisFields)
	c.text(&e.Resource)
	c.at(&e.UpdatedAt)
	c.bool(&e.Void)
	c.text(&e.Encounter)
	c.text(&e.Subject)
	list(c, &e.Warnings, warningFields)
}

func locationFields(c *coder, l *acuity.Location) {
	c.bool(&l.HasRoomID)
	c.int(&l.RoomID)
	c.text(&l.Label)
	c.text(&l.PointOfCare)
	c.text(&l.Room)
	c.text(&l.Bed)
	c.text(&l.Facility)
}

func diagnosisFields(c *coder, d *acuity.Diagnosis) {
	c.system(&d.System)
	c.text(&d.Code)
	c.text(&d.Display)
	c.at(&d.OnsetAt)
	c.bool(&d.Delete)
}

func warningFields(c *coder, warning *acuity.Warning) {
	c.text(&warning.Code)
	c.text(&warning.Path)
}
