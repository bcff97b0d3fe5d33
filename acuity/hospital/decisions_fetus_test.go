package hospital_test

import (
	"testing"

	"svc/acuity"
	"svc/acuity/codes"
)

// A statement about one fetus does not affect another fetus, whichever feed sends the statement and whichever feed
// reports several fetuses.
func TestDecisionsFetus(t *testing.T) {
	list := func(o ...acuity.Observation) []acuity.Observation { return o }
	const (
		none   = "4 30 labor-epidural/0"
		two    = "4 60 labor-fhr-cat-ii/2 labor-epidural/0"
		three  = "4 120 labor-fhr-cat-iii/4 labor-epidural/0"
		twins  = "4 60 labor-multiple-gestation/2 labor-epidural/0"
		twinII = "4 60 labor-fhr-cat-ii/2 labor-multiple-gestation/2 labor-epidural/0"
		grave  = "4 120 labor-fhr-cat-iii/4 labor-multiple-gestation/2 labor-epidural/0"
	)
	mother := census(0, holds(4, "labor-epidural", "visit=v1"))
	o30 := census(0, holds(4, "labor-epidural", "visit=v1", "O30.003"))
	at := func(m float64, s sign) acuity.Observation { return clinical(m, 4, s.seen(m)) }
	rows := map[string]decision{
		"a Category I of B leaves the III of A":               {say: list(o30, at(5, fhr("III").fetus("A")), at(6, fhr("I").fetus("B"))), read: []axisReading{{5, grave}, {6, grave}}},
		"in the other order of arrival":                       {say: list(o30, at(6, fhr("I").fetus("B")), clinical(7, 4, fhr("III").fetus("A").seen(5))), read: []axisReading{{6, twins}, {7, grave}}},
		"the one of A ends it":                                {say: list(o30, at(5, fhr("III").fetus("A")), at(6, fhr("I").fetus("B")), at(7, fhr("I").fetus("A"))), read: []axisReading{{7, twins}}},
		"the gravest counts":                                  {say: list(o30, at(5, fhr("II").fetus("A")), at(6, fhr("III").fetus("B")), at(7, fhr("I").fetus("B"))), read: []axisReading{{5, twinII}, {6, grave}, {7, twinII}}},
		"each III turns silent by itself":                     {say: list(o30, at(5, fhr("III").fetus("A")), at(50, fhr("III").fetus("B"))), read: []axisReading{{65, grave}, {109, grave}, {110, twinII}}},
		"one that names none does not end it":                 {say: list(o30, at(5, fhr("III").fetus("A")), at(6, fhr("I"))), read: []axisReading{{6, grave}}},
		"of two that name none the newer counts, and is told": {say: list(o30, at(5, fhr("III")), at(6, fhr("I"))), read: []axisReading{{5, grave}, {6, twins + " unnamed"}}},
		"until newer ones of all fetuses name them":           {say: list(o30, at(5, fhr("II")), at(6, fhr("III")), at(7, fhr("I").fetus("A")), at(8, fhr("I").fetus("B"))), read: []axisReading{{7, grave + " unnamed"}, {8, twins}}},
		"a birth ends it":                                     {say: list(o30, at(5, fhr("III")), at(6, fhr("I")), census(9, holds(4, "labor-epidural", "visit=v1", "O30.003", "born=8"))), read: []axisReading{{9, twins}}},
		"one pregnancy has one tracing":                       {say: list(mother, at(5, fhr("III").fetus("A")), at(6, fhr("I"))), read: []axisReading{{5, three}, {6, none}}},
		"and by any name":                                     {say: list(mother, at(5, fhr("III")), at(6, fhr("I").fetus("A"))), read: []axisReading{{6, none}}},
		"two that are named are several":                      {say: list(mother, at(5, fhr("III").fetus("A")), at(6, fhr("I").fetus("B"))), read: []axisReading{{6, three}}},
		"the number becomes known later": {
			say:  list(mother, at(5, fhr("III").fetus("A")), at(6, fhr("I")), message(7, acuity.A08, "O30.003")),
			read: []axisReading{{6, none}, {7, grave}},
		},
		"and is taken back": {
			say:  list(o30, at(5, fhr("III").fetus("A")), at(6, fhr("I")), census(7, holds(4, "labor-epidural", "visit=v1", "no-diagnoses"))),
			read: []axisReading{{6, grave}, {7, none}},
		},
		"the staff says that there are several": {
			say:  list(mother, at(1, manual("labor-multiple-gestation")), at(5, fhr("III").fetus("A")), at(6, fhr("I")), at(7, manual("labor-multiple-gestation").off())),
			read: []axisReading{{6, grave}, {7, none}},
		},
		"the census lists it": {say: list(census(0, holds(4, "labor-epidural", "visit=v1", "labor-multiple-gestation")), at(5, fhr("III").fetus("A")), at(6, fhr("I"))), read: []axisReading{{6, grave}}},
		"resources": {
			say:  list(o30, resources(5, fhr("III").fetus("A").of("a", 5).seen(5)), resources(6, fhr("I").fetus("B").of("b", 6).seen(6))),
			read: []axisReading{{6, grave}},
		},
		"a resource and a statement": {say: list(o30, resources(5, fhr("III").fetus("A").of("a", 5).seen(5)), at(6, fhr("I").fetus("B")), at(7, fhr("I").fetus("A"))), read: []axisReading{{6, grave}, {7, twins}}},
		"what is wrong of one leaves the other": {
			say:  list(o30, at(5, fhr("III").fetus("A")), at(6, fhr("III").fetus("B")), at(7, fhr("").fetus("B").status(acuity.SignalRetracted)), at(8, fhr("").fetus("A").status(acuity.SignalRetracted))),
			read: []axisReading{{7, grave}, {8, twins}},
		},
		"a mark of the staff": {say: list(o30, at(5, manual("labor-fhr-cat-iii").fetus("A")), at(6, fhr("I").fetus("B")), at(7, fhr("I").fetus("A"))), read: []axisReading{{6, grave}, {7, twins}}},
		"a mark of the site": {
			say:  list(mapping(0, "m", codes.SystemLocal, "TRACE3", "labor-fhr-cat-iii"), o30, at(5, local("TRACE3", "").fetus("A")), at(6, local("TRACE3", "").fetus("B")), at(7, local("TRACE3", "").fetus("B").off()), at(8, local("TRACE3", "").fetus("A").off())),
			read: []axisReading{{7, grave}, {8, twins}},
		},
		"decreased movement": {
			say:  list(o30, at(5, local("FETAL_MOVEMENT_DECREASED", "").fetus("A")), at(6, local("FETAL_MOVEMENT_DECREASED", "no").fetus("B")), at(7, local("FETAL_MOVEMENT_DECREASED", "no").fetus("A"))),
			read: []axisReading{{6, "4 60 labor-multiple-gestation/2 high-decreased-fetal-movement/1 labor-epidural/0"}, {7, twins}},
		},
		"malpresentation": {
			say:  list(mapping(0, "m", codes.SystemLocal, "BREECH", "labor-complications"), mother, at(5, local("BREECH", "").fetus("A")), at(6, local("BREECH", "").fetus("B")), at(7, local("BREECH", "").fetus("B").off())),
			read: []axisReading{{7, "4 60 labor-complications/2 labor-epidural/0"}},
		},
		"demise": {
			say:  list(o30, at(5, manual("high-iufd").fetus("A")), at(6, manual("high-iufd").fetus("B").status(acuity.SignalEnded))),
			read: []axisReading{{6, "4 60 high-iufd/2 labor-multiple-gestation/2 labor-epidural/0"}},
		},
		"a score is the mother's": {say: list(o30, at(5, mews("5")), at(6, mews("2"))), read: []axisReading{{6, twins}}},
	}
	decide(t, rows)
}

