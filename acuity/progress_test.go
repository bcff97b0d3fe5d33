package acuity

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity/codes"
)

// saidOf draws a statement about a patient in labor, among them each kind with an effect
// on other sources.
func saidOf(t *rapid.T, now Instant) Signal {
	ago := func(most int) Instant {
		return now.Add(-time.Duration(rapid.IntRange(0, most).Draw(t, "ago")) * time.Minute)
	}
	fhr := func(code string) Signal {
		return Signal{Kind: KindObservation, System: codes.LOINC, Code: code, Value: codes.ParseValue(pick(t, "fhr", "Category I", "Category II", "Category II", "Category III", "?"))}
	}
	s := pick(t, "what",
		fhr("11949-4"), fhr("32421-5"), fhr("11949-4"),
		Signal{Kind: KindObservation, System: codes.LOINC, Code: "999-1", Display: "MEWS score", Value: codes.NumberValue(codes.Milli(rapid.IntRange(2, 6).Draw(t, "mews"))*1000, "")},
		Signal{Kind: KindObservation, System: codes.SystemLocal, Code: pick(t, "id", "mews-acknowledged", "env-interpreter", "labor-fhr-cat-ii", "labor-standard", "labor-multiple-gestation")},
		Signal{Kind: KindMedication, System: codes.RxNorm, Code: pick(t, "drug", "6585", "7824"), StartedAt: ago(300)},
		Signal{Kind: KindObservation, System: codes.RxNorm, Code: "6585"},
		Signal{Kind: KindObservation, System: codes.LOINC, Code: "39156-5", Value: codes.NumberValue(codes.Milli(rapid.IntRange(38, 42).Draw(t, "bmi"))*1000, "")},
		Signal{Kind: KindObservation, System: codes.LOINC, Code: "718-7", Display: "Hemoglobin"},
	)
	s.Room, s.ObservedAt = 1, pick(t, "observed", 0, 0, now, ago(90))
	s.Status = pick(t, "status", SignalActive, SignalActive, SignalActive, SignalActive, SignalEnded, SignalOnHold, SignalRetracted)
	return s
}

// Statements move the chart of a room on to the chart that is made anew.
func TestStatementsMoveTheChartOn(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		now := clockAt(0)
		unit, plain := NewUnit(testHospital), NewPlainUnit(testHospital)
		both := func(o Observation) {
			a, b := last(feed(unit, o)), last(feed(plain, o))
			if x, y := rendered(a), rendered(b); x != y {
				t.Fatalf("changes differ\n%s", difference(x, y))
			}
			if x, y := rendered(unit.Chart().Rooms), rendered(plain.Chart().Rooms); x != y {
				t.Fatalf("charts differ\n%s", difference(x, y))
			}
		}
		row := CensusRoom{ID: 1, Visit: "v", HasModifiers: true, Modifiers: pick(t, "listed", nil, []Factor{factor("mews-active")}, []Factor{factor("mews-acknowledged")})}
		both(listing(now.Add(-time.Hour), row))
		codes := pick(t, "diagnoses", nil, []Diagnosis{{System: codes.ICD10CM, Code: "O68"}}, []Diagnosis{{System: codes.ICD10CM, Code: "O15.1"}, {System: codes.ICD10CM, Code: "E66.01"}})
		both(arrival(now, Event{ID: "a", Type: A01, Visit: "v", Class: 'I', Place: ldr("L1"), DiagnosisMode: DiagnosisSnapshot, Diagnoses: codes}))
		for range rapid.IntRange(2, 14).Draw(t, "steps") {
			now = now.Add(time.Duration(pick(t, "wait", 1, 7, 20, 61, 250)) * time.Minute)
			o := spoken(now, 1, saidOf(t, now))
			if pick(t, "feed", false, false, false, true) {
				o.Channel, o.Signals[0].Visit = ChannelFHIR, "v"
			}
			both(o)
			if r := unit.registry.room(1); r.lone != nil && len(r.chart.Patients) == 1 {
				moved++
			}
		}
	})
	if moved == 0 {
		t.Error("no chart was moved on")
	}
}

