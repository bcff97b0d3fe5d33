package hospital_test

import (
	"testing"

	"svc/acuity"
)

// A census withdraws a time of birth that was sent by mistake (docs/decisions.md#birth-corrections).
func TestDecisionsBirthWithdrawn(t *testing.T) {
	list := func(o ...acuity.Observation) []acuity.Observation { return o }
	row := func(at float64, more ...string) acuity.Observation {
		return census(at, holds(4, append([]string{"area=LDR"}, more...)...))
	}
	const labor = "4 60 labor-standard/0"
	decide(t, map[string]decision{
		"of an occupant": {
			say: list(row(0), row(10, "born=8"), row(20, "not-born")), read: []axisReading{{10, "4 60 pp-immediate-recovery-vag/0"}, {20, labor}},
			answers: []string{"+labor-standard", "+pp-immediate-recovery-vag -labor-standard", "+labor-standard -pp-immediate-recovery-vag"},
		},
		"of a visit": {
			say:  list(row(0, "visit=v1"), row(10, "visit=v1", "born=8", "cesarean"), row(20, "visit=v1", "not-born"), row(30, "visit=v1", "born=25")),
			read: []axisReading{{10, "4 60 pp-csection/1"}, {20, labor}, {30, "4 60 pp-immediate-recovery-vag/0"}},
		},
		"only for the patient of the row": {
			say: list(
				census(0, holds(4, "area=LDR", "born=0"), holds(5, "area=LDR", "born=0")), census(10, holds(4, "not-born"), holds(5)),
			),
			read: []axisReading{{10, labor + "; 5 60 pp-immediate-recovery-vag/0"}},
		},
		"a key that is absent keeps it": {
			say: list(row(0, "born=0"), row(10)), read: []axisReading{{10, "4 60 pp-immediate-recovery-vag/0"}},
		},
	})
}
