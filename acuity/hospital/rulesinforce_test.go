package hospital

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/facts"
)

// A rule changes a room's demand at once, and so does removing the rule. The verdict lists the rules in effect.
func TestRuleInForce(t *testing.T) {
	u := New(testHospital)
	at := day
	do := func(o acuity.Observation) acuity.Change {
		at = at.Add(1000)
		o.Hospital, o.ReceivedAt, o.Source = testHospital, at, "key_1"
		return u.Apply(&o, 0)
	}
	do(acuity.Observation{Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: 4}, Signals: []acuity.Signal{{Room: 4, Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585", StartedAt: at}}})
	demand := func() catalogue.Demand { return u.roomVerdict(4).Demand }
	if demand() != catalogue.Nurse {
		t.Fatalf("demand %d by the catalogue", demand())
	}
	rule := catalogue.Rule{Factor: factor("high-mag"), Lines: []catalogue.RuleLine{{Name: "floor", Text: "2"}}}
	c := do(acuity.Observation{Channel: acuity.ChannelRules, Rules: []catalogue.Rule{rule}})
	if demand() != 2*catalogue.Nurse || u.scoring.verdict.Rules == catalogue.Default().Version() || c.Outcome != acuity.Applied {
		t.Errorf("demand %d, rules %s, outcome %d with the rule", demand(), u.scoring.verdict.Rules, c.Outcome)
	}
	if s, ok := u.settings.Rows[facts.SettingKey{Kind: "rule", ID: rule.Factor.ID()}].(*facts.RuleState); !ok || s.Version != c.Version || s.By != "key_1" || s.At != at {
		t.Errorf("the rule does not say by whom and when: %+v", s)
	}
	if c = do(acuity.Observation{Channel: acuity.ChannelRules, Rules: []catalogue.Rule{rule}}); u.settings.Rows[facts.SettingKey{Kind: "rule", ID: rule.Factor.ID()}].RowVersion() == c.Version {
		t.Error("the same rule again is another version")
	}
	if c = do(acuity.Observation{Channel: acuity.ChannelRules, Rules: []catalogue.Rule{rule}, Act: &acuity.Act{Expect: 77}}); c.Reason != facts.ReasonPrecondition {
		t.Errorf("another version was expected, and the reason is %q", c.Reason)
	}
	rule.Delete = true
	do(acuity.Observation{Channel: acuity.ChannelRules, Rules: []catalogue.Rule{rule}})
	if demand() != catalogue.Nurse || u.scoring.verdict.Rules != catalogue.Default().Version() {
		t.Errorf("demand %d, rules %s without the rule", demand(), u.scoring.verdict.Rules)
	}
	if c = do(acuity.Observation{Channel: acuity.ChannelRules, Rules: []catalogue.Rule{rule}}); c.Reason != facts.ReasonNotThere {
		t.Errorf("taken away twice: reason %q", c.Reason)
	}
}
