package schemas

import "svc/acuity"

func censusFields(c *Coder, v *acuity.Census) {
	c.at(&v.AsOf)
	c.Int(&v.TotalRooms)
	List(c, &v.Rooms, censusRoomFields)
}

func censusRoomFields(c *Coder, row *acuity.CensusRoom) {
	c.Int(&row.ID)
	c.Text(&row.Label)
	c.Text(&row.Area)
	Enum(c, &row.Status, lastRoomStatus)
	c.Text(&row.Visit)
	c.octet(&row.Class)
	c.Text(&row.Service)
	c.factor(&row.Primary)
	c.at(&row.PrimarySince)
	c.at(&row.DeliveredAt)
	c.Bool(&row.Cesarean)
	c.Bool(&row.HasModifiers)
	List(c, &row.Modifiers, (*Coder).factor)
	c.Bool(&row.HasDiagnoses)
	List(c, &row.Diagnoses, diagnosisFields)
	c.Bool(&row.HasNewborns)
	List(c, &row.Newborns, censusNewbornFields)
}

func censusNewbornFields(c *Coder, v *acuity.CensusNewborn) {
	c.Text(&v.Visit)
	c.factor(&v.Primary)
}
