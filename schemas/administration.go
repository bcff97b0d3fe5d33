package schemas

import (
	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/facts"
)

func mappingFields(c *Coder, m *acuity.Mapping) {
	c.Text(&m.ID)
	c.system(&m.System)
	c.Text(&m.Code)
	Enum(c, &m.Kind, lastSignalKind)
	c.factor(&m.Factor)
	Enum(c, &m.Op, lastComparator)
	whole(c, &m.Than)
	c.Text(&m.Comment)
	c.Bool(&m.Delete)
}

func ruleFields(c *Coder, rule *catalogue.Rule) {
	c.factor(&rule.Factor)
	List(c, &rule.Lines, ruleLineFields)
	c.Text(&rule.Comment)
	c.Bool(&rule.Delete)
}

func ruleLineFields(c *Coder, line *catalogue.RuleLine) {
	c.Text(&line.Name)
	c.Text(&line.Text)
}

func placeFields(c *Coder, p *acuity.Place) {
	c.Text(&p.PointOfCare)
	c.Text(&p.Room)
	c.Text(&p.Bed)
	c.Bool(&p.HasRoomID)
	c.Int(&p.RoomID)
	c.Text(&p.Label)
	c.Text(&p.Area)
	c.Bool(&p.Outside)
	c.factor(&p.Primary)
	c.Bool(&p.Delete)
}

func switchesFields(c *Coder, s *acuity.Switches) {
	c.Bool(&s.TrustA08Location)
	c.Bool(&s.StaffingFromRoster)
}

func codeMarkFields(c *Coder, m *acuity.CodeMark) {
	c.system(&m.System)
	c.Text(&m.Code)
	Enum(c, &m.Kind, lastSignalKind)
	c.Bool(&m.Delete)
}

func actFields(c *Coder, a *acuity.Act) {
	c.Bool(&a.DryRun)
	c.Long(&a.Expect)
}

func ruleStateFields(c *Coder, s *facts.RuleState) {
	ruleFields(c, &s.Rule)
	c.Long(&s.Version)
	c.Text(&s.By)
	c.at(&s.At)
}

func placeStateFields(c *Coder, s *facts.PlaceState) {
	placeFields(c, &s.Place)
	c.Long(&s.Version)
	c.Text(&s.By)
	c.at(&s.At)
}

func switchesStateFields(c *Coder, s *facts.SwitchesState) {
	switchesFields(c, &s.Switches)
	c.Long(&s.Version)
	c.Text(&s.By)
	c.at(&s.At)
}
