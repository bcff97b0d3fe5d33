package score

import (
	"testing"

	"svc/acuity"
)

// chartOf returns the chart of a unit with one occupied room for each given list of evidence.
func chartOf(t testing.TB, now acuity.Instant, nurses int32, call acuity.Tristate, total int32, rooms ...[]charted) *acuity.Chart {
	c := &acuity.Chart{Hospital: "h", Unit: acuity.UnitChart{HasCensus: true, TotalRooms: total}}
	if nurses >= 0 {
		c.Unit.Staffing = []acuity.Staffing{{AsOf: now.Add(-hours), Nurses: nurses, Call: call}}
	}
	for i, list := range rooms {
		r := roomOf(t, now, list...)
		r.ID = int32(i + 1)
		c.Rooms = append(c.Rooms, *r)
	}
	return c
}

func workedUnit(t testing.TB, nurses int32, call acuity.Tristate) *acuity.Chart {
	var rooms [][]charted
	for range 5 {
		rooms = append(rooms, []charted{{factor: "labor-standard"}})
	}
	rooms = append(rooms, []charted{{factor: "triage-initial", age: 5 * minutes}}, []charted{{factor: "high-mag", age: 61 * minutes}})
	for range 6 {
		rooms = append(rooms, []charted{{factor: "pp-couplet"}})
	}
	return chartOf(t, testStart, nurses, call, 20, rooms...)
}

type axisWant struct {
	level    acuity.Level
	pressure int32
	rule     string
}

func TestTheWorkedUnit(t *testing.T) {
	now := testStart
	v := Judge(workedUnit(t, 8, acuity.Yes), now)
	if v.Level != acuity.LevelYellow || v.Driving != acuity.AxisStaffing || v.Required != 510 || v.Shortfall != 1 || v.Ratio != 94 || v.ShortfallFTE != 30 {
		t.Errorf("N=8: %s by %s, R %d, shortfall %d, ratio %d", v.Level, v.Driving, v.Required, v.Shortfall, v.Ratio)
	}
	for a, want := range map[acuity.Axis]axisWant{
		acuity.AxisStaffing: {acuity.LevelYellow, 375, "shortfall"},
		acuity.AxisCritical: {acuity.LevelGreen, 234, "within_limits"},
		acuity.AxisReserve:  {acuity.LevelGreen, 250, "within_limits"},
	} {
		if got := (axisWant{v.Axes[a].Level, v.Axes[a].Pressure, v.Axes[a].Rule}); got != want {
			t.Errorf("N=8, %s: %v, want %v", a, got, want)
		}
	}
	v = Judge(workedUnit(t, 6, acuity.Yes), now)
	if v.Level != acuity.LevelRed || v.Driving != acuity.AxisStaffing || v.Shortfall != 3 || v.Ratio != 71 || v.Axes[acuity.AxisCritical].Level != acuity.LevelYellow {
		t.Errorf("N=6: %s by %s, shortfall %d, ratio %d, critical %s", v.Level, v.Driving, v.Shortfall, v.Ratio, v.Axes[acuity.AxisCritical].Level)
	}
	if v.DrivingLabel() != "Short-staffed" || v.Detail(acuity.AxisStaffing) != "8.5 nurses needed, 6 on duty" {
		t.Errorf("%q, %q", v.DrivingLabel(), v.Detail(acuity.AxisStaffing))
	}
	if v = Judge(workedUnit(t, 15, acuity.Yes), now); v.Level != acuity.LevelGreen || v.DrivingLabel() != "Within limits" {
		t.Errorf("N=15: %s, %q", v.Level, v.DrivingLabel())
	}
}

func TestOneLaborRoom(t *testing.T) {
	now := testStart
	v := Judge(chartOf(t, now, 1, acuity.No, 10, []charted{{factor: "labor-standard"}}), now)
	if v.Level != acuity.LevelYellow || v.Driving != acuity.AxisCritical || v.Shortfall != 0 || v.Ratio != 100 {
		t.Errorf("%s by %s, shortfall %d, ratio %d", v.Level, v.Driving, v.Shortfall, v.Ratio)
	}
	if v.Axes[acuity.AxisCritical].Pressure != 500 || v.Axes[acuity.AxisReserve].Pressure != 500 {
		t.Errorf("pressures %d, %d; want 500, 500", v.Axes[acuity.AxisCritical].Pressure, v.Axes[acuity.AxisReserve].Pressure)
	}
	small := Judge(chartOf(t, now, 1, acuity.Yes, 10, []charted{{factor: "labor-standard"}, {factor: "labor-standard"}}, []charted{{factor: "labor-standard"}}), now)
	if small.Axes[acuity.AxisStaffing].Level != acuity.LevelRed || small.Axes[acuity.AxisStaffing].Rule != "coverage" || small.Axes[acuity.AxisStaffing].Pressure != 750 {
		t.Errorf("R=2, N=1: %+v", small.Axes[acuity.AxisStaffing])
	}
}

