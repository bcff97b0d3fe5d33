package schemas

import (
	"svc/acuity/evidence"
	"svc/acuity/hospital"
)

func censusFactsFields(c *coder, v *hospital.CensusFacts) {
	c.text(&v.Area)
	c.octet(&v.Class)
	c.text(&v.Service)
	c.factor(&v.Primary)
	c.at(&v.PrimarySince)
	c.at(&v.DeliveredAt)
	c.bool(&v.Cesarean)
	list(c, &v.Listed, listedFields)
	list(c, &v.Diagnoses, standingFields)
	list(c, &v.Newborns, newbornSeenFields)
}

func listedFields(c *coder, l *evidence.Listed) {
	c.factor(&l.Factor)
	c.at(&l.Since)
	c.at(&l.Last)
}

func standingFields(c *coder, s *hospital.Standing) {
	diagnosisFields(c, &s.Diagnosis)
	c.at(&s.Start)
	c.at(&s.Last)
}

func newbornSeenFields(c *coder, n *hospital.ListedNewborn) {
	c.text(&n.Visit)
	c.factor(&n.Primary)
	c.at(&n.Since)
}

func occupantFields(c *coder, o *hospital.Occupant) {
	stayFields(c, &o.CensusStay)
	censusFactsFields(c, &o.Facts)
}

func stayFields(c *coder, s *hospital.CensusStay) {
	c.int(&s.Room)
	c.at(&s.From)
	c.at(&s.First)
	c.at(&s.Last)
	c.at(&s.To)
}
