package schemas

import "svc/acuity"

func eventFields(c *Coder, e *acuity.Event) {
	c.Text(&e.ID)
	c.Text(&e.Digest)
	Enum(c, &e.Type, lastEventType)
	c.at(&e.At)
	Enum(c, &e.Precision, lastPrecision)
	c.at(&e.RecordedAt)
	c.at(&e.ReceivedAt)
	c.channel(&e.Feed)
	c.at(&e.Cancels)
	Enum(c, &e.CancelsPrecision, lastPrecision)
	c.Text(&e.Visit)
	c.Text(&e.Patient)
	c.Text(&e.MotherVisit)
	c.Text(&e.MotherPatient)
	locationFields(c, &e.Place)
	c.Bool(&e.PlaceNull)
	locationFields(c, &e.Prior)
	c.octet(&e.Class)
	c.octet(&e.AdmissionType)
	c.Text(&e.Service)
	c.Bool(&e.Newborn)
	c.octet(&e.Babies)
	c.factor(&e.Primary)
	c.reasons(&e.Reasons)
	Enum(c, &e.DiagnosisMode, lastDiagnosisMode)
	List(c, &e.Diagnoses, diagnosisFields)
	c.Text(&e.Resource)
	c.at(&e.UpdatedAt)
	c.Bool(&e.Void)
	c.Text(&e.Encounter)
	c.Text(&e.Subject)
	List(c, &e.Warnings, warningFields)
}

func locationFields(c *Coder, l *acuity.Location) {
	c.Bool(&l.HasRoomID)
	c.Int(&l.RoomID)
	c.Text(&l.Label)
	c.Text(&l.PointOfCare)
	c.Text(&l.Room)
	c.Text(&l.Bed)
	c.Text(&l.Facility)
}

func diagnosisFields(c *Coder, d *acuity.Diagnosis) {
	c.system(&d.System)
	c.Text(&d.Code)
	c.Text(&d.Display)
	c.at(&d.OnsetAt)
	c.Bool(&d.Delete)
}

func warningFields(c *Coder, warning *acuity.Warning) {
	c.Text(&warning.Code)
	c.Text(&warning.Path)
}