// A drug and an observation with one local code say the same in the same words. The end
// of one removes no evidence of the other.
func TestTwoIdentitiesOfOneCode(t *testing.T) {
	said := func(kind SignalKind, status SignalStatus, at Instant) Signal {
		return Signal{Room: 1, Kind: kind, System: codes.SystemLocal, Code: "X1", Status: status, ObservedAt: at}
	}
	unit, plain := NewUnit(testHospital), NewPlainUnit(testHospital)
	for i, o := range []Observation{
		listing(clockAt(-60), CensusRoom{ID: 1, Visit: "v"}),
		{ReceivedAt: clockAt(-50), Channel: ChannelTerminology, Mappings: []Mapping{{ID: "m1", System: codes.SystemLocal, Code: "X1", Factor: factor("high-cardiac")}}},
		arrival(clockAt(0), Event{ID: "a", Type: A01, Visit: "v", Class: 'I', Place: ldr("L1")}),
		spoken(clockAt(10), 1, said(KindMedication, SignalActive, clockAt(5))),
		spoken(clockAt(11), 1, said(KindObservation, SignalActive, clockAt(5))),
		spoken(clockAt(20), 1, said(KindObservation, SignalEnded, clockAt(20))),
		spoken(clockAt(30), 1, said(KindMedication, SignalEnded, clockAt(30))),
	} {
		feed(unit, o)
		feed(plain, o)
		if x, y := rendered(unit.Chart().Rooms), rendered(plain.Chart().Rooms); x != y {
			t.Fatalf("after input %d charts differ\n%s", i, difference(x, y))
		}
		if on := unit.roomVerdict(1).has(factor("high-cardiac")); on != (i >= 3 && i < 6) {
			t.Errorf("after input %d: cardiac disease %v", i, on)
		}
	}
}

// Oxytocin that runs again after birth is no induction, even if the chart is moved on.
func TestOxytocinAgainAfterBirth(t *testing.T) {
	drug := func(status SignalStatus) Signal {
		return Signal{Room: 1, Kind: KindMedication, System: codes.RxNorm, Code: "7824", Display: "oxytocin", Status: status}
	}
	u := NewUnit(testHospital)
	feed(
		u, listing(clockAt(0), CensusRoom{ID: 1, Visit: "v", Primary: factor("pp-couplet")}),
		spoken(clockAt(10), 1, drug(SignalActive)), spoken(clockAt(20), 1, drug(SignalEnded)), spoken(clockAt(30), 1, drug(SignalActive)),
	)
	if rv := u.roomVerdict(1); rv.has(factor("labor-induction")) || !rv.has(factor("pp-couplet")) {
		t.Errorf("room 1 has %+v", rv.Factors)
	}
}

// If a statement cannot move the chart on, the chart is made anew, as if nothing had been
// cached.
func TestWhatOthersHaveASayIn(t *testing.T) {
	signal := func(system codes.System, code, value string, status SignalStatus, observed int) Signal {
		return Signal{Room: 1, Kind: KindObservation, System: system, Code: code, Value: codes.ParseValue(value), Status: status, ObservedAt: clockAt(observed)}
	}
	catII := func(status SignalStatus, observed int) Signal {
		return signal(codes.SystemLocal, "labor-fhr-cat-ii", "", status, observed)
	}
	catI := func(observed int) Signal { return signal(codes.LOINC, "11949-4", "Category I", SignalActive, observed) }
	condition := func(status SignalStatus, observed int) Signal {
		return Signal{Visit: "v", Kind: KindCondition, System: codes.ICD10CM, Code: "O15.1", Status: status, ObservedAt: clockAt(observed)}
	}
	for name, c := range map[string]struct {
		feed Channel
		said []Signal
	}{
		"a Category I is newer than what comes":    {ChannelClinical, []Signal{catII(SignalActive, 10), catII(SignalEnded, 20), catI(60), catII(SignalActive, 40)}},
		"a Category I has cleared what was before": {ChannelClinical, []Signal{catII(SignalActive, 10), catI(20), catII(SignalActive, 30)}},
		"a diagnosis says the same until it ends":  {ChannelFHIR, []Signal{condition(SignalActive, 0), condition(SignalEnded, 70)}},
		"a diagnosis says the same again":          {ChannelFHIR, []Signal{condition(SignalEnded, -10), condition(SignalActive, 0), condition(SignalEnded, 70)}},
	} {
		t.Run(name, func(t *testing.T) {
			unit, plain := NewUnit(testHospital), NewPlainUnit(testHospital)
			list := []Observation{
				listing(clockAt(-60), CensusRoom{ID: 1, Visit: "v"}),
				{ReceivedAt: clockAt(1), Channel: c.feed, Events: []Event{{ID: "a", Type: A01, At: clockAt(0), Visit: "v", Class: 'I', Place: ldr("L1"), DiagnosisMode: DiagnosisSnapshot, Diagnoses: []Diagnosis{{System: codes.ICD10CM, Code: "O15.1"}}}}},
			}
			for i, s := range c.said {
				o := spoken(clockAt(65+10*i), 1, s)
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
