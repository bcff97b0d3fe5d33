package hospital_test

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue/cataloguetest"
	"svc/acuity/codes"
)

// The birth ends every factor that is possible only before it, whichever feed states the factor and the birth
// (docs/decisions.md#delivered-first). A factor that is stated after the birth gets a warning.
func TestDecisionsBirthEndsLabor(t *testing.T) {
	list := func(o ...acuity.Observation) []acuity.Observation { return o }
	const (
		recovery = "4 60 pp-immediate-recovery-vag/0"
		later    = "4 30 pp-immediate-recovery-vag/0"
	)
	row := func(at float64, more ...string) acuity.Observation {
		return census(at, holds(4, append([]string{"visit=v1", "label=A", "area=LDR"}, more...)...))
	}
	rows := map[string]decision{
		"explicit in the census": {
			say:  list(row(0, "labor-epidural"), row(20, "labor-epidural", "born=15")),
			read: []axisReading{{19, "4 30 labor-epidural/0"}, {20, recovery}, {135, later}}, answers: []string{"+labor-epidural", "+pp-immediate-recovery-vag -labor-epidural !after_birth"},
		},
		"explicit in the census, the birth by ADT": {
			say:  list(row(0, "labor-epidural"), message(20, acuity.A08, "Z37.0")),
			read: []axisReading{{20, recovery}, {140, later}},
		},
		"explicit in the census, the birth by a newborn": {
			say:  list(row(0, "labor-epidural"), message(20, acuity.A01, "v=baby", "mother=v1", "#9")),
			read: []axisReading{{20, recovery + "; 9 60 nb-stabilization/1"}},
		},
		"explicit by ADT": {
			say:  list(message(0, acuity.A01, "#4", "class=I", "labor-ia"), message(20, acuity.A08, "Z37.0")),
			read: []axisReading{{19, "4 60 labor-ia/0"}, {20, recovery}, {140, later}},
		},
		"explicit by ADT after the birth": {
			say: list(message(0, acuity.A01, "#4", "class=I", "Z37.0"), message(20, acuity.A08, "labor-ia")), read: []axisReading{{20, recovery}},
			answers: []string{"", "!after_birth"},
		},
		"at a place that the hospital maps": {
			say: list(
				mapped(0, acuity.Place{PointOfCare: "LDR", Room: "A", HasRoomID: true, RoomID: 4, Primary: cataloguetest.Factor(t, "labor-standard")}),
				message(1, acuity.A01, "LDR:A", "class=I"), message(20, acuity.A08, "Z37.0"),
			),
			read: []axisReading{{19, "4 60 labor-standard/0"}, {20, recovery}},
		},
		"a census factor without an area": {
			say: list(census(0, holds(4, "labor-standard")), census(20, holds(4, "born=15"))), read: []axisReading{{20, recovery}, {135, later}},
		},
		"antepartum, with a birth in the antepartum room": {
			say:  list(census(0, holds(4, "visit=v1", "area=ANTE", "ap-unstable")), census(20, holds(4, "visit=v1", "born=15"))),
			read: []axisReading{{19, "4 60 ap-unstable/3"}, {20, recovery}},
		},
		"the birth itself is not ended": {
			say: list(row(0, "labor-vaginal-birth"), row(20, "labor-vaginal-birth", "born=15")), read: []axisReading{{20, "4 120 labor-vaginal-birth/1"}},
			answers: []string{"", ""},
		},
		"the cesarean itself is not ended": {
			say: list(row(0, "csection-intraop"), row(20, "csection-intraop", "born=15")), read: []axisReading{{20, "4 120 csection-intraop/2"}},
		},
		"twins: not by the first birth": {
			say:  list(row(0, "labor-epidural", "O30.003"), row(20, "labor-epidural", "O30.003", "born=15")),
			read: []axisReading{{20, "4 60 labor-multiple-gestation/2 labor-epidural/0"}, {500, "4 30 labor-epidural/0"}}, answers: []string{"", ""},
		},
		"twins: by the last": {
			say: list(
				row(0, "labor-epidural", "O30.003"), row(20, "labor-epidural", "O30.003", "born=15"),
				row(30, "labor-epidural", "O30.003", "born=15", "baby=nb-continuing", "baby=nb-continuing"),
			),
			read: []axisReading{{30, "4 60 pp-immediate-recovery-vag/0 nb-continuing/0"}},
		},
		"twins: a report of labor between the births counts": {
			say:  list(row(0, "O30.003"), row(20, "O30.003", "born=15"), clinical(30, 4, manual("labor-active-lt4").seen(30))),
			read: []axisReading{{30, "4 60 labor-multiple-gestation/2 pp-immediate-recovery-vag/0 labor-active-lt4/0"}}, answers: []string{""},
		},
		"oxytocin after the birth gets no warning": {
			say: list(row(0, "born=0"), clinical(10, 4, drug("7824", "oxytocin"))), read: []axisReading{{10, recovery}}, answers: []string{""},
		},
		"modifiers that the census lists after the birth": {
			say: list(row(0, "born=0"), row(10, "born=0", "triage-rule-out-ptl", "high-obesity-bmi40")), read: []axisReading{{10, "4 66 high-obesity-bmi40/1 pp-immediate-recovery-vag/0"}},
			answers: []string{"", "+high-obesity-bmi40 !after_birth"},
		},
		"decreased movement": {
			say:  list(row(0), clinical(1, 4, local("FETAL_MOVEMENT_DECREASED", "").seen(1)), row(20, "born=15")),
			read: []axisReading{{19, "4 60 high-decreased-fetal-movement/1 labor-standard/0"}, {20, recovery}},
		},
	}
	for source, say := range map[string][2]acuity.Observation{
		"the staff":  {clinical(1, 4, manual("labor-complications").seen(1)), clinical(30, 4, manual("labor-complications").seen(30))},
		"the site":   {clinical(1, 4, local("HARD", "").seen(1)), clinical(30, 4, local("HARD", "").seen(30))},
		"a resource": {resources(1, local("HARD", "").of("o", 1).seen(1)), resources(30, local("HARD", "").of("o", 30).seen(30))},
		"a problem":  {resources(1, condition("X99").of("c", 1).seen(1)), resources(30, condition("X99").of("d", 30).seen(30))},
	} {
		maps := list(mapping(0, "m", codes.SystemLocal, "HARD", "labor-complications"), mapping(0, "n", codes.ICD10CM, "X99", "labor-complications"))
		rows["stated by "+source] = decision{
			say:  append(maps, row(0), say[0], row(20, "born=15")),
			read: []axisReading{{19, "4 60 labor-complications/2 labor-standard/0"}, {20, recovery}, {135, later}},
		}
		answer := "!after_birth"
		if say[1].Channel == acuity.ChannelClinical { // the room's answer also lists what has already ended
			answer = "-labor-complications !after_birth"
		}
		rows["stated after the birth by "+source] = decision{
			say: append(maps, row(0), row(20, "born=15"), say[1]), read: []axisReading{{30, recovery}, {135, later}}, answers: []string{answer},
		}
	}
	decide(t, rows)
}

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
			answers: []string{"", "+pp-immediate-recovery-vag -labor-standard", "+labor-standard -pp-immediate-recovery-vag"},
		},
		"of a visit": {
			say:  list(row(0, "visit=v1"), row(10, "visit=v1", "born=8", "cesarean"), row(20, "visit=v1", "not-born"), row(30, "visit=v1", "born=25")),
			read: []axisReading{{10, "4 60 pp-csection/1"}, {20, labor}, {30, "4 60 pp-immediate-recovery-vag/0"}},
		},
		"labor factors and reports count again": {
			say: list(
				census(0, holds(4, "visit=v1", "labor-epidural")), clinical(1, 4, fhr("III").seen(1)), census(10, holds(4, "visit=v1", "born=8")),
				census(20, holds(4, "visit=v1", "not-born")),
			),
			read: []axisReading{{10, "4 60 pp-immediate-recovery-vag/0"}, {20, "4 120 labor-fhr-cat-iii/4 labor-epidural/0"}},
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
		"a birth that another feed states remains": {
			say:  list(row(0, "visit=v1"), message(5, acuity.A08, "Z37.0"), row(10, "visit=v1", "born=8"), row(20, "visit=v1", "not-born")),
			read: []axisReading{{20, "4 60 pp-immediate-recovery-vag/0"}},
		},
	})
}

