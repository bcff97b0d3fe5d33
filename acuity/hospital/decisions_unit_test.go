package hospital_test

import (
	"fmt"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/hospital/hospitaltest"
	"svc/acuity/score"
)

// TestDecisionsUnit covers the decisions on the level and the axes of a unit (docs/decisions.md#unit-level). A reading
// is the level, the driving axis ("-" for any), and additional numbers: "R", "short", "fte", "ratio", and axes as
// "axis=level/pressure".
func TestDecisionsUnit(t *testing.T) {
	many := func(rows ...acuity.CensusRoom) acuity.Observation {
		o := census(0, rows...)
		o.Census.TotalRooms = 50
		return o
	}
	worked := func() acuity.Observation {
		var rows []acuity.CensusRoom
		for i := range int32(5) {
			rows = append(rows, holds(1+i, "labor-standard"))
		}
		rows = append(rows, holds(6, "triage-initial"), holds(7, "high-mag"))
		for i := range int32(6) {
			rows = append(rows, holds(8+i, "pp-couplet"))
		}
		return many(rows...)
	}
	mag := func(o acuity.Observation) acuity.Observation { // magnesium for more than an hour, and a patient who has just arrived in triage
		o.Census.Rooms[5].PrimarySince = minute(0)
		o.Census.Rooms[6].HasModifiers, o.Census.Rooms[6].Modifiers = false, nil
		return o
	}
	unit := func(nurses int32, call acuity.Tristate, rows ...acuity.CensusRoom) []acuity.Observation {
		return []acuity.Observation{many(rows...), staffing(0, nurses, call)}
	}
	labor, red := holds(1, "labor-standard"), holds(2, "labor-standard", "O15.0")
	novice := func(rooms ...int32) acuity.RosterNurse { return acuity.RosterNurse{Skill: 0, Rooms: rooms} }
	expert := func(rooms ...int32) acuity.RosterNurse { return acuity.RosterNurse{Skill: 2, Rooms: rooms} }
	for rule, row := range map[string]struct {
		say  []acuity.Observation
		at   float64
		want string
	}{
		"worked unit, 8 nurses": {
			[]acuity.Observation{mag(worked()), staffing(0, 8, acuity.Yes), clinical(1, 7, sign(drug("6585", "")).since(-61))},
			1,
			"yellow staffing R=510 short=1 fte=30 ratio=94 staffing=yellow/375 reserve=green/250",
		},
		"worked unit, 6 nurses": {
			[]acuity.Observation{mag(worked()), staffing(0, 6, acuity.Yes), clinical(1, 7, sign(drug("6585", "")).since(-61))},
			1,
			"red staffing short=3 ratio=71 critical=yellow/500",
		},
		"one labor room, one nurse, no call": {
			unit(1, acuity.No, labor), 0, "yellow critical short=0 ratio=100 critical=yellow/500 reserve=yellow/500 staffing=green/250",
		},
		"10 never sent": {
			[]acuity.Observation{many(red)}, 0, "yellow critical short=0 fte=0 ratio=-1 R=60 staffing=unknown reserve=unknown acuity=unknown critical=yellow/250 !staffing_unknown",
		},
		"10 nothing known": {
			[]acuity.Observation{clinical(0, 4)}, 0, "green critical staffing=unknown capacity=unknown skill=unknown critical=green/0 flow=green/0",
		},
		"11 no nurse, a patient":       {unit(0, acuity.Yes, holds(1, "pp-couplet")), 0, "red staffing short=1 ratio=0 staffing=red/750"},
		"11 no nurse, nobody, no call": {unit(0, acuity.No, empty(1)), 0, "yellow reserve ratio=-1 reserve=yellow/500 staffing=green/250 critical=green/0"},
		"12 rooms listed, blocked ones off": {
			[]acuity.Observation{census(0, holds(1, "pp-couplet"), holds(2, "pp-couplet"), empty(3), acuity.CensusRoom{ID: 4, Status: acuity.RoomBlocked}), staffing(0, 9, acuity.Yes)},
			0,
			"green capacity capacity=green/208",
		},
		"12 full": {
			[]acuity.Observation{census(0, holds(1, "pp-couplet")), staffing(0, 9, acuity.Yes)}, 0, "orange capacity capacity=orange/750",
		},
		"12 full, and somebody without a room": {
			[]acuity.Observation{census(0, holds(1, "pp-couplet")), staffing(0, 9, acuity.Yes), message(1, acuity.A01, "v=z", "class=I")}, 1, "red capacity capacity=red/750 unplaced=1",
		},
		"12 full, and a boarder": {
			[]acuity.Observation{census(0, holds(1, "triage-admit")), staffing(0, 9, acuity.Yes)}, 120, "red capacity capacity=red/750 flow=yellow/250",
		},
		"12 clinical-only rooms do not count":  {[]acuity.Observation{census(0, empty(1)), clinical(0, 9, manual("high-cardiac")), staffing(0, 9, acuity.Yes)}, 0, "green - R=30 capacity=green/0"},
		"12 a census without a room":           {[]acuity.Observation{census(0), staffing(0, 9, acuity.Yes)}, 0, "green - capacity=green/0"},
		"4 short by more than one":             {unit(1, acuity.Yes, labor, holds(3, "labor-standard"), holds(4, "pp-couplet")), 0, "red staffing short=2 staffing=red/750"},
		"4 two emergencies":                    {unit(9, acuity.Yes, red, holds(3, "pp-couplet", "O15.0")), 0, "orange critical critical=orange/500"},
		"4 three emergencies":                  {unit(9, acuity.Yes, red, holds(3, "pp-couplet", "O15.0"), holds(4, "pp-couplet", "O15.0")), 0, "red critical critical=red/750"},
		"4 an emergency and all bound":         {unit(1, acuity.Yes, red, labor), 0, "red critical critical=red/1000 staffing=red/750"},
		"31 N < 2 with a patient in labor":     {unit(1, acuity.Yes, holds(1, "labor-epidural")), 0, "yellow reserve reserve=yellow/250"},
		"39 and 41 the demand after fractions": {unit(4, acuity.Yes, holds(1, "labor-epidural", "env-labor-support", "env-interpreter", "high-placenta-previa")), 0, "green - critical=green/0"},
		"32 soft axes stop at orange":          {unit(1, acuity.Yes, holds(1, "labor-epidural", "high-cardiac", "high-vag-bleeding", "high-recent-trauma")), 0, "orange acuity acuity=orange/750"},
		"61 an empty roster":                   {append(unit(9, acuity.Yes, labor), roster(0)), 0, "green - skill=unknown"},
		"34 61 a roster of 12 h":               {append(unit(9, acuity.Yes, labor), roster(0, novice(), novice())), 720, "green - skill=unknown !roster_stale"},
		"61 unknown skill counts below":        {append(unit(9, acuity.Yes, labor), roster(0, novice(), expert(), acuity.RosterNurse{Skill: -1})), 719, "green - skill=green/250"},
		"61 no known skill at all":             {append(unit(9, acuity.Yes, labor), roster(0, acuity.RosterNurse{Skill: -1})), 0, "green - skill=green/0"},
		"4 no expert":                          {append(unit(9, acuity.Yes, labor), roster(0, acuity.RosterNurse{Skill: 1})), 0, "orange skill skill=orange/500"},
		"61 an emergency assigned to nobody":   {append(unit(9, acuity.Yes, red), roster(0, novice(), expert(), expert())), 0, "yellow critical skill=green/250"},
		"4 an emergency with novices only":     {append(unit(9, acuity.Yes, red), roster(0, novice(2), expert(), expert())), 0, "red skill skill=red/750"},
		"13 a load of 1.25 is none":            {append(unit(9, acuity.Yes, holds(1, "labor-standard", "env-labor-support")), roster(0, expert(1))), 0, "green - skill=green/0"},
		"13 more is":                           {append(unit(9, acuity.Yes, labor, holds(3, "pp-couplet")), roster(0, expert(1, 3))), 0, "yellow skill skill=yellow/250"},
		"13 shared":                            {append(unit(9, acuity.Yes, labor, holds(3, "labor-standard")), roster(0, expert(1, 3), expert(1, 3))), 0, "green - skill=green/0"},
		"2 burnout is of the nurse":            {append(unit(9, acuity.Yes, holds(1, "pp-couplet", "pp-burnout-risk")), roster(0, expert())), 0, "yellow skill skill=yellow/250"},
		"turnover": {
			[]acuity.Observation{
				census(0, empty(1)), staffing(0, 4, acuity.Yes), message(0, acuity.A04, "MBU:3", "class=O"), message(10, acuity.A01, "MBU:3", "class=I"),
				message(11, acuity.A02, "MBU:3"), message(12, acuity.A01, "v=b", "mother=v1", "MBU:3"), message(13, acuity.A08),
			}, 119, "yellow flow flow=yellow/250",
		},
		"34 a move counts less than 120 min": {
			[]acuity.Observation{
				census(0, empty(1)), staffing(0, 4, acuity.Yes), message(0, acuity.A04, "MBU:3", "class=O"), message(10, acuity.A01, "MBU:3", "class=I"),
			}, 120, "green capacity flow=green/125",
		},
		"cancelled moves are none": {
			[]acuity.Observation{
				census(0, empty(1)), staffing(0, 4, acuity.Yes), message(5, acuity.A01, "MBU:3", "class=I"), message(6, acuity.A02, "MBU:4"), message(7, acuity.A12, "from=MBU:4", "cancels=6"),
			}, 10, "green - flow=green/125",
		},
		"moves in other units are none": {
			[]acuity.Observation{
				census(0, empty(1)), staffing(0, 4, acuity.Yes), message(1, acuity.A01, "ICU:A", "class=I"), message(2, acuity.A02, "SURG:B"),
				message(3, acuity.A03), message(4, acuity.A01, "v=v2", "ICU:A", "class=I"), message(5, acuity.A02, "v=v2", "MBU:3"),
			}, 10, "green - flow=green/125",
		},
		"but leaving the unit is one": {
			[]acuity.Observation{
				census(0, empty(1)), staffing(0, 4, acuity.Yes), message(1, acuity.A01, "MBU:3", "class=I"), message(2, acuity.A02, "ICU:A"), message(3, acuity.A03),
			}, 10, "yellow flow flow=yellow/250",
		},
		"contract 2: a plan takes over at its time": {
			[]acuity.Observation{many(labor), staffing(0, 5, acuity.Yes), plan(0, 60, 1)}, 60, "yellow critical short=0",
		},
		"57 a plan ahead does not count until then": {
			[]acuity.Observation{many(labor), staffing(0, 5, acuity.Yes), plan(0, 60, 1)}, 59, "green - staffing=green/0",
		},
		"4 call is kept if omitted": {
			[]acuity.Observation{many(labor), staffing(0, 1, acuity.Yes), staffing(1, 1, acuity.Unsaid)}, 1, "yellow critical reserve=yellow/250",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			for i := range row.say {
				row.say[i].Hospital = "st-test"
			}
			f := hospitaltest.Fold(row.say, minute(row.at))
			if missing := lacks(&f.Verdict, row.want); missing != "" {
				t.Errorf("want %s\ngot %s", row.want, missing)
			}
			u := hospital.New("st-test")
			for i := range row.say {
				for more := true; more; {
					_, more = u.Advance(row.say[i].ReceivedAt)
				}
				u.Apply(&row.say[i], int64(i))
			}
			for more := true; more; {
				_, more = u.Advance(minute(row.at))
			}
			v := score.Judge(u.Chart(), minute(row.at))
			if missing := lacks(&v, row.want); missing != "" {
				t.Errorf("step by step: want %s\ngot %s", row.want, missing)
			}
		})
	}
}

