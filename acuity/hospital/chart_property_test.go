package hospital

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// drawStatement draws a statement about a patient in labor, including every kind that affects other
// sources.
func drawStatement(t *rapid.T, now acuity.Instant) acuity.Signal {
	ago := func(most int) acuity.Instant {
		return now.Add(-time.Duration(rapid.IntRange(0, most).Draw(t, "ago")) * time.Minute)
	}
	fhr := func(code string) acuity.Signal {
		return acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: code, Value: codes.ParseValue(pick(t, "fhr", "Category I", "Category II", "Category II", "Category III", "?"))}
	}
	s := pick(t, "what",
		fhr("11949-4"), fhr("32421-5"), fhr("11949-4"),
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "999-1", Display: "MEWS score", Value: codes.NumberValue(codes.Milli(rapid.IntRange(2, 6).Draw(t, "mews"))*1000, "")},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: pick(t, "id", "mews-acknowledged", "env-interpreter", "labor-fhr-cat-ii", "labor-standard", "labor-multiple-gestation")},
		acuity.Signal{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: pick(t, "drug", "6585", "7824"), StartedAt: ago(300)},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.RxNorm, Code: "6585"},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "39156-5", Value: codes.NumberValue(codes.Milli(rapid.IntRange(38, 42).Draw(t, "bmi"))*1000, "")},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "718-7", Display: "Hemoglobin"},
	)
	s.Fetus = pick(t, "fetus", "", "", "A", "B")
	s.Room, s.ObservedAt = 1, pick(t, "observed", 0, 0, now, ago(90))
	s.Status = pick(t, "status", acuity.SignalActive, acuity.SignalActive, acuity.SignalActive, acuity.SignalActive, acuity.SignalEnded, acuity.SignalOnHold, acuity.SignalRetracted)
	return s
}

// After each statement, the cached chart equals one that is computed without a cache.
func TestChartAfterEachStatement(t *testing.T) {
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		now := clockAt(0)
		unit, plain := New(testHospital), NewPlain(testHospital)
		both := func(o acuity.Observation) {
			a, b := last(feed(unit, o)), last(feed(plain, o))
			if x, y := rendered(a), rendered(b); x != y {
				t.Fatalf("changes differ\n%s", difference(x, y))
			}
			if x, y := rendered(unit.Chart().Rooms), rendered(plain.Chart().Rooms); x != y {
				t.Fatalf("charts differ\n%s", difference(x, y))
			}
		}
		row := acuity.CensusRoom{ID: 1, Visit: "v", HasModifiers: true, Modifiers: pick(t, "listed", nil, []catalogue.Factor{factor("mews-active")}, []catalogue.Factor{factor("mews-acknowledged")})}
		both(listing(now.Add(-time.Hour), row))
		codes := pick(t, "diagnoses", nil, []acuity.Diagnosis{{System: codes.ICD10CM, Code: "O68"}}, []acuity.Diagnosis{{System: codes.ICD10CM, Code: "O15.1"}, {System: codes.ICD10CM, Code: "E66.01"}})
		both(arrival(now, acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1"), DiagnosisMode: acuity.DiagnosisSnapshot, Diagnoses: codes}))
		for range rapid.IntRange(2, 14).Draw(t, "steps") {
			now = now.Add(time.Duration(pick(t, "wait", 1, 7, 20, 61, 250)) * time.Minute)
			o := clinicalRequest(now, 1, drawStatement(t, now))
			if pick(t, "feed", false, false, false, true) {
				o.Channel, o.Signals[0].Visit = acuity.ChannelFHIR, "v"
			}
			both(o)
			if r := unit.registry.Room(1); len(r.Chart.Patients) == 1 && len(r.Chart.Patients[0].Evidence) > 0 {
				kept++
			}
		}
	})
	if kept == 0 {
		t.Error("no statement became evidence")
	}
}

