package schemas

import "svc/acuity"

func staffingFields(c *Coder, s *acuity.Staffing) {
	c.at(&s.AsOf)
	c.Int(&s.Nurses)
	Enum(c, &s.Call, lastTristate)
}

func rosterFields(c *Coder, roster *acuity.Roster) {
	c.at(&roster.AsOf)
	List(c, &roster.Nurses, rosterNurseFields)
}

func rosterNurseFields(c *Coder, nurse *acuity.RosterNurse) {
	c.Text(&nurse.ExternalID)
	c.Text(&nurse.JobCode)
	c.skill(&nurse.Skill)
	c.Int(&nurse.HiredDays)
	List(c, &nurse.Rooms, (*Coder).Int)
}
