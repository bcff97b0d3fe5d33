package adt

import (
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue/cataloguetest"
)

// care returns the facts about a patient who arrived at a location at minute 0.
func care(point string, change ...func(*CareFacts)) CareFacts {
	f := CareFacts{PointOfCare: point, Class: 'I', At: minute(0), PlacedAt: minute(0)}
	for _, c := range change {
		c(&f)
	}
	return f
}

func because(text string) func(*CareFacts) {
	return func(f *CareFacts) { f.Reasons = ParseReasons(text) }
}

func class(c byte) func(*CareFacts) { return func(f *CareFacts) { f.Class = c } }

func bornMinutesAgo(n int) func(*CareFacts) {
	return func(f *CareFacts) { f.Birth = minute(-n) }
}

func newborn(age int) func(*CareFacts) {
	return func(f *CareFacts) { f.Newborn, f.Born = true, minute(-age) }
}

func service(s string) func(*CareFacts) { return func(f *CareFacts) { f.Service = s } }

func sectio(f *CareFacts) { f.Cesarean = true }

func sectioDue(f *CareFacts) { f.CesareanDue = true }

func label(s string) func(*CareFacts) { return func(f *CareFacts) { f.Label = s } }

func TestPrimaryOfTheTable(t *testing.T) {
	for name, c := range map[string]struct {
		facts   CareFacts
		want    string
		by      string
		since   int
		assumed bool
	}{
		"triage":                     {facts: care("OBTRI", class('O')), want: "triage-initial", by: "area:triage"},
		"triage, other complaint":    {facts: care("TRI", class('O'), because("MVA")), want: "triage-medical-eval", by: "reason:medical-complaint"},
		"triage, rupture":            {facts: care("OBT", class('O'), because("leaking")), want: "triage-rom", by: "reason:rupture"},
		"triage, test":               {facts: care("OBED", class('O'), because("NST")), want: "ap-nst", by: "reason:fetal-test"},
		"triage, order":              {facts: care("EVAL", class('O'), because("admit order")), want: "triage-admit", by: "reason:admit-order"},
		"triage, inpatient":          {facts: care("OBTRI", because("leaking")), want: "triage-admit", by: "rule:admitted"},
		"triage, induction":          {facts: care("OBTRI", class('O'), because("IOL")), want: "triage-induction-start", by: "reason:induction"},
		"labor":                      {facts: care("L&D"), want: "labor-standard", by: "area:labor"},
		"labor, ripening":            {facts: care("LD", because("misoprostol")), want: "labor-ripening", by: "reason:ripening"},
		"labor, induction":           {facts: care("LDR", because("induction")), want: "labor-induction", by: "reason:induction"},
		"labor, cesarean by reason":  {facts: care("LDRP", because("repeat cesarean")), want: "csection-admit", by: "reason:cesarean"},
		"labor, O82":                 {facts: care("LDRP", sectioDue), want: "csection-admit", by: "rule:cesarean-due"},
		"labor, complication":        {facts: care("BIRTH", because("abruption")), want: "labor-complications", by: "reason:labor-complication"},
		"labor, early":               {facts: care("LABOR", because("latent")), want: "labor-active-lt4", by: "reason:early-labor"},
		"labor, epidural":            {facts: care("DEL", because("epidural")), want: "labor-epidural", by: "reason:epidural"},
		"labor, auscultation":        {facts: care("L&D", because("intermittent auscultation")), want: "labor-ia", by: "reason:auscultation"},
		"labor, delivered":           {facts: care("L&D", because("induction"), bornMinutesAgo(10)), want: "pp-immediate-recovery-vag", by: "rule:birth", since: -10},
		"labor, delivered cesarean":  {facts: care("L&D", sectioDue, bornMinutesAgo(10)), want: "pp-csection", by: "rule:birth", since: -10},
		"OR":                         {facts: care("OR"), want: "csection-intraop", by: "area:operating"},
		"OR, cerclage":               {facts: care("OBOR", because("cerclage")), want: "or-cerclage-placement", by: "reason:cerclage"},
		"OR, cerclage removal":       {facts: care("OBOR", because("cerclage removal")), want: "or-cerclage-removal", by: "reason:cerclage-removal"},
		"OR, curettage":              {facts: care("CSEC", because("D&C")), want: "or-d-and-c", by: "reason:curettage"},
		"OR, EXIT":                   {facts: care("OR", because("EXIT procedure")), want: "or-exit-procedure", by: "reason:exit-procedure"},
		"OR, fetal surgery":          {facts: care("OR", because("fetal surgery")), want: "or-fetal-surgery", by: "reason:fetal-surgery"},
		"OR, transfusion":            {facts: care("OR", because("IUT")), want: "or-fetal-transfusion", by: "reason:fetal-transfusion"},
		"PACU":                       {facts: care("PACU", bornMinutesAgo(30)), want: "pp-immediate-recovery-vag", by: "area:recovery", since: -30},
		"PACU after cesarean":        {facts: care("RR", sectio), want: "pp-csection", by: "rule:after-cesarean"},
		"antepartum":                 {facts: care("AP"), want: "ap-stable", by: "area:antepartum"},
		"antepartum, unstable":       {facts: care("HROB", because("unstable")), want: "ap-unstable", by: "reason:unstable"},
		"postpartum":                 {facts: care("MBU"), want: "pp-couplet", by: "area:postpartum"},
		"postpartum, 119 min":        {facts: care("PP", bornMinutesAgo(119)), want: "pp-immediate-recovery-vag", by: "rule:birth", since: -119},
		"postpartum, 119 min, OR":    {facts: care("PP", bornMinutesAgo(119), sectio), want: "pp-csection", by: "rule:birth", since: -119},
		"postpartum, 120 min":        {facts: care("PP", bornMinutesAgo(120)), want: "pp-recovery-stable", by: "rule:birth", since: 0},
		"postpartum, 359 min":        {facts: care("PP", bornMinutesAgo(359)), want: "pp-recovery-stable", by: "rule:birth", since: -239},
		"postpartum, 360 min":        {facts: care("PP", bornMinutesAgo(360)), want: "pp-couplet", by: "area:postpartum"},
		"postpartum, readmitted":     {facts: care("MB", because("readmission")), want: "pp-complications-stable", by: "reason:complication"},
		"postpartum, unstable":       {facts: care("MB", because("readmission, unstable")), want: "pp-complications-unstable", by: "reason:complication"},
		"postpartum, hold":           {facts: care("POST", because("late discharge")), want: "pp-hold", by: "reason:hold"},
		"nursery, fresh":             {facts: care("NBN", newborn(359)), want: "nb-stabilization", by: "rule:born", since: -359},
		"nursery, older":             {facts: care("NURS", newborn(360)), want: "nb-continuing", by: "area:nursery"},
		"newborn beside its mother":  {facts: care("L&D", newborn(5)), want: "nb-stabilization", by: "rule:born", since: -5},
		"special care":               {facts: care("SCN", newborn(5)), want: "nb-intermediate", by: "area:intermediate"},
		"NICU":                       {facts: care("NICU", newborn(5)), want: "nb-intensive", by: "area:nicu"},
		"NICU, critical":             {facts: care("NICU", newborn(5), because("critical")), want: "nb-critical", by: "reason:critical"},
		"NICU, multisystem":          {facts: care("NICU", newborn(5), because("multisystem")), want: "nb-multisystem", by: "reason:multisystem"},
		"plain OB, outpatient":       {facts: care("OB", class('O')), want: "triage-initial", by: "rule:outpatient", assumed: true},
		"plain OB, emergency":        {facts: care("WH", class('E')), want: "triage-initial", by: "rule:outpatient", assumed: true},
		"plain OB, inpatient":        {facts: care("OB"), want: "labor-standard", by: "area:obstetric", assumed: true},
		"class B":                    {facts: care("OB", class('B')), want: "labor-standard", by: "area:obstetric", assumed: true},
		"unknown":                    {facts: care("3W"), want: "labor-standard", by: "area:obstetric", assumed: true},
		"unknown with OB service":    {facts: care("3W", service("OBS"), class('O')), want: "triage-initial", by: "rule:outpatient", assumed: true},
		"unknown with other service": {facts: care("3W", service("CAR")), want: "non-ob-holding", by: "area:medical"},
		"medical":                    {facts: care("MED"), want: "non-ob-holding", by: "area:medical"},
		"surgical":                   {facts: care("SURG"), want: "non-ob-holding", by: "area:medical"},
		"gynecology":                 {facts: care("GYN"), want: "non-ob-holding", by: "area:medical"},
		"by service":                 {facts: care("3W", service("NICU"), newborn(5)), want: "nb-intensive", by: "area:nicu"},
		"by label, before the field": {facts: care("3W", service("OBS"), label("LDR04")), want: "labor-standard", by: "area:labor"},
		"site":                       {facts: care("L&D", func(f *CareFacts) { f.LocalPrimary = cataloguetest.Factor(t, "ap-stable") }), want: "ap-stable", by: "site"},
		"explicit": {facts: care("L&D", func(f *CareFacts) {
			f.LocalPrimary, f.Explicit = cataloguetest.Factor(t, "ap-stable"), cataloguetest.Factor(t, "pp-hold")
		}), want: "pp-hold", by: "explicit"},
		"nothing known": {facts: CareFacts{At: minute(0), Label: "12"}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ChoosePrimary(&c.facts)
			if got.Factor.ID() != c.want || got.AssignedBy != c.by || got.Assumed != c.assumed {
				t.Errorf("got %s by %s assumed %v, want %s by %s %v", got.Factor.ID(), got.AssignedBy, got.Assumed, c.want, c.by, c.assumed)
			}
			if c.want != "" && got.Since != minute(c.since) {
				t.Errorf("since %s, want %d", since(got.Since), c.since)
			}
		})
	}
}

