package hospital_test

import (
	"testing"

	"svc/acuity"
	"svc/acuity/codes"
)

// A tracing belongs to an unborn baby: Category II and III end at birth, regardless of the feeds
// that report the tracing and the birth (docs/decisions.md#tracing-ends-at-birth).
func TestDecisionsTracing(t *testing.T) {
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
			read: []axisReading{{0, labor}},
		},
		"Category III that turned silent does not become II after it": {
			say:  list(before, clinical(1, 4, fhr("III").seen(1)), after),
			read: []axisReading{{14, three}, {19, three}, {20, labor}, {61, labor}, {62, labor}, {240, labor}},
		},
		"a category that is seen after it": {
			say:  list(after, clinical(21, 4, fhr("III").seen(21)), clinical(30, 4, fhr("II").seen(30))),
			read: []axisReading{{21, labor}, {30, labor}},
		},
		"by Z37": {
			say:  list(before, clinical(1, 4, fhr("III").seen(1)), message(20, acuity.A08, "v=v1", "Z37.0")),
			read: []axisReading{{19, three}, {20, labor}},
		},
		"by a recovery": {
			say:  list(before, clinical(1, 4, fhr("III").seen(1)), census(20, holds(4, "pp-immediate-recovery-vag", "visit=v1"))),
			read: []axisReading{{19, three}, {20, recovery}},
		},
		"by the visit of the newborn": {
			say:  list(census(0, holds(4, "labor-epidural", "visit=v1")), clinical(1, 4, fhr("III").seen(1)), message(20, acuity.A01, "v=baby", "mother=v1", "#4")),
			read: []axisReading{{19, three}, {20, "4 90 nb-stabilization/1 labor-epidural/0"}},
		},
		"told again, at another time": {
			say:  list(before, clinical(1, 4, fhr("II").seen(1)), after, census(30, holds(4, "labor-epidural", "visit=v1", "born=25"))),
			read: []axisReading{{19, two}, {20, labor}},
		},
	}
	for source, said := range map[string][2]acuity.Observation{
		"a statement": {clinical(1, 4, fhr("II").seen(1)), clinical(1, 4, fhr("III").seen(1))},
		"a resource":  {resources(1, fhr("II").of("o", 1).seen(1)), resources(1, fhr("III").of("o", 1).seen(1))},
		"the staff":   {clinical(1, 4, manual("labor-fhr-cat-ii").seen(1)), clinical(1, 4, manual("labor-fhr-cat-iii").seen(1))},
		"the site":    {clinical(1, 4, local("TRACE2", "").seen(1)), clinical(1, 4, local("TRACE3", "").seen(1))},
		"the census":  {census(1, holds(4, "labor-epidural", "visit=v1", "labor-fhr-cat-ii")), census(1, holds(4, "labor-epidural", "visit=v1", "labor-fhr-cat-iii"))},
	} {
		maps := list(mapping(0, "m2", codes.SystemLocal, "TRACE2", "labor-fhr-cat-ii"), mapping(0, "m3", codes.SystemLocal, "TRACE3", "labor-fhr-cat-iii"))
		for i, want := range []string{two, three} {
			rows[want+" by "+source] = decision{say: append(maps, before, said[i], after), read: []axisReading{{1, want}, {19, want}, {20, labor}, {40, labor}}}
		}
	}
	decide(t, rows)
}