func TestStaffingThatIsNotThere(t *testing.T) {
	now := testStart
	v := Judge(workedUnit(t, -1, acuity.Unsaid), now)
	for _, a := range []acuity.Axis{acuity.AxisStaffing, acuity.AxisReserve, acuity.AxisAcuity} {
		if v.Axes[a].Known || v.Axes[a].Rule != "unknown" || v.Axes[a].HasValue || v.Axes[a].Pressure != 0 {
			t.Errorf("%s is known: %+v", a, v.Axes[a])
		}
	}
	if !v.Axes[acuity.AxisCritical].Known || v.Axes[acuity.AxisCritical].HasValue || !v.Axes[acuity.AxisFlow].Known || v.OnDuty != -1 || v.Ratio != -1 || v.Required != 510 {
		t.Errorf("%+v", v.Axes)
	}
	if !v.Quality.Has("staffing_unknown") {
		t.Errorf("quality %v", v.Quality.List())
	}
	nothing := Judge((&acuity.Chart{}), now)
	if nothing.Level != acuity.LevelGreen || nothing.Driving == acuity.AxisStaffing && nothing.Axes[acuity.AxisStaffing].Known {
		t.Errorf("nothing known: %s by %s", nothing.Level, nothing.Driving)
	}

	v = Judge(workedUnit(t, 0, acuity.Yes), now)
	if v.Level != acuity.LevelRed || v.Driving != acuity.AxisStaffing || v.Ratio != 0 || v.Axes[acuity.AxisCritical].HasValue || v.Axes[acuity.AxisCritical].Level != acuity.LevelOrange {
		t.Errorf("N=0: %s by %s, ratio %d, critical %+v", v.Level, v.Driving, v.Ratio, v.Axes[acuity.AxisCritical])
	}
	v = Judge(chartOf(t, now, 0, acuity.No, 10), now)
	if v.Level != acuity.LevelYellow || v.Driving != acuity.AxisReserve || v.Ratio != -1 {
		t.Errorf("N=0, empty: %s by %s, ratio %d", v.Level, v.Driving, v.Ratio)
	}
	v = Judge(chartOf(t, now, 0, acuity.Yes, 10, []charted{{factor: "pp-couplet"}}), now)
	if a := v.Axes[acuity.AxisStaffing]; a.Level != acuity.LevelRed || a.Pressure != 750 {
		t.Errorf("N=0, one couplet: %+v", a)
	}
}

