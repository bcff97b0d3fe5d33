package facts

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/codes"
)

// Birth returns the earliest birth that censuses report, or 0 if there is none.
func (f *CensusFacts) Birth() acuity.Instant {
	at := f.DeliveredAt
	for i := range f.Diagnoses {
		if d := &f.Diagnoses[i]; adt.IsBirth(&d.Diagnosis) {
			at = codes.Soonest(at, d.Start)
		}
	}
	return at
}

// Since returns when the clock starts for the primary factor that a census gives for a newborn. The clock of
// stabilization starts at the birth as currently known (docs/decisions.md#birth-corrections).
func (f *CensusFacts) Since(n *ListedNewborn) acuity.Instant {
	if n.Primary.ID() == "nb-stabilization" && f.DeliveredAt != 0 {
		return f.DeliveredAt
	}
	return n.Since
}

// TellsCesarean reports whether a diagnosis in a census means that the birth was, or will be, by cesarean.
func (f *CensusFacts) TellsCesarean() bool {
	return slices.ContainsFunc(f.Diagnoses, func(d Standing) bool { return adt.IsCesarean(&d.Diagnosis) })
}

// Size returns the approximate size of the facts in bytes. For nil, it returns 0.
func (f *CensusFacts) Size() int {
	if f == nil {
		return 0
	}
	n := 100 + 24*len(f.Listed) + 60*len(f.Newborns)
	for i := range f.Diagnoses {
		n += 48 + len(f.Diagnoses[i].Code) + len(f.Diagnoses[i].Display)
	}
	return n
}
