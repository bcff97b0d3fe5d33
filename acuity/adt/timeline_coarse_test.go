package adt

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
)

// dayOfTests returns the day of the tests, in UTC, as an interval. The day contains the instant minute(0).
func dayOfTests() acuity.Moment { return momentOf(minute(0), acuity.Day) }

// momentOf returns the interval of the given precision, in UTC, that contains an instant.
func momentOf(at acuity.Instant, p acuity.Precision) acuity.Moment {
	t := at.Time().UTC()
	y, m, d := t.Date()
	from, to := t, t
	switch p {
	case acuity.Year:
		from = time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
		to = from.AddDate(1, 0, 0)
	case acuity.Month:
		from = time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
		to = from.AddDate(0, 1, 0)
	case acuity.Day:
		from = time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
		to = from.AddDate(0, 0, 1)
	case acuity.Hour:
		from = t.Truncate(time.Hour)
		to = from.Add(time.Hour)
	case acuity.Minute:
		from = t.Truncate(time.Minute)
		to = from.Add(time.Minute)
	case acuity.Second, acuity.Millisecond:
	}
	return acuity.Moment{From: acuity.At(from), To: acuity.At(to), Precision: p}
}

// withCoarseTime returns the event with the coarse time m, received at the given minute. The argument beside lists
// the other times in the event's message.
func withCoarseTime(e acuity.Event, m acuity.Moment, received int, beside ...acuity.Moment) acuity.Event {
	e.ReceivedAt, e.RecordedAt = minute(received), 0
	e.SetTime(m, m.Resolve(e.ReceivedAt, beside...))
	return e
}

// dayAfter is one day in minutes, so minute(dayAfter) is on the day after dayOfTests.
const dayAfter = 24 * 60

