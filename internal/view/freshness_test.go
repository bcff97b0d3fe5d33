package view

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var zero = time.Unix(1_900_000_000, 0)

// TestFreshnessTellsTheTruth draws a growing log, the progress of its reader, and queries for its end, in any order.
// Everything that Freshness reports must be true of the log.
func TestFreshnessTellsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Freshness
		now, last, position := zero, int64(-1), int64(-1)
		lastAt := map[time.Time]int64{}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				last += int64(rapid.IntRange(0, 5).Draw(t, "inputs"))
			case 1:
				position = min(last, position+int64(rapid.IntRange(0, 4).Draw(t, "taken")))
				f.RecordProgress(position)
			default:
				lastAt[now] = last
				f.RecordEnd(now, last)
			}
			if asOf := f.AsOf(); !asOf.IsZero() && lastAt[asOf] > position {
				t.Fatalf("nothing up to %d is missing as of %v, but the log ended at %d", position, asOf.Sub(zero), lastAt[asOf])
			}
			waits := f.Waits()
			if !waits.IsZero() && f.any && lastAt[waits] <= position {
				t.Fatalf("something waits since %v, but %d is taken in", waits.Sub(zero), position)
			}
			if asked, ever := lastAt[now]; ever && asked <= position && f.any && (!f.AsOf().Equal(now) || !waits.IsZero()) {
				t.Fatalf("nothing is missing at %v, but it is as of %v and something waits since %v", now, f.AsOf(), waits)
			}
			if len(f.ends) > endsAtMost {
				t.Fatalf("%d ends are kept", len(f.ends))
			}
			if behind := f.Behind(now); behind < 0 || behind > 0 && waits.IsZero() && behind <= knownWithin {
				t.Fatalf("%v behind, and nothing waits", behind)
			}
		}
		f.RecordProgress(last)
		f.RecordEnd(now, last)
		if !f.AsOf().Equal(now) || !f.Waits().IsZero() || f.Behind(now) != 0 {
			t.Fatalf("caught up as of %v and waits since %v", f.AsOf(), f.Waits())
		}
	})
}

// TestStandingStill: while a reader is stuck, Behind reports how long the next record has been pending, even after an
// hour, although only a few ends of the log are kept. After the reader has caught up, Behind is small again.
func TestStandingStill(t *testing.T) {
	var f Freshness
	f.RecordProgress(4)
	f.RecordEnd(zero, 4)
	at := zero
	for range 3600 {
		at = at.Add(time.Second)
		f.RecordEnd(at, 5)
	}
	if got := f.Behind(at); got != time.Hour-time.Second {
		t.Errorf("%v behind", got)
	}
	if f.RecordProgress(5); f.Behind(at) > 2*time.Minute || f.AsOf().Before(at.Add(-2*time.Minute)) {
		t.Errorf("caught up, and %v behind as of %v before", f.Behind(at), at.Sub(f.AsOf()))
	}
	if f.RecordEnd(at, 5); f.Behind(at) != 0 || f.Behind(at.Add(knownWithin)) != 0 || f.Behind(at.Add(time.Minute)) != time.Minute {
		t.Errorf("asked again: %v, and a minute later %v", f.Behind(at), f.Behind(at.Add(time.Minute)))
	}
}

// TestNeverAnswered: the state of a log that never responds counts as unknown, beginning with the first query.
func TestNeverAnswered(t *testing.T) {
	f := FreshnessSince(zero)
	f.RecordProgress(4)
	if got := f.Behind(zero.Add(knownWithin)); got != 0 || !f.Unasked() || f.Fault(zero.Add(knownWithin), 0) != nil {
		t.Errorf("just asked: %v behind", got)
	}
	if got := f.Behind(zero.Add(time.Minute)); got != time.Minute || !errors.Is(f.Fault(zero.Add(time.Minute), 0), ErrBehind) {
		t.Errorf("after a minute without an answer: %v behind", got)
	}
	f.RecordEnd(zero.Add(-time.Minute), 5) // a record has been pending for a minute
	f.RecordEnd(zero, 9)
	if got := f.Behind(zero); got != time.Minute || f.Unasked() {
		t.Errorf("a record has waited for a minute: %v behind", got)
	}
}

// TestHeaderFault checks which headers make a partition readable.
func TestHeaderFault(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	said := func(pulse, asOf, waiting int) header { // pulse and asOf as ms before zero, waiting in ms
		return header{whole: true, readAt: zero, signs: signs{zero.Add(-ms(pulse)), zero.Add(-ms(asOf)), ms(waiting)}}
	}
	torn := said(0, 0, 0)
	torn.whole = false
	older := said(0, 0, 0)
	older.older = true
	for name, tt := range map[string]struct {
		header header
		want   error
	}{
		"just now":                  {said(0, 0, 0), nil},
		"within all bounds":         {said(5000, 5000, 2000), nil},
		"not whole":                 {torn, ErrNotWhole},
		"its node is away":          {header{whole: true, away: ErrAway}, ErrAway},
		"no sign":                   {header{whole: true, readAt: zero}, ErrBehind},
		"no pulse for long":         {said(5001, 5001, 0), ErrBehind},
		"a pulse of an hour ahead":  {said(-3_600_000, -3_600_000, 0), ErrBehind},
		"an input waits for long":   {said(0, 2500, 2001), ErrBehind},
		"the log is unknown":        {said(0, 5001, 0), ErrBehind},
		"a log of an hour ahead":    {said(0, -3_600_000, 0), ErrBehind},
		"the writer is a bit ahead": {said(-100, -100, 0), nil},
		"a later one was seen":      {older, ErrBehind},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tt.header.fault(waitsAtMost); !errors.Is(err, tt.want) || (tt.want == nil) != (err == nil) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// TestHeaderOf: a written header can be read, and malformed fields make the view incomplete.
func TestHeaderOf(t *testing.T) {
	want := header{generation: "g", whole: true, position: 7, versions: 12, signs: signs{time.UnixMilli(9000), time.UnixMilli(8000), 3 * time.Second}}
	if h := headerOf([]any{"g", "1", "7", "9000 8000 3000", "12"}); h != want {
		t.Errorf("%+v", h)
	}
	if h := headerOf([]any{nil, nil, nil, nil, nil}); h != (header{position: -1}) {
		t.Errorf("nothing: %+v", h)
	}
	for _, fields := range [][]any{
		{"g", "0", "7", "9000 8000 3000", "12"},
		{"g", "1", "x", "9000 8000 3000", "12"},
		{"g", "1", "7", "x", "12"},
		{"g", "1", "7", "9000 8000", "12"},
		{"g", "1", "7", "9000 8000 3000 1", "12"},
		{"g", "1", "7", "9000 8000 ", "12"},
		{"g", "1", "7", "9000 8000 3000", "x"},
	} {
		if h := headerOf(fields); h.whole {
			t.Errorf("%v is whole", fields)
		}
	}
}