// The first birth of several ends what concerned the first-born. What concerns a later fetus or the labor counts until
// every newborn is known, but at most 4 hours longer.
func TestDecisionsUnbornTwin(t *testing.T) {
	list := func(o ...acuity.Observation) []acuity.Observation { return o }
	const (
		one    = "4 30 labor-epidural/0"
		twins  = "4 60 labor-multiple-gestation/2 labor-epidural/0"
		two    = "4 60 labor-fhr-cat-ii/2 labor-multiple-gestation/2 labor-epidural/0"
		three  = "4 120 labor-fhr-cat-iii/4 labor-multiple-gestation/2 labor-epidural/0"
		cord   = "4 120 high-prolapsed-cord/4 labor-multiple-gestation/2 labor-epidural/0"
		silent = "4 60 labor-fhr-cat-ii/2 labor-epidural/0"
		push   = "4 60 labor-active-pushing/2 labor-multiple-gestation/2 labor-epidural/0"
		tolac  = "4 60 labor-multiple-gestation/2 labor-tolac/2 labor-epidural/0"
		babies = "4 150 nb-stabilization/1 labor-epidural/0"
	)
	row := func(at float64, more ...string) acuity.Observation {
		return census(at, holds(4, append([]string{"labor-epidural", "visit=v1"}, more...)...))
	}
	o30, born := row(0, "O30.003"), row(9, "O30.003", "born=8")
	both := row(12, "O30.003", "born=8", "baby=nb-couplet", "baby=nb-couplet")
	at := func(m float64, s sign) acuity.Observation { return clinical(m, 4, s.seen(m)) }
	rows := map[string]decision{
		"III of B":                   {say: list(o30, born, at(10, fhr("III").fetus("B"))), read: []axisReading{{9, twins}, {10, three}, {69, three}, {70, two}}},
		"that names none":            {say: list(o30, born, at(10, fhr("III"))), read: []axisReading{{10, three}}},
		"I of B ends it":             {say: list(o30, born, at(10, fhr("III").fetus("B")), at(12, fhr("I").fetus("B"))), read: []axisReading{{12, twins}}},
		"III of B before the birth":  {say: list(o30, at(5, fhr("III").fetus("B")), born), read: []axisReading{{9, three}, {64, three}, {65, two}, {247, two}, {248, silent}, {304, silent}, {305, one}}},
		"silent before the birth":    {say: list(o30, at(5, fhr("III").fetus("B")), row(90, "O30.003", "born=80")), read: []axisReading{{90, two}, {304, two}, {305, twins}, {319, twins}, {320, one}}},
		"at the time of the birth":   {say: list(o30, born, clinical(10, 4, fhr("III").fetus("B").seen(8))), read: []axisReading{{10, three}}, answers: []string{"+labor-fhr-cat-iii"}},
		"of A before the birth":      {say: list(o30, at(5, fhr("III").fetus("A")), born), read: []axisReading{{9, twins}, {70, twins}}},
		"of both":                    {say: list(o30, at(4, fhr("III").fetus("B")), at(5, fhr("III").fetus("A")), row(90, "O30.003", "born=80")), read: []axisReading{{79, two}, {90, two}, {303, two}, {304, twins}}},
		"of none before the birth":   {say: list(o30, at(5, fhr("III")), born), read: []axisReading{{9, twins}}},
		"II of B after III of A":     {say: list(o30, at(5, fhr("III").fetus("A")), born, at(10, fhr("II").fetus("B"))), read: []axisReading{{9, twins}, {10, two}, {70, two}}},
		"the last newborn ends it":   {say: list(o30, at(5, fhr("III").fetus("B")), born, at(10, fhr("III").fetus("B")), both), read: []axisReading{{10, three}, {12, babies}}},
		"the first does not":         {say: list(o30, at(5, fhr("III").fetus("B")), row(12, "O30.003", "born=8", "baby=nb-couplet")), read: []axisReading{{12, "4 180 labor-fhr-cat-iii/4 labor-multiple-gestation/2 nb-stabilization/1 labor-epidural/0"}}},
		"two of three do not":        {say: list(row(0, "O30.103"), at(5, fhr("III").fetus("B")), row(12, "O30.103", "born=8", "baby=nb-couplet", "baby=nb-couplet")), read: []axisReading{{12, "4 240 labor-fhr-cat-iii/4 labor-multiple-gestation/2 nb-stabilization/1 labor-epidural/0"}}},
		"cord, as the staff says":    {say: list(o30, born, at(10, manual("high-prolapsed-cord").fetus("B"))), read: []axisReading{{10, cord}, {129, cord}, {130, twins}}},
		"cord of B before the birth": {say: list(o30, at(5, manual("high-prolapsed-cord").fetus("B")), born), read: []axisReading{{9, cord}, {125, twins}}},
		"diagnosis of the twin":      {say: list(o30, born, resources(10, condition("O68").of("c", 10).seen(10))), read: []axisReading{{10, twins}}, answers: []string{"", "!after_birth"}},
		"diagnosis of B":             {say: list(o30, born, resources(10, condition("O68").fetus("B").of("c", 10).seen(10))), read: []axisReading{{10, two}, {247, two}, {248, one}}, answers: []string{"", "+labor-fhr-cat-ii"}},
		"pushing":                    {say: list(o30, at(5, local("SECOND_STAGE", "")), born), read: []axisReading{{9, push}, {244, push}, {245, twins}}},
		"pushing, again":             {say: list(o30, born, at(200, local("SECOND_STAGE", ""))), read: []axisReading{{200, push}, {248, "4 60 labor-active-pushing/2 labor-epidural/0"}, {440, one}}},
		"pushing ends with the last": {say: list(o30, at(5, local("SECOND_STAGE", "")), born, both), read: []axisReading{{12, babies}}},
		"TOLAC":                      {say: list(row(0, "O30.003", "O66.41"), row(9, "O30.003", "O66.41", "born=8")), read: []axisReading{{9, tolac}, {247, tolac}, {248, one}}},
		"anomaly":                    {say: list(row(0, "O30.003", "high-fetal-anomaly"), row(9, "O30.003", "high-fetal-anomaly", "born=8")), read: []axisReading{{9, "4 60 high-fetal-anomaly/2 labor-multiple-gestation/2 labor-epidural/0"}, {249, one}}},
		"stillborn, by the outcome":  {say: list(row(0, "O30.003", "O66.41"), row(9, "O30.003", "O66.41", "Z37.3@8", "born=8")), read: []axisReading{{9, one}}},
		"by a resource":              {say: list(row(0, "O30.003", "O66.41"), row(9, "O30.003", "O66.41", "born=8"), resources(10, condition("Z37.50").of("c", 10).since(8).seen(10))), read: []axisReading{{9, tolac}, {10, one}}},
		"by its second code":         {say: list(row(0, "O30.003", "O66.41"), row(9, "O30.003", "O66.41", "born=8"), resources(10, condition("169828005", "Z37.3").of("c", 10).since(8).seen(10))), read: []axisReading{{9, tolac}, {10, one}}},
		"one birth tells nothing":    {say: list(row(0, "O30.003", "O66.41"), row(9, "O30.003", "O66.41", "Z37.0@8")), read: []axisReading{{9, tolac}}},
		"recovery, says the staff": {
			say:  list(row(0, "O30.003", "O66.41"), row(9, "O30.003", "O66.41", "born=8"), census(30, holds(4, "pp-immediate-recovery-vag", "since=8", "visit=v1", "O30.003", "O66.41", "born=8"))),
			read: []axisReading{{29, tolac}, {30, "4 60 pp-immediate-recovery-vag/0"}},
		},
		"recovery in the labor room": {
			say:  list(message(0, acuity.A01, "LDR:A", "class=I", "O30.003", "O66.41"), message(8, acuity.A01, "v=n1", "mother=v1", "LDR:A")),
			read: []axisReading{{8, "<LDR:A> 120 labor-tolac/2 labor-multiple-gestation/2 nb-stabilization/1 pp-immediate-recovery-vag/0"}},
		},
		"a postpartum room": {
			say:  list(message(0, acuity.A01, "LDR:A", "class=I", "O30.003", "O66.41"), message(8, acuity.A01, "v=n1", "mother=v1", "LDR:A"), message(90, acuity.A02, "MBU:3")),
			read: []axisReading{{90, "<MBU:3> 60 nb-stabilization/1 pp-immediate-recovery-vag/0"}},
		},
		"of one baby":                {say: list(row(0), row(9, "born=8"), at(10, fhr("III").fetus("B"))), read: []axisReading{{10, one}}, answers: []string{"", "-labor-fhr-cat-iii !after_birth"}},
		"of one baby, by a resource": {say: list(row(0), row(9, "born=8"), resources(10, fhr("III").of("a", 10).seen(10))), read: []axisReading{{10, one}}, answers: []string{"", "!after_birth"}},
		"late":                       {say: list(row(0), row(9, "born=8"), clinical(10, 4, fhr("III").seen(7))), read: []axisReading{{10, one}}, answers: []string{"", "-labor-fhr-cat-iii"}},
		"of named twins":             {say: list(row(0), at(5, fhr("II").fetus("A")), at(6, fhr("II").fetus("B")), row(9, "born=8"), at(10, fhr("III").fetus("B"))), read: []axisReading{{10, "4 120 labor-fhr-cat-iii/4 labor-epidural/0"}}},
	}
	decide(t, visits(rows))
}

