package hospital_test

import (
	"fmt"
	"strings"
	"testing"

	"svc/acuity"
)

// The table lists the demand, class and staleness of the 38 primary factors over time
// (docs/decisions.md#primary-demand).
func TestDecisionsPrimaryFactors(t *testing.T) {
	for id, want := range map[string][]axisReading{
		"triage-initial":            {{0, "60 0"}, {19, "60 0"}, {20, "30 0"}, {359, "30 0"}, {360, "30 0 stale"}},
		"triage-medical-eval":       {{19, "60 1"}, {20, "30 1"}, {359, "30 1"}, {360, "30 1 stale"}},
		"labor-ripening":            {{0, "30 0"}, {1439, "30 0"}, {1440, "30 0 stale"}},
		"triage-rom":                {{0, "30 0"}, {1439, "30 0"}, {1440, "30 0 stale"}},
		"labor-active-lt4":          {{0, "30 0"}, {1439, "30 0"}, {1440, "30 0 stale"}},
		"labor-epidural":            {{0, "30 0"}, {1439, "30 0"}, {1440, "30 0 stale"}},
		"triage-induction-start":    {{0, "60 0"}, {2159, "60 0"}, {2160, "60 0 stale"}},
		"labor-standard":            {{0, "60 0"}, {2159, "60 0"}, {2160, "60 0 stale"}},
		"labor-ia":                  {{0, "60 0"}, {2159, "60 0"}, {2160, "60 0 stale"}},
		"labor-induction":           {{0, "60 0"}, {2159, "60 0"}, {2160, "60 0 stale"}},
		"csection-admit":            {{0, "60 0"}, {2159, "60 0"}, {2160, "60 0 stale"}},
		"triage-admit":              {{0, "30 0"}, {119, "30 0"}, {120, "30 0 boarder"}, {240, "30 0 stale boarder"}},
		"ap-nst":                    {{0, "30 0"}, {239, "30 0"}, {240, "30 0 stale"}},
		"ap-stable":                 {{0, "20 1"}, {5000, "20 1"}},
		"ap-unstable":               {{0, "60 3"}, {1439, "60 3"}, {1440, "60 3 stale"}},
		"pp-complications-unstable": {{0, "60 3"}, {1439, "60 3"}, {1440, "60 3 stale"}},
		"labor-complications":       {{0, "60 2"}, {5000, "60 2"}},
		"labor-vaginal-birth":       {{0, "120 1"}, {59, "120 1"}, {60, "60 1"}, {179, "60 1"}, {180, "30 1 stale"}, {419, "30 1 stale"}, {420, "20 1 stale"}},
		"csection-intraop":          {{0, "120 2"}, {179, "120 2"}, {180, "120 2 stale"}},
		"or-fetal-surgery":          {{0, "120 3"}, {359, "120 3"}, {360, "120 3 stale"}},
		"or-exit-procedure":         {{0, "120 3"}, {359, "120 3"}, {360, "120 3 stale"}},
		"or-cerclage-placement":     {{0, "60 1"}, {179, "60 1"}, {180, "60 1 stale"}},
		"or-cerclage-removal":       {{0, "60 1"}, {179, "60 1"}, {180, "60 1 stale"}},
		"or-d-and-c":                {{0, "60 1"}, {179, "60 1"}, {180, "60 1 stale"}},
		"or-fetal-transfusion":      {{0, "60 2"}, {239, "60 2"}, {240, "60 2 stale"}},
		"pp-csection":               {{0, "60 1"}, {119, "60 1"}, {120, "30 1"}, {359, "30 1"}, {360, "20 1"}},
		"pp-immediate-recovery-vag": {{0, "60 0"}, {119, "60 0"}, {120, "30 0"}, {359, "30 0"}, {360, "20 0"}},
		"pp-recovery-stable":        {{0, "30 0"}, {239, "30 0"}, {240, "20 0"}},
		"pp-couplet":                {{0, "20 0"}, {5000, "20 0"}},
		"pp-hold":                   {{0, "20 0"}, {5000, "20 0"}},
		"pp-complications-stable":   {{0, "20 1"}, {5000, "20 1"}},
		"non-ob-holding":            {{0, "15 0"}, {5000, "15 0"}},
	} {
		row := decision{say: []acuity.Observation{census(0, holds(4, id))}}
		for _, r := range want {
			row.read = append(row.read, axisReading{r.at, alone(id, r.want)})
		}
		decide(t, map[string]decision{id: row})
	}
}

