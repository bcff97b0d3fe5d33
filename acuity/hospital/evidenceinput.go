package hospital

import (
	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/codes"
	"svc/acuity/evidence"
)

// addDiagnoses adds the diagnoses that stand by ADT to the input.
func addDiagnoses(e *evidence.Input, t *adt.Timeline) {
	for _, d := range t.Diagnoses {
		e.Diagnoses = append(e.Diagnoses, evidence.Diagnosis(d))
	}
}

// addConditions adds the conditions that stand to the input. It returns the earliest birth
// among them, 0: none, and whether a birth is, or will be, by cesarean.
func addConditions(e *evidence.Input) (birth acuity.Instant, cesarean bool) {
	for d, codings := range e.Conditions {
		e.Diagnoses = append(e.Diagnoses, d)
		for _, c := range codings {
			other := acuity.Diagnosis{System: c.System, Code: c.Code}
			if adt.IsBirth(&other) {
				birth = codes.Soonest(birth, d.Start)
			}
			cesarean = cesarean || adt.IsCesarean(&other)
		}
	}
	return birth, cesarean
}

// addCensus adds what censuses say to the input; nil: nothing.
func addCensus(e *evidence.Input, f *CensusFacts) {
	if f == nil {
		return
	}
	e.Listed = append(e.Listed, f.Listed...)
	for i := range f.Diagnoses {
		d := &f.Diagnoses[i]
		e.Diagnoses = append(e.Diagnoses, evidence.Diagnosis{Diagnosis: d.Diagnosis, Start: d.Start, Last: d.Last, Feed: acuity.ChannelCensus})
	}
}

// addPrimary adds a primary to the input; the zero choice adds nothing.
func addPrimary(e *evidence.Input, c adt.Primary, kind acuity.EvidenceKind, feed acuity.Channel, baby uint8) {
	if c.Factor == 0 {
		return
	}
	ev := acuity.Evidence{
		Factor: c.Factor, Baby: baby, Kind: kind, Start: c.Since, Last: c.Since,
		AssignedBy: c.AssignedBy, Source: acuity.Source{Feed: feed},
	}
	if kind == acuity.ByCensus {
		ev.Source.Feed = acuity.ChannelCensus
	}
	if c.AssignedBy == "site" {
		ev.Kind = acuity.ByLocalRule
	}
	e.Primaries = append(e.Primaries, ev)
}
