package simulate_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/facts"
	"svc/acuity/score"
	"svc/internal/analysis/simulate"
)

// adt is the part of an ADT body that the tests read.
type adt struct {
	EventID, EventType, VisitID, MotherVisitID, PatientClass, PrimaryFactor string
	OccurredAt                                                              time.Time
	RoomID                                                                  int32
	Diagnoses                                                               []struct{ Code string }
}

// The births, cesareans, stays and codes of a simulated year resemble those of a real unit.
func TestUnitIsBelievable(t *testing.T) {
	o := simulate.Options{Seed: 1, Profile: "small", Start: start, For: 52 * 7 * 24 * time.Hour}
	born := map[string]time.Time{}
	cesarean := map[string]bool{}
	came, went := map[string]time.Time{}, map[string]time.Time{}
	factors, codes := map[string]int{}, map[string]int{}
	outages := 0
	last := start
	run(t, o, func(r simulate.Request) {
		if r.At.Sub(last) > 4*time.Hour+time.Minute {
			outages++
		}
		last = r.At
		switch r.Path {
		case "/api/ingest/adt":
			var e adt
			if err := json.Unmarshal(r.Body, &e); err != nil {
				t.Fatal(err)
			}
			if e.MotherVisitID != "" {
				return
			}
			factors[e.PrimaryFactor]++
			for _, d := range e.Diagnoses {
				codes[d.Code]++
				if strings.HasPrefix(d.Code, "Z37") && born[e.VisitID].IsZero() {
					born[e.VisitID] = e.OccurredAt
				}
				cesarean[e.VisitID] = cesarean[e.VisitID] || d.Code == "O82"
			}
			switch e.EventType {
			case "A01", "A04":
				if came[e.VisitID].IsZero() {
					came[e.VisitID] = e.OccurredAt
				}
			case "A03":
				went[e.VisitID] = e.OccurredAt
			}
		case "/api/ingest/clinical":
			var c struct{ Signals []struct{ Code string } }
			if err := json.Unmarshal(r.Body, &c); err != nil {
				t.Fatal(err)
			}
			for _, s := range c.Signals {
				codes[s.Code]++
			}
		}
	})
	between := func(what string, got, low, high float64) {
		t.Helper()
		if got < low || got > high {
			t.Errorf("%s: %.3g, want %v to %v", what, got, low, high)
		}
	}
	// From week 30 on, the change of regime increases births by 15%.
	between("births", float64(len(born)), 850, 1080)
	sections, stays, n := 0, [2]float64{}, [2]float64{}
	for visit, at := range born {
		i := 0
		if cesarean[visit] {
			sections++
			i = 1
		}
		if out := went[visit]; !out.IsZero() {
			stays[i] += out.Sub(at).Hours()
			n[i]++
		}
	}
	between("share of cesareans", float64(sections)/float64(len(born)), .27, .37)
	between("hours after a vaginal birth", stays[0]/n[0], 30, 50)
	between("hours after a cesarean", stays[1]/n[1], 55, 85)
	between("visits for each birth", float64(len(came))/float64(len(born)), 2, 3)
	between("outages", float64(outages), 4, 4)
	for _, f := range []string{
		"triage-admit", "triage-medical-eval", "triage-rom", "ap-nst", "ap-stable", "ap-unstable", "labor-ripening", "labor-induction",
		"labor-active-lt4", "labor-standard", "labor-epidural", "labor-vaginal-birth", "csection-admit", "pp-immediate-recovery-vag",
		"pp-complications-stable", "pp-complications-unstable", "pp-hold", "or-d-and-c", "or-cerclage-placement", "non-ob-holding",
	} {
		if factors[f] == 0 {
			t.Errorf("nobody is ever %s", f)
		}
	}
	for f := range maps.Keys(factors) {
		if known, ok := catalogue.FactorByID(f); f != "" && (!ok || !known.IsPrimary()) {
			t.Errorf("%q is no primary", f)
		}
	}
	for _, code := range []string{
		"6585", "7824", "5856", "6185", "1815", "7486", "32421-5", "92244-7", "88277-2", "39156-5", "SECOND_STAGE", "FETAL_MOVEMENT_DECREASED",
		"mews-acknowledged", "labor-epidural-init", "O14.13", "O24.410", "O30.043", "O72.1", "O66.41", "Z37.0", "O82",
	} {
		if codes[code] == 0 {
			t.Errorf("code %s never comes", code)
		}
	}
}

// A simulated unit shows every feature of svc: emergencies, boarders, all four levels, and codes for the worklist.
func TestUnitShowsWhatTheServiceHas(t *testing.T) {
	levels, axes := map[acuity.Level]int{}, map[acuity.Axis]int{}
	active := map[string]bool{}
	boarders := 0
	end := start.Add(21 * 24 * time.Hour)
	hours := 0
	u := fold(t, simulate.Options{Seed: 2, Profile: "medium", Start: start, For: end.Sub(start)}, func(v *score.Verdict) {
		hours++
		levels[v.Level]++
		axes[v.Driving]++
		for i := range v.Rooms {
			if v.Rooms[i].Boarder {
				boarders++
			}
			for _, f := range v.Rooms[i].Factors {
				active[f.Factor.ID()] = true
			}
		}
	})
	waiting := 0
	u.Records(func(_ []byte, s facts.Record) {
		if _, is := s.(*facts.CodeState); is {
			waiting++
		}
	})
	if waiting < 5 {
		t.Errorf("%d codes in the worklist", waiting)
	}
	for l := acuity.LevelGreen; l <= acuity.LevelRed; l++ {
		if levels[l]*25 < hours {
			t.Errorf("level %d in %d of %d hours", l, levels[l], hours)
		}
	}
	if len(axes) < 5 || boarders == 0 {
		t.Errorf("driving axes %v, %d hours of boarders", axes, boarders)
	}
	for _, f := range []string{
		"high-mag", "high-preeclampsia", "high-hemorrhage", "pp-hemorrhage", "mews-active", "mews-acknowledged", "labor-fhr-cat-ii", "labor-fhr-cat-iii",
		"labor-active-pushing", "labor-epidural-init", "high-obesity-bmi40", "high-gbs-positive", "labor-tolac", "high-decreased-fetal-movement",
		"labor-multiple-gestation", "env-interpreter", "pp-csection-day", "nb-stabilization", "high-cardiac", "high-pulmonary",
	} {
		if !active[f] {
			t.Errorf("%s is never active; %d others are: %v", f, len(active), slices.Sorted(maps.Keys(active)))
		}
	}
}
