package fhir

import (
	"cmp"
	"encoding/binary"
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/ingest/hl7"
)

func (p *parser) encounterField(r *resource, key []byte) bool {
	switch string(key) {
	case "status":
		r.status = p.text()
	case "class":
		r.class = p.firstCoding(nil) // R5 has a list of classes; only the first is used
	case "subject":
		r.subject = p.reference()
	case "period":
		r.during = p.period()
	case "serviceType":
		r.service = p.concept()
	case "reasonCode":
		r.firstReason, r.lastReason = p.conceptList(maxReasons)
	case "partOf":
		r.partOf = p.reference()
	case "location":
		r.firstLocation, r.lastLocation = gather(p, &p.locations, maxLocations, p.location)
	default:
		return false
	}
	return true
}

func (p *parser) location() (l location, ok bool) {
	ok = p.space() == '{'
	for key := range p.fields() {
		switch string(key) {
		case "location":
			l.place = p.reference()
		case "status":
			l.status = p.text()
		case "physicalType":
			l.physical = levelOf(p)
		case "period":
			l.during = p.period()
		default:
			p.skip()
		}
	}
	return l, ok
}

// phase is what an Encounter's status means for the visit.
type phase uint8

const (
	unknownPhase phase = iota
	planned            // the visit does not use a room yet
	open
	finished
	void // the visit never took place
)

var phases = map[string]phase{
	"planned": planned, "arrived": open, "triaged": open, "in-progress": open, "onleave": open,
	"finished": finished, "cancelled": void, "entered-in-error": void,
}

// classes maps the codes of v3 ActCode to the classes of HL7 v2 (docs/decisions.md#encounter-class). Codes of
// HL7 table 0004 map to themselves.
var classes = map[string]byte{
	"IMP": 'I', "ACUTE": 'I', "NONAC": 'I', "EMER": 'E', "PRENC": 'P',
	"AMB": 'O', "OBSENC": 'O', "SS": 'O', "HH": 'O', "VR": 'O', "FLD": 'O',
	"I": 'I', "O": 'O', "E": 'E', "P": 'P', "R": 'R', "B": 'B', "N": 'N',
}

// classNames maps prefixes of class names to classes, for codes outside v3 ActCode: Epic uses its own numbers with a
// display, and FHIR STU2 had words as codes.
var classNames = []struct {
	begin string
	class byte
}{
	{"INPATIENT", 'I'}, {"EMERGENCY", 'E'}, {"NEWBORN", 'N'}, {"OUTPATIENT", 'O'}, {"AMBULATORY", 'O'}, {"OBSERVATION", 'O'},
}

// encounter creates the events for a version of an Encounter (docs/decisions.md#encounter-versions), and reports
// whether it created any. An Encounter in progress or finished becomes an admission or registration at the start of
// the period and a transfer for each location that starts later; if it is finished, a discharge at the end follows. A
// planned Encounter becomes an update. An Encounter that never took place becomes void events.
func (m *mapper) encounter(r *resource) bool {
	now, ok := stateIn(m, r, phases)
	if !ok {
		return false
	}
	e := acuity.Event{
		Resource: resourceOf(m, r), Visit: m.visit(r), UpdatedAt: m.time(r, r.updated, "meta.lastUpdated"), VersionID: m.versionOf(r),
	}
	if account := m.accountOf(r); account != "" {
		e.Account = m.Pseudonym(hl7.KindVisit, account)
	}
	if name := m.nameOf(r); name != "" {
		if e.Encounter = m.Pseudonym(hl7.KindVisit, name); e.Encounter == e.Visit {
			e.Encounter = ""
		}
	}
	var patient int32
	e.Patient, e.Subject, patient = m.patientOf(&r.subject, r)
	if now == void {
		m.withdraw(r, &e)
		return true
	}
	if e.Patient == "" && e.Encounter == "" && m.keyOf(r) == "" {
		m.reject(r, "required", "identifier")
		return false
	}
	m.classify(r, &e)
	begun := now == open
	if now != finished {
		m.warnUnusedEnd(r, r.during.end, "period.end")
	}
	if e.Class == 'P' {
		now = planned
	}
	start, moment := m.start(r, &e, now)
	m.setRelations(r, &e, patient, start)
	if now == planned {
		m.warnUnusedLocation(r, begun)
		e.Type = acuity.A08 // an update does not move the patient
		e.SetTime(moment, start)
		m.addEvent(r, &e, 0)
		return true
	}
	moves := m.moves(r, &e, start)
	n, last := 0, acuity.Instant(0)
	for _, to := range moves {
		e.Type, e.Place = acuity.A02, to.place
		if at := last + 1; !to.moment.IsExact() && to.at < at {
			to.at = at // coarse times may resolve to the same instant, but the order must be kept
		}
		e.SetTime(to.moment, to.at)
		if n == 0 {
			e.Type = acuity.A01
			e.SetTime(moment, start)
			if e.Class == 'O' || e.Class == 'E' {
				e.Type = acuity.A04
			}
		}
		m.addEvent(r, &e, n)
		n, last = n+1, e.At
	}
	if now == finished {
		e.Type, e.Place = acuity.A03, acuity.Location{}
		end, moment := m.moment(r, r.during.end, "period.end")
		if end == 0 {
			end, moment = m.instead(r, &e, "period.end"), acuity.Moment{}
		}
		if r.during.end.empty() || !moment.IsExact() { // the discharge must not precede the admission
			end = max(end, e.At)
		}
		e.SetTime(moment, end)
		m.addEvent(r, &e, n)
	}
	return true
}