func TestAxes(t *testing.T) {
	now := testStart
	labor := []charted{{factor: "labor-standard"}}
	red := []charted{{factor: "labor-standard"}, {factor: "high-eclampsia", kind: acuity.ByDiagnosis}}
	couplet := []charted{{factor: "pp-couplet"}}
	boarder := []charted{{factor: "triage-admit", age: 2 * hours}}
	roster := func(nurses ...acuity.RosterNurse) func(*acuity.Chart) {
		return func(c *acuity.Chart) { c.Unit.Roster = &acuity.Roster{AsOf: now.Add(-hours), Nurses: nurses} }
	}
	moves := func(n int) func(*acuity.Chart) {
		return func(c *acuity.Chart) {
			for range n {
				c.Unit.Moves = append(c.Unit.Moves, now.Add(-119*minutes))
			}
		}
	}
	cases := map[string]struct {
		nurses int32
		total  int32
		rooms  [][]charted
		change func(*acuity.Chart)
		axis   acuity.Axis
		want   axisWant
	}{
		"exactly covered":          {3, 20, [][]charted{labor, labor, labor}, nil, acuity.AxisStaffing, axisWant{acuity.LevelGreen, 250, "within_limits"}},
		"orange by shortfall":      {10, 20, [][]charted{labor, labor, labor, labor, labor, labor, labor, labor, labor, labor, labor, couplet, couplet}, nil, acuity.AxisStaffing, axisWant{acuity.LevelOrange, 667, "shortfall"}},
		"orange by coverage":       {5, 20, [][]charted{labor, labor, labor, labor, labor, labor}, nil, acuity.AxisStaffing, axisWant{acuity.LevelOrange, 500, "coverage"}},
		"one STAT room":            {9, 20, [][]charted{red}, nil, acuity.AxisCritical, axisWant{acuity.LevelYellow, 250, "c4"}},
		"two STAT rooms":           {9, 20, [][]charted{red, red}, nil, acuity.AxisCritical, axisWant{acuity.LevelOrange, 500, "c4"}},
		"three STAT rooms":         {9, 20, [][]charted{red, red, red}, nil, acuity.AxisCritical, axisWant{acuity.LevelRed, 750, "c4"}},
		"STAT and nine of ten":     {10, 20, [][]charted{red, labor, labor, labor, labor, labor, labor, labor, labor}, nil, acuity.AxisCritical, axisWant{acuity.LevelOrange, 500, "c4_one_to_one"}},
		"STAT and all bound":       {1, 20, [][]charted{red, labor}, nil, acuity.AxisCritical, axisWant{acuity.LevelRed, 1000, "c4_one_to_one"}},
		"all bound, no STAT":       {1, 20, [][]charted{labor, labor}, nil, acuity.AxisCritical, axisWant{acuity.LevelOrange, 750, "one_to_one"}},
		"two for a birth":          {1, 20, [][]charted{labor}, nil, acuity.AxisReserve, axisWant{acuity.LevelYellow, 250, "minimum_two"}},
		"four of five rooms":       {9, 5, [][]charted{couplet, couplet, couplet, couplet}, nil, acuity.AxisCapacity, axisWant{acuity.LevelYellow, 250, "occupancy"}},
		"no room open":             {9, 4, [][]charted{couplet, couplet, couplet, couplet}, nil, acuity.AxisCapacity, axisWant{acuity.LevelOrange, 750, "occupancy"}},
		"no room open, one waits":  {9, 2, [][]charted{couplet, boarder}, nil, acuity.AxisCapacity, axisWant{acuity.LevelRed, 750, "open_zero_waiting"}},
		"no room in the census":    {9, 0, nil, nil, acuity.AxisCapacity, axisWant{acuity.LevelGreen, 0, "within_limits"}},
		"all rooms blocked":        {9, 0, [][]charted{couplet}, func(c *acuity.Chart) { c.Rooms[0].Status = acuity.RoomBlocked }, acuity.AxisCapacity, axisWant{acuity.LevelOrange, 500, "open_zero"}},
		"35 points for a nurse":    {1, 20, [][]charted{{{factor: "labor-standard"}, {factor: "labor-tolac"}}}, nil, acuity.AxisAcuity, axisWant{acuity.LevelYellow, 250, "score"}},
		"acuity stays orange":      {1, 20, [][]charted{red}, nil, acuity.AxisAcuity, axisWant{acuity.LevelOrange, 750, "score"}},
		"half a move for a nurse":  {4, 20, nil, moves(2), acuity.AxisFlow, axisWant{acuity.LevelYellow, 250, "turnover"}},
		"flow stays orange":        {1, 20, nil, moves(9), acuity.AxisFlow, axisWant{acuity.LevelOrange, 750, "turnover"}},
		"one boarder":              {9, 20, [][]charted{boarder}, nil, acuity.AxisFlow, axisWant{acuity.LevelYellow, 250, "boarders"}},
		"three boarders":           {9, 20, [][]charted{boarder, boarder, boarder}, nil, acuity.AxisFlow, axisWant{acuity.LevelOrange, 500, "boarders"}},
		"novices, a third":         {9, 20, nil, roster(acuity.RosterNurse{Skill: 0}, acuity.RosterNurse{Skill: 1}, acuity.RosterNurse{Skill: 2}), acuity.AxisSkill, axisWant{acuity.LevelGreen, 250, "within_limits"}},
		"novices, more than half":  {9, 20, nil, roster(acuity.RosterNurse{Skill: 0}, acuity.RosterNurse{Skill: 0}, acuity.RosterNurse{Skill: 2}), acuity.AxisSkill, axisWant{acuity.LevelOrange, 750, "novices"}},
		"no expert":                {9, 20, nil, roster(acuity.RosterNurse{Skill: 1}, acuity.RosterNurse{Skill: -1}), acuity.AxisSkill, axisWant{acuity.LevelOrange, 500, "no_expert"}},
		"nobody's skill is known":  {9, 20, nil, roster(acuity.RosterNurse{Skill: -1}), acuity.AxisSkill, axisWant{acuity.LevelGreen, 0, "within_limits"}},
		"a load of 1.33":           {9, 20, [][]charted{labor, couplet}, roster(acuity.RosterNurse{Skill: 2, Rooms: []int32{1, 2, 2, 77}}), acuity.AxisSkill, axisWant{acuity.LevelYellow, 250, "load"}},
		"a load of 2 for one":      {9, 20, [][]charted{labor, labor}, roster(acuity.RosterNurse{Skill: 2, Rooms: []int32{1, 2}}), acuity.AxisSkill, axisWant{acuity.LevelOrange, 500, "load"}},
		"two rooms for two":        {9, 20, [][]charted{labor, labor}, roster(acuity.RosterNurse{Skill: 2, Rooms: []int32{1, 2}}, acuity.RosterNurse{Skill: 2, Rooms: []int32{1, 2}}), acuity.AxisSkill, axisWant{acuity.LevelGreen, 0, "within_limits"}},
		"a tired nurse":            {9, 20, [][]charted{{{factor: "pp-couplet"}, {factor: "pp-burnout-risk"}}}, roster(acuity.RosterNurse{Skill: 2}), acuity.AxisSkill, axisWant{acuity.LevelYellow, 250, "fatigue"}},
		"STAT with novices alone":  {9, 20, [][]charted{red}, roster(acuity.RosterNurse{Skill: 0, Rooms: []int32{1}}, acuity.RosterNurse{Skill: 2}, acuity.RosterNurse{Skill: 2}), acuity.AxisSkill, axisWant{acuity.LevelRed, 750, "novices_alone"}},
		"STAT with nobody":         {9, 20, [][]charted{red}, roster(acuity.RosterNurse{Skill: 0}, acuity.RosterNurse{Skill: 2}, acuity.RosterNurse{Skill: 2}), acuity.AxisSkill, axisWant{acuity.LevelGreen, 250, "within_limits"}},
		"STAT with one of unknown": {9, 20, [][]charted{red}, roster(acuity.RosterNurse{Skill: -1, Rooms: []int32{1}}, acuity.RosterNurse{Skill: 2}), acuity.AxisSkill, axisWant{acuity.LevelGreen, 0, "within_limits"}},
	}
	for name, tc := range cases {
		c := chartOf(t, now, tc.nurses, acuity.Yes, tc.total, tc.rooms...)
		if tc.change != nil {
			tc.change(c)
		}
		v := Judge(c, now)
		a := v.Axes[tc.axis]
		if got := (axisWant{a.Level, a.Pressure, a.Rule}); !a.Known || got != tc.want {
			t.Errorf("%s: %v (known %v), want %v", name, got, a.Known, tc.want)
		}
	}
}