// The table lists each keyword of each area, and similar words that are not keywords.
func TestAreaWords(t *testing.T) {
	for text, want := range map[string]Area{
		"TRI": areaTriage, "OBTRI": areaTriage, "Triage 2": areaTriage, "TRIAL": areaUnknown, "STRI": areaUnknown, "TR": areaUnknown,
		"OBT": areaTriage, "OBED": areaTriage, "EVAL": areaTriage, "MEDEVAL": areaUnknown, "L&D TRIAGE": areaTriage,
		"L&D": areaLabor, "l&d": areaLabor, "L&DX": areaUnknown, "LD": areaLabor, "LD2": areaLabor, "LDA": areaUnknown, "OLD": areaUnknown,
		"LDR": areaLabor, "LDR04": areaLabor, "LDRP": areaLabor, "LDRS": areaUnknown, "BIRTHING": areaLabor, "REBIRTH": areaUnknown,
		"LABOR": areaLabor, "LABORATORY": areaUnknown, "DELIVERY": areaLabor, "DELTA": areaUnknown, "MODEL": areaUnknown,
		"OR": areaOperating, "OR1": areaOperating, "ORTHO": areaUnknown, "OBOR": areaOperating, "CSEC": areaOperating, "CSECT": areaOperating,
		"PACU": areaRecovery, "RR": areaRecovery, "RRT": areaUnknown, "RECOVERY": areaRecovery, "RECO": areaUnknown,
		"AP": areaAntepartum, "APU": areaUnknown, "ANTEPARTUM": areaAntepartum, "ANT": areaUnknown, "HROB": areaAntepartum, "HR": areaUnknown,
		"PP": areaPostpartum, "PPX": areaUnknown, "MB": areaPostpartum, "MBU": areaPostpartum, "MBA": areaUnknown, "COUPLET": areaPostpartum,
		"COUPLE": areaUnknown, "POSTPARTUM": areaPostpartum, "POSTOP": areaUnknown, "OUTPOST": areaUnknown,
		"NBN": areaNursery, "NURSERY": areaNursery, "NURSING": areaUnknown, "WBN": areaNursery, "NB": areaUnknown,
		"SCN": areaIntermediate, "IMC": areaIntermediate, "NICU": areaNICU, "NICU2": areaNICU, "ICU": areaUnknown, "": areaUnknown,
		"MB NURSERY": areaNursery, "OB": areaUnknown, "&": areaUnknown, "L D": areaUnknown,
	} {
		if got := places().area(text, areaTriage, areaPostpartum); got != want {
			t.Errorf("area of %q is %s, want %s", text, areaNames[got], areaNames[want])
		}
	}
	for text, want := range map[string]Area{
		"OB": areaObstetric, "OBA": areaUnknown, "OBS": areaObstetric, "OBGYN": areaObstetric, "WH": areaObstetric, "WHO": areaUnknown,
		"MED": areaMedical, "MEDSURG": areaMedical, "MEDIA": areaUnknown, "SURG": areaMedical, "GYN": areaMedical, "GY": areaUnknown,
	} {
		if got := places().area(text, areaObstetric, areaMedical); got != want {
			t.Errorf("area of %q is %s, want %s", text, areaNames[got], areaNames[want])
		}
	}
}

