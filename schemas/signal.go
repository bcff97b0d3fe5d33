package schemas

import (
	"svc/acuity"
	"svc/acuity/codes"
)

func signalFields(c *coder, s *acuity.Signal) {
	c.int(&s.Room)
	c.text(&s.Visit)
	c.text(&s.Patient)
	c.text(&s.Subject)
	enum(c, &s.Kind, lastSignalKind)
	c.system(&s.System)
	c.text(&s.Code)
	c.text(&s.Display)
	valueFields(c, &s.Value)
	enum(c, &s.Status, lastSignalStatus)
	c.at(&s.ObservedAt)
	c.at(&s.StartedAt)
	c.text(&s.Resource)
	c.at(&s.UpdatedAt)
	list(c, &s.Also, codingFields)
}

func valueFields(c *coder, v *codes.Value) {
	enum(c, &v.Kind, lastValueKind)
	enum(c, &v.Op, lastComparator)
	c.milli(&v.Number)
	c.text(&v.Unit)
	c.text(&v.Words)
}

func codingFields(c *coder, v *acuity.Coding) {
	c.system(&v.System)
	c.text(&v.Code)
	c.text(&v.Display)
}