// Some statements end a category, a warning or a score from every source; retracting such a statement restores what it
// ended (docs/decisions.md#silent-category-iii, #category-i, #bmi-below-limit, #mews-below-limit).
func TestDecisionsCleared(t *testing.T) {
	retracted := func(s sign) sign { return s.status(acuity.SignalRetracted) }
	const (
		none   = "4 30 labor-epidural/0"
		two    = "4 60 labor-fhr-cat-ii/2 labor-epidural/0"
		three  = "4 120 labor-fhr-cat-iii/4 labor-epidural/0"
		warned = "4 60 mews-active/3 labor-epidural/0"
		obese  = "4 36 high-obesity-bmi40/1 labor-epidural/0"
	)
	mother := holds(4, "labor-epidural", "visit=v1")
	listing := census(0, holds(4, "labor-epidural", "visit=v1", "mews-active"))
	o68 := census(0, holds(4, "labor-epidural", "visit=v1", "O68"))
	bmi40 := census(0, holds(4, "labor-epidural", "visit=v1", "O99.213"))
	at := func(m float64, s sign) acuity.Observation { return clinical(m, 4, s.seen(m)) }
	rows := map[string]decision{
		"61 a low score ends what a census lists, until it is listed anew": {
			say:  list(listing, at(10, mews("3")), census(20, holds(4, "labor-epidural", "visit=v1", "mews-active")), census(30, holds(4, "labor-epidural", "visit=v1", "no-modifiers")), census(40, holds(4, "labor-epidural", "visit=v1", "mews-active"))),
			read: []axisReading{{9, warned}, {10, none}, {20, none}, {30, none}, {40, warned}},
		},
		"61 it does not end what a census lists later": {
			say:  list(census(0, mother), at(10, mews("3")), census(20, holds(4, "labor-epidural", "visit=v1", "mews-active"))),
			read: []axisReading{{10, none}, {20, warned}},
		},
		"61 it ends what the staff marked":            {say: list(census(0, mother), at(5, manual("mews-active")), at(10, mews("3"))), read: []axisReading{{9, warned}, {10, none}}},
		"61 not what they mark later":                 {say: list(census(0, mother), at(10, mews("3")), at(15, manual("mews-active"))), read: []axisReading{{10, none}, {15, warned}}},
		"61 it ends what the site maps":               {say: list(mapping(0, "m", codes.SystemLocal, "EWS", "mews-active"), census(0, mother), at(5, local("EWS", "")), at(10, mews("3"))), read: []axisReading{{9, warned}, {10, none}}},
		"61 it ends a diagnosis that the site maps":   {say: list(mapping(0, "m", codes.ICD10CM, "R65.2", "mews-active"), census(0, holds(4, "labor-epidural", "visit=v1", "R65.2")), at(10, mews("3"))), read: []axisReading{{9, warned}, {10, none}}},
		"61 a resource that is low":                   {say: list(listing, resources(10, mews("3").of("o", 10).seen(10))), read: []axisReading{{9, warned}, {10, none}}},
		"61 a low score of an earlier time does not":  {say: list(census(5, holds(4, "labor-epidural", "visit=v1", "mews-active")), clinical(10, 4, mews("3").seen(2))), read: []axisReading{{10, warned}}},
		"61 a score that cannot be read does not":     {say: list(listing, at(10, mews("low"))), read: []axisReading{{10, warned}}},
		"61 a later high score is one":                {say: list(listing, at(10, mews("3")), at(20, mews("5"))), read: []axisReading{{10, none}, {20, warned}}},
		"61 a low score that was entered in error":    {say: list(listing, at(10, mews("3")), clinical(20, 4, retracted(mews("3").seen(10)))), read: []axisReading{{10, none}, {20, warned}}},
		"61 a high score that was, after a low one":   {say: list(listing, at(5, mews("5")), at(10, mews("3")), clinical(20, 4, retracted(mews("5")))), read: []axisReading{{9, warned}, {10, none}, {20, none}}},
		"18 a Category I that was entered in error":   {say: list(o68, at(10, fhr("I")), clinical(20, 4, retracted(fhr("I").seen(10)))), read: []axisReading{{9, two}, {10, none}, {20, two}}},
		"18 and without its time":                     {say: list(o68, at(10, fhr("I")), clinical(20, 4, retracted(fhr("I")))), read: []axisReading{{10, none}, {20, two}}},
		"18 a Category III that was, of another time": {say: list(o68, at(5, fhr("III")), at(10, fhr("I")), clinical(20, 4, retracted(fhr("III").seen(5)))), read: []axisReading{{10, none}, {20, none}}},
		"18 without its time, behind the Category I":  {say: list(o68, at(5, fhr("III")), at(10, fhr("I")), clinical(20, 4, retracted(fhr("III")))), read: []axisReading{{9, three}, {10, none}, {20, none}}},
		"18 before it":                               {say: list(o68, at(5, fhr("I")), at(10, fhr("III")), clinical(20, 4, retracted(fhr("III")))), read: []axisReading{{9, none}, {10, three}, {20, none}}},
		"18 of the same time":                        {say: list(o68, at(10, fhr("I")), clinical(15, 4, fhr("III").seen(10)), clinical(20, 4, retracted(fhr("III").seen(10)))), read: []axisReading{{10, none}, {15, three}, {20, none}}},
		"18 that was never said":                     {say: list(o68, at(10, fhr("I")), clinical(20, 4, retracted(fhr("III").seen(10)))), read: []axisReading{{10, none}, {20, none}}},
		"a retraction of III leaves II":              {say: list(census(0, mother), at(5, fhr("III")), at(10, fhr("II")), clinical(20, 4, retracted(fhr("III")))), read: []axisReading{{10, two}, {20, two}}},
		"one of the category that holds ends it":     {say: list(census(0, mother), at(10, fhr("II")), clinical(20, 4, retracted(fhr("II")))), read: []axisReading{{10, two}, {20, none}}},
		"one without a value ends it":                {say: list(census(0, mother), at(10, fhr("III")), clinical(20, 4, retracted(fhr("")))), read: []axisReading{{10, three}, {20, none}}},
		"one with a value that cannot be read, too":  {say: list(census(0, mother), at(10, fhr("III")), clinical(20, 4, retracted(fhr("see note").seen(10)))), read: []axisReading{{10, three}, {20, none}}},
		"51 a BMI that was entered in error":         {say: list(bmi40, at(5, bmi("42")), at(10, bmi("35")), clinical(20, 4, retracted(bmi("42")))), read: []axisReading{{9, obese}, {10, none}, {20, none}}},
		"51 what was below before it holds again":    {say: list(bmi40, at(5, bmi("35")), at(10, bmi("42")), clinical(20, 4, retracted(bmi("42")))), read: []axisReading{{9, none}, {10, obese}, {20, none}}},
		"51 not if another one says otherwise":       {say: list(bmi40, at(5, bmi("35")), at(8, bmi("43")), at(10, bmi("42")), clinical(20, 4, retracted(bmi("42")))), read: []axisReading{{10, obese}, {20, obese}}},
		"51 the one below that was entered in error": {say: list(bmi40, at(5, bmi("35")), clinical(20, 4, retracted(bmi("35")))), read: []axisReading{{5, none}, {20, obese}}},
	}
	decide(t, rows)
}
