package readapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/score"
)

func TestCacheIsBounded(t *testing.T) {
	s := &Reads{units: map[string]*cachedUnit{}, cacheLimit: 100}
	for i := range 50 {
		hospital := fmt.Sprint("unit-", i%7)
		s.store(hospital, newCachedUnit(), int64(10+i%3*20))
		held := int64(0)
		for _, u := range s.units {
			held += u.size
		}
		if held != s.cachedBytes || held > s.cacheLimit || s.units[hospital] == nil {
			t.Fatalf("after %d: %d bytes, counted %d, %d kept", i, held, s.cachedBytes, len(s.units))
		}
	}
	s.store("huge", newCachedUnit(), 1000)
	if len(s.units) != 1 || s.units["huge"] == nil {
		t.Errorf("beside one that is too large alone: %d", len(s.units))
	}
	gone := s.cachedUnitOf("gone")
	s.store("huge", newCachedUnit(), 2000)
	s.store("gone", gone, 10)
	s.store("gone", gone, 20)
	if s.cachedBytes != 20 || s.units["gone"] != gone {
		t.Errorf("one that had gone comes back with %d bytes", s.cachedBytes)
	}
}

// busyChart returns a unit of 40 rooms with five factors each.
func busyChart() *acuity.Chart {
	now := acuity.At(time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC))
	c := &acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{Version: 7, Since: now, Clock: now, HasCensus: true, TotalRooms: 48}}
	for id := range int32(40) {
		r := acuity.RoomChart{
			ID: id, Label: fmt.Sprint("LDR ", id), Area: "LDR", Status: acuity.RoomOccupied, Listed: true,
			Patients: []acuity.PatientChart{{Visit: "v", Mother: true, Arrived: now}},
		}
		for _, name := range []string{"labor-standard", "high-mag", "high-preeclampsia", "high-hemorrhage", "mews-active"} {
			if f, ok := catalogue.FactorByID(name); ok {
				r.Patients[0].Evidence = append(r.Patients[0].Evidence, acuity.Evidence{
					Factor: f, Kind: acuity.BySignal, Start: now, Last: now,
					Source: acuity.Source{Feed: acuity.ChannelClinical, System: codes.RxNorm, Code: "6585"},
				})
			}
		}
		c.Rooms = append(c.Rooms, r)
	}
	return c
}

// BenchmarkReadChanged measures the steps of a read of a changed unit, except for reading its chart: judging all
// rooms, and rendering each response. It also measures both steps together when only one room has changed.
func BenchmarkReadChanged(b *testing.B) {
	c := busyChart()
	v := score.Judge(c, c.Unit.Clock)
	known, one := judge(decodedChart(c), nil, c.Unit.Clock), 0
	for name, do := range map[string]func(){
		"judge": func() { judge(decodedChart(c), nil, c.Unit.Clock) },
		"judge-one": func() {
			one++
			next := *known.chart
			next.rooms = slices.Clone(next.rooms)
			changed := *next.rooms[one%40]
			next.rooms[one%40] = &changed
			known = judge(&next, known, c.Unit.Clock)
			known.unit().lend(func(json.RawMessage) {})
		},
		"level":      func() { newRendered(encode(levelOf(&v))) },
		"unit-state": func() { newRendered(UnitState(&v)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

// decodedChart returns a chart in the form that decode returns.
func decodedChart(c *acuity.Chart) *chart {
	all := &chart{head: c.Unit, rules: c.Unit.Catalogue()}
	for _, r := range c.Rooms {
		all.rooms = append(all.rooms, &roomChart{id: r.ID, chart: r})
	}
	return all
}