// A service is recognized by the keywords for locations and by additional keywords for services. Any other service
// belongs to a different specialty, except a bare number, which has no meaning.
func TestAreaOfAService(t *testing.T) {
	place := CachedPlace{Place: Place{PointOfCare: "3W"}}
	for service, want := range map[string]Area{
		"NB": areaNursery, "NEO": areaNursery, "NEONATOLOGY": areaNursery, "NEWBORN": areaNursery, "NICU": areaNICU,
		"OBS": areaObstetric, "MAT": areaObstetric, "MATERNITY": areaObstetric, "MFM": areaObstetric, "PERINATOLOGY": areaObstetric,
		"LABOR": areaLabor, "MED": areaMedical, "CAR": areaMedical, "NEOPLASMS": areaMedical, "MATCH": areaMedical, "MB/NB": areaNursery,
		"108": areaObstetric, "": areaObstetric,
	} {
		if got := (&CareFacts{PointOfCare: "3W", Service: service}).Kind(); got != want {
			t.Errorf("area of the service %q is %s, want %s", service, areaNames[got], areaNames[want])
		}
		if got := place.KindFor(service); got != want {
			t.Errorf("after others, the area of the service %q is %s, want %s", service, areaNames[got], areaNames[want])
		}
	}
	if got := (&CareFacts{PointOfCare: "MB", Service: "NB"}).Kind(); got != areaPostpartum {
		t.Errorf("a service goes before the point of care: %s", areaNames[got])
	}
}