// What is stated about a patient overrides the kind of her room (docs/decisions.md#patient-before-place).
func TestDecisionsPatientBeforePlace(t *testing.T) {
	list := func(o ...acuity.Observation) []acuity.Observation { return o }
	const couplet, antepartum = "<MBU:3> 20 pp-couplet/0", "<MBU:3> 20 ap-stable/1"
	admit := func(more ...string) acuity.Observation {
		return message(0, acuity.A01, append([]string{"MBU:3", "class=I"}, more...)...)
	}
	moved := list(message(0, acuity.A01, "LDR:A", "class=I", "O60.03"), message(10, acuity.A02, "MBU:3"))
	in := func(at float64, s sign) acuity.Observation { return resources(at, s.of("o", at).in("v1").seen(at)) }
	three := "<MBU:3> 120 labor-fhr-cat-iii/4 ap-stable/1"
	rows := map[string]decision{
		"nothing is stated":       {say: list(admit()), read: []axisReading{{0, couplet}}},
		"preterm labor":           {say: list(admit("O60.03")), read: []axisReading{{0, antepartum}}},
		"weeks of gestation":      {say: list(admit("Z3A.29")), read: []axisReading{{0, antepartum}}},
		"told by an update":       {say: list(admit(), message(5, acuity.A08, "O42.013")), read: []axisReading{{5, antepartum}}},
		"told by a Condition":     {say: list(admit(), in(5, condition("O47.03"))), read: []axisReading{{5, antepartum}}},
		"withdrawn":               {say: list(admit("O60.03"), message(5, acuity.A08, "clear")), read: []axisReading{{0, antepartum}, {5, couplet}}},
		"the reason":              {say: list(admit("reason=PPROM")), read: []axisReading{{0, antepartum}}},
		"the service":             {say: list(admit("service=ANTEPARTUM")), read: []axisReading{{0, antepartum}}},
		"unstable":                {say: list(admit("reason=unstable", "O45.8X2")), read: []axisReading{{300, "<MBU:3> 60 ap-unstable/3 high-hemorrhage/2"}}},
		"a puerperal diagnosis":   {say: list(admit("O99.891", "Z3A.38", "O86.4")), read: []axisReading{{0, couplet}}},
		"a birth":                 {say: list(admit("O60.03"), message(5, acuity.A08, "O60.03", "Z37.0@-400")), read: []axisReading{{5, couplet}}},
		"a newborn":               {say: list(admit("O60.03"), message(0, acuity.A01, "v=baby", "mother=v1", "MBU:3")), read: []axisReading{{0, "<MBU:3> 120 nb-stabilization/1 pp-immediate-recovery-vag/0"}}},
		"from a labor room":       {say: moved, read: []axisReading{{9, "<LDR:A> 60 labor-standard/0"}, {10, couplet}}},
		"by a first message":      {say: list(message(0, acuity.A02, "MBU:3"), message(5, acuity.A08, "O60.03")), read: []axisReading{{5, couplet}}},
		"a tracing":               {say: append(moved, in(20, fhr("III"))), read: []axisReading{{20, three}}, answers: []string{"+ap-stable +labor-fhr-cat-iii -pp-couplet"}},
		"a tracing of the labor":  {say: append(moved, in(9, fhr("III"))), read: []axisReading{{20, couplet}}},
		"a tracing, then a birth": {say: append(moved, in(20, fhr("III")), message(30, acuity.A08, "Z37.0@-400")), read: []axisReading{{30, couplet}}},
		"a tracing in error":      {say: append(moved, in(20, fhr("III")), resources(30, wrong("o").in("v1").seen(30))), read: []axisReading{{30, couplet}}},
		"pushing":                 {say: append(moved, in(20, local("SECOND_STAGE", ""))), read: []axisReading{{20, "<MBU:3> 60 labor-active-pushing/2 ap-stable/1"}}},
		"no movements":            {say: append(moved, in(20, local("FETAL_MOVEMENT_DECREASED", ""))), read: []axisReading{{20, "<MBU:3> 30 high-decreased-fetal-movement/1 ap-stable/1"}}},
		"explicit, by the staff":  {say: append(moved, in(20, manual("ap-unstable"))), read: []axisReading{{20, "<MBU:3> 60 ap-unstable/3 ap-stable/1"}}},
		"explicit, before":        {say: append(moved, in(9, manual("labor-complications"))), read: []axisReading{{20, couplet}}},
		"explicit, in the event":  {say: append(moved, message(20, acuity.A08, "ap-unstable")), read: []axisReading{{20, "<MBU:3> 60 ap-unstable/3"}}},
		"oxytocin":                {say: append(moved, in(20, drug("7824", "oxytocin"))), read: []axisReading{{20, couplet}}},
		"multiple gestation":      {say: append(moved, in(20, manual("labor-multiple-gestation"))), read: []axisReading{{20, couplet}}},
		"an occupant of whom a census knows": {
			say:  list(census(0, holds(4, "area=MBU")), clinical(5, 4, fhr("III").seen(5))),
			read: []axisReading{{4, "4 20 pp-couplet/0"}, {5, "4 120 labor-fhr-cat-iii/4 ap-stable/1"}},
		},
		"a newborn whom a census lists": {
			say:  list(census(0, holds(4, "area=MBU", "baby=nb-continuing")), clinical(5, 4, fhr("III").seen(5))),
			read: []axisReading{{5, "4 20 pp-couplet/0 nb-continuing/0"}}, answers: []string{"-labor-fhr-cat-iii !after_birth"},
		},
		"a visit in a census": {
			say:  list(census(0, holds(4, "area=LDR", "visit=v1"), empty(5)), census(10, empty(4), holds(5, "area=MBU", "visit=v1")), census(20, empty(4), holds(5, "area=MBU", "visit=v1", "triage-rule-out-ptl"))),
			read: []axisReading{{10, "5 20 pp-couplet/0"}, {20, "5 30 triage-rule-out-ptl/2 ap-stable/1"}},
		},
		"in recovery, a tracing counts": {
			say:  list(message(0, acuity.A01, "PACU:5", "class=I"), in(5, fhr("III"))),
			read: []axisReading{{4, "<PACU:5> 60 pp-immediate-recovery-vag/0"}, {5, "<PACU:5> 120 labor-fhr-cat-iii/4 pp-immediate-recovery-vag/0"}},
		},
		"after a cerclage": {
			say:  list(message(0, acuity.A01, "OBOR:1", "class=I", "reason=cerclage"), message(60, acuity.A02, "PACU:5"), in(70, fhr("II"))),
			read: []axisReading{{60, "<PACU:5> 60 or-cerclage-placement/1"}, {70, "<PACU:5> 60 labor-fhr-cat-ii/2 or-cerclage-placement/1"}},
		},
	}
	decide(t, visits(rows))
}