// A drug and an observation with the same local code have the same meaning. Ending one of them does not remove the
// other's evidence.
func TestTwoIdentitiesOfOneCode(t *testing.T) {
	said := func(kind catalogue.SignalKind, status acuity.SignalStatus, at acuity.Instant) acuity.Signal {
		return acuity.Signal{Room: 1, Kind: kind, System: codes.SystemLocal, Code: "X1", Status: status, ObservedAt: at}
	}
	unit, plain := New(testHospital), NewPlain(testHospital)
	for i, o := range []acuity.Observation{
		listing(clockAt(-60), acuity.CensusRoom{ID: 1, Visit: "v"}),
		{ReceivedAt: clockAt(-50), Channel: acuity.ChannelTerminology, Mappings: []acuity.Mapping{{ID: "m1", System: codes.SystemLocal, Code: "X1", Factor: factor("high-cardiac")}}},
		arrival(clockAt(0), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")}),
		clinicalRequest(clockAt(10), 1, said(catalogue.KindMedication, acuity.SignalActive, clockAt(5))),
		clinicalRequest(clockAt(11), 1, said(catalogue.KindObservation, acuity.SignalActive, clockAt(5))),
		clinicalRequest(clockAt(20), 1, said(catalogue.KindObservation, acuity.SignalEnded, clockAt(20))),
		clinicalRequest(clockAt(30), 1, said(catalogue.KindMedication, acuity.SignalEnded, clockAt(30))),
	} {
		feed(unit, o)
		feed(plain, o)
		if x, y := rendered(unit.Chart().Rooms), rendered(plain.Chart().Rooms); x != y {
			t.Fatalf("after input %d charts differ\n%s", i, difference(x, y))
		}
		if on := unit.roomVerdict(1).Has(factor("high-cardiac")); on != (i >= 3 && i < 6) {
			t.Errorf("after input %d: cardiac disease %v", i, on)
		}
	}
}

// Oxytocin restarted after birth is not an induction.
func TestOxytocinAgainAfterBirth(t *testing.T) {
	drug := func(status acuity.SignalStatus) acuity.Signal {
		return acuity.Signal{Room: 1, Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "7824", Display: "oxytocin", Status: status}
	}
	u := New(testHospital)
	feed(
		u, listing(clockAt(0), acuity.CensusRoom{ID: 1, Visit: "v", Primary: factor("pp-couplet")}),
		clinicalRequest(clockAt(10), 1, drug(acuity.SignalActive)), clinicalRequest(clockAt(20), 1, drug(acuity.SignalEnded)), clinicalRequest(clockAt(30), 1, drug(acuity.SignalActive)),
	)
	if rv := u.roomVerdict(1); rv.Has(factor("labor-induction")) || !rv.Has(factor("pp-couplet")) {
		t.Errorf("room 1 has %+v", rv.Factors)
	}
}

// For a statement that other sources affect, the cached chart equals one that is computed without a
// cache.
func TestWhatOthersHaveASayIn(t *testing.T) {
	signal := func(system codes.System, code, value string, status acuity.SignalStatus, observed int) acuity.Signal {
		return acuity.Signal{Room: 1, Kind: catalogue.KindObservation, System: system, Code: code, Value: codes.ParseValue(value), Status: status, ObservedAt: clockAt(observed)}
	}
	catII := func(status acuity.SignalStatus, observed int) acuity.Signal {
		return signal(codes.SystemLocal, "labor-fhr-cat-ii", "", status, observed)
	}
	catI := func(observed int) acuity.Signal {
		return signal(codes.LOINC, "11949-4", "Category I", acuity.SignalActive, observed)
	}
	condition := func(status acuity.SignalStatus, observed int) acuity.Signal {
		return acuity.Signal{Visit: "v", Kind: catalogue.KindCondition, System: codes.ICD10CM, Code: "O15.1", Status: status, ObservedAt: clockAt(observed)}
	}
	for name, c := range map[string]struct {
		feed acuity.Channel
		said []acuity.Signal
	}{
		"a Category I is newer than what comes":    {acuity.ChannelClinical, []acuity.Signal{catII(acuity.SignalActive, 10), catII(acuity.SignalEnded, 20), catI(60), catII(acuity.SignalActive, 40)}},
		"a Category I has cleared what was before": {acuity.ChannelClinical, []acuity.Signal{catII(acuity.SignalActive, 10), catI(20), catII(acuity.SignalActive, 30)}},
		"a diagnosis says the same until it ends":  {acuity.ChannelFHIR, []acuity.Signal{condition(acuity.SignalActive, 0), condition(acuity.SignalEnded, 70)}},
		"a diagnosis says the same again":          {acuity.ChannelFHIR, []acuity.Signal{condition(acuity.SignalEnded, -10), condition(acuity.SignalActive, 0), condition(acuity.SignalEnded, 70)}},
	} {
		t.Run(name, func(t *testing.T) {
			unit, plain := New(testHospital), NewPlain(testHospital)
			list := []acuity.Observation{
				listing(clockAt(-60), acuity.CensusRoom{ID: 1, Visit: "v"}),
				{ReceivedAt: clockAt(1), Channel: c.feed, Events: []acuity.Event{{ID: "a", Type: acuity.A01, At: clockAt(0), Visit: "v", Class: 'I', Place: ldr("L1"), DiagnosisMode: acuity.DiagnosisSnapshot, Diagnoses: []acuity.Diagnosis{{System: codes.ICD10CM, Code: "O15.1"}}}}},
			}
			for i, s := range c.said {
				o := clinicalRequest(clockAt(65+10*i), 1, s)
				if o.Channel = c.feed; s.Visit != "" {
					o.Room = nil
				}
				list = append(list, o)
			}
			for i, o := range list {
				feed(unit, o)
				feed(plain, o)
				if x, y := rendered(unit.Chart().Rooms), rendered(plain.Chart().Rooms); x != y {
					t.Fatalf("after input %d charts differ\n%s", i, difference(x, y))
				}
			}
		})
	}
}