// withdraw creates the events for an Encounter that never took place. The events name the rooms of the Encounter,
// because facts about this patient in those rooms are no longer valid.
func (m *mapper) withdraw(r *resource, e *acuity.Event) {
	e.Void, e.At = true, cmp.Or(e.UpdatedAt, m.ReceivedAt)
	n := 0
	if r.firstLocation < r.lastLocation {
		moment, _ := m.instant(r.during.start) // zero if it is missing
		start := m.resolve(r, moment)
		for _, to := range m.moves(r, e, start) {
			if to.place.IsZero() {
				continue
			}
			if n == 0 {
				to.at = cmp.Or(start, to.at)
			}
			e.At, e.Place = cmp.Or(to.at, e.At), to.place
			m.addEvent(r, e, n)
			n++
		}
	}
	if n == 0 {
		m.addEvent(r, e, 0)
	}
}

// classOf returns the class of an Encounter, or 0 if it has none. If neither its code nor its name is known, the
// class is outpatient.
func (m *mapper) classOf(r *resource) byte {
	code, name := m.bytes(r.class.code), m.bytes(r.class.display)
	if len(code) == 0 && len(name) == 0 {
		m.warn(r, "required", "class")
		return 0
	}
	if class, known := classes[strings.ToUpper(string(code))]; known {
		return class
	}
	for _, text := range [][]byte{code, name} {
		for _, known := range classNames {
			if len(text) >= len(known.begin) && strings.EqualFold(string(text[:len(known.begin)]), known.begin) {
				return known.class
			}
		}
	}
	m.warn(r, "class_assumed", "class")
	return 'O'
}

// classify sets the class and the service of an event, and the hints found in the reasons for the visit.
func (m *mapper) classify(r *resource, e *acuity.Event) {
	e.Class = m.classOf(r)
	e.Service = m.serviceOf(&r.service)
	var reasons strings.Builder
	for i := range m.concepts[r.firstReason:r.lastReason] {
		c := &m.concepts[r.firstReason:r.lastReason][i]
		for n := range m.codings[c.first:c.last] {
			reasons.Write(m.bytes(m.codings[c.first:c.last][n].display))
			reasons.WriteString(". ")
		}
		reasons.Write(m.bytes(c.text))
		reasons.WriteString(". ")
	}
	e.Reasons = adt.ParseReasons(reasons.String())
}

// start returns the time at which the Encounter began. If the start is missing or unreadable, or if the Encounter is
// planned and its start is in the future, start returns the time of the version or, if that is missing, the time of
// receipt.
func (m *mapper) start(r *resource, e *acuity.Event, now phase) (acuity.Instant, acuity.Moment) {
	begun, ok := m.instant(r.during.start)
	switch {
	case now == planned && (r.during.start.empty() || begun.From > m.ReceivedAt):
		return cmp.Or(e.UpdatedAt, m.ReceivedAt), acuity.Moment{}
	case ok:
		at, moment := m.moment(r, r.during.start, "period.start", m.firstPlaced(r, begun))
		return at, moment
	case !r.during.start.empty():
		m.warn(r, "time_unreadable", "period.start")
	}
	return m.instead(r, e, "period.start"), acuity.Moment{}
}

// firstPlaced refines a coarse start of the Encounter, such as a date. Of the exact times at which locations start,
// it returns the earliest that lies within the coarse start, or zero if there is none.
func (d *document) firstPlaced(r *resource, begun acuity.Moment) (first acuity.Moment) {
	if begun.IsExact() {
		return first
	}
	for i := range d.locations[r.firstLocation:r.lastLocation] {
		at, ok := d.instant(d.locations[r.firstLocation:r.lastLocation][i].during.start)
		if ok && at.IsExact() && begun.From <= at.From && at.From < begun.To && (first.From == 0 || at.From < first.From) {
			first = at
		}
	}
	return first
}

