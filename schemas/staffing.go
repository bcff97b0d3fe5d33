package schemas

import "svc/acuity"

func staffingFields(c *coder, s *acuity.Staffing) {
	c.at(&s.AsOf)
	c.int(&s.Nurses)
	enum(c, &s.Call, lastTristate)
}

func rosterFields(c *coder, roster *acuity.Roster) {
	c.at(&roster.AsOf)
	list(c, &roster.Nurses, rosterNurseFields)
}

func rosterNurseFields(c *coder, nurse *acuity.RosterNurse) {
	c.text(&nurse.ExternalID)
	c.text(&nurse.JobCode)
	c.skill(&nurse.Skill)
	c.int(&nurse.HiredDays)
	list(c, &nurse.Rooms, (*coder).int)
}
