package readapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/internal/httpapi"
	"svc/readapi"
)

// recorded provides hours from memory.
type recorded struct {
	hours        []readapi.Hour
	err          error
	reads        int
	since, until time.Time
}

func (r *recorded) read(_ context.Context, hospital string, since, until time.Time) ([]readapi.Hour, error) {
	if hospital != "north" {
		return nil, errors.New("another hospital")
	}
	r.reads++
	r.since, r.until = since, until
	return r.hours, r.err
}

// trends contains those fields of a response that the tests check.
type trends struct {
	Since, Until time.Time
	Zone         string
	Hours        []struct {
		At             time.Time
		Observed       bool
		Level          string
		NursesRequired float64
		NursesOnDuty   *int32
		RatioShortfall *int32
		LevelMinutes   map[string]int
	}
	LevelMinutes map[string]int
	Week         []struct {
		Weekday, Hour, Hours     int
		NursesRequired           float64
		HoursStaffed, HoursShort int
	}
	Forecast map[string]any
	Warnings []httpapi.Warning
}

func trendsOf(t testing.TB, h *fixture, query string) (a trends) {
	t.Helper()
	if err := json.Unmarshal([]byte(data(t, h.get(t, "/api/admin/trends"+query))), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func ago(n int) time.Time { return noon.Time().Add(-time.Duration(n) * time.Hour) }

func TestTrends(t *testing.T) {
	h := newFixture(worked(t))
	h.now = noon.Add(10 * time.Minute)
	h.recorded.hours = []readapi.Hour{
		{At: ago(0), Observed: true, Level: acuity.LevelRed, Required: 510, OnDuty: 6, LevelSeconds: []int32{600, 0, 1200, 1800}},
		{At: ago(1), Observed: true, Level: acuity.LevelOrange, Required: 120, OnDuty: 6},
		{At: ago(2), Level: acuity.LevelYellow, Required: 60, OnDuty: -1, LevelSeconds: []int32{1800, 0, 0, 0}},
		{At: ago(2), Level: acuity.LevelGreen, Required: 240, OnDuty: -1, Generation: 1}, // a backfill
		{At: ago(24), Observed: true}, // before the span
		{At: ago(-1), Observed: true}, // later than now
	}
	a := trendsOf(t, h, "")
	if !a.Since.Equal(ago(24)) || !a.Until.Equal(ago(0)) || a.Zone != "UTC" || len(a.Hours) != 3 {
		t.Fatalf("%s to %s in %s, %d hours", a.Since, a.Until, a.Zone, len(a.Hours))
	}
	for i, want := range []map[string]int{
		{"green": 30, "yellow": 0, "orange": 0, "red": 0, "estimated": 0}, // the other 30 minutes are unknown
		{"green": 0, "yellow": 0, "orange": 60, "red": 0, "estimated": 60},
		{"green": 10, "yellow": 0, "orange": 20, "red": 30, "estimated": 0},
	} {
		for level, n := range want {
			if a.Hours[i].LevelMinutes[level] != n {
				t.Errorf("hour %d: %v, want %v", i, a.Hours[i].LevelMinutes, want)
			}
		}
	}
	last := a.Hours[2]
	if last.NursesRequired != 8.5 || *last.NursesOnDuty != 6 || *last.RatioShortfall != 3 || last.Level != "red" || a.Hours[0].RatioShortfall != nil {
		t.Errorf("%+v", a.Hours)
	}
	if a.LevelMinutes["red"] != 30 || a.LevelMinutes["orange"] != 80 || a.LevelMinutes["estimated"] != 60 || a.LevelMinutes["unknown"] != 21*60+30 {
		t.Errorf("%v", a.LevelMinutes)
	}
	if len(a.Week) != 2 {
		t.Fatalf("%+v", a.Week)
	}
	if w := a.Week[1]; w.Weekday != 6 || w.Hour != 12 || w.Hours != 1 || w.NursesRequired != 8.5 || w.HoursStaffed != 1 || w.HoursShort != 1 { // a Saturday
		t.Errorf("%+v", w)
	}
	if a.Forecast != nil {
		t.Errorf("a score without a forecast: %v", a.Forecast)
	}
}

// TestTrendsAreCached: the recorded hours are read at most once a minute or, if the hospital has too few hours for a
// forecast, at most every two seconds.
func TestTrendsAreCached(t *testing.T) {
	for name, tt := range map[string]struct {
		model *forecast.Model
		fresh time.Duration
	}{
		"new hospital": {forecast.NewModel("north"), 2 * time.Second},
		"forecast":     {observedFor(40), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			chart := worked(t)
			chart.Unit.ObservedAt = noon
			h := newFixture(chart)
			h.learned = fakeForecasts{model: tt.model}
			for i, after := range []time.Duration{0, tt.fresh - time.Millisecond, time.Millisecond} {
				h.now = h.now.Add(after)
				trendsOf(t, h, "")
				if want := 1 + i/2; h.recorded.reads != want {
					t.Errorf("the record was read %d times after request %d, want %d", h.recorded.reads, i+1, want)
				}
			}
		})
	}
}

// TestTrendsSpan: a span ends at the last hour mark and begins at most 28 days earlier.
func TestTrendsSpan(t *testing.T) {
	h := newFixture(nil)
	for query, want := range map[string][2]time.Time{
		"?since=2031-04-05T09:20:00Z":                            {ago(3), ago(0)},
		"?since=2031-01-01T00:00:00Z":                            {ago(28 * 24), ago(0)},
		"?until=2031-04-05T10:59:00Z":                            {ago(26), ago(2)},
		"?since=2031-04-05T13:00:00Z":                            {ago(0), ago(0)},
		"?since=2031-04-04T00:00:00Z&until=2036-03-05T00:00:00Z": {ago(36), ago(0)},
	} {
		if a := trendsOf(t, h, query); !a.Since.Equal(want[0]) || !a.Until.Equal(want[1]) {
			t.Errorf("%s: %s to %s, want %s", query, a.Since, a.Until, want)
		} else if cut := slices.Equal(a.Warnings, []httpapi.Warning{{Code: "since_cut", Path: "since"}}); cut != strings.Contains(query, "01-01") || a.Warnings == nil {
			t.Errorf("%s: warnings %v", query, a.Warnings)
		}
	}
	if a := h.get(t, "/api/admin/trends?since=yesterday"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a time that is none: %d", a.StatusCode)
	}
	h.learned = fakeForecasts{err: readapi.ErrAway}
	if a := trendsOf(t, h, "?since=2031-04-05T01:00:00Z"); a.Forecast != nil {
		t.Errorf("a score while the models are away: %v", a.Forecast)
	}
	h.learned = fakeForecasts{err: errors.New("not readable")}
	for range 2 { // an answer without the score is not cached
		before := h.recorded.reads
		if trendsOf(t, h, "?since=2031-04-02T12:00:00Z"); h.recorded.reads != before+1 {
			t.Errorf("the record was read %d times", h.recorded.reads-before)
		}
	}
	h.recorded.err = readapi.ErrAway
	if a := h.get(t, "/api/admin/trends?since=2031-04-05T02:00:00Z"); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("Kafka is away: %d", a.StatusCode)
	}
}

