package catalogue

import (
	"slices"
	"strings"
	"testing"
)

func TestFaultsOfRules(t *testing.T) {
	for name, c := range map[string]struct {
		factor string
		lines  []RuleLine
		want   string // expected faults, each in the form line:rule, joined into one string
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

// A rule that repeats the catalogue's lines for a factor changes only the version.
func TestOwnLinesChangeNothing(t *testing.T) {
	c := Default()
	for f := Factor(1); int(f) <= c.Len(); f++ {
		r := Rule{Factor: f, Lines: c.Lines(f)}
		if faults := r.Faults(); faults != nil {
			t.Errorf("%s: %v", f.ID(), faults)
			continue
		}
		with := c.With([]Rule{r})
		if got, want := rendered(listRequirements(with, f)), rendered(listRequirements(c, f)); got != want {
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

func listRequirements(c *Catalogue, f Factor) []string {
	var all []string
	for v := range c.Spec(f).Variants {
		e := c.Requirement(f, uint8(v))
		all = append(all, rendered([]any{
			e.Need, e.needIn, len(e.floors), e.track, e.withMother, e.trackFloor, e.add, e.addIn, e.addUntilBirth, e.window, e.fromLast,
			e.exceptDiagnosis, e.endsBirth, e.birthOfFetus, e.stale, e.Silent, e.Becomes, e.PerBaby, e.Boarder, e.Twin,
		}))
	}
	return all
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