func TestPrimaryOfAVisit(t *testing.T) {
	explicit := func(id string) func(*acuity.Event) {
		return func(e *acuity.Event) { e.Primary = cataloguetest.Factor(t, id) }
	}
	reason := func(text string) func(*acuity.Event) {
		return func(e *acuity.Event) { e.Reasons = ParseReasons(text) }
	}
	out := func(e *acuity.Event) { e.Class = 'O' }
	for name, c := range map[string]struct {
		events   []acuity.Event
		birth    int // minute of a birth from another feed, or 0
		cesarean bool
		want     string
		since    int
	}{
		"triage": {events: []acuity.Event{with(event("a", acuity.A04, 0, "TRI^1"), out)}, want: "triage-initial"},
		"conversion restarts, the same place": {
			events: []acuity.Event{with(event("a", acuity.A04, 0, "OB^1"), out), with(event("b", acuity.A01, 30, "OB^1"), explicit("triage-initial"))},
			want:   "triage-initial", since: 30,
		},
		"same factor runs on (R13)": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 50, "LD^2")}, want: "labor-standard", since: 0,
		},
		"another factor starts (R13)": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 50, "OR^1")}, want: "csection-intraop", since: 50,
		},
		"cancelled transfer (R13)": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 50, "OR^1"), cancel("c", acuity.A12, 55, 50, "OR^1")},
			want:   "labor-standard", since: 0,
		},
		"admission of an inpatient in the same area (R11)": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A01, 50, "LD^2")}, want: "labor-standard", since: 0,
		},
		"admission of an inpatient to another area (R11)": {
			events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), explicit("pp-hold")), with(event("b", acuity.A01, 50, "MBU^2"), explicit("pp-hold"))},
			want:   "pp-hold", since: 50,
		},
		"explicit holds in its area (X12)": {
			events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), explicit("labor-ia")), event("b", acuity.A02, 50, "LDR^2"), event("c", acuity.A08, 60, "LDR^2")},
			want:   "labor-ia", since: 0,
		},
		"and ends in another (X12)": {
			events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), explicit("labor-ia")), event("b", acuity.A02, 50, "MBU^2")},
			want:   "pp-couplet", since: 50,
		},
		"an update may be explicit": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A08, 9, "LD^1"), explicit("labor-ia"))},
			want:   "labor-ia", since: 9,
		},
		"an update tells a reason": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A08, 9, ""), reason("IOL"))}, want: "labor-induction", since: 9,
		},
		"a later reason ends the hints of an earlier one": {
			events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), reason("cervical ripening")), with(event("b", acuity.A08, 90, ""), reason("active labor"))},
			want:   "labor-standard", since: 90,
		},
		"no reason ends no hint": {
			events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), reason("cervical ripening")), event("b", acuity.A08, 90, "")},
			want:   "labor-ripening", since: 0,
		},
		"birth by a diagnosis (X14)": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A08, 90, ""), withCodes(acuity.DiagnosisSnapshot, "Z37.0"))},
			want:   "pp-immediate-recovery-vag", since: 90,
		},
		"O80 is no birth (X14)": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A08, 90, ""), withCodes(acuity.DiagnosisSnapshot, "O80"))},
			want:   "labor-standard", since: 0,
		},
		"O82 is none either, but says how": {
			events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), withCodes(acuity.DiagnosisSnapshot, "O82"))}, want: "csection-admit",
		},
		"O34.21 alone is no plan (decision 30)": {
			events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), withCodes(acuity.DiagnosisSnapshot, "O34.21"))}, want: "labor-standard",
		},
		"birth by another feed": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A08, 10, "LD^1")}, birth: 60, want: "pp-immediate-recovery-vag", since: 60,
		},
		"birth by another feed, then the couplet": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 200, "MBU^1")}, birth: 60, want: "pp-recovery-stable", since: 180,
		},
		"out of the OR it was a cesarean": {
			events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 50, "OR^1"), event("c", acuity.A02, 90, "PACU^1")}, want: "pp-csection", since: 90,
		},
		"out of the OR after a cerclage it was not": {
			events: []acuity.Event{with(event("a", acuity.A01, 0, "AP^1"), reason("cerclage")), event("b", acuity.A02, 50, "OR^1"), event("c", acuity.A02, 90, "PACU^1")},
			want:   "pp-immediate-recovery-vag", since: 90,
		},
		"time in the couplet changes nothing by an update": {
			events: []acuity.Event{
				with(event("a", acuity.A01, 0, "LD^1"), withCodes(acuity.DiagnosisSnapshot, "Z37.0")), event("b", acuity.A02, 150, "MBU^2"), event("c", acuity.A08, 900, "MBU^2"),
			},
			want: "pp-recovery-stable", since: 120,
		},
		"known before the admission": {
			events: []acuity.Event{with(event("a", acuity.A08, 0, ""), reason("IOL")), event("b", acuity.A01, 9, "LD^1")}, want: "labor-induction", since: 9,
		},
		"discharged": {events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, "")}, want: ""},
		"newborn, born when admitted": {
			events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), func(e *acuity.Event) { e.Newborn = true }), event("b", acuity.A02, 120, "NBN^1")},
			want:   "nb-stabilization", since: 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := Build(store(c.events), Options{SameRoom: testRooms})
			birth := acuity.Instant(0)
			if c.birth != 0 {
				birth = minute(c.birth)
			}
			got := s.Primary(asSent, birth, c.cesarean)
			if got.Factor.ID() != c.want || (c.want != "" && got.Since != minute(c.since)) {
				t.Errorf("got %s since %s by %s, want %s since %d", got.Factor.ID(), since(got.Since), got.AssignedBy, c.want, c.since)
			}
		})
	}
}

func TestPlacesFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"area nowhere: X":                         `unknown area "nowhere"`,
		"reason rupture: again":                   "listed twice",
		"what: is this":                           "unknown kind of line",
		"no line at all":                          "the colon is missing",
		"rule labor always":                       "a rule needs an area",
		"rule nowhere always labor-ia":            `unknown area "nowhere"`,
		"rule labor full-moon labor-ia":           `unknown condition "full-moon"`,
		"rule labor always high-mag":              `unknown primary factor "high-mag"`,
		"rule labor always labor-ia from moon":    `unknown clock "moon"`,
		"rule labor always labor-ia by the moon":  `unknown word "by"`,
		"rule labor always labor-ia assumed from": `unknown word "from"`,
	} {
		if _, err := parsePlaces(placesText + "\n" + fault + "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", fault, err, want)
		}
	}
}