// alone returns the expected reading of room 4 with a single factor. The text want contains the demand, the class and
// any marks, such as "30 0 stale".
func alone(id, want string) string {
	i := 0
	for want[i] != ' ' {
		i++
	}
	return "4 " + want[:i] + " " + id + "/" + want[i+1:]
}

// The table covers newborns alone, with a mother in labor, and in a couplet.
func TestDecisionsNewborns(t *testing.T) {
	couplet := " pp-couplet/0"
	decide(t, map[string]decision{
		"nb-stabilization in labor": {
			say: []acuity.Observation{census(0, holds(4, "labor-standard", "baby=nb-stabilization"))},
			read: []axisReading{
				{44, "4 120 nb-stabilization/1 labor-standard/0"},
				{45, "4 90 nb-stabilization/1 labor-standard/0"},
				{360, "4 90 nb-stabilization/1 labor-standard/0 stale"},
			},
		},
		"nb-stabilization with the mother in recovery": {
			say: []acuity.Observation{census(0, holds(4, "pp-immediate-recovery-vag", "baby=nb-stabilization"))},
			read: []axisReading{
				{44, "4 120 nb-stabilization/1 pp-immediate-recovery-vag/0"},
				{45, "4 60 nb-stabilization/1 pp-immediate-recovery-vag/0"},
				{120, "4 30 nb-stabilization/1 pp-immediate-recovery-vag/0"},
			},
		},
		"nb-continuing in a couplet": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "baby=nb-continuing"))},
			read: []axisReading{{0, "4 20" + couplet + " nb-continuing/0"}},
		},
		"nb-continuing beside pp-hold": {
			say:  []acuity.Observation{census(0, holds(4, "pp-hold", "baby=nb-continuing"))},
			read: []axisReading{{0, "4 20 pp-hold/0 nb-continuing/0"}},
		},
		"nb-continuing beside complications": {
			say:  []acuity.Observation{census(0, holds(4, "pp-complications-unstable", "baby=nb-continuing"))},
			read: []axisReading{{0, "4 60 pp-complications-unstable/3 nb-continuing/0"}},
		},
		"nb-continuing beside labor": {
			say:  []acuity.Observation{census(0, holds(4, "labor-standard", "baby=nb-continuing"))},
			read: []axisReading{{0, "4 80 labor-standard/0 nb-continuing/0"}},
		},
		"nb-intermediate": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "baby=nb-intermediate"))},
			read: []axisReading{{0, "4 50 nb-intermediate/1" + couplet}},
		},
		"nb-intensive": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "baby=nb-intensive"))},
			read: []axisReading{{0, "4 80 nb-intensive/2" + couplet}},
		},
		"nb-multisystem": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "baby=nb-multisystem"))},
			read: []axisReading{{0, "4 80 nb-multisystem/3" + couplet}},
		},
		"nb-critical": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "baby=nb-critical"))},
			read: []axisReading{{0, "4 80 nb-critical/4" + couplet}},
		},
		"a newborn alone is not taken for a mother": {
			say: []acuity.Observation{
				census(0, holds(4, "nb-intensive"), holds(5, "area=NICU"), holds(6, "visit=n", "nb-continuing"), holds(7, "area=L&D", "baby=nb-continuing")),
				message(1, acuity.A01, "NICU:9", "v=m"),
			},
			read: []axisReading{{1, "4 60 nb-intensive/2; 5 60 nb-intensive/2; 6 20 nb-continuing/0; 7 80 labor-standard/0 nb-continuing/0; " + own("NICU:9") + " 60 nb-intensive/2"}},
		},
		"two newborns with one factor": {
			say:  []acuity.Observation{census(0, holds(4, "labor-standard", "baby=nb-intermediate", "baby=nb-intermediate"))},
			read: []axisReading{{0, "4 120 nb-intermediate/1 labor-standard/0"}},
		},
		"since delivery": {
			say:  []acuity.Observation{census(30, holds(4, "labor-standard", "since=0", "born=0", "baby=nb-stabilization"))},
			read: []axisReading{{44, "4 120 nb-stabilization/1 labor-standard/0"}, {45, "4 90 nb-stabilization/1 labor-standard/0"}},
		},
		"nb-surgery without a newborn": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "nb-surgery"))},
			read: []axisReading{{59, "4 80 nb-surgery/1" + couplet}, {60, "4 20" + couplet}},
		},
		"nb-surgery is a floor of the track": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "nb-surgery", "baby=nb-intermediate"))},
			read: []axisReading{{59, "4 80 nb-surgery/1 nb-intermediate/1" + couplet}, {60, "4 50 nb-intermediate/1" + couplet}},
		},
		"baby nurse of a vaginal birth": {
			say: []acuity.Observation{census(0, holds(4, "labor-vaginal-birth", "baby=nb-stabilization"))},
			read: []axisReading{
				{44, "4 120 labor-vaginal-birth/1 nb-stabilization/1"},
				{45, "4 150 labor-vaginal-birth/1 nb-stabilization/1"},
				{60, "4 90 labor-vaginal-birth/1 nb-stabilization/1"},
			},
		},
		"nb-stabilization from a birth that is told later": {
			say: []acuity.Observation{
				census(0, holds(4, "labor-standard", "baby=nb-stabilization")), census(30, holds(4, "labor-standard", "born=20", "baby=nb-stabilization")),
			},
			read: []axisReading{{29, "4 120 nb-stabilization/1 labor-standard/0"}, {64, "4 120 nb-stabilization/1 labor-standard/0"}, {65, "4 90 nb-stabilization/1 labor-standard/0"}},
		},
		"from one that is corrected, by a row that says nothing of the newborn": {
			say: []acuity.Observation{
				census(0, holds(4, "labor-standard", "born=0", "baby=nb-stabilization")), census(10, holds(4, "labor-standard", "born=8")),
			},
			read: []axisReading{{45, "4 120 nb-stabilization/1 labor-standard/0"}, {52, "4 120 nb-stabilization/1 labor-standard/0"}, {53, "4 90 nb-stabilization/1 labor-standard/0"}},
		},
		"corrected to an earlier one": {
			say: []acuity.Observation{
				census(30, holds(4, "labor-standard", "born=30", "baby=nb-stabilization")), census(40, holds(4, "labor-standard", "born=0", "baby=nb-stabilization")),
			},
			read: []axisReading{{44, "4 120 nb-stabilization/1 labor-standard/0"}, {45, "4 90 nb-stabilization/1 labor-standard/0"}},
		},
		"another primary keeps its own clock": {
			say: []acuity.Observation{
				census(0, holds(4, "labor-standard", "baby=nb-intensive")), census(30, holds(4, "labor-standard", "born=20", "baby=nb-intensive")),
			},
			read: []axisReading{{40, "4 120 nb-intensive/2 labor-standard/0"}},
		},
		"O82 of a census row counts for the table of areas": {
			say:  []acuity.Observation{census(0, holds(4, "area=LDR", "class=I", "O82"), holds(5, "area=LDR", "class=I", "O82", "born=0"), holds(6, "area=LDR", "class=I", "O34.21"))},
			read: []axisReading{{1, "4 60 csection-admit/0; 5 60 pp-csection/1; 6 60 labor-standard/0"}},
		},
		"as in a message": {
			say: []acuity.Observation{message(0, acuity.A01, "LDR:A", "class=I", "O82")}, read: []axisReading{{1, own("LDR:A") + " 60 csection-admit/0"}},
		},
		"it tells how she delivered of whom ADT places": {
			say: []acuity.Observation{
				census(0, holds(4, "visit=v1", "label=A", "area=LDR", "O82")), message(1, acuity.A01, "LDR:A", "class=I"), message(5, acuity.A08, "Z37.0"),
			},
			read: []axisReading{{6, "4 60 pp-csection/1"}},
		},
		"of a newborn with a row of its own": {
			say: []acuity.Observation{
				message(0, acuity.A01, "v=mother", "#4", "class=I", "labor-standard"), message(0, acuity.A01, "v=baby", "mother=mother", "#5"),
				census(1, holds(4, "visit=mother", "labor-standard"), holds(5, "visit=baby", "nb-stabilization")),
				census(30, holds(4, "visit=mother", "born=20"), holds(5, "visit=baby", "nb-stabilization")),
			},
			read: []axisReading{{46, "4 60 labor-standard/0; 5 60 nb-stabilization/1"}, {64, "4 60 labor-standard/0; 5 60 nb-stabilization/1"}},
		},
		"only nb-stabilization is inside": {
			say:  []acuity.Observation{census(0, holds(4, "csection-intraop", "baby=nb-intensive"))},
			read: []axisReading{{0, "4 180 csection-intraop/2 nb-intensive/2"}},
		},
		"a floor of 2.0 has no baby nurse inside": {
			say:  []acuity.Observation{census(0, holds(4, "labor-standard", "high-fetal-parts-visible", "baby=nb-stabilization"))},
			read: []axisReading{{0, "4 180 high-fetal-parts-visible/3 nb-stabilization/1 labor-standard/0"}},
		},
		"twins at a cesarean": {
			say:  []acuity.Observation{census(0, holds(4, "csection-intraop", "O30.0", "baby=nb-stabilization", "baby=nb-stabilization"))},
			read: []axisReading{{44, "4 180 csection-intraop/2 labor-multiple-gestation/2 nb-stabilization/1"}},
		},
		"cap of four nurses": {
			say:  []acuity.Observation{census(0, holds(4, "csection-intraop", "O30.2", "baby=nb-intensive", "baby=nb-intensive"))},
			read: []axisReading{{0, "4 240 csection-intraop/2 nb-intensive/2 labor-multiple-gestation/2"}},
		},
	})
}

