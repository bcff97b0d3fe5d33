package score

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/catalogue/cataloguetest"
	"svc/acuity/codes"
)

const testStart = acuity.Instant(1_900_000_000_000)

// charted is evidence for a room: a factor and the time since its start.
type charted struct {
	factor  string
	age     time.Duration
	variant uint8
	baby    uint8
	count   uint8
	kind    acuity.EvidenceKind
	code    string
}

func (e charted) evidence(t testing.TB, now acuity.Instant) acuity.Evidence {
	kind := e.kind
	if kind == 0 {
		kind = acuity.ByADT
		if f := cataloguetest.Factor(t, e.factor); !f.IsPrimary() {
			kind = acuity.BySignal
		}
	}
	at := now.Add(-e.age)
	return acuity.Evidence{
		Factor: cataloguetest.Factor(t, e.factor), Variant: e.variant, Count: e.count, Baby: e.baby, Kind: kind, Start: at, Last: at,
		Source: acuity.Source{System: codes.ICD10CM, Code: e.code},
	}
}

func roomOf(t testing.TB, now acuity.Instant, list ...charted) *acuity.RoomChart {
	p := acuity.PatientChart{Visit: "v", Arrived: now.Add(-24 * time.Hour), Mother: true}
	for _, e := range list {
		p.Evidence = append(p.Evidence, e.evidence(t, now))
	}
	return &acuity.RoomChart{ID: 1, Label: "R1", Status: acuity.RoomOccupied, Listed: true, Patients: []acuity.PatientChart{p}}
}

func judgeAt(r *acuity.RoomChart, now acuity.Instant) RoomVerdict {
	var v RoomVerdict
	judgeRoomInto(catalogue.Default(), r, now, &roomMemory{}, &v)
	return v
}

const (
	minutes = time.Minute
	hours   = time.Hour
)

