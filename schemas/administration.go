package schemas

import (
	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/hospital"
	"svc/internal/admin/audit"
)

func mappingFields(c *coder, m *acuity.Mapping) {
	c.text(&m.ID)
	c.system(&m.System)
	c.text(&m.Code)
	enum(c, &m.Kind, lastSignalKind)
	c.factor(&m.Factor)
	enum(c, &m.Op, lastComparator)
	c.milli(&m.Than)
	c.text(&m.Comment)
	c.bool(&m.Delete)
}

func ruleFields(c *coder, rule *catalogue.Rule) {
	c.factor(&rule.Factor)
	list(c, &rule.Lines, ruleLineFields)
	c.text(&rule.Comment)
	c.bool(&rule.Delete)
}

func ruleLineFields(c *coder, line *catalogue.RuleLine) {
	c.text(&line.Name)
	c.text(&line.Text)
}

func placeFields(c *coder, p *acuity.Place) {
	c.text(&p.PointOfCare)
	c.text(&p.Room)
	c.text(&p.Bed)
	c.bool(&p.HasRoomID)
	c.int(&p.RoomID)
	c.text(&p.Label)
	c.text(&p.Area)
	c.bool(&p.Outside)
	c.factor(&p.Primary)
	c.bool(&p.Delete)
}

func switchesFields(c *coder, s *acuity.Switches) {
	c.bool(&s.TrustA08Location)
	c.bool(&s.StaffingFromRoster)
}

func codeMarkFields(c *coder, m *acuity.CodeMark) {
	c.system(&m.System)
	c.text(&m.Code)
	enum(c, &m.Kind, lastSignalKind)
	c.bool(&m.Delete)
}

func actFields(c *coder, a *acuity.Act) {
	c.bool(&a.DryRun)
	c.long(&a.Expect)
}

func ruleStateFields(c *coder, s *hospital.RuleState) {
	ruleFields(c, &s.Rule)
	c.long(&s.Version)
	c.text(&s.By)
	c.at(&s.At)
}

func placeStateFields(c *coder, s *hospital.PlaceState) {
	placeFields(c, &s.Place)
	c.long(&s.Version)
	c.text(&s.By)
	c.at(&s.At)
}

func switchesStateFields(c *coder, s *hospital.SwitchesState) {
	switchesFields(c, &s.Switches)
	c.long(&s.Version)
	c.text(&s.By)
	c.at(&s.At)
}

func auditFields(c *coder, a *audit.Act) {
	c.text(&a.Hospital)
	c.when(&a.At)
	c.text(&a.By)
	c.text(&a.Action)
	c.text(&a.Subject)
	c.text(&a.Before)
	c.text(&a.After)
}
