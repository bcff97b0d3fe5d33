package feeds_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/internal/feeds"
)

var midnight = time.Date(2031, 4, 5, 0, 0, 0, 0, time.UTC)

// arrivals returns the history of a day on which a message arrives after each gap.
func arrivals(gaps ...time.Duration) (h feeds.History, end time.Time) {
	at := midnight
	quarters := map[time.Time]time.Duration{}
	for _, gap := range gaps {
		at = at.Add(gap)
		quarter := at.Truncate(15 * time.Minute)
		quarters[quarter] = max(quarters[quarter], gap)
	}
	for quarter, gap := range quarters {
		h.Buckets[feeds.DayWindow] = append(h.Buckets[feeds.DayWindow], feeds.Bucket{At: quarter, Gap: gap, Counts: feeds.Counts{Received: 1}})
	}
	h.LastReceived = at
	return h, at
}

func every(gap, lasting time.Duration) (gaps []time.Duration) {
	for range int(lasting / gap) {
		gaps = append(gaps, gap)
	}
	return gaps
}

func join(all ...[]time.Duration) (gaps []time.Duration) {
	for _, some := range all {
		gaps = append(gaps, some...)
	}
	return gaps
}

func TestRhythm(t *testing.T) {
	for name, tt := range map[string]struct {
		gaps     []time.Duration
		expected time.Duration
		stale    time.Duration // silence after which the feed is stale; 0 if never
	}{
		"nothing":            {nil, 0, 0},
		"too few":            {every(time.Hour, 4*time.Hour), 0, 0},
		"each hour":          {every(time.Hour, 23*time.Hour), time.Hour, 3 * time.Hour},
		"each ten seconds":   {every(10*time.Second, 20*time.Hour), time.Minute, 5 * time.Minute},
		"each three minutes": {every(3*time.Minute, 20*time.Hour), 3 * time.Minute, 9 * time.Minute},
		"an outage of three hours": {
			join(every(time.Minute, 10*time.Hour), []time.Duration{3 * time.Hour}, every(time.Minute, 10*time.Hour)), time.Minute, 5 * time.Minute,
		},
		"a slow night": {
			join(every(20*time.Minute, 6*time.Hour), every(time.Minute, 16*time.Hour)), 20 * time.Minute, time.Hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, end := arrivals(tt.gaps...)
			if got := h.Expected(end); got != tt.expected {
				t.Errorf("expected %v, want %v", got, tt.expected)
			}
			if tt.stale == 0 {
				if h.Stale(end.Add(12 * time.Hour)) {
					t.Error("stale without a rhythm")
				}
				return
			}
			if h.Stale(end.Add(tt.stale)) || !h.Stale(end.Add(tt.stale+time.Second)) {
				t.Errorf("not stale exactly after %v", tt.stale)
			}
		})
	}
}

// TestDayGoesOn: gaps that are older than a day are not part of the rhythm.
func TestDayGoesOn(t *testing.T) {
	h, end := arrivals(every(time.Hour, 20*time.Hour)...)
	if h.Expected(end.Add(25*time.Hour)) != 0 {
		t.Error("a rhythm of the day before")
	}
}

func TestCounter(t *testing.T) {
	var counter feeds.Counter
	f := feeds.Feed{Hospital: "north", Channel: "hl7", Source: "key_1"}
	if len(counter.Drain()) > 0 {
		t.Error("something of nothing")
	}
	later := midnight.Add(time.Second)
	counter.Add(f, &feeds.Sum{Counts: feeds.Counts{Received: 2, Warnings: 1}, FirstReceived: later, LastReceived: later})
	counter.Add(f, &feeds.Sum{Counts: feeds.Counts{Received: 1, Applied: 1}, FirstReceived: midnight, LastReceived: midnight, LastApplied: later, LastEvent: midnight})
	counter.Add(f, &feeds.Sum{Counts: feeds.Counts{Ignored: 1}})
	got := counter.Drain()[f]
	want := feeds.Sum{
		Counts:        feeds.Counts{Received: 3, Applied: 1, Ignored: 1, Warnings: 1},
		FirstReceived: midnight, LastReceived: later, LastApplied: later, LastEvent: midnight,
	}
	if got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(counter.Drain()) > 0 {
		t.Error("taken twice")
	}
}

// TestNoticesAreBounded: once a Counter has more than two hundred notices for a feed, it keeps only the newest
// hundred of each kind. For all feeds together, it keeps about ten thousand notices until it is drained.
func TestNoticesAreBounded(t *testing.T) {
	var counter feeds.Counter
	f := feeds.Feed{Hospital: "north", Channel: "hl7", Source: "key_1"}
	at := func(n int) time.Time { return midnight.Add(time.Duration(n) * time.Second) }
	for n := range 500 {
		counter.Add(f, &feeds.Sum{Notices: []feeds.Notice{{At: at(n)}, {At: at(n), Refused: n < 120}}})
	}
	kinds := map[bool][]feeds.Notice{}
	for _, n := range counter.Drain()[f].Notices {
		kinds[n.Refused] = append(kinds[n.Refused], n)
	}
	for refused, newest := range map[bool]int{true: 119, false: 499} {
		list := kinds[refused]
		sorted := slices.IsSortedFunc(list, func(a, b feeds.Notice) int { return a.At.Compare(b.At) })
		if len(list) != feeds.NoticesKept || !sorted || !list[len(list)-1].At.Equal(at(newest)) {
			t.Errorf("refused %t: %d, the last of %v", refused, len(list), list[len(list)-1].At)
		}
	}
	many := make([]feeds.Notice, 2*feeds.NoticesKept)
	held := 0
	for n := range 1000 {
		counter.Add(feeds.Feed{Channel: string(rune('a' + n))}, &feeds.Sum{Notices: many})
	}
	for _, sum := range counter.Drain() {
		held += len(sum.Notices)
	}
	if held > 10_100 {
		t.Errorf("%d are held", held)
	}
	counter.Add(f, &feeds.Sum{Notices: many[:1]})
	if got := counter.Drain()[f].Notices; len(got) != 1 {
		t.Errorf("after they were taken: %d", len(got))
	}
}
