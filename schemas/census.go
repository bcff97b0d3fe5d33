package schemas

import "svc/acuity"

func censusFields(c *coder, v *acuity.Census) {
	c.at(&v.AsOf)
	c.int(&v.TotalRooms)
	list(c, &v.Rooms, censusRoomFields)
}

func censusRoomFields(c *coder, row *acuity.CensusRoom) {
	c.int(&row.ID)
	c.text(&row.Label)
	c.text(&row.Area)
	enum(c, &row.Status, lastRoomStatus)
	c.text(&row.Visit)
	c.octet(&row.Class)
	c.text(&row.Service)
	c.factor(&row.Primary)
	c.at(&row.PrimarySince)
	c.at(&row.DeliveredAt)
	c.bool(&row.Cesarean)
	c.bool(&row.HasModifiers)
	list(c, &row.Modifiers, (*coder).factor)
	c.bool(&row.HasDiagnoses)
	list(c, &row.Diagnoses, diagnosisFields)
	c.bool(&row.HasNewborns)
	list(c, &row.Newborns, censusNewbornFields)
}

func censusNewbornFields(c *coder, v *acuity.CensusNewborn) {
	c.text(&v.Visit)
	c.factor(&v.Primary)
}
