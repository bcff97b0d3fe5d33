package acuity_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
)

// spanOf returns the interval with a given precision that contains an instant, in the time zone of that instant.
func spanOf(at time.Time, p acuity.Precision) acuity.Moment {
	y, m, d := at.Date()
	from, to := at, at
	switch p {
	case acuity.Year:
		from, to = time.Date(y, 1, 1, 0, 0, 0, 0, at.Location()), time.Date(y+1, 1, 1, 0, 0, 0, 0, at.Location())
	case acuity.Month:
		from, to = time.Date(y, m, 1, 0, 0, 0, 0, at.Location()), time.Date(y, m+1, 1, 0, 0, 0, 0, at.Location())
	case acuity.Day:
		from, to = time.Date(y, m, d, 0, 0, 0, 0, at.Location()), time.Date(y, m, d+1, 0, 0, 0, 0, at.Location())
	case acuity.Hour:
		from = at.Truncate(time.Hour)
		to = from.Add(time.Hour)
	case acuity.Minute:
		from = at.Truncate(time.Minute)
		to = from.Add(time.Minute)
	case acuity.Second, acuity.Millisecond:
	}
	return acuity.Moment{From: acuity.At(from), To: acuity.At(to), Precision: p}
}

// For any precision and time zone, a coarse time resolves to an instant that is in its interval and not after the
// receipt. If the message contains no time that is more exact and lies within the interval, the instant is the latest
// possible one.
func TestCoarseMomentLiesInItsInterval(t *testing.T) {
	zones := []*time.Location{time.UTC}
	for _, name := range []string{"America/Chicago", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		happened := time.UnixMilli(rapid.Int64Range(1_700_000_000_000, 1_800_000_000_000).Draw(t, "happened")).In(zone)
		precision := func(name string) acuity.Precision {
			return acuity.Precision(rapid.IntRange(int(acuity.Millisecond), int(acuity.Year)).Draw(t, name))
		}
		after := func(name string) time.Time {
			return happened.Add(time.Duration(rapid.Int64Range(0, int64(40*24*time.Hour)).Draw(t, name)))
		}
		told := spanOf(happened, precision("told"))
		receipt := acuity.At(after("receipt"))
		var beside []acuity.Moment
		for range rapid.IntRange(0, 3).Draw(t, "beside") {
			beside = append(beside, spanOf(after("beside"), precision("to")))
		}
		at := told.Resolve(receipt, beside...)
		if told.IsExact() {
			if at != told.From {
				t.Fatalf("an exact time became %v", at.Time())
			}
			return
		}
		if at < told.From || at >= told.To || at > receipt {
			t.Fatalf("%v lies outside of [%v, %v), receipt %v", at.Time(), told.From.Time(), told.To.Time(), receipt.Time())
		}
		for _, b := range beside {
			if b.IsExact() && told.From <= b.From && b.From < told.To {
				return // the more exact time may determine the instant
			}
			if b.Precision < told.Precision && told.From <= b.From && b.From < told.To {
				return
			}
		}
		if at != min(receipt, told.To-1) {
			t.Fatalf("%v is before an exact time within [%v, %v), receipt %v", at.Time(), told.From.Time(), told.To.Time(), receipt.Time())
		}
	})
}

func TestResolve(t *testing.T) {
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	at := func(hour, minute int) acuity.Instant {
		return acuity.At(day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute))
	}
	today, hour := spanOf(day.Add(time.Hour), acuity.Day), spanOf(day.Add(8*time.Hour+42*time.Minute), acuity.Hour)
	exact := func(i acuity.Instant) acuity.Moment { return acuity.Moment{From: i} }
	for name, c := range map[string]struct {
		told    acuity.Moment
		receipt acuity.Instant
		beside  []acuity.Moment
		want    acuity.Instant
	}{
		"the time beside it":                  {today, at(15, 0), []acuity.Moment{exact(at(14, 59))}, at(14, 59)},
		"the first beside it":                 {today, at(15, 0), []acuity.Moment{exact(at(9, 0)), exact(at(14, 59))}, at(9, 0)},
		"an hour, made exact by the next":     {today, at(15, 0), []acuity.Moment{hour, exact(at(8, 50))}, at(8, 50)},
		"an hour that is over":                {today, at(15, 0), []acuity.Moment{hour, exact(at(14, 0))}, at(9, 0) - 1},
		"one outside of the interval":         {hour, at(8, 55), []acuity.Moment{exact(at(7, 0))}, at(8, 55)},
		"none: the receipt":                   {today, at(15, 0), nil, at(15, 0)},
		"none, and the day is over":           {today, at(33, 0), nil, at(24, 0) - 1},
		"a clock beside it that runs ahead":   {today, at(15, 0), []acuity.Moment{exact(at(15, 3))}, at(15, 0)},
		"a day that has not begun":            {today, at(-5, 0), nil, at(0, 0)},
		"an exact time is what it says":       {exact(at(9, 0)), at(15, 0), []acuity.Moment{exact(at(10, 0))}, at(9, 0)},
		"no time is none, whatever stands by": {acuity.Moment{}, at(15, 0), []acuity.Moment{exact(at(10, 0))}, 0},
	} {
		if got := c.told.Resolve(c.receipt, c.beside...); got != c.want {
			t.Errorf("%s: %v, want %v", name, got.Time().UTC(), c.want.Time().UTC())
		}
	}
}

// A repeated coarse start keeps the known instant if that instant is in the new interval.
func TestKeep(t *testing.T) {
	for _, c := range []struct{ known, from, at, want acuity.Instant }{
		{100, 50, 200, 100}, {0, 50, 200, 200}, {100, 0, 200, 200}, {40, 50, 200, 200}, {300, 50, 200, 200},
	} {
		if got := acuity.Keep(c.known, c.from, c.at); got != c.want {
			t.Errorf("known %d, interval from %d, now %d: %d, want %d", c.known, c.from, c.at, got, c.want)
		}
	}
}
