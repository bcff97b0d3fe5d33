package help

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
)

var now = acuity.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

// unit returns a unit of 20 rooms. Each occupied room has had one factor since the given instant.
func unit(t testing.TB, nurses int32, call acuity.Tristate, since acuity.Instant, factors ...string) *acuity.Chart {
	t.Helper()
	c := &acuity.Chart{Hospital: "h", Unit: acuity.UnitChart{HasCensus: true, TotalRooms: 20}}
	if nurses >= 0 {
		c.Unit.Staffing = []acuity.Staffing{{AsOf: now.Add(-time.Hour), Nurses: nurses, Call: call}}
	}
	for i, id := range factors {
		f, ok := catalogue.FactorByID(id)
		if !ok {
			t.Fatalf("no factor %s", id)
		}
		c.Rooms = append(c.Rooms, acuity.RoomChart{
			ID: int32(i + 1), Status: acuity.RoomOccupied, Listed: true,
			Patients: []acuity.PatientChart{{
				Visit: fmt.Sprint(i), Arrived: since, Mother: true,
				Evidence: []acuity.Evidence{{Factor: f, Kind: acuity.BySignal, Start: since, Last: since}},
			}},
		})
	}
	return c
}

func repeated(n int, factor string) []string { return slices.Repeat([]string{factor}, n) }

func TestSteps(t *testing.T) {
	long := now.Add(-24 * time.Hour)
	recovery := now.Add(-100 * time.Minute) // 1:1 for another 20 minutes
	rostered := unit(t, 9, acuity.Yes, long, "labor-standard")
	rostered.Unit.Roster = &acuity.Roster{AsOf: now.Add(-11*time.Hour - 50*time.Minute), Nurses: []acuity.RosterNurse{{Skill: 1}}}
	planned := unit(t, 3, acuity.Yes, long, repeated(4, "labor-standard")...)
	planned.Unit.Staffing = append(planned.Unit.Staffing, acuity.Staffing{AsOf: now.Add(time.Hour), Nurses: 9})
	cases := map[string]struct {
		chart *acuity.Chart
		want  []Step
	}{
		"nothing is short":    {unit(t, 9, acuity.Yes, long, repeated(3, "labor-standard")...), nil},
		"nurses are unknown":  {unit(t, -1, acuity.Yes, long, repeated(3, "labor-standard")...), nil},
		"one short, call":     {unit(t, 3, acuity.Yes, long, repeated(4, "labor-standard")...), []Step{{Nurse, now, acuity.LevelYellow, 0}}},
		"time will tell":      {unit(t, 1, acuity.Yes, recovery, repeated(2, "pp-immediate-recovery-vag")...), []Step{{Nurse, now, acuity.LevelYellow, 0}, {Nurses, now, acuity.LevelGreen, 0}, {Clock, now.Add(20 * time.Minute), acuity.LevelGreen, 0}}},
		"a plan takes over":   {planned, []Step{{Nurse, now, acuity.LevelYellow, 0}, {Clock, now.Add(time.Hour), acuity.LevelGreen, 0}}},
		"a roster gets old":   {rostered, nil},
		"covered, no reserve": {unit(t, 3, acuity.No, long, repeated(9, "pp-couplet")...), []Step{{Nurse, now, acuity.LevelGreen, 0}, {Call, now, acuity.LevelGreen, 0}}},
	}
	for name, tc := range cases {
		got := Steps(tc.chart, now)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// For any unit, each step improves the level or the shortfall, and a verdict on the chart with the step's change has
// the level and the shortfall that the step states.
func TestStepsHelp(t *testing.T) {
	factors := []string{"labor-standard", "pp-couplet", "csection-intraop", "high-mag", "triage-initial", "pp-recovery-stable", "high-hemorrhage"}
	rapid.Check(t, func(r *rapid.T) {
		var list []string
		for range rapid.IntRange(0, 14).Draw(r, "rooms") {
			list = append(list, rapid.SampledFrom(factors).Draw(r, "factor"))
		}
		since := now.Add(-time.Duration(rapid.IntRange(0, 300).Draw(r, "minutes")) * time.Minute)
		call := rapid.SampledFrom([]acuity.Tristate{acuity.Unsaid, acuity.No, acuity.Yes}).Draw(r, "call")
		c := unit(t, int32(rapid.IntRange(-1, 9).Draw(r, "nurses")), call, since, list...)
		before := score.Judge(c, now)
		steps := Steps(c, now)
		if len(steps) > 4 {
			r.Fatalf("%d steps", len(steps))
		}
		for _, s := range steps {
			changed := *c
			if s.Kind != Clock {
				staffing := acuity.Staffing{AsOf: now, Nurses: before.OnDuty, Call: before.Call}
				switch s.Kind {
				case Nurse:
					staffing.Nurses++
				case Nurses:
					staffing.Nurses += 2
				case Call:
					staffing.Call = acuity.Yes
				case Clock: // the staffing does not change
				}
				changed.Unit.Staffing = []acuity.Staffing{staffing}
			}
			after := score.Judge(&changed, s.At)
			if after.Level != s.Level || after.Shortfall != s.Shortfall {
				r.Fatalf("%s says %s, %d short; the verdict %s, %d", s.Kind, s.Level, s.Shortfall, after.Level, after.Shortfall)
			}
			if s.Level > before.Level || s.Shortfall > before.Shortfall || s.Level == before.Level && s.Shortfall == before.Shortfall {
				r.Fatalf("%s does not help: %s, %d short before, %s, %d after", s.Kind, before.Level, before.Shortfall, s.Level, s.Shortfall)
			}
		}
	})
}