// lacks returns the text of the whole verdict if any of the wanted words is missing, or "" if none is.
func lacks(v *score.Verdict, want string) string {
	have := []string{
		v.Level.String(), v.Driving.String(), fmt.Sprint("R=", v.Required), fmt.Sprint("short=", v.Shortfall),
		fmt.Sprint("fte=", v.ShortfallFTE), fmt.Sprint("ratio=", v.Ratio), fmt.Sprint("unplaced=", v.Unplaced),
	}
	for i := range v.Axes {
		a := &v.Axes[i]
		if a.Known {
			have = append(have, fmt.Sprintf("%s=%s/%d", acuity.Axis(i), a.Level, a.Pressure))
		} else {
			have = append(have, acuity.Axis(i).String()+"=unknown")
		}
	}
	for _, q := range v.Quality.List() {
		have = append(have, "!"+q.Code)
	}
	words := strings.Fields(want)
	if words[0] != have[0] || words[1] != have[1] && words[1] != "-" {
		return strings.Join(have, " ")
	}
	for _, w := range words[2:] {
		found := false
		for _, h := range have {
			found = found || h == w
		}
		if !found {
			return strings.Join(have, " ")
		}
	}
	return ""
}

// plan returns an observation with a staffing plan: the number of nurses on duty from a later time.
func plan(at, from float64, nurses int32) acuity.Observation {
	o := staffing(at, nurses, acuity.Unsaid)
	o.Staffing.AsOf = minute(from)
	return o
}