// instead returns the substitute for a missing time: the time of the version or, if that is missing, the time of
// receipt (docs/decisions.md#encounter-versions).
func (m *mapper) instead(r *resource, e *acuity.Event, field string) acuity.Instant {
	m.warn(r, "event_time_missing", field)
	return cmp.Or(e.UpdatedAt, m.ReceivedAt)
}

// warnUnusedEnd warns about an end in the past, of a resource that has not ended according to its status.
func (d *document) warnUnusedEnd(r *resource, end span, field string) {
	switch at, ok := d.instant(end); {
	case end.empty():
	case !ok:
		d.warn(r, "time_unreadable", field)
	case max(at.From, at.To) <= d.ReceivedAt:
		d.warn(r, "end_not_used", field)
	}
}

// newbornDays is the age in days below which a patient is a newborn (docs/decisions.md#primary-table).
const newbornDays = 28

// setRelations determines whether the patient is a newborn, and who the mother is (docs/decisions.md#fhir-newborn).
func (m *mapper) setRelations(r *resource, e *acuity.Event, patient int32, start acuity.Instant) {
	if patient >= 0 {
		p := &m.resources[patient]
		e.Newborn = m.isNewborn(p, start)
		if order := m.birthOrder(p); order != "" {
			e.Babies = order[0] - '0'
		}
	}
	if e.Class == 'N' {
		e.Newborn = true
	}
	m.setWhole(r, e, patient)
}

// setWhole records the visit of the Encounter that partOf names. If the two Encounters are known to have different
// patients, this patient is a newborn, and that visit is the mother's. If the birth date shows that this patient is
// not a newborn, partOf is ignored with a warning. If the patients are not known, facts from other messages decide
// whether the visit is the mother's.
func (m *mapper) setWhole(r *resource, e *acuity.Event, patient int32) {
	t, ok := m.follow(&r.partOf, encounterKind, r)
	if !ok {
		return
	}
	if t.at < 0 {
		if e.MotherVisit = m.visitOf(&r.partOf, r); e.MotherVisit == e.Encounter || e.MotherVisit == e.Visit && e.Encounter == "" {
			e.MotherVisit = ""
			m.warn(r, "part_of_cycle", "partOf")
		}
		return
	}
	whole := &m.resources[t.at]
	if whole == r {
		m.warn(r, "part_of_cycle", "partOf")
		return
	}
	e.MotherVisit = m.visit(whole)
	if !m.isOtherPatient(r, whole) {
		return
	}
	if patient >= 0 && !e.Newborn && m.hasAge(&m.resources[patient]) {
		e.MotherVisit = ""
		m.warn(r, "part_of_other_patient", "partOf")
		return
	}
	e.Newborn = true
	e.MotherPatient, _, _ = m.patientOf(&whole.subject, whole)
}

// birthOrder returns the position in a multiple birth as a digit from 1, or "" if the Patient has none.
func (m *mapper) birthOrder(r *resource) string {
	if order := m.bytes(r.multiple); len(order) == 1 && order[0] >= '1' && order[0] <= '9' {
		return string(order)
	}
	return ""
}

// isNewborn reports whether a Patient was a newborn at an instant.
func (d *document) isNewborn(r *resource, at acuity.Instant) bool {
	born, ok := d.instant(r.birth)
	age := at.Sub(born.From)
	return ok && born.Precision <= acuity.Day && age > -24*time.Hour && age < newbornDays*24*time.Hour
}

// addEvent adds an event to the facts. The event's identity consists of the version of the resource and the content
// of the event, so the same version sent again is a duplicate.
func (m *mapper) addEvent(r *resource, e *acuity.Event, n int) {
	version := cmp.Or(e.UpdatedAt, m.ReceivedAt) // without a time, a later arrival is a later version
	k := m.id[:0]
	k = append(k, "fhir\x00"...)
	for _, number := range []int64{
		int64(version), int64(n), int64(e.Type), int64(e.AsSent()), int64(e.Class), int64(e.Babies), flags(e.Newborn, e.Void),
	} {
		k = binary.AppendVarint(k, number)
	}
	k = binary.AppendUvarint(k, uint64(e.Reasons))
	for _, text := range []string{
		e.Resource, e.Visit, e.Patient, e.MotherVisit, e.MotherPatient, e.Service,
		e.Place.PointOfCare, e.Place.Room, e.Place.Bed, e.Place.Label,
	} {
		k = binary.AppendVarint(k, int64(len(text)))
		k = append(k, text...)
	}
	m.id = k
	e.ID = m.Pseudonym(hl7.KindEvent, string(k))
	e.Digest = e.ID
	m.facts.Events = append(m.facts.Events, *e)
	m.facts.Places = append(m.facts.Places, m.path(r))
	m.facts.eventOrigins = append(m.facts.eventOrigins, originOf(r))
}

func flags(list ...bool) (bits int64) {
	for i, set := range list {
		if set {
			bits |= 1 << i
		}
	}
	return bits
}