func TestGoldenRooms(t *testing.T) {
	now := testStart
	diagnosed := func(factor string, age time.Duration, code string) charted {
		return charted{factor: factor, age: age, kind: acuity.ByDiagnosis, code: code}
	}
	cases := map[string]struct {
		list   []charted
		birth  time.Duration // time since the birth, or 0
		demand catalogue.Demand
		score  int32
		color  acuity.Color
	}{
		"labor-standard":             {[]charted{{factor: "labor-standard"}}, 0, 60, 20, acuity.ColorYellow},
		"mag alone at 30":            {[]charted{{factor: "high-mag", age: 30 * minutes}}, 0, 60, 50, acuity.ColorOrange},
		"mag alone at 61":            {[]charted{{factor: "high-mag", age: 61 * minutes}}, 0, 30, 40, acuity.ColorOrange},
		"couplet and GBS":            {[]charted{{factor: "pp-couplet"}, {factor: "high-gbs-positive"}}, 0, 20, 11, acuity.ColorGreen},
		"antepartum, mag 30, O13.3":  {[]charted{{factor: "ap-stable"}, {factor: "high-mag", age: 30 * minutes}, diagnosed("high-preeclampsia", hours, "O13.3")}, 0, 60, 59, acuity.ColorOrange},
		"antepartum, mag 61, O13.3":  {[]charted{{factor: "ap-stable"}, {factor: "high-mag", age: 61 * minutes}, diagnosed("high-preeclampsia", hours, "O13.3")}, 0, 30, 49, acuity.ColorOrange},
		"induction, mag 30, O14.13":  {[]charted{{factor: "labor-induction"}, {factor: "high-mag", age: 30 * minutes}, {factor: "high-preeclampsia", variant: 1}}, 0, 60, 65, acuity.ColorOrange},
		"induction, mag 61, O14.13":  {[]charted{{factor: "labor-induction"}, {factor: "high-mag", age: 61 * minutes}, {factor: "high-preeclampsia", variant: 1}}, 0, 60, 65, acuity.ColorOrange},
		"O15.1":                      {[]charted{{factor: "labor-standard"}, diagnosed("high-mag", 0, "O15.1"), diagnosed("high-preeclampsia", 0, "O15.1"), diagnosed("high-eclampsia", 0, "O15.1")}, 0, 60, 77, acuity.ColorRed},
		"O15.1 after two hours":      {[]charted{{factor: "labor-standard"}, diagnosed("high-mag", 2*hours, "O15.1"), diagnosed("high-preeclampsia", 2*hours, "O15.1"), diagnosed("high-eclampsia", 2*hours, "O15.1")}, 0, 60, 77, acuity.ColorRed},
		"cesarean of twins":          {[]charted{{factor: "csection-intraop"}, {factor: "labor-multiple-gestation"}}, 0, 180, 66, acuity.ColorOrange},
		"cesarean of triplets":       {[]charted{{factor: "csection-intraop"}, {factor: "labor-multiple-gestation", count: 3}}, 0, 240, 66, acuity.ColorOrange},
		"cesarean of twins, 1 born":  {[]charted{{factor: "csection-intraop"}, {factor: "labor-multiple-gestation"}}, minutes, 180, 66, acuity.ColorOrange},
		"Category III":               {[]charted{{factor: "labor-standard"}, {factor: "labor-fhr-cat-iii"}}, 0, 120, 91, acuity.ColorRed},
		"Category III and II":        {[]charted{{factor: "labor-standard"}, {factor: "labor-fhr-cat-iii"}, diagnosed("labor-fhr-cat-ii", 0, "O68")}, 0, 120, 91, acuity.ColorRed},
		"Category III silent 60":     {[]charted{{factor: "labor-standard"}, {factor: "labor-fhr-cat-iii", age: hours}}, 0, 60, 35, acuity.ColorYellow},
		"Category III silent 299":    {[]charted{{factor: "labor-standard"}, {factor: "labor-fhr-cat-iii", age: 299 * minutes}}, 0, 60, 35, acuity.ColorYellow},
		"Category III silent 300":    {[]charted{{factor: "labor-standard"}, {factor: "labor-fhr-cat-iii", age: 300 * minutes}}, 0, 60, 20, acuity.ColorYellow},
		"one code, two hemorrhages":  {[]charted{{factor: "pp-couplet"}, diagnosed("high-hemorrhage", 5*hours, "O72.1"), diagnosed("pp-hemorrhage", 5*hours, "O72.1")}, 0, 30, 25, acuity.ColorYellow},
		"two codes, two hemorrhages": {[]charted{{factor: "pp-couplet"}, diagnosed("high-hemorrhage", 5*hours, "O46"), diagnosed("pp-hemorrhage", 5*hours, "O72.1")}, 0, 30, 36, acuity.ColorYellow},
		"a hemorrhage after 3 days":  {[]charted{{factor: "pp-couplet"}, diagnosed("high-hemorrhage", 72*hours, "O72.1"), diagnosed("pp-hemorrhage", 72*hours, "O72.1")}, 0, 20, 11, acuity.ColorGreen},
		"nobody is known":            {nil, 0, 30, 10, acuity.ColorGray},
		"diabetes and insulin":       {[]charted{{factor: "labor-active-lt4"}, diagnosed("high-diabetes-poorly-controlled", 0, "O24.01"), {factor: "high-diabetes-poorly-controlled", variant: 1}}, 0, 69, 53, acuity.ColorOrange},
		"diabetes":                   {[]charted{{factor: "labor-active-lt4"}, diagnosed("high-diabetes-poorly-controlled", 0, "O24.01")}, 0, 39, 28, acuity.ColorYellow},
		"ADDs are capped":            {[]charted{{factor: "labor-active-lt4"}, {factor: "env-labor-support"}, {factor: "env-interpreter"}}, 0, 45, 15, acuity.ColorGreen},
		"ADDs fill up to one nurse":  {[]charted{{factor: "labor-active-lt4"}, {factor: "env-labor-support"}, {factor: "high-diabetes-poorly-controlled"}, {factor: "labor-nitrous-oxide"}}, 0, 45, 34, acuity.ColorYellow},
		"GBS in labor":               {[]charted{{factor: "labor-standard"}, {factor: "high-gbs-positive"}}, 0, 63, 26, acuity.ColorYellow},
		"GBS after birth":            {[]charted{{factor: "labor-standard"}, {factor: "high-gbs-positive"}}, minutes, 60, 25, acuity.ColorYellow},
		"TOLAC after birth":          {[]charted{{factor: "labor-standard"}, {factor: "labor-tolac"}}, minutes, 60, 20, acuity.ColorYellow},
		"cardiac in the couplet":     {[]charted{{factor: "pp-couplet"}, {factor: "high-cardiac"}}, 0, 30, 40, acuity.ColorOrange},
		"cardiac in labor":           {[]charted{{factor: "labor-active-lt4"}, {factor: "high-cardiac"}}, 0, 60, 50, acuity.ColorOrange},
		"cardiac after a cesarean":   {[]charted{{factor: "pp-csection", age: 7 * hours}, {factor: "high-cardiac"}}, 0, 30, 42, acuity.ColorOrange},
		"day of the cesarean":        {[]charted{{factor: "pp-csection", age: 7 * hours}, {factor: "pp-csection-day", age: 7 * hours}}, 0, 30, 19, acuity.ColorGreen},
		"day of it, in labor":        {[]charted{{factor: "labor-active-lt4"}, {factor: "pp-csection-day"}}, 0, 30, 15, acuity.ColorGreen},
		"couplet with its baby":      {[]charted{{factor: "pp-couplet"}, {factor: "nb-continuing", baby: 1}}, 0, 20, 7, acuity.ColorGreen},
		"birth with its baby":        {[]charted{{factor: "labor-vaginal-birth"}, {factor: "nb-stabilization", baby: 1}}, 0, 120, 49, acuity.ColorOrange},
		"birth of twins, both born":  {[]charted{{factor: "labor-vaginal-birth"}, {factor: "labor-multiple-gestation"}, {factor: "nb-stabilization", baby: 1}, {factor: "nb-stabilization", baby: 2}}, minutes, 180, 62, acuity.ColorOrange},
		"recovery, baby at 44":       {[]charted{{factor: "pp-immediate-recovery-vag", age: 44 * minutes}, {factor: "nb-stabilization", baby: 1, age: 44 * minutes}}, 0, 120, 45, acuity.ColorOrange},
		"recovery, baby at 45":       {[]charted{{factor: "pp-immediate-recovery-vag", age: 45 * minutes}, {factor: "nb-stabilization", baby: 1, age: 45 * minutes}}, 0, 60, 25, acuity.ColorYellow},
		"couplet, baby at 200":       {[]charted{{factor: "pp-recovery-stable"}, {factor: "nb-stabilization", baby: 1, age: 200 * minutes}}, 0, 30, 15, acuity.ColorGreen},
		"hemorrhage at a birth":      {[]charted{{factor: "labor-vaginal-birth"}, {factor: "pp-hemorrhage"}, {factor: "nb-stabilization", baby: 1}}, 0, 180, 92, acuity.ColorRed},
		"circumcision":               {[]charted{{factor: "pp-couplet"}, {factor: "nb-continuing", baby: 1}, {factor: "nb-surgery", baby: 1}}, 0, 80, 31, acuity.ColorYellow},
		"never more than four":       {[]charted{{factor: "labor-vaginal-birth"}, {factor: "high-prolapsed-cord"}, {factor: "nb-critical", baby: 1}, {factor: "nb-critical", baby: 2}, {factor: "nb-critical", baby: 3}}, 0, 240, 99, acuity.ColorRed},
		"severe pre-eclampsia":       {[]charted{{factor: "labor-active-lt4"}, {factor: "high-preeclampsia", variant: 1}}, 0, 60, 50, acuity.ColorOrange},
		"the same, not in labor":     {[]charted{{factor: "ap-stable"}, {factor: "high-preeclampsia", variant: 1}}, 0, 30, 42, acuity.ColorOrange},
		"iufd in labor, one code":    {[]charted{{factor: "labor-standard"}, diagnosed("high-iufd", 0, "Z37.1"), diagnosed("high-bereavement", 0, "Z37.1")}, 0, 60, 35, acuity.ColorYellow},
	}
	for name, tc := range cases {
		r := roomOf(t, now, tc.list...)
		if tc.birth != 0 {
			r.Patients[0].Birth = now.Add(-tc.birth)
		}
		v := judgeAt(r, now)
		if v.Demand != tc.demand || v.Score != tc.score || v.Color != tc.color {
			t.Errorf("%s: demand %d, score %d, %s; want %d, %d, %s", name, v.Demand, v.Score, v.Color, tc.demand, tc.score, tc.color)
		}
	}
}

