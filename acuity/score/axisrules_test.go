package score

import (
	"os"
	"slices"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"

	"pgregory.net/rapid"
)

// someNumbers draws the numbers of a small unit.
var someNumbers = rapid.Custom(func(t *rapid.T) axisInput {
	some := func(name string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, name) }
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	return axisInput{
		roomCounts: roomCounts{
			required: catalogue.Demand(some("required", 900)), single: catalogue.Demand(some("single", 900)), score: some("score", 900),
			stat: some("stat", 4), occupied: some("occupied", 3), busy: some("busy", 10), blocked: some("blocked", 2),
			boarders: some("boarders", 4), doubles: some("doubles", 1), births: some("births", 2), fatigue: some("fatigue", 1),
		},
		rooms: some("rooms", 10), moves: some("moves", 9), census: yes("census"), staffed: yes("staffed"), nurses: some("nurses", 9),
		call: yes("call"), unplaced: some("unplaced", 1), skillKnown: yes("skillSeen"),
		skill: skill{
			novices: some("novices", 4), nurses: some("rostered", 9), rated: some("rated", 2), experts: some("experts", 1),
			alone: yes("alone"), load: some("load", 2*loadUnit),
		},
	}
})

// The rule of an axis is always one that the axis names. Each can be reached, and the
// page for nurses explains it.
func TestRulesOfAxes(t *testing.T) {
	page, err := os.ReadFile("../../docs/scoring.md")
	if err != nil {
		t.Fatal(err)
	}
	reached := [acuity.AxisCount]map[string]bool{}
	for seed := range 3000 {
		of := someNumbers.Example(seed)
		var readings [acuity.AxisCount]axisReading
		of.readAxes(&readings)
		for a := range acuity.Axis(acuity.AxisCount) {
			rule := readings[a].rule
			if !slices.Contains(ListRules(a), rule) {
				t.Fatalf("%s says %q, which is none of %v", a, rule, ListRules(a))
			}
			if reached[a] == nil {
				reached[a] = map[string]bool{}
			}
			reached[a][rule] = true
		}
	}
	for a := range acuity.Axis(acuity.AxisCount) {
		for _, rule := range ListRules(a) {
			switch {
			case !reached[a][rule] && (rule != ruleUnknown || a != acuity.AxisCritical && a != acuity.AxisFlow): // these two are always known
				t.Errorf("%s never says %q", a, rule)
			case !strings.Contains(string(page), "`"+rule+"`"):
				t.Errorf("docs/scoring.md does not name %q of %s", rule, a)
			}
		}
	}
}
