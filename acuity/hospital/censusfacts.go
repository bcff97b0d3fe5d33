package hospital

import (
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/score"
	"svc/acuity/terminology"
)

// overwrite copies a text that was sent over a known one; empty: nothing was sent. The copy
// does not hold the memory of the census.
func overwrite(known *string, said string) {
	if said != "" && said != *known {
		*known = strings.Clone(said)
	}
}

// describe takes what a row says about the patient. What it does not mention stays as it
// was.
func (t *censusIntake) describe(f *CensusFacts, row *acuity.CensusRoom) {
	r, since := t.unit.room(row.ID), f.PrimarySince
	before := r.primaryByCensus(f, t.at, f.birth()).Factor
	t.takePrimary(f, row)
	overwrite(&f.Area, row.Area)
	overwrite(&f.Service, row.Service)
	if row.Class != 0 {
		f.Class = row.Class
	}
	if row.DeliveredAt != 0 {
		f.DeliveredAt = acuity.Keep(f.DeliveredAt, row.DeliveredFrom, min(row.DeliveredAt, t.in.o.ReceivedAt))
	}
	f.Cesarean = f.Cesarean || row.Cesarean
	if f.Primary == 0 && since != 0 && r.primaryByCensus(f, t.at, f.birth()).Factor == before {
		f.PrimarySince = since // in another area she is the same kind of patient (docs/decisions.md#primary-clock)
	}
	if row.HasModifiers {
		f.Listed = t.listModifiers(f.Listed, row.Modifiers)
	}
	if row.HasDiagnoses {
		f.Diagnoses = t.listDiagnoses(f.Diagnoses, row.Diagnoses)
		for i := range f.Diagnoses {
			t.unit.worklist.noteUnmappedDiagnosis(t.in, &f.Diagnoses[i].Diagnosis, row.ID)
		}
	}
	if row.HasNewborns {
		f.Newborns = t.listNewborns(f, row.Newborns)
	}
}

// takePrimary takes the primary factor of a row. A row without one, but with another area,
// service or class, uses the table again.
func (t *censusIntake) takePrimary(f *CensusFacts, row *acuity.CensusRoom) {
	switch {
	case row.Primary == 0:
		moved := row.Area != "" && row.Area != f.Area || row.Service != "" && row.Service != f.Service ||
			row.Class != 0 && row.Class != f.Class
		if moved {
			f.Primary, f.PrimarySince = 0, t.at
		}
		return
	case row.PrimarySince != 0:
		at := min(row.PrimarySince, t.in.o.ReceivedAt)
		if row.Primary == f.Primary {
			at = acuity.Keep(f.PrimarySince, row.PrimarySinceFrom, at)
		}
		f.PrimarySince = at
	case row.Primary == f.Primary && f.PrimarySince != 0:
	case row.DeliveredAt != 0:
		f.PrimarySince = min(row.DeliveredAt, t.in.o.ReceivedAt)
		if row.Primary.ID() == "pp-recovery-stable" {
			f.PrimarySince = f.PrimarySince.Add(score.TurnoverWindow)
		}
	default:
		f.PrimarySince = t.at
	}
	f.Primary = row.Primary
}

// listModifiers returns the modifiers listed now; one listed before keeps its start.
func (t *censusIntake) listModifiers(before []evidence.Listed, now []catalogue.Factor) []evidence.Listed {
	next := make([]evidence.Listed, 0, len(now))
	for _, f := range now {
		if slices.ContainsFunc(next, func(l evidence.Listed) bool { return l.Factor == f }) || len(next) == capListed {
			continue
		}
		l := evidence.Listed{Factor: f, Since: t.at, Last: t.at}
		for _, b := range before {
			if b.Factor == f {
				l.Since = b.Since
			}
		}
		next = append(next, l)
	}
	return next
}

// listDiagnoses returns the diagnoses that stand now; one that stood before keeps its
// start, unless its onset is given anew.
func (t *censusIntake) listDiagnoses(before []Standing, now []acuity.Diagnosis) []Standing {
	next := make([]Standing, 0, len(now))
	for _, d := range now {
		if len(next) == capStanding {
			break
		}
		s := Standing{Diagnosis: d, Start: t.at, Last: t.at}
		for _, b := range before {
			if b.System == d.System && b.Code == d.Code && terminology.SameFetus(&b.Diagnosis, &d) {
				s.Start = b.Start
			}
		}
		if d.OnsetAt != 0 {
			s.Start = acuity.Keep(s.Start, d.OnsetFrom, min(d.OnsetAt, t.in.o.ReceivedAt))
		}
		next = append(next, s)
	}
	return next
}

// listNewborns returns the newborns listed now. One whose primary is the same as before
// keeps its clock.
func (t *censusIntake) listNewborns(f *CensusFacts, now []acuity.CensusNewborn) []ListedNewborn {
	before := slices.Clone(f.Newborns)
	next := make([]ListedNewborn, 0, len(now))
	for _, b := range now {
		if len(next) == capNewborns {
			break
		}
		if b.Visit != "" {
			t.unit.stays.listed[b.Visit] = true
		}
		n := ListedNewborn{Visit: b.Visit, Primary: b.Primary, Since: t.at}
		for i, o := range before {
			if o.Visit == b.Visit && o.Primary == b.Primary {
				n.Since = o.Since
				before = slices.Delete(before, i, i+1)
				break
			}
		}
		next = append(next, n)
	}
	return next
}

// censusFacts returns what censuses say about a visit, also as an occupant without a visit;
// nil: nothing.
func (v *visit) censusFacts() *CensusFacts {
	if v.occupantOf == nil || v.occupantOf.Occupant == nil {
		return v.Facts
	}
	f := v.occupantOf.Occupant.Facts
	if old := v.Facts; old != nil {
		if f.Primary == 0 && f.Area == "" {
			f.Primary, f.PrimarySince = old.Primary, old.PrimarySince
		}
		if f.DeliveredAt == 0 {
			f.DeliveredAt = old.DeliveredAt
		}
		f.Cesarean = f.Cesarean || old.Cesarean
		if len(f.Listed) == 0 {
			f.Listed = old.Listed
		}
		if len(f.Diagnoses) == 0 {
			f.Diagnoses = old.Diagnoses
		}
		if len(f.Newborns) == 0 {
			f.Newborns = old.Newborns
		}
	}
	return &f
}

// birth returns the earliest birth that censuses report; 0: none.
func (f *CensusFacts) birth() acuity.Instant {
	at := f.DeliveredAt
	for i := range f.Diagnoses {
		if d := &f.Diagnoses[i]; adt.IsBirth(&d.Diagnosis) {
			at = codes.Soonest(at, d.Start)
		}
	}
	return at
}

// since returns the clock of the primary that a census gives a newborn. First care runs
// from the birth as it is known now (docs/decisions.md#birth-corrections).
func (f *CensusFacts) since(n *ListedNewborn) acuity.Instant {
	if n.Primary.ID() == "nb-stabilization" && f.DeliveredAt != 0 {
		return f.DeliveredAt
	}
	return n.Since
}

// cesarean reports whether a diagnosis of a census says that the birth is, or will be,
// by cesarean.
func (f *CensusFacts) cesarean() bool {
	return slices.ContainsFunc(f.Diagnoses, func(d Standing) bool { return adt.IsCesarean(&d.Diagnosis) })
}
