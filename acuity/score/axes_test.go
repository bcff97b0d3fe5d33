package score

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// someNumbers draws the inputs for the axes of a small unit.
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

// An axis's rule is always one that ListRules lists. Each rule can be reached, and docs/scoring.md explains each.
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
			case !reached[a][rule] && (rule != ruleUnknown || a != acuity.AxisCritical && a != acuity.AxisFlow): // these two axes are always known
				t.Errorf("%s never says %q", a, rule)
			case !strings.Contains(string(page), "`"+rule+"`"):
				t.Errorf("docs/scoring.md does not name %q of %s", rule, a)
			}
		}
	}
}

// The detail lines of the axes use singular and plural correctly.
func TestDetails(t *testing.T) {
	none, one, many := &axisInput{staffed: true}, &axisInput{staffed: true}, &axisInput{staffed: true}
	one.required, one.nurses, one.single, one.stat = catalogue.Nurse, 1, catalogue.Nurse, 1
	one.busy, one.rooms, one.score, one.moves, one.boarders = 1, 1, 1, 1, 1
	one.skill.novices, one.skill.experts, one.skill.nurses, one.skill.load = 1, 1, 1, loadUnit
	many.required, many.nurses, many.single, many.stat = 5*catalogue.Nurse/2, 3, 2*catalogue.Nurse, 2
	many.busy, many.rooms, many.score, many.moves, many.boarders, many.call = 2, 40, 204, 3, 2, true
	many.skill.novices, many.skill.experts, many.skill.nurses, many.skill.load = 2, 3, 8, 5*loadUnit/4
	for axis, want := range [acuity.AxisCount][3]string{
		acuity.AxisStaffing: {"0 nurses needed, 0 on duty", "1 nurse needed, 1 on duty", "2.5 nurses needed, 3 on duty"},
		acuity.AxisCritical: {"0 nurses in 1:1 care or higher, 0 rooms with a STAT factor", "1 nurse in 1:1 care or higher, 1 room with a STAT factor", "2 nurses in 1:1 care or higher, 2 rooms with a STAT factor"},
		acuity.AxisReserve:  {"0 nurses left, no call staff", "0 nurses left, no call staff", "0.5 nurses left, call staff available"},
		acuity.AxisCapacity: {"0 of 0 rooms occupied, 0 waiting", "1 of 1 room occupied, 1 waiting", "2 of 40 rooms occupied, 2 waiting"},
		acuity.AxisAcuity:   {"0 points of acuity, 0 nurses", "1 point of acuity, 1 nurse", "204 points of acuity, 3 nurses"},
		acuity.AxisFlow:     {"0 moves in 120 min, 0 boarders", "1 move in 120 min, 1 boarder", "3 moves in 120 min, 2 boarders"},
		acuity.AxisSkill: {
			"0 novices and 0 experts among 0 nurses, heaviest assignment 0", "1 novice and 1 expert among 1 nurse, heaviest assignment 1",
			"2 novices and 3 experts among 8 nurses, heaviest assignment 1.25",
		},
	} {
		for i, of := range []*axisInput{none, one, many} {
			if got := detail(acuity.Axis(axis), of.numbers(acuity.Axis(axis))); got != want[i] {
				t.Errorf("%q, want %q", got, want[i])
			}
		}
	}
}
