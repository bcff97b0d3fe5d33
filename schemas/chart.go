package schemas

import "svc/acuity"

func unitChartFields(c *coder, u *acuity.UnitChart) {
	c.long(&u.Version)
	c.at(&u.Since)
	c.at(&u.Clock)
	list(c, &u.Staffing, staffingFields)
	optional(c, &u.Roster, rosterFields)
	c.bool(&u.HasCensus)
	c.at(&u.CensusAt)
	c.int(&u.TotalRooms)
	list(c, &u.Moves, (*coder).at)
	c.int(&u.Unplaced)
	c.int(&u.UnknownLocations)
	c.int(&u.CancelsWaiting)
	c.int(&u.StatementsWaiting)
	list(c, &u.Rules, ruleFields)
	c.bool(&u.StaffingFromRoster)
	c.at(&u.ObservedAt)
	levelRunFields(c, &u.Run)
}

func levelRunFields(c *coder, run *acuity.LevelRun) {
	c.at(&run.Since)
	enum(c, &run.Prior, lastLevel)
	c.bool(&run.HasPrior)
}

func roomChartFields(c *coder, room *acuity.RoomChart) {
	c.int(&room.ID)
	c.text(&room.Label)
	c.text(&room.Area)
	enum(c, &room.Status, lastRoomStatus)
	c.bool(&room.Listed)
	c.at(&room.NewestSignal)
	list(c, &room.Patients, patientChartFields)
}

func patientChartFields(c *coder, p *acuity.PatientChart) {
	c.text(&p.Visit)
	c.at(&p.Arrived)
	c.at(&p.Birth)
	c.bool(&p.Mother)
	list(c, &p.Evidence, evidenceFields)
}

func evidenceFields(c *coder, e *acuity.Evidence) {
	c.factor(&e.Factor)
	c.octet(&e.Variant)
	c.octet(&e.Count)
	c.octet(&e.Baby)
	enum(c, &e.Kind, lastEvidenceKind)
	c.at(&e.Start)
	c.at(&e.Last)
	c.text(&e.AssignedBy)
	sourceFields(c, &e.Source)
}

func sourceFields(c *coder, s *acuity.Source) {
	c.channel(&s.Feed)
	c.system(&s.System)
	c.text(&s.Code)
}
