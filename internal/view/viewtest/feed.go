package viewtest

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"svc/internal/feeds"
	"svc/internal/view"
)

// clock opens a view whose clock returns *now.
func clock(t *testing.T, s Server, now *time.Time) *view.View {
	t.Helper()
	return openWith(t, s.URL, func(c *view.Config) { c.Prefix, c.Now = "", func() time.Time { return *now } })
}

// testCounts tests that the counts of two instances add up, that Redis keeps them when both instances restart, and
// that windows advance.
func testCounts(t *testing.T, s Server) {
	now := time.Date(2031, 4, 5, 23, 59, 30, 0, time.UTC)
	one, two := clock(t, s, &now), clock(t, s, &now)
	hl7 := feeds.Feed{Hospital: "north", Channel: "hl7", Source: "key_1"}
	census := feeds.Feed{Hospital: "north", Channel: "census", Source: "key_2"}
	other := feeds.Feed{Hospital: "south", Channel: "hl7", Source: "key_3"}
	sum := func(n int64, first, last time.Time) *feeds.Sum {
		return &feeds.Sum{
			Counts: feeds.Counts{
				Received: n, Applied: n - 3, Duplicates: 1, Ignored: 1, Rejected: 1, Warnings: 2,
				Changed: 4, Unchanged: 5, Unused: 6, Outside: 7,
			},
			FirstReceived: first, LastReceived: last, LastApplied: last, LastEvent: first.Add(-time.Hour),
		}
	}
	add := func(b *view.View, sums map[feeds.Feed]*feeds.Sum) {
		t.Helper()
		if left, err := b.Feeds().AddFeeds(t.Context(), sums); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
	}
	add(one, map[feeds.Feed]*feeds.Sum{hl7: sum(10, now.Add(-time.Second), now), census: sum(5, now, now), other: sum(7, now, now)})
	add(two, map[feeds.Feed]*feeds.Sum{hl7: sum(20, now, now)})
	begin := now
	now = now.Add(40 * time.Second) // the next day, and a new bucket of every size
	add(two, map[feeds.Feed]*feeds.Sum{hl7: sum(100, now.Add(-10*time.Second), now)})

	list, err := clock(t, s, &now).Feeds().List(t.Context(), "north")
	if err != nil || len(list) != 2 || list[0].Feed != census || list[1].Feed != hl7 {
		t.Fatalf("%+v, %v", list, err)
	}
	h := &list[1]
	for window, want := range map[int]int64{feeds.MinuteWindow: 130, feeds.HourWindow: 130, feeds.DayWindow: 130} {
		sums := feeds.Counts{
			Received: want, Applied: want - 9, Duplicates: 3, Ignored: 3, Rejected: 3, Warnings: 6,
			Changed: 12, Unchanged: 15, Unused: 18, Outside: 21,
		}
		if got := h.Window(window, now); got != sums {
			t.Errorf("window %d: %+v", window, got)
		}
	}
	if !h.LastReceived.Equal(now) || !h.LastApplied.Equal(now) || !h.LastEvent.Equal(now.Add(-10*time.Second-time.Hour)) {
		t.Errorf("%+v", h)
	}
	var gap time.Duration
	for _, b := range h.Buckets[feeds.DayWindow] {
		gap = max(gap, b.Gap)
	}
	if want := now.Add(-10 * time.Second).Sub(begin); gap != want {
		t.Errorf("gap %v, want %v", gap, want)
	}
	now = now.Add(2 * time.Minute)
	if got := h.Window(feeds.MinuteWindow, now); got.Received != 0 {
		t.Errorf("the counts of the minute did not expire: %+v", got)
	}
	// Counts that are added late belong to the windows in which the messages were received. They do not change the
	// feed's LastReceived, LastApplied or LastEvent.
	before := *h
	left, err := one.Feeds().AddFeedsAt(t.Context(), begin.Add(-2*time.Hour), map[feeds.Feed]*feeds.Sum{
		hl7: sum(1000, begin.Add(-2*time.Hour), begin.Add(-2*time.Hour)),
	})
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if list, err = one.Feeds().List(t.Context(), "north"); err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	h = &list[1]
	if h.LastReceived != before.LastReceived || h.LastApplied != before.LastApplied || h.LastEvent != before.LastEvent {
		t.Errorf("times %+v, want those of %+v", h, before)
	}
	if hour, day := h.Window(feeds.HourWindow, now).Received, h.Window(feeds.DayWindow, now).Received; hour != 130 || day != 1130 {
		t.Errorf("%d received in the last hour, %d in the last day", hour, day)
	}
	now = now.Add(7 * 24 * time.Hour)
	if list, err := one.Feeds().List(t.Context(), "north"); err != nil || len(list) > 0 {
		t.Errorf("feeds still listed a week later: %+v, %v", list, err)
	}
}

