package schemas

import (
	"svc/acuity"
	"svc/acuity/hospital"
)

func referenceFields(c *coder, f *acuity.Reference) {
	c.text(&f.Name)
	c.at(&f.UpdatedAt)
	list(c, &f.Codings, codingFields)
	locationFields(c, &f.Place)
	c.text(&f.Patient)
}

func referenceStateFields(c *coder, s *hospital.ReferenceState) {
	referenceFields(c, &s.Reference)
	c.long(&s.Version)
}