// Retracting a tracing entered in error withdraws only that tracing, so the previous tracing applies.
func TestDecisionsRetractedTracing(t *testing.T) {
	list := func(o ...acuity.Observation) []acuity.Observation { return o }
	const (
		none  = "4 30 labor-epidural/0"
		two   = "4 60 labor-fhr-cat-ii/2 labor-epidural/0"
		three = "4 120 labor-fhr-cat-iii/4 labor-epidural/0"
	)
	mother := census(0, holds(4, "labor-epidural", "visit=v1"))
	at := func(m float64, s sign) acuity.Observation { return clinical(m, 4, s.seen(m)) }
	wrong := func(s sign) sign { return s.status(acuity.SignalRetracted) }
	decide(t, map[string]decision{
		"II after III":                      {say: list(mother, at(5, fhr("III")), at(10, fhr("II")), at(20, wrong(fhr("II")))), read: []axisReading{{10, two}, {20, three}, {65, two}}},
		"by its time":                       {say: list(mother, at(5, fhr("III")), at(10, fhr("II")), clinical(20, 4, wrong(fhr("II").seen(10)))), read: []axisReading{{10, two}, {20, three}}},
		"without a value":                   {say: list(mother, at(5, fhr("III")), at(10, fhr("II")), at(20, wrong(fhr("")))), read: []axisReading{{20, three}}},
		"as a resource":                     {say: list(mother, resources(5, fhr("III").of("a", 5).seen(5)), resources(10, fhr("II").of("b", 10).seen(10)), resources(20, wrong(fhr("II").of("b", 20)))), read: []axisReading{{10, two}, {20, three}}},
		"I after III":                       {say: list(mother, at(5, fhr("III")), at(10, fhr("I")), at(20, wrong(fhr("I")))), read: []axisReading{{10, none}, {20, three}}},
		"III before II":                     {say: list(mother, at(5, fhr("III")), at(10, fhr("II")), at(20, wrong(fhr("III")))), read: []axisReading{{20, two}}},
		"both, one after the other":         {say: list(mother, at(5, fhr("III")), at(10, fhr("II")), at(20, wrong(fhr("II"))), at(21, wrong(fhr("III")))), read: []axisReading{{20, three}, {21, none}}},
		"the retraction comes first":        {say: list(mother, at(5, fhr("III")), at(9, wrong(fhr("II"))), clinical(11, 4, fhr("II").seen(8))), read: []axisReading{{9, three}, {11, three}}},
		"a score after a higher one":        {say: list(mother, at(5, mews("5")), at(10, mews("2")), at(20, wrong(mews("2")))), read: []axisReading{{10, none}, {20, "4 60 mews-active/3 labor-epidural/0"}}},
		"a drug that was in error does not": {say: list(mother, at(5, mag()), at(10, mag()), at(20, wrong(mag()))), read: []axisReading{{20, none}}},
	})
}