// testNotices tests that the newest refusals and warnings of a feed are kept, no matter which instance wrote them. If
// a hospital has too many feeds with notices, only the feeds with the latest notices keep theirs.
func testNotices(t *testing.T, s Server) {
	now := time.Date(2031, 4, 5, 23, 59, 30, 0, time.UTC)
	one, two := clock(t, s, &now), clock(t, s, &now)
	hl7 := feeds.Feed{Hospital: "noticed", Channel: "hl7", Source: "key_1"}
	census := feeds.Feed{Hospital: "noticed", Channel: "census", Source: "key_1"}
	begin := now
	note := func(n int, refused bool) feeds.Notice {
		at := begin.Add(time.Duration(n) * time.Second)
		return feeds.Notice{At: at, Refused: refused, ControlID: strconv.Itoa(n), Code: "AE 101", Path: "PV1-19"}
	}
	add := func(b *view.View, f feeds.Feed, notices ...feeds.Notice) {
		t.Helper()
		if left, err := b.Feeds().AddFeeds(t.Context(), map[feeds.Feed]*feeds.Sum{f: {Notices: notices}}); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
	}
	is := func(f feeds.Feed, refused, warned []feeds.Notice, routine ...feeds.Notice) {
		t.Helper()
		all, err := clock(t, s, &now).Feeds().Notices(t.Context(), f)
		if err != nil || !slices.Equal(all.Refused, refused) || !slices.Equal(all.Warned, warned) || !slices.Equal(all.Routine, routine) {
			t.Errorf("%s: %v\n%+v, want\n%+v, and\n%+v, want\n%+v, and\n%+v, want\n%+v",
				f.Channel, err, all.Refused, refused, all.Warned, warned, all.Routine, routine)
		}
	}
	is(hl7, nil, nil)
	add(one, hl7, note(1, true), note(2, false), note(3, false))
	add(two, hl7, note(4, true))
	add(two, census, feeds.Notice{At: begin, RequestID: "r", Code: "c"})
	is(hl7, []feeds.Notice{note(4, true), note(1, true)}, []feeds.Notice{note(3, false), note(2, false)})
	is(census, nil, []feeds.Notice{{At: begin, RequestID: "r", Code: "c"}})
	// Routine warnings do not displace other notices.
	ignored := feeds.Notice{At: begin, Routine: true, Code: "event_ignored", Path: "MSH-9", Event: "A05"}
	adt := feeds.Feed{Hospital: "noticed", Channel: "adt", Source: "key_routine"}
	add(one, adt, append(slices.Repeat([]feeds.Notice{ignored}, 2*feeds.NoticesKept), note(1, false))...)
	is(adt, nil, []feeds.Notice{note(1, false)}, slices.Repeat([]feeds.Notice{ignored}, feeds.NoticesKept)...)

	now = now.Add(time.Second)
	add(one, hl7, note(5, true), note(5, true)) // equal notices remain separate
	var many, kept []feeds.Notice
	for n := range 150 {
		many = append(many, note(10+n, false))
	}
	add(two, hl7, many...)
	for n := range feeds.NoticesKept {
		kept = append(kept, note(159-n, false))
	}
	is(hl7, []feeds.Notice{note(5, true), note(5, true), note(4, true), note(1, true)}, kept)

	for n := range feeds.NoticeFeeds - 1 {
		now = now.Add(time.Second)
		add(one, feeds.Feed{Hospital: "noticed", Channel: "adt", Source: "key_" + strconv.Itoa(n)}, feeds.Notice{At: now, Code: "c"})
	}
	is(census, nil, nil) // dropped, because the hospital has too many feeds with notices
	is(hl7, []feeds.Notice{note(5, true), note(5, true), note(4, true), note(1, true)}, kept)
	list, err := one.Feeds().List(t.Context(), "noticed")
	if err != nil || len(list) > 0 { // feeds that have not received any messages are not listed
		t.Errorf("%d feeds, %v", len(list), err)
	}
}

func testProgress(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	if p, err := v.Progress(t.Context(), "north"); p != (view.Progress{Partition: partition, Position: -1}) || err != nil {
		t.Errorf("progress before the first write: %+v, %v", p, err)
	}
	v.whole(41, unit("north", 1))
	v.settle(t, 41)
	v.Pulse(time.Now(), map[int32]int64{partition: 42}) //nolint:forbidigo // real servers, real time
	until(t, func() bool {
		p, err := v.Progress(t.Context(), "north")
		return err == nil && p.Partition == partition && p.Position == 41 && !p.Pulse.IsZero()
	})
}

func testUses(t *testing.T, s Server) {
	b := Open(t, s.URL)
	at := time.UnixMilli(1_700_000_000_123).UTC()
	if err := b.StoreUses(t.Context(), map[string]time.Time{"key_1": at, "key_2": at.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := b.StoreUses(t.Context(), map[string]time.Time{"key_2": at.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	got, err := b.Used(t.Context(), []string{"key_2", "key_3", "key_1"})
	if err != nil || len(got) != 2 || !got["key_1"].Equal(at) || !got["key_2"].Equal(at.Add(time.Hour)) {
		t.Errorf("used %v, %v", got, err)
	}
}
