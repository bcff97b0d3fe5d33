package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/charts"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/score"
	"svc/acuity/terminology"
)

// describe applies the facts in a row to the patient. Facts that the row does not mention are unchanged, except that
// a different area, service or class can end an explicit primary factor; see applyPrimary.
func (t *censusIntake) describe(f *facts.CensusFacts, row *acuity.CensusRoom) {
	r, since := t.unit.registry.Room(row.ID), f.PrimarySince
	before := charts.PrimaryByCensus(r, f, t.at, f.Birth()).Factor
	t.applyPrimary(f, row)
	overwrite(&f.Area, row.Area)
	overwrite(&f.Service, row.Service)
	if row.Class != 0 {
		f.Class = row.Class
	}
	if row.WithdrawsBirth() {
		f.DeliveredAt, f.Cesarean = 0, false
	}
	if row.DeliveredAt != 0 {
		f.DeliveredAt = acuity.Keep(f.DeliveredAt, row.DeliveredFrom, min(row.DeliveredAt, t.in.Observation.ReceivedAt))
	}
	f.Cesarean = f.Cesarean || row.Cesarean
	if f.Primary == 0 && since != 0 && charts.PrimaryByCensus(r, f, t.at, f.Birth()).Factor == before {
		f.PrimarySince = since // the patient is in a different area but is the same kind of patient (docs/decisions.md#primary-clock)
	}
	if row.HasModifiers {
		f.Listed = t.listModifiers(f.Listed, row.Modifiers)
	}
	if row.HasDiagnoses {
		f.Diagnoses = t.listDiagnoses(f.Diagnoses, row.Diagnoses)
		for i := range f.Diagnoses {
			t.unit.worklist.AddUnmappedDiagnosis(t.in, &f.Diagnoses[i].Diagnosis, row.ID)
		}
	}
	if row.HasNewborns {
		f.Newborns = t.listNewborns(f, row.Newborns)
	}
}

// applyPrimary applies the primary factor of a row. If a row has none, but has a different area, service or class,
// the explicit primary factor from earlier rows no longer applies.
func (t *censusIntake) applyPrimary(f *facts.CensusFacts, row *acuity.CensusRoom) {
	switch {
	case row.Primary == 0:
		moved := row.Area != "" && row.Area != f.Area || row.Service != "" && row.Service != f.Service ||
			row.Class != 0 && row.Class != f.Class
		if moved {
			f.Primary, f.PrimarySince = 0, t.at
		}
		return
	case row.PrimarySince != 0:
		at := min(row.PrimarySince, t.in.Observation.ReceivedAt)
		if row.Primary == f.Primary {
			at = acuity.Keep(f.PrimarySince, row.PrimarySinceFrom, at)
		}
		f.PrimarySince = at
	case row.Primary == f.Primary && f.PrimarySince != 0:
	case row.DeliveredAt != 0:
		f.PrimarySince = min(row.DeliveredAt, t.in.Observation.ReceivedAt)
		if row.Primary.ID() == "pp-recovery-stable" {
			f.PrimarySince = f.PrimarySince.Add(score.TurnoverWindow)
		}
	default:
		f.PrimarySince = t.at
	}
	f.Primary = row.Primary
}

// listModifiers returns the modifiers listed now. A modifier that was listed before keeps its start.
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

// listDiagnoses returns the current diagnoses. A diagnosis that was listed before keeps its start, unless the row has a
// different onset.
func (t *censusIntake) listDiagnoses(before []facts.Standing, now []acuity.Diagnosis) []facts.Standing {
	next := make([]facts.Standing, 0, len(now))
	for _, d := range now {
		if len(next) == capStanding {
			break
		}
		s := facts.Standing{Diagnosis: d, Start: t.at, Last: t.at}
		for _, b := range before {
			if b.System == d.System && b.Code == d.Code && terminology.SameFetus(&b.Diagnosis, &d) {
				s.Start = b.Start
			}
		}
		if d.OnsetAt != 0 {
			s.Start = acuity.Keep(s.Start, d.OnsetFrom, min(d.OnsetAt, t.in.Observation.ReceivedAt))
		}
		next = append(next, s)
	}
	return next
}

// listNewborns returns the newborns listed now. A newborn with an unchanged primary factor keeps its clock.
func (t *censusIntake) listNewborns(f *facts.CensusFacts, now []acuity.CensusNewborn) []facts.ListedNewborn {
	before := slices.Clone(f.Newborns)
	next := make([]facts.ListedNewborn, 0, len(now))
	for _, b := range now {
		if len(next) == capNewborns {
			break
		}
		if b.Visit != "" {
			t.unit.stays.Listed[b.Visit] = true
		}
		n := facts.ListedNewborn{Visit: b.Visit, Primary: b.Primary, Since: t.at}
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
