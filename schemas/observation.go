package schemas

import (
	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/facts"
)

var observationCodec = NewCodec("observation", observationFields)

// EncodeObservation encodes o as a record, appends the record to dst and returns the extended slice.
func EncodeObservation(dst []byte, o *acuity.Observation) ([]byte, error) {
	return observationCodec.Encode(dst, o)
}

// decodeObservation decodes a record of any released version into o. The error is or wraps [ErrMalformed] or an
// [UnknownSchemaError].
func decodeObservation(b []byte, o *acuity.Observation, reuse memory) error {
	p, err := observationCodec.schema.payload(b)
	if err != nil {
		return err
	}
	r := reader{buf: p, reuse: reuse}
	if len(p) <= shared {
		r.all = string(p)
	}
	return observationCodec.read(r, o)
}

func observationFields(c *Coder, o *acuity.Observation) {
	c.Text(&o.Hospital)
	c.at(&o.ReceivedAt)
	c.at(&o.AppliedAt)
	c.channel(&o.Channel)
	c.Text(&o.Source)
	listIn(c, &o.Events, c.r.reuse.events, keptEvents, eventFields)
	listIn(c, &o.Signals, c.r.reuse.signals, keptSignals, signalFields)
	optionalIn(c, &o.Room, c.r.reuse.room, roomRefFields)
	optional(c, &o.Census, censusFields)
	optional(c, &o.Staffing, staffingFields)
	optional(c, &o.Roster, rosterFields)
	List(c, &o.Mappings, mappingFields)
	List(c, &o.Rules, ruleFields)
	List(c, &o.Locations, placeFields)
	optional(c, &o.Switches, switchesFields)
	List(c, &o.Marks, codeMarkFields)
	optional(c, &o.Act, actFields)
	optional(c, &o.Request, requestFields)
	List(c, &o.References, referenceFields)
	List(c, &o.Creates, createFields)
	List(c, &o.PastStaffing, staffingFields)
}

func createFields(c *Coder, n *acuity.Create) {
	List(c, &n.Names, (*Coder).Text)
	for _, s := range [...]*acuity.Span{&n.Events, &n.Signals, &n.References} {
		c.Int(&s.From)
		c.Int(&s.To)
	}
}

func roomRefFields(c *Coder, ref *acuity.RoomRef) {
	c.Int(&ref.ID)
	c.Text(&ref.Label)
}

func requestFields(c *Coder, q *acuity.Request) {
	c.Text(&q.Key)
	c.Text(&q.Digest)
}

func eventFields(c *Coder, e *acuity.Event) {
	c.Text(&e.ID)
	c.Text(&e.Digest)
	Enum(c, &e.Type, lastEventType)
	c.at(&e.At)
	Enum(c, &e.Precision, lastPrecision)
	c.at(&e.RecordedAt)
	c.at(&e.ReceivedAt)
	c.channel(&e.Feed)
	c.at(&e.Cancels)
	Enum(c, &e.CancelsPrecision, lastPrecision)
	c.Text(&e.Visit)
	c.Text(&e.Patient)
	c.Text(&e.MotherVisit)
	c.Text(&e.MotherPatient)
	locationFields(c, &e.Place)
	c.Bool(&e.PlaceNull)
	locationFields(c, &e.Prior)
	whole(c, &e.Class)
	whole(c, &e.AdmissionType)
	c.Text(&e.Service)
	c.Bool(&e.Newborn)
	whole(c, &e.Babies)
	c.factor(&e.Primary)
	c.reasons(&e.Reasons)
	Enum(c, &e.DiagnosisMode, lastDiagnosisMode)
	List(c, &e.Diagnoses, diagnosisFields)
	c.Text(&e.Resource)
	c.at(&e.UpdatedAt)
	c.Bool(&e.Void)
	c.Text(&e.Encounter)
	c.Text(&e.Subject)
	c.Bool(&e.ByPatient)
	c.Text(&e.Account)
	List(c, &e.Warnings, warningFields)
	c.Long(&e.VersionID)
	c.at(&e.AtFrom)
	List(c, &e.CoarseTimes, coarseTimeFields)
	c.at(&e.AtTo)
	c.at(&e.CancelsTo)
}