func TestRoomsWithoutAPatient(t *testing.T) {
	now := testStart
	for _, status := range []acuity.RoomStatus{acuity.RoomEmpty, acuity.RoomBlocked} {
		r := roomOf(t, now, charted{factor: "labor-standard"})
		r.Status = status
		if v := judgeAt(r, now); v.Demand != 0 || v.Score != 0 || v.Color != acuity.ColorGray || len(v.Factors) != 0 || v.Demand.Nursing() != "none" || v.Next != 0 {
			t.Errorf("%s: %+v", status, v)
		}
	}
	signal := now.Add(-hours)
	silent := &acuity.RoomChart{ID: 7, Status: acuity.RoomUnknown, NewestSignal: signal}
	if v := judgeAt(silent, now); v.Demand != 0 || v.Color != acuity.ColorGray || v.Status != acuity.RoomUnknown || v.Next != signal.Add(48*hours) {
		t.Errorf("known from ingest only: %+v", v)
	}
	if v := judgeAt(silent, signal.Add(48*hours)); !v.Stale || v.Next != 0 {
		t.Errorf("after 48 hours: %+v", v)
	}
	heard := roomOf(t, now, charted{factor: "high-mag"})
	heard.Status, heard.Listed = acuity.RoomUnknown, false
	if v := judgeAt(heard, now); v.Status != acuity.RoomOccupied || !v.Assumed || v.Demand != 60 {
		t.Errorf("known from ingest, mag: %+v", v)
	}
	babies := roomOf(t, now, charted{factor: "nb-intensive", baby: 1}, charted{factor: "nb-intensive", baby: 2})
	babies.Patients[0].Mother = false
	v := judgeAt(babies, now)
	if v.Demand != 120 || v.Assumed || v.Primary != cataloguetest.Factor(t, "nb-intensive") || len(v.Factors) != 1 || v.Factors[0].Demand != 120 {
		t.Errorf("newborns alone: %+v", v)
	}
}

