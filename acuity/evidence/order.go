package evidence

import (
	"cmp"

	"svc/acuity"
)

// sortEvidence sorts evidence. It is nearly in order, mostly a handful, and large, so
// nothing is moved without need.
func sortEvidence(list []acuity.Evidence) {
	for i := 1; i < len(list); i++ {
		j := i
		for j > 0 && compareEvidence(&list[j-1], &list[i]) > 0 {
			j--
		}
		if j < i {
			e := list[i]
			copy(list[j+1:i+1], list[j:i])
			list[j] = e
		}
	}
}

// compareEvidence orders evidence by factor, then by source.
func compareEvidence(a, b *acuity.Evidence) int {
	if a.Factor != b.Factor {
		return cmp.Compare(a.Factor, b.Factor)
	}
	return cmp.Or(
		cmp.Compare(a.Baby, b.Baby),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Start, b.Start),
		cmp.Compare(a.Source.Feed, b.Source.Feed),
		cmp.Compare(a.Source.System, b.Source.System),
		cmp.Compare(a.Source.Code, b.Source.Code),
		cmp.Compare(a.Last, b.Last),
		cmp.Compare(a.Variant, b.Variant),
		cmp.Compare(a.Count, b.Count),
		cmp.Compare(a.AssignedBy, b.AssignedBy),
	)
}