func coarseTimeFields(c *Coder, t *acuity.CoarseTime) {
	c.Long(&t.Key)
	c.at(&t.At)
}

func locationFields(c *Coder, l *acuity.Location) {
	c.Bool(&l.HasRoomID)
	c.Int(&l.RoomID)
	c.Text(&l.Label)
	c.Text(&l.PointOfCare)
	c.Text(&l.Room)
	c.Text(&l.Bed)
	c.Text(&l.Facility)
}

func diagnosisFields(c *Coder, d *acuity.Diagnosis) {
	c.system(&d.System)
	c.Text(&d.Code)
	c.Text(&d.Display)
	c.at(&d.OnsetAt)
	c.Bool(&d.Delete)
	c.at(&d.OnsetFrom)
}

func warningFields(c *Coder, warning *acuity.Warning) {
	c.Text(&warning.Code)
	c.Text(&warning.Path)
}

func signalFields(c *Coder, s *acuity.Signal) {
	c.Int(&s.Room)
	c.Text(&s.Visit)
	c.Text(&s.Patient)
	c.Text(&s.Subject)
	Enum(c, &s.Kind, lastSignalKind)
	c.system(&s.System)
	c.Text(&s.Code)
	c.Text(&s.Display)
	valueFields(c, &s.Value)
	Enum(c, &s.Status, lastSignalStatus)
	c.at(&s.ObservedAt)
	c.at(&s.StartedAt)
	c.Text(&s.Resource)
	c.at(&s.UpdatedAt)
	List(c, &s.Also, codingFields)
	c.Text(&s.Fetus)
	c.Long(&s.VersionID)
	c.at(&s.ObservedFrom)
	c.at(&s.StartedFrom)
}

func valueFields(c *Coder, v *codes.Value) {
	Enum(c, &v.Kind, lastValueKind)
	Enum(c, &v.Op, lastComparator)
	whole(c, &v.Number)
	c.Text(&v.Unit)
	c.Text(&v.Words)
}

func codingFields(c *Coder, v *acuity.Coding) {
	c.system(&v.System)
	c.Text(&v.Code)
	c.Text(&v.Display)
}

func censusFields(c *Coder, v *acuity.Census) {
	c.at(&v.AsOf)
	c.Int(&v.TotalRooms)
	List(c, &v.Rooms, censusRoomFields)
}

func censusRoomFields(c *Coder, row *acuity.CensusRoom) {
	c.Int(&row.ID)
	c.Text(&row.Label)
	c.Text(&row.Area)
	Enum(c, &row.Status, lastRoomStatus)
	c.Text(&row.Visit)
	whole(c, &row.Class)
	c.Text(&row.Service)
	c.factor(&row.Primary)
	c.at(&row.PrimarySince)
	c.at(&row.DeliveredAt)
	c.Bool(&row.Cesarean)
	c.Bool(&row.HasModifiers)
	List(c, &row.Modifiers, (*Coder).factor)
	c.Bool(&row.HasDiagnoses)
	List(c, &row.Diagnoses, diagnosisFields)
	c.Bool(&row.HasNewborns)
	List(c, &row.Newborns, censusNewbornFields)
	c.at(&row.PrimarySinceFrom)
	c.at(&row.DeliveredFrom)
}

func censusNewbornFields(c *Coder, v *acuity.CensusNewborn) {
	c.Text(&v.Visit)
	c.factor(&v.Primary)
}

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
	whole(c, &nurse.Skill)
	c.Int(&nurse.HiredDays)
	List(c, &nurse.Rooms, (*Coder).Int)
}

func referenceFields(c *Coder, f *acuity.Reference) {
	c.Text(&f.Name)
	c.at(&f.UpdatedAt)
	List(c, &f.Codings, codingFields)
	locationFields(c, &f.Place)
	c.Text(&f.Patient)
}

func referenceStateFields(c *Coder, s *facts.ReferenceState) {
	referenceFields(c, &s.Reference)
	c.Long(&s.Version)
}