// The newest version of a resource applies, regardless of its clinical time.
func TestDecisionsVersions(t *testing.T) {
	list := func(o ...acuity.Observation) []acuity.Observation { return o }
	const (
		none  = "4 30 labor-epidural/0"
		bleed = "4 120 high-hemorrhage/4 ~pp-hemorrhage/4 labor-epidural/0"
		drip  = "4 60 high-mag/3 labor-epidural/0"
		three = "4 120 labor-fhr-cat-iii/4 labor-epidural/0"
	)
	mother := census(0, holds(4, "labor-epidural", "visit=v1"))
	id := func(s sign, n int64) sign {
		s.VersionID = n
		return s
	}
	bled := func() sign { return condition("O72.1").of("c").since(10) }
	decide(t, map[string]decision{
		"a condition that ended before it was last told": {say: list(mother, resources(20, bled().seen(15)), resources(30, bled().off().seen(2))), read: []axisReading{{20, bleed}, {30, none}}},
		"with times":                  {say: list(mother, resources(20, condition("O72.1").of("c", 18).since(10).seen(15)), resources(30, condition("O72.1").of("c", 29).off().seen(2))), read: []axisReading{{30, none}}},
		"in the other order":          {say: list(mother, resources(20, condition("O72.1").of("c", 19).off().seen(2)), resources(30, condition("O72.1").of("c", 18).since(10).seen(15))), read: []axisReading{{30, none}}},
		"with numbers":                {say: list(mother, resources(20, id(bled().off().seen(2), 2)), resources(30, id(bled().seen(15), 1))), read: []axisReading{{30, none}}},
		"which come back":             {say: list(mother, resources(20, id(bled().off().seen(2), 2)), resources(30, id(bled().seen(15), 3))), read: []axisReading{{30, bleed}}},
		"an infusion that ended":      {say: list(mother, resources(20, mag().of("m").since(15).seen(15)), resources(30, mag().of("m").off().since(15).seen(12))), read: []axisReading{{20, drip}, {30, none}}},
		"with its numbers":            {say: list(mother, resources(20, id(mag().of("m").off().since(15).seen(12), 10)), resources(30, id(mag().of("m").since(15).seen(15), 9))), read: []axisReading{{30, none}}},
		"an observation is corrected": {say: list(mother, resources(20, fhr("III").of("o").seen(18)), resources(30, fhr("I").of("o").seen(5))), read: []axisReading{{20, three}, {30, none}}},
	})
}