func TestTimeAloneChangesTheUnit(t *testing.T) {
	now := testStart
	c := chartOf(t, now, 4, acuity.No, 20, []charted{{factor: "pp-couplet"}})
	c.Unit.Moves = []acuity.Instant{now.Add(-110 * minutes)}
	c.Unit.Roster = &acuity.Roster{AsOf: now.Add(-12*hours + 20*minutes), Nurses: []acuity.RosterNurse{{Skill: 2}}}
	c.Unit.Staffing = append(c.Unit.Staffing, acuity.Staffing{AsOf: now.Add(15 * minutes), Nurses: 4}, acuity.Staffing{AsOf: now.Add(30 * minutes), Nurses: 3, Call: acuity.Yes})
	if v := Judge(c, now); v.Next != now.Add(10*minutes) || v.Axes[acuity.AxisFlow].Value != 250 {
		t.Errorf("a move leaves after %v, turnover %d", v.Next-now, v.Axes[acuity.AxisFlow].Value)
	}
	at := now.Add(10 * minutes)
	if v := Judge(c, at); v.Next != now.Add(20*minutes) || v.Axes[acuity.AxisFlow].Value != 0 || v.RosterStale {
		t.Errorf("then the roster: %v", v.Next-now)
	}
	if v := Judge(c, now.Add(20*minutes)); !v.RosterStale || v.Axes[acuity.AxisSkill].Known || v.Next != now.Add(30*minutes) || v.OnDuty != 4 {
		t.Errorf("then the plan: %v", v.Next-now)
	}
	if v := Judge(c, now.Add(30*minutes)); v.OnDuty != 3 || v.Call != acuity.Yes || v.Next != 0 {
		t.Errorf("the plan took over: %d nurses, next %v", v.OnDuty, v.Next-now)
	}
	waiting := chartOf(t, now, 4, acuity.No, 20, []charted{{factor: "triage-admit", age: 119 * minutes}})
	if v := Judge(waiting, now); v.Next != now.Add(1*minutes) || v.Axes[acuity.AxisFlow].Level != acuity.LevelGreen {
		t.Errorf("a boarder from %v", v.Next-now)
	}
}
