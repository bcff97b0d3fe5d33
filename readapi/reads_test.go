package readapi_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/internal/feeds"
	"svc/readapi"
)

// TestBefore: while facts may be missing, the pages get the verdict as of the last instant at which no facts were
// missing. If that instant is more than a day ago or unknown, they get the error.
func TestBefore(t *testing.T) {
	h := newFixture(worked(t))
	h.now = noon.Add(40 * time.Minute)
	for name, tt := range map[string]struct {
		behind error
		told   bool
	}{
		"a moment":      {&readapi.BehindError{For: 10 * time.Minute, Cause: readapi.ErrAway}, true},
		"a day":         {&readapi.BehindError{For: 24 * time.Hour, Cause: readapi.ErrAway}, true},
		"longer":        {&readapi.BehindError{For: 24*time.Hour + 1, Cause: readapi.ErrAway}, false},
		"for ever":      {&readapi.BehindError{Cause: readapi.ErrAway}, false},
		"it is away":    {readapi.ErrAway, false},
		"there is none": {readapi.ErrNoUnit, false},
	} {
		t.Run(name, func(t *testing.T) {
			h.behind = tt.behind
			u, err := h.reads.Unit(t.Context(), "north")
			known := (*readapi.BehindError)(nil)
			switch {
			case !tt.told:
				if !errors.Is(err, tt.behind) || u != nil {
					t.Errorf("%v, %v", u, err)
				}
			case err != nil:
				t.Error(err)
			case !errors.As(tt.behind, &known) || !u.Stopped.Equal(h.now.Time().Add(-known.For)) || u.Version == "":
				t.Errorf("at %v, state %q", u.Stopped, u.Version)
			default: // a chart is never judged at an instant before it was written
				if u.Rules != h.chart.Unit.Catalogue() {
					t.Error("the rules are not those of the hospital")
				}
				v, want := u.Verdict, plainVerdict(h.chart, max(acuity.At(u.Stopped), h.chart.Unit.Clock))
				if v.Level != want.Level || v.Required != want.Required || v.AsOf != want.AsOf {
					t.Errorf("%v of %v, want %v of %v", v.Level, v.AsOf, want.Level, want.AsOf)
				}
			}
		})
	}
}

// TestRoomAhead: for each instant of the next eight hours, Room already returns the verdict that a judgment at that
// instant gives.
func TestRoomAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newFixture(drawChart(t, 1, noon, nil))
		h.now = noon.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "later")) * minutes)
		if none, err := h.reads.Room(t.Context(), "north", 99, 8*time.Hour); none != nil || err != nil {
			t.Fatalf("a room that is not there: %v, %v", none, err)
		}
		end := h.now.Add(8 * time.Hour)
		for i := range h.chart.Rooms {
			id := h.chart.Rooms[i].ID
			ahead, err := h.reads.Room(t.Context(), "north", id, 8*time.Hour)
			if err != nil || len(ahead.Steps) == 0 || len(ahead.Shares) != len(ahead.Steps[0].Verdict.Factors) {
				t.Fatalf("room %d: %+v, %v", id, ahead, err)
			}
			at := h.now.Add(time.Duration(rapid.IntRange(0, 8*60).Draw(t, "at")) * minutes)
			step := 0
			for step+1 < len(ahead.Steps) && ahead.Steps[step+1].From <= at {
				step++
			}
			if last := ahead.Steps[len(ahead.Steps)-1].From; last > end || !slices.IsSortedFunc(ahead.Steps, func(a, b readapi.RoomStep) int { return int(a.From - b.From) }) {
				t.Fatalf("room %d: steps up to %v", id, last)
			}
			whole := score.Judge(h.chart, at)
			got, want := ahead.Steps[step].Verdict, whole.Rooms[i]
			if got.Demand != want.Demand || got.Color != want.Color || got.Score != want.Score || !reflect.DeepEqual(factorsOf(&got), factorsOf(&want)) {
				t.Fatalf("room %d at %v: %+v, want %+v", id, at.Time(), got, want)
			}
		}
	})
}

func factorsOf(v *score.RoomVerdict) (ids []catalogue.Factor) {
	for i := range v.Factors {
		ids = append(ids, v.Factors[i].Factor)
	}
	return ids
}

// TestUnitHasItsRules: a unit has the rules of its verdict, with the values that the hospital has set.
func TestUnitHasItsRules(t *testing.T) {
	magnesium, _ := catalogue.FactorByID("high-mag")
	for _, own := range [][]catalogue.Rule{nil, {{Factor: magnesium, Lines: []catalogue.RuleLine{{Name: "floor", Text: "2"}}}}} {
		h := newFixture(worked(t))
		h.chart.Unit.Rules = own
		u, err := h.reads.Unit(t.Context(), "north")
		if err != nil {
			t.Fatal(err)
		}
		if want := h.chart.Unit.Catalogue(); u.Rules != want || u.Rules.Version() != u.Verdict.Rules {
			t.Errorf("%d own rules: version %s, want %s as in the verdict %s", len(own), u.Rules.Version(), want.Version(), u.Verdict.Rules)
		}
	}
}

// TestPlan: a unit includes each staffing plan until the plan takes effect.
func TestPlan(t *testing.T) {
	h := newFixture(worked(t))
	for i := range 3 {
		h.chart.Unit.Staffing = append(h.chart.Unit.Staffing, acuity.Staffing{AsOf: noon.Add(time.Duration(i+1) * time.Hour), Nurses: int32(9 + i)})
	}
	for minute, want := range map[int][]int32{0: {9, 10, 11}, 59: {9, 10, 11}, 60: {10, 11}, 150: {11}, 180: nil, 600: nil} {
		h.now = noon.Add(time.Duration(minute) * time.Minute)
		u, err := h.reads.Unit(t.Context(), "north")
		if err != nil {
			t.Fatal(err)
		}
		var got []int32
		for _, s := range u.Plan {
			got = append(got, s.Nurses)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d min: %v, want %v", minute, got, want)
		}
	}
}

// TestFeedsUnknown: a unit reports that its feeds are unknown while their record cannot be read,
// and when the record is empty although feeds have sent data.
func TestFeedsUnknown(t *testing.T) {
	away := errors.New("redis is away")
	seen := []feeds.History{{Feed: feeds.Feed{Hospital: "north", Source: "key_1", Channel: "adt"}}}
	for name, tt := range map[string]struct {
		chart   *acuity.Chart
		feeds   []feeds.History
		err     error
		unknown bool
	}{
		"nothing was sent":  {&acuity.Chart{Hospital: "north"}, nil, nil, false},
		"the record failed": {worked(t), seen, away, true},
		"the record, lost":  {worked(t), nil, nil, true},
		"a record":          {worked(t), seen, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(tt.chart)
			h.health.feeds, h.health.err = tt.feeds, tt.err
			u, err := h.reads.Unit(t.Context(), "north")
			if err != nil {
				t.Fatal(err)
			}
			if u.FeedsUnknown != tt.unknown {
				t.Errorf("unknown: %t, %d feeds", u.FeedsUnknown, len(u.Feeds))
			}
		})
	}
}