func TestTimelineOfCoarseTimes(t *testing.T) {
	sent := func(n int) acuity.Moment { return acuity.Moment{From: minute(n)} }
	for name, c := range map[string]struct {
		events []acuity.Event
		want   string
	}{
		"a discharge today ends an exact admission of today": {
			[]acuity.Event{event("a", acuity.A01, 0, "LD^1"), withCoarseTime(event("b", acuity.A03, 0, "LD^1"), dayOfTests(), 120, sent(119))},
			"1 0 to 119 closed class I moves 2",
		},
		"an admission of a day that is over comes before its exact transfer and discharge": {
			[]acuity.Event{
				withCoarseTime(event("a", acuity.A01, 0, "LD^1"), dayOfTests(), dayAfter), event("b", acuity.A02, 60, "MBU^3"), event("c", acuity.A03, 90, "MBU^3"),
			},
			"1 60 to 60 3 60 to 90 closed class I moves 3",
		},
		"an admission today that was received late leaves her where she was moved": {
			[]acuity.Event{withCoarseTime(event("a", acuity.A01, 0, "LD^1"), dayOfTests(), 200), event("b", acuity.A02, 60, "MBU^3")},
			"1 60 to 60 3 60 class I moves 2",
		},
		"a coarse return is after the discharge": {
			[]acuity.Event{
				event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 60, "LD^1"),
				withCoarseTime(event("c", acuity.A01, 0, "LD^2"), dayOfTests(), 100, sent(99)),
			},
			"1 0 to 60 2 99 class I moves 3",
		},
		"a cancel without a key takes back a transfer of its day": {
			[]acuity.Event{
				event("a", acuity.A01, 0, "LD^1"), withCoarseTime(event("b", acuity.A02, 0, "MBU^3"), dayOfTests(), dayAfter), cancel("c", acuity.A12, 60, -1, "MBU^3"),
			},
			"1 0 class I moves 1 b:cancelled",
		},
		"a cancel without a key takes back what was surely before it": {
			[]acuity.Event{
				event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 30, "MBU^3"),
				withCoarseTime(event("d", acuity.A02, 0, "LD^2"), dayOfTests(), 120, sent(119)), cancel("c", acuity.A12, 60, -1, ""),
			},
			"1 0 to 119 2 119 class I moves 2 b:cancelled",
		},
		"a cancel with the day of its event": {
			[]acuity.Event{
				event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 30, "LD^1"),
				with(cancel("c", acuity.A13, 60, 0, ""), func(e *acuity.Event) { e.Cancels, e.CancelsPrecision = dayOfTests().From, acuity.Day }),
			},
			"1 0 class I moves 1 b:cancelled",
		},
		"an admission told again beside another time is one move": {
			[]acuity.Event{
				withCoarseTime(event("a", acuity.A01, 0, "LD^1"), dayOfTests(), 10, sent(9)), withCoarseTime(event("b", acuity.A01, 0, "LD^1"), dayOfTests(), 20, sent(19)),
			},
			"1 9 class I moves 1",
		},
		"a cancel takes back a coarse discharge that was sent twice": {
			[]acuity.Event{
				event("a", acuity.A01, 0, "LD^1"), withCoarseTime(event("b", acuity.A03, 0, "LD^1"), dayOfTests(), 20, sent(19)),
				withCoarseTime(event("c", acuity.A03, 0, "LD^1"), dayOfTests(), 25, sent(24)), cancel("d", acuity.A13, 30, -1, "LD^1"),
			},
			"1 0 class I moves 1 b:cancelled c:cancelled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := Build(store(c.events), Options{SameRoom: testRooms})
			if got := outline(s); got != c.want {
				t.Errorf("timeline\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// If each message arrives without delay and also contains the exact time, coarse event times give the same stays as
// exact event times, in any order of arrival.
func TestCoarseTimesTellTheSameStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, 10).Draw(t, "admitted")
		exact := []acuity.Event{event("a", acuity.A01, at, "LD^1")}
		for i, n := 0, rapid.IntRange(0, 4).Draw(t, "transfers"); i < n; i++ {
			at += rapid.IntRange(1, 600).Draw(t, "stays")
			exact = append(exact, event(string(rune('b'+i)), acuity.A02, at, rapid.SampledFrom([]string{"LD^1", "LD^2", "MBU^3"}).Draw(t, "to")))
		}
		if rapid.Bool().Draw(t, "leaves") {
			exact = append(exact, event("z", acuity.A03, at+rapid.IntRange(1, 600).Draw(t, "after"), ""))
		}
		coarse := make([]acuity.Event, len(exact))
		for i, e := range exact {
			p := acuity.Precision(rapid.IntRange(int(acuity.Millisecond), int(acuity.Year)).Draw(t, "precision"))
			coarse[i] = e
			coarse[i].SetTime(momentOf(e.At, p), momentOf(e.At, p).Resolve(e.ReceivedAt, acuity.Moment{From: e.At}))
		}
		want := outline(Build(store(exact), Options{SameRoom: testRooms}))
		shuffled := rapid.Permutation(coarse).Draw(t, "order")
		if got := outline(Build(store(shuffled), Options{SameRoom: testRooms})); got != want {
			t.Fatalf("coarse\n%s\nexact\n%s", got, want)
		}
	})
}

// If svc receives the admission and the discharge of a visit long after both happened, and both times are coarse, the
// visit is closed and has one stay.
func TestCoarseStayOfThePastEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := func(e acuity.Event, name string) acuity.Event {
			e.ReceivedAt, e.RecordedAt = minute(800*dayAfter), 0
			p := acuity.Precision(rapid.IntRange(int(acuity.Millisecond), int(acuity.Year)).Draw(t, name))
			e.SetTime(momentOf(e.At, p), momentOf(e.At, p).Resolve(e.ReceivedAt))
			return e
		}
		in := rapid.IntRange(0, 2*dayAfter).Draw(t, "admitted")
		out := in + rapid.IntRange(1, 2*dayAfter).Draw(t, "stays")
		events := []acuity.Event{told(event("a", acuity.A01, in, "LD^1"), "admission"), told(event("b", acuity.A03, out, ""), "discharge")}
		s := Build(store(rapid.Permutation(events).Draw(t, "order")), Options{SameRoom: testRooms})
		if s.Open || len(s.Stays) != 1 {
			t.Fatalf("timeline %s", outline(s))
		}
	})
}