// The table lists the floors, fractions, classes and windows of the 42 modifiers (docs/decisions.md#modifier-demand),
// in a room with the row's primary factor.
func TestDecisionsModifiers(t *testing.T) {
	type context struct{ primary, demand, class string }
	antepartum := context{"ap-stable", "20", "1"}
	labor := context{"labor-epidural", "30", "0"}
	triage := context{"triage-rom", "30", "0"}
	cesarean := context{"pp-couplet", "20", "0"}
	for name, row := range map[string]struct {
		in   context
		id   string
		read []axisReading // demand and class; empty if the factor is inactive
	}{
		"mag":                                 {antepartum, "high-mag", []axisReading{{0, "60 3"}, {59, "60 3"}, {60, "30 3"}, {2879, "30 3"}, {2880, "30 3 stale"}}},
		"eclampsia":                           {antepartum, "high-eclampsia", []axisReading{{0, "60 4"}, {1439, "60 4"}, {1440, "60 3"}}},
		"pre-eclampsia":                       {antepartum, "high-preeclampsia", []axisReading{{0, "30 2"}, {9000, "30 2"}}},
		"hemorrhage":                          {antepartum, "high-hemorrhage", []axisReading{{0, "120 4"}, {59, "120 4"}, {60, "60 3"}, {239, "60 3"}, {240, "30 2"}, {1439, "30 2"}, {1440, "20 1"}, {9000, "20 1"}}},
		"postpartum hemorrhage":               {cesarean, "pp-hemorrhage", []axisReading{{0, "120 4"}, {59, "120 4"}, {60, "60 3"}, {240, "30 2"}, {1440, "20 1"}}},
		"critical infusion":                   {antepartum, "high-critical-med-infusion", []axisReading{{0, "60 4"}, {719, "60 4"}, {720, "60 4 stale"}}},
		"category III":                        {labor, "labor-fhr-cat-iii", []axisReading{{0, "120 4"}, {59, "120 4"}}},
		"category II":                         {labor, "labor-fhr-cat-ii", []axisReading{{0, "60 2"}, {239, "60 2"}, {240, ""}}},
		"prolapsed cord":                      {labor, "high-prolapsed-cord", []axisReading{{0, "120 4"}, {119, "120 4"}, {120, ""}}},
		"fetal parts":                         {labor, "high-fetal-parts-visible", []axisReading{{0, "120 3"}, {59, "120 3"}, {60, ""}}},
		"birth imminent":                      {labor, "birth-imminent", []axisReading{{0, "120 2"}, {74, "120 2"}, {75, "60 2"}, {149, "60 2"}, {150, ""}}},
		"pushing":                             {labor, "labor-active-pushing", []axisReading{{0, "60 2"}, {239, "60 2"}, {240, ""}}},
		"epidural initiation":                 {labor, "labor-epidural-init", []axisReading{{0, "60 2"}, {29, "60 2"}, {30, ""}}},
		"trial of labor":                      {labor, "labor-tolac", []axisReading{{0, "60 2"}, {9000 - 8000, "60 2"}}},
		"multiples in labor":                  {labor, "labor-multiple-gestation", []axisReading{{0, "60 2"}}},
		"multiples before":                    {antepartum, "labor-multiple-gestation", []axisReading{{0, "20 2"}}},
		"nitrous oxide":                       {antepartum, "labor-nitrous-oxide", []axisReading{{0, "30 1"}, {119, "30 1"}, {120, ""}}},
		"MEWS":                                {antepartum, "mews-active", []axisReading{{0, "60 3"}, {239, "60 3"}, {240, ""}}},
		"MEWS acknowledged":                   {antepartum, "mews-acknowledged", []axisReading{{0, "30 2"}, {239, "30 2"}, {240, ""}}},
		"trauma":                              {antepartum, "high-recent-trauma", []axisReading{{0, "60 3"}, {239, "60 3"}, {240, "30 2"}, {1439, "30 2"}, {1440, ""}}},
		"vaginal bleeding":                    {antepartum, "high-vag-bleeding", []axisReading{{0, "60 3"}, {239, "60 3"}, {240, ""}}},
		"cardiac":                             {antepartum, "high-cardiac", []axisReading{{0, "30 3"}, {9000, "30 3"}}},
		"cardiac in labor":                    {labor, "high-cardiac", []axisReading{{0, "60 3"}}},
		"cardiac after a cesarean":            {context{"pp-couplet", "20", "0"}, "high-cardiac", []axisReading{{0, "30 3"}}},
		"pulmonary":                           {antepartum, "high-pulmonary", []axisReading{{0, "30 2"}, {9000, "30 2"}}},
		"oxygen":                              {antepartum, "high-oxygen-therapy", []axisReading{{0, "30 2"}, {239, "30 2"}, {240, ""}}},
		"diabetes":                            {antepartum, "high-diabetes-poorly-controlled", []axisReading{{0, "29 2"}}},
		"previa":                              {antepartum, "high-placenta-previa", []axisReading{{0, "30 2"}, {9000, "30 2"}}},
		"rule out preterm labor":              {antepartum, "triage-rule-out-ptl", []axisReading{{0, "30 2"}, {359, "30 2"}, {360, ""}}},
		"rule out rupture":                    {antepartum, "triage-rule-out-pprom", []axisReading{{0, "30 2"}, {359, "30 2"}, {360, ""}}},
		"anomaly":                             {antepartum, "high-fetal-anomaly", []axisReading{{0, "20 2"}}},
		"anomaly in labor":                    {labor, "high-fetal-anomaly", []axisReading{{0, "60 2"}}},
		"demise":                              {antepartum, "high-iufd", []axisReading{{0, "30 2"}}},
		"demise in labor":                     {labor, "high-iufd", []axisReading{{0, "60 2"}}},
		"bereavement":                         {antepartum, "high-bereavement", []axisReading{{0, "30 1"}}},
		"fetal movement":                      {antepartum, "high-decreased-fetal-movement", []axisReading{{0, "30 1"}, {239, "30 1"}, {240, ""}}},
		"obesity":                             {antepartum, "high-obesity-bmi40", []axisReading{{0, "26 1"}}},
		"substance use":                       {antepartum, "high-substance-abuse-hx", []axisReading{{0, "26 1"}}},
		"mental health":                       {antepartum, "high-mental-health-hx", []axisReading{{0, "26 1"}}},
		"GBS in triage":                       {triage, "high-gbs-positive", []axisReading{{0, "33 1"}}},
		"GBS in labor":                        {labor, "high-gbs-positive", []axisReading{{0, "33 1"}}},
		"GBS before":                          {antepartum, "high-gbs-positive", []axisReading{{0, "20 1"}}},
		"GBS ripening counts as triage":       {context{"labor-ripening", "30", "0"}, "high-gbs-positive", []axisReading{{0, "33 1"}}},
		"day of cesarean":                     {cesarean, "pp-csection-day", []axisReading{{0, "30 1"}, {1439, "30 1"}, {1440, ""}}},
		"day of cesarean elsewhere":           {antepartum, "pp-csection-day", []axisReading{{0, "20 1"}}},
		"day of cesarean, recovering from it": {context{"pp-csection", "20", "1"}, "pp-csection-day", []axisReading{{400, "30 1"}}},
		"telemetry":                           {antepartum, "nb-telemetry", []axisReading{{0, "23 0"}}},
		"labor support":                       {antepartum, "env-labor-support", []axisReading{{0, "35 0"}}},
		"interpreter":                         {antepartum, "env-interpreter", []axisReading{{0, "26 0"}}},
		"equity":                              {antepartum, "env-equity-risk", []axisReading{{0, "23 0"}}},
		"burnout":                             {antepartum, "pp-burnout-risk", []axisReading{{0, "20 0"}, {719, "20 0"}, {720, ""}}},
	} {
		d := decision{say: []acuity.Observation{census(0, holds(4, row.in.primary, row.id))}}
		for _, r := range row.read {
			if r.want == "" {
				d.read = append(d.read, axisReading{r.at, "4 " + row.in.demand + " " + row.in.primary + "/" + row.in.class})
				continue
			}
			var demand, class, mark string
			if n, err := scan(r.want, &demand, &class, &mark); n < 2 && err != nil {
				t.Fatal(err)
			}
			m, p := row.id+"/"+class, row.in.primary+"/"+row.in.class
			first, second := m, p
			own := map[bool]string{true: demand, false: "0"}[demand != row.in.demand]
			if class < row.in.class || class == row.in.class && (isAdd[row.id] || less(own, row.in.demand)) {
				first, second = p, m
			}
			if mark != "" {
				second += " " + mark
			}
			d.read = append(d.read, axisReading{r.at, "4 " + demand + " " + first + " " + second})
		}
		decide(t, map[string]decision{"" + name: d})
	}
}

// isAdd contains the modifiers that only add a fraction.
var isAdd = map[string]bool{
	"high-obesity-bmi40": true, "high-substance-abuse-hx": true, "high-mental-health-hx": true, "high-gbs-positive": true,
	"nb-telemetry": true, "env-labor-support": true, "env-interpreter": true, "env-equity-risk": true,
}

func scan(text string, into ...*string) (int, error) {
	n := 0
	for i, w := range strings.Fields(text) {
		*into[i] = w
		n++
	}
	if n < 2 {
		return n, fmt.Errorf("%q", text)
	}
	return n, nil
}

func less(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }
