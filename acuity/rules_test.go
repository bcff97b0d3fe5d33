package acuity

import (
	"slices"
	"strings"
	"testing"

	"svc/acuity/codes"
)

func TestFaultsOfRules(t *testing.T) {
	for name, c := range map[string]struct {
		factor string
		lines  []RuleLine
		want   string // line:rule, joined
	}{
		"floor and class":                    {"high-mag", []RuleLine{{"floor", "1 until 90m, 1/2"}, {"class", "2"}}, ""},
		"a line is taken away":               {"high-gbs-positive", []RuleLine{{"add", ""}}, ""},
		"of a variant":                       {"high-preeclampsia", []RuleLine{{"severe.floor", "1 in Labor; 1/2"}}, ""},
		"window from the last word":          {"mews-active", []RuleLine{{"window", "60m from last"}}, ""},
		"demand of a primary":                {"labor-standard", []RuleLine{{"demand", "1/2"}}, ""},
		"nothing":                            {"high-mag", nil, ":minItems:1"},
		"no factor":                          {"", []RuleLine{{"floor", "1"}}, ":factor"},
		"what codes switch it on":            {"high-mag", []RuleLine{{"route", "medication RxNorm 1"}}, "route:enum"},
		"not a number":                       {"high-mag", []RuleLine{{"floor", "lots"}}, "floor:catalogue"},
		"a comment":                          {"high-mag", []RuleLine{{"floor", "1 # ours"}}, "floor:catalogue"},
		"steps that fall":                    {"high-mag", []RuleLine{{"floor", "1 until 60m, 2 until 30m, 1"}}, "floor:catalogue"},
		"demand of a modifier":               {"high-mag", []RuleLine{{"demand", "1"}}, "demand:catalogue"},
		"no such variant":                    {"high-mag", []RuleLine{{"worse.floor", "1"}}, "worse.floor:catalogue"},
		"twice":                              {"high-mag", []RuleLine{{"floor", "1"}, {"floor", "1"}}, "floor:unique"},
		"a primary that asks for nothing":    {"labor-standard", []RuleLine{{"demand", ""}}, ":consistent"},
		"no class":                           {"high-mag", []RuleLine{{"class", ""}}, ":consistent"},
		"STAT with less than one nurse (64)": {"labor-fhr-cat-iii", []RuleLine{{"floor", "1/2"}}, ":class4NeedsOneNurse"},
		"too long":                           {"high-mag", []RuleLine{{"floor", strings.Repeat("1", 201)}}, "floor:maxLength:200"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Rule{Factor: factor(c.factor), Lines: c.lines}
			var got []string
			for _, f := range r.Faults() {
				rule, _, _ := strings.Cut(f.Rule, ":demand|")
				got = append(got, f.Line+":"+rule)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("faults %q, want %q", text, c.want)
			}
		})
	}
}

// A rule equal to the catalogue changes only the version.
func TestOwnLinesChangeNothing(t *testing.T) {
	c := Default()
	for f := Factor(1); int(f) <= c.Len(); f++ {
		r := Rule{Factor: f, Lines: c.Lines(f)}
		if faults := r.Faults(); faults != nil {
			t.Errorf("%s: %v", f.ID(), faults)
			continue
		}
		with := c.With([]Rule{r})
		if got, want := rendered(effectsOf(with, f)), rendered(effectsOf(c, f)); got != want {
			t.Errorf("%s\n%s", f.ID(), difference(got, want))
		}
		if with.Version() == c.Version() || !strings.HasPrefix(with.Version(), c.Version()+"+") {
			t.Errorf("%s: version %q does not say that there are rules", f.ID(), with.Version())
		}
		if again := c.With([]Rule{r}); again != with {
			t.Errorf("%s: equal rules make another catalogue", f.ID())
		}
	}
}

func effectsOf(c *Catalogue, f Factor) []string {
	var all []string
	for v := range c.effects[f] {
		e := c.effects[f][v]
		all = append(all, rendered([]any{
			e.need, e.needIn, len(e.floors), e.track, e.withMother, e.trackFloor, e.add, e.addIn, e.addUntilBirth, e.window, e.fromLast,
			e.exceptDiagnosis, e.endsBirth, e.stale, e.silent, e.becomes, e.perBaby, e.boarder, e.twin,
		}))
	}
	return all
}

// The demand of a room follows a rule at once, and is back without it. The verdict names
// its rules.
func TestRuleInForce(t *testing.T) {
	u := NewUnit(testHospital)
	at := day
	do := func(o Observation) Change {
		at = at.Add(1000)
		o.Hospital, o.ReceivedAt, o.Source = testHospital, at, "key_1"
		return u.Apply(&o, 0)
	}
	do(Observation{Channel: ChannelClinical, Room: &RoomRef{ID: 4}, Signals: []Signal{{Room: 4, Kind: KindMedication, System: codes.RxNorm, Code: "6585", StartedAt: at}}})
	demand := func() Demand { return u.roomVerdict(4).Demand }
	if demand() != Nurse {
		t.Fatalf("demand %d by the catalogue", demand())
	}
	rule := Rule{Factor: factor("high-mag"), Lines: []RuleLine{{"floor", "2"}}}
	c := do(Observation{Channel: ChannelRules, Rules: []Rule{rule}})
	if demand() != 2*Nurse || u.scoring.verdict.Rules == Default().Version() || c.Outcome != Applied {
		t.Errorf("demand %d, rules %s, outcome %d with the rule", demand(), u.scoring.verdict.Rules, c.Outcome)
	}
	if s := u.settings.rules[rule.Factor]; s.Version != c.Version || s.By != "key_1" || s.At != at {
		t.Errorf("the rule does not say by whom and when: %+v", s)
	}
	if c = do(Observation{Channel: ChannelRules, Rules: []Rule{rule}}); u.settings.rules[rule.Factor].Version == c.Version {
		t.Error("the same rule again is another version")
	}
	if c = do(Observation{Channel: ChannelRules, Rules: []Rule{rule}, Act: &Act{Expect: 77}}); c.Reason != ReasonPrecondition {
		t.Errorf("another version was expected, and the reason is %q", c.Reason)
	}
	rule.Delete = true
	do(Observation{Channel: ChannelRules, Rules: []Rule{rule}})
	if demand() != Nurse || u.scoring.verdict.Rules != Default().Version() {
		t.Errorf("demand %d, rules %s without the rule", demand(), u.scoring.verdict.Rules)
	}
	if c = do(Observation{Channel: ChannelRules, Rules: []Rule{rule}}); c.Reason != ReasonNotThere {
		t.Errorf("taken away twice: reason %q", c.Reason)
	}
}

func TestLinesAreThoseOfTheCatalogue(t *testing.T) {
	lines := Default().Lines(factor("high-mag"))
	if !slices.ContainsFunc(lines, func(l RuleLine) bool { return l.Name == "floor" }) || slices.ContainsFunc(lines, func(l RuleLine) bool { return l.Name == "route" || l.Name == "label" }) {
		t.Errorf("lines %v", lines)
	}
	if Default().Lines(0) != nil {
		t.Error("no factor has lines")
	}
}