func TestTwoPatientsInARoom(t *testing.T) {
	now := testStart
	r := roomOf(t, now, charted{factor: "triage-initial", age: 5 * minutes}, charted{factor: "env-interpreter"})
	second := roomOf(t, now, charted{factor: "triage-initial", age: 30 * minutes}).Patients[0]
	second.Visit, second.Arrived = "w", now.Add(-14*minutes)
	r.Patients = append(r.Patients, second)
	v := judgeAt(r, now)
	if v.Demand != 60+6+30 || v.Double || v.due != now.Add(1*minutes) || len(v.Factors) != 2 {
		t.Errorf("demand %d, double %v, due %v, factors %d", v.Demand, v.Double, v.due-now, len(v.Factors))
	}
	if v.Factors[0].Demand != 60 || v.Factors[0].Since != now.Add(-5*minutes) || v.Factors[0].Next != now.Add(15*minutes) {
		t.Errorf("the entry is that of the graver: %+v", v.Factors[0])
	}
	if v = judgeAt(r, now.Add(1*minutes)); !v.Double {
		t.Error("not double after 15 minutes")
	}
}

func TestFactorsOfARoom(t *testing.T) {
	now := testStart
	r := roomOf(t, now,
		charted{factor: "env-interpreter"}, charted{factor: "labor-standard"}, charted{factor: "labor-epidural"},
		charted{factor: "high-mag", age: 61 * minutes}, charted{factor: "high-cardiac"}, charted{factor: "high-hemorrhage", age: 25 * hours},
		charted{factor: "nb-continuing", baby: 1}, charted{factor: "high-gbs-positive"},
	)
	v := judgeAt(r, now)
	var got []string
	for _, f := range v.Factors {
		got = append(got, fmt.Sprintf("%s %q %d", f.Factor.ID(), f.Need.Ratio(), f.Severity))
	}
	want := []string{
		`high-cardiac "1:1" 3`, `high-mag "1:2" 3`, `high-gbs-positive "" 1`, `high-hemorrhage "" 1`,
		`labor-standard "1:1" 0`, `labor-epidural "1:2" 0`, `nb-continuing "1:3" 0`, `env-interpreter "" 0`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("factors\n%q, want\n%q", got, want)
	}
	if v.Primary != cataloguetest.Factor(t, "labor-standard") || !v.Birth {
		t.Errorf("primary %s, birth %v", v.Primary.ID(), v.Birth)
	}
	if v.Demand.Nursing() != "1:1+" || v.Demand != 60+9+20 {
		t.Errorf("nursing %s, demand %d", v.Demand.Nursing(), v.Demand)
	}
}