// The recovery after a birth continues in a postpartum room (docs/decisions.md#recovery-continues).
func TestDecisionsRecoveryContinues(t *testing.T) {
	list := func(o ...acuity.Observation) []acuity.Observation { return o }
	decide(t, visits(map[string]decision{
		"by ADT": {
			say:  list(message(0, acuity.A01, "LDR:A", "class=I"), message(10, acuity.A02, "PACU:5"), message(40, acuity.A02, "MBU:3")),
			read: []axisReading{{40, "<MBU:3> 60 pp-immediate-recovery-vag/0"}, {130, "<MBU:3> 30 pp-immediate-recovery-vag/0"}, {370, "<MBU:3> 20 pp-immediate-recovery-vag/0"}},
		},
		"after a cesarean": {
			say:  list(message(0, acuity.A01, "OBOR:1", "class=I"), message(60, acuity.A02, "PACU:5"), message(100, acuity.A02, "MBU:3")),
			read: []axisReading{{100, "<MBU:3> 60 pp-csection/1"}, {180, "<MBU:3> 30 pp-csection/1"}},
		},
		"by census": {
			say: list(
				census(0, holds(1, "area=PACU", "visit=v1"), empty(2), empty(3)), census(30, empty(1), holds(2, "area=MBU", "visit=v1"), empty(3)),
				census(40, empty(1), empty(2), holds(3, "area=MBU", "visit=v1")),
			),
			read: []axisReading{{30, "2 60 pp-immediate-recovery-vag/0"}, {40, "3 60 pp-immediate-recovery-vag/0"}, {120, "3 30 pp-immediate-recovery-vag/0"}},
		},
		"an earlier stay does not count": {
			say:  list(message(0, acuity.A01, "PACU:5", "class=I"), message(10, acuity.A02, "LDR:A"), message(40, acuity.A02, "MBU:3")),
			read: []axisReading{{40, "<MBU:3> 20 pp-couplet/0"}},
		},
	}))
}
