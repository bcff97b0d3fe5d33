package schemas

import (
	"svc/acuity"
	"svc/acuity/codes"
)

func signalFields(c *Coder, s *acuity.Signal) {
	c.Int(&s.Room)
	c.Text(&s.Visit)
	c.Text(&s.Patient)
	c.Text(&s.Subject)
	Enum(c, &s.Kind, lastSignalKind)
	c.system(&s.System)
	c.Text(&s.Code)
	c.Text(&s.Display)
	valueFields(c, &s.Value)
	Enum(c, &s.Status, lastSignalStatus)
	c.at(&s.ObservedAt)
	c.at(&s.StartedAt)
	c.Text(&s.Resource)
	c.at(&s.UpdatedAt)
	List(c, &s.Also, codingFields)
}

func valueFields(c *Coder, v *codes.Value) {
	Enum(c, &v.Kind, lastValueKind)
	Enum(c, &v.Op, lastComparator)
	c.milli(&v.Number)
	c.Text(&v.Unit)
	c.Text(&v.Words)
}

func codingFields(c *Coder, v *acuity.Coding) {
	c.system(&v.System)
	c.Text(&v.Code)
	c.Text(&v.Display)
}
