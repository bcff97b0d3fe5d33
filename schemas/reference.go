package schemas

import (
	"svc/acuity"
	"svc/acuity/hospital"
)

func referenceFields(c *Coder, f *acuity.Reference) {
	c.Text(&f.Name)
	c.at(&f.UpdatedAt)
	List(c, &f.Codings, codingFields)
	locationFields(c, &f.Place)
	c.Text(&f.Patient)
}

func referenceStateFields(c *Coder, s *hospital.ReferenceState) {
	referenceFields(c, &s.Reference)
	c.Long(&s.Version)
}