func TestNursing(t *testing.T) {
	cases := map[catalogue.Demand]string{0: "none", 15: "1:4", 16: "1:3", 20: "1:3", 26: "1:2", 30: "1:2", 36: "1:1", 60: "1:1", 61: "1:1+", 89: "1:1+", 90: "2:1", 120: "2:1", 121: ">2:1"}
	for d, want := range cases {
		if got := d.Nursing(); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestTheShownEvidence(t *testing.T) {
	now := testStart
	r := roomOf(t, now,
		charted{factor: "high-hemorrhage", age: 5 * hours, kind: acuity.ByDiagnosis, code: "O46"},
		charted{factor: "high-hemorrhage", age: hours, kind: acuity.ByLocalRule, code: "X1"},
		charted{factor: "high-hemorrhage", age: hours, kind: acuity.ByDiagnosis, code: "O72.1"},
	)
	for i, rule := range []string{"first", "second", "third"} {
		r.Patients[0].Evidence[i].AssignedBy = rule
	}
	v := judgeAt(r, now)
	f := v.Factors[0]
	if got := v.AssignedBy(&f); got != "third" {
		t.Errorf("assigned by %q", got)
	}
	if f.Since != now.Add(-hours) || f.Kind != acuity.ByDiagnosis || f.Severity != 3 || f.Next != now.Add(3*hours) || len(v.Evidence(&f)) != 3 {
		t.Errorf("%+v", f)
	}
	// At +3 h the two newer sources have class 2, like the old one, so the factor shows the earliest source.
	v = judgeAt(r, now.Add(3*hours))
	if f = v.Factors[0]; f.Since != now.Add(-5*hours) || f.Severity != 2 || v.AssignedBy(&f) != "first" {
		t.Errorf("at 4 h: %+v, assigned by %q", f, v.AssignedBy(&f))
	}
}

func TestEachFactorHasItsEvidence(t *testing.T) {
	r := roomOf(t, testStart, charted{factor: "high-mag"}, charted{factor: "high-mag", kind: acuity.ByDiagnosis}, charted{factor: "labor-standard"}, charted{factor: "env-interpreter"})
	list := r.Patients[0].Evidence
	for i := range list {
		list[i].AssignedBy, list[i].Source.Code = fmt.Sprint("rule ", i), fmt.Sprint("C", i)
	}
	v := judgeAt(r, testStart)
	for i := range v.Factors {
		f := &v.Factors[i]
		var rule string // rule of the first source: a signal is shown in preference to a diagnosis
		var codes, got []string
		for j := range list {
			if list[j].Factor == f.Factor {
				rule, codes = cmp.Or(rule, list[j].AssignedBy), append(codes, list[j].Source.Code)
			}
		}
		for _, e := range v.Evidence(f) {
			got = append(got, e.Source.Code)
		}
		if v.AssignedBy(f) != rule || !slices.Equal(got, codes) {
			t.Errorf("%s is assigned by %q, with sources %q; want %q, %q", f.Factor.ID(), v.AssignedBy(f), got, rule, codes)
		}
	}
}

func TestAHiddenStepIsNoChange(t *testing.T) {
	now := testStart
	r := roomOf(t, now,
		charted{factor: "labor-induction", age: 30 * hours, kind: acuity.BySignal},
		charted{factor: "high-mag", age: 10 * minutes}, charted{factor: "high-mag", age: 50 * minutes, kind: acuity.ByDiagnosis},
	)
	v := judgeAt(r, now)
	for _, f := range v.Factors {
		if f.Factor == cataloguetest.Factor(t, "high-mag") && (f.Next != now.Add(10*minutes) || f.Since != now.Add(-50*minutes)) {
			t.Errorf("next %v, since %v", f.Next-now, f.Since-now)
		}
	}
	// At +10 min, the older source demands 1:2 and is hidden, so the newer source is shown until its next step.
	then := now.Add(10 * minutes)
	v = judgeAt(r, then)
	for _, f := range v.Factors {
		if f.Factor == cataloguetest.Factor(t, "high-mag") && (f.Next != now.Add(50*minutes) || f.Since != now.Add(-10*minutes) || f.Need.Ratio() != "1:1") {
			t.Errorf("then next %v, since %v, %s", f.Next-now, f.Since-now, f.Need.Ratio())
		}
	}
	if want := now.Add(50 * minutes); v.Next != want {
		t.Errorf("room next %v, want %v", v.Next-now, want-now)
	}
}

// If a Category III tracing is not repeated, Category II replaces it, and the tracing is one of the sources of
// Category II. This source ends with the window of Category II, 5 hours after the tracing.
func TestTheSourceOfSilenceEnds(t *testing.T) {
	for age, want := range map[time.Duration]int{4 * hours: 3, 5 * hours: 2} {
		r := roomOf(t, testStart,
			charted{factor: "labor-fhr-cat-iii", age: age, kind: acuity.BySignal, code: "C1"},
			charted{factor: "labor-fhr-cat-ii", age: 7 * hours, kind: acuity.ByDiagnosis, code: "O68"},
			charted{factor: "labor-fhr-cat-ii", age: 8 * hours, kind: acuity.ByDiagnosis, code: "O77.8"},
		)
		v := judgeAt(r, testStart)
		f := v.Find(cataloguetest.Factor(t, "labor-fhr-cat-ii"))
		if f == nil || len(v.Evidence(f)) != want {
			t.Errorf("%v after it: %+v, want %d sources", age, f, want)
		}
	}
}