// TestTrendsCountEachMinuteOnce: every minute either has a level or is unknown. An observed hour has no unknown
// minutes.
func TestTrendsCountEachMinuteOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newFixture(nil)
		for range rapid.IntRange(0, 30).Draw(r, "hours") {
			n := rapid.IntRange(0, 23).Draw(r, "ago")
			hour := readapi.Hour{At: ago(n), Observed: rapid.Bool().Draw(r, "observed"), Level: acuity.Level(rapid.IntRange(0, 3).Draw(r, "level")), OnDuty: int32(rapid.IntRange(-1, 9).Draw(r, "duty"))}
			left := int32(3600)
			for range rapid.IntRange(0, 4).Draw(r, "levels") {
				s := rapid.Int32Range(0, left).Draw(r, "seconds")
				hour.LevelSeconds, left = append(hour.LevelSeconds, s), left-s
			}
			h.recorded.hours = append(h.recorded.hours, hour)
		}
		a := trendsOf(t, h, "")
		m := a.LevelMinutes
		if sum := m["green"] + m["yellow"] + m["orange"] + m["red"]; sum+m["unknown"] != 60*24 || m["estimated"] > sum {
			r.Fatalf("%v", m)
		}
		for _, hour := range a.Hours {
			n := hour.LevelMinutes
			if sum := n["green"] + n["yellow"] + n["orange"] + n["red"]; sum > 60 || hour.Observed && sum != 60 || !hour.Observed && n["estimated"] != 0 {
				r.Fatalf("%+v", hour)
			}
		}
	})
}
