package acuity_test

import (
	"testing"

	"svc/acuity"
)

// A tracing is of a baby that is not born yet: Category II and III end at birth,
// whoever said them and whoever tells of the birth (scoring-decisions 60).
func TestDecisionsTracing(t *testing.T) {
	list := func(o ...acuity.Observation) []acuity.Observation { return o }
	const (
		labor    = "4 30 labor-epidural/0"
		two      = "4 60 labor-fhr-cat-ii/2 labor-epidural/0"
		three    = "4 120 labor-fhr-cat-iii/4 labor-epidural/0"
		recovery = "4 60 pp-immediate-recovery-vag/0"
	)
	before := census(0, holds(4, "labor-epidural", "visit=v1"))
	after := census(20, holds(4, "labor-epidural", "visit=v1", "born=15"))
	rows := map[string]decision{
		"Category II by diagnosis": {
			say:  list(census(0, holds(4, "labor-epidural", "O68", "born=0"))),
			read: []reading{{0, labor}},
		},
		"Category III that turned silent does not become II after it": {
			say:  list(before, clinical(1, 4, fhr("III").seen(1)), after),
			read: []reading{{14, three}, {19, three}, {20, labor}, {61, labor}, {62, labor}, {240, labor}},
		},
		"a category that is seen after it": {
			say:  list(after, clinical(21, 4, fhr("III").seen(21)), clinical(30, 4, fhr("II").seen(30))),
			read: []reading{{21, labor}, {30, labor}},
		},
		"by Z37": {
			say:  list(before, clinical(1, 4, fhr("III").seen(1)), adt(20, acuity.A08, "v=v1", "Z37.0")),
			read: []reading{{19, three}, {20, labor}},
		},
		"by a recovery": {
			say:  list(before, clinical(1, 4, fhr("III").seen(1)), census(20, holds(4, "pp-immediate-recovery-vag", "visit=v1"))),
			read: []reading{{19, three}, {20, recovery}},
		},
		"by the visit of the newborn": {
			say:  list(census(0, holds(4, "labor-epidural", "visit=v1")), clinical(1, 4, fhr("III").seen(1)), adt(20, acuity.A01, "v=baby", "mother=v1", "#4")),
			read: []reading{{19, three}, {20, "4 90 nb-stabilization/1 labor-epidural/0"}},
		},
		"told again, at another time": {
			say:  list(before, clinical(1, 4, fhr("II").seen(1)), after, census(30, holds(4, "labor-epidural", "visit=v1", "born=25"))),
			read: []reading{{19, two}, {20, labor}},
		},
	}
	for source, said := range map[string][2]acuity.Observation{
		"a statement": {clinical(1, 4, fhr("II").seen(1)), clinical(1, 4, fhr("III").seen(1))},
		"a resource":  {resources(1, fhr("II").of("o", 1).seen(1)), resources(1, fhr("III").of("o", 1).seen(1))},
		"the staff":   {clinical(1, 4, manual("labor-fhr-cat-ii").seen(1)), clinical(1, 4, manual("labor-fhr-cat-iii").seen(1))},
		"the site":    {clinical(1, 4, local("TRACE2", "").seen(1)), clinical(1, 4, local("TRACE3", "").seen(1))},
		"the census":  {census(1, holds(4, "labor-epidural", "visit=v1", "labor-fhr-cat-ii")), census(1, holds(4, "labor-epidural", "visit=v1", "labor-fhr-cat-iii"))},
	} {
		maps := list(mapping(0, "m2", acuity.SystemLocal, "TRACE2", "labor-fhr-cat-ii"), mapping(0, "m3", acuity.SystemLocal, "TRACE3", "labor-fhr-cat-iii"))
		for i, want := range []string{two, three} {
			rows[want+" by "+source] = decision{say: append(maps, before, said[i], after), read: []reading{{1, want}, {19, want}, {20, labor}, {40, labor}}}
		}
	}
	decide(t, rows)
}
