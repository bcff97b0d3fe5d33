package schemas

import "svc/acuity"

// The codecs of units and rooms in the view.
var (
	UnitChartCodec = NewCodec("unit-chart", unitChartFields)
	RoomChartCodec = NewCodec("room-chart", roomChartFields)
)

func unitChartFields(c *Coder, u *acuity.UnitChart) {
	c.Long(&u.Version)
	c.at(&u.Since)
	c.at(&u.Clock)
	List(c, &u.Staffing, staffingFields)
	optional(c, &u.Roster, rosterFields)
	c.Bool(&u.HasCensus)
	c.at(&u.CensusAt)
	c.Int(&u.TotalRooms)
	List(c, &u.Moves, (*Coder).at)
	c.Int(&u.Unplaced)
	c.Int(&u.UnknownLocations)
	c.Int(&u.CancelsWaiting)
	c.Int(&u.StatementsWaiting)
	List(c, &u.Rules, ruleFields)
	c.Bool(&u.StaffingFromRoster)
	c.at(&u.ObservedAt)
	levelRunFields(c, &u.Run)
}

func levelRunFields(c *Coder, run *acuity.LevelRun) {
	c.at(&run.Since)
	Enum(c, &run.Prior, lastLevel)
	c.Bool(&run.HasPrior)
}

func roomChartFields(c *Coder, room *acuity.RoomChart) {
	c.Int(&room.ID)
	c.Text(&room.Label)
	c.Text(&room.Area)
	Enum(c, &room.Status, lastRoomStatus)
	c.Bool(&room.Listed)
	c.at(&room.NewestSignal)
	List(c, &room.Patients, patientChartFields)
}

func patientChartFields(c *Coder, p *acuity.PatientChart) {
	c.Text(&p.Visit)
	c.at(&p.Arrived)
	c.at(&p.Birth)
	c.Bool(&p.Mother)
	List(c, &p.Evidence, evidenceFields)
	c.Bool(&p.UnnamedFetus)
	c.Bool(&p.Unborn)
}

func evidenceFields(c *Coder, e *acuity.Evidence) {
	c.factor(&e.Factor)
	whole(c, &e.Variant)
	whole(c, &e.Count)
	whole(c, &e.Baby)
	Enum(c, &e.Kind, lastEvidenceKind)
	c.at(&e.Start)
	c.at(&e.Last)
	c.Text(&e.AssignedBy)
	sourceFields(c, &e.Source)
	c.Text(&e.Fetus)
}

func sourceFields(c *Coder, s *acuity.Source) {
	c.channel(&s.Feed)
	c.system(&s.System)
	c.Text(&s.Code)
}
