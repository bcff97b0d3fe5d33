// Package feeds reports the health of a hospital's feeds. It counts what each feed received over the last minute,
// hour and day, and reports whether a feed has been silent for longer than usual.
//
// A process that receives feeds counts in a [Counter]. About once a second, it passes the sums to a store, which adds
// the sums of all instances to the current [Bucket] of each feed. Readers get the [History] of each feed.
package feeds

import (
	"slices"
	"sync"
	"time"
)

// Feed is one channel of one source.
type Feed struct {
	Hospital string
	Channel  string // last element of the channel's URL path
	Source   string // id of the API key
}

// Counts are numbers of HL7 messages or, for other formats, of request bodies. Once all messages are processed,
// Received is the sum of Applied, Duplicates, Ignored and Rejected.
type Counts struct {
	Received   int64
	Applied    int64
	Duplicates int64
	Ignored    int64
	Rejected   int64
	Warnings   int64 // number of warnings; not part of Received

	// The following fields show what became of the facts in the messages. For every fact, one of these is true: its
	// message is counted in Changed or Unchanged, the fact is counted in Unused, or it was rejected or is still pending.
	Changed   int64 // messages with new information
	Unchanged int64 // messages with known or older information
	Unused    int64 // facts that were not used, each named by a warning
	Outside   int64 // messages that place a patient outside the unit; part of Unused
}

func (c *Counts) add(o *Counts) {
	c.Received += o.Received
	c.Applied += o.Applied
	c.Duplicates += o.Duplicates
	c.Ignored += o.Ignored
	c.Rejected += o.Rejected
	c.Warnings += o.Warnings
	c.Changed += o.Changed
	c.Unchanged += o.Unchanged
	c.Unused += o.Unused
	c.Outside += o.Outside
}

// Sum is what one feed received since its previous Sum. A time is zero if no message has set it.
type Sum struct {
	Counts
	FirstReceived time.Time
	LastReceived  time.Time
	LastApplied   time.Time
	LastEvent     time.Time // event time of the last message that has one
	Notices       []Notice  // oldest first
}

// Level is one resolution of the stored buckets.
type Level struct {
	Name  string
	Width time.Duration // width of a bucket
	Block time.Duration // span of the buckets stored together
	Keep  time.Duration // how long a block is kept after its last change
}

// Levels returns the resolutions of the three windows.
func Levels() [3]Level {
	return [3]Level{
		{"s", 5 * time.Second, 5 * time.Minute, 10 * time.Minute},
		{"m", time.Minute, time.Hour, 2 * time.Hour},
		{"q", quarter, 24 * time.Hour, 49 * time.Hour},
	}
}

const quarter = 15 * time.Minute

// Bucket counts what one feed received in an interval that starts at At and lasts one bucket width.
type Bucket struct {
	At time.Time
	Counts
	// Gap is the longest silence before a message in this bucket; 0 means none.
	Gap time.Duration
}

// History is the stored record of one feed.
type History struct {
	Feed
	LastReceived, LastApplied, LastEvent time.Time
	Buckets                              [3][]Bucket // by level
}

// The windows, as indexes of [History].Buckets.
const (
	MinuteWindow = iota
	HourWindow
	DayWindow
)

// Window returns the counts for the last minute, hour or day.
func (h *History) Window(window int, now time.Time) (sum Counts) {
	since := now.Add(-[3]time.Duration{time.Minute, time.Hour, 24 * time.Hour}[window])
	for i := range h.Buckets[window] {
		if b := &h.Buckets[window][i]; b.At.After(since) {
			sum.add(&b.Counts)
		}
	}
	return sum
}

// The constants of the silence rule. No standard defines them; their values are defaults of this project.
const (
	rhythmLeast  = 5               // minimum number of quarter hours with a gap; fewer do not show a rhythm
	rhythmShare  = 90              // percentage of the gaps that the expected silence covers
	expectLeast  = time.Minute     // lower bound of the expected silence
	stalePatient = 3               // multiple of the expected silence after which a feed is stale
	staleLeast   = 5 * time.Minute // minimum silence for a feed to be stale
)

// Expected returns the longest silence that is usual for the feed. For each quarter hour of the last 24 hours in
// which messages arrived, Expected considers the longest silence before one of these messages. The result is the 90th
// percentile of these silences, and at least one minute. The percentile includes the silences of the nights, but not
// a single outage. While there are fewer than five silences, the feed has no rhythm, and the result is 0.
func (h *History) Expected(now time.Time) time.Duration {
	var gaps []time.Duration
	for i := range h.Buckets[DayWindow] {
		if b := &h.Buckets[DayWindow][i]; b.Gap > 0 && b.At.After(now.Add(-24*time.Hour)) {
			gaps = append(gaps, b.Gap)
		}
	}
	if len(gaps) < rhythmLeast {
		return 0
	}
	slices.Sort(gaps)
	return max(gaps[(len(gaps)-1)*rhythmShare/100].Round(time.Second), expectLeast)
}

// Stale reports whether the feed has been silent for more than three times the expected silence and for more than
// five minutes. A feed without a rhythm is never stale, because [History.Expected] returns 0.
func (h *History) Stale(now time.Time) bool {
	expected := h.Expected(now)
	return expected > 0 && now.Sub(h.LastReceived) > max(stalePatient*expected, staleLeast)
}

// Counter sums what feeds receive between two calls to [Counter.Drain]. It is safe for concurrent use.
type Counter struct {
	mu      sync.Mutex
	sums    map[Feed]*Sum
	notices int // number of notices of all feeds
}

// maxFeeds is the maximum number of feeds in a Counter. It prevents unlimited growth if the Counter is not drained.
const maxFeeds = 10_000

// Add adds what a feed has received to the sum of the feed. If the Counter already has maxFeeds feeds, Add ignores a
// new feed. If the Counter already has noticesHeld notices, Add drops the notices but counts everything else.
func (t *Counter) Add(f Feed, sum *Sum) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums == nil {
		t.sums = map[Feed]*Sum{}
	}
	s := t.sums[f]
	if s == nil {
		if len(t.sums) >= maxFeeds {
			return
		}
		s = &Sum{}
		t.sums[f] = s
	}
	s.add(&sum.Counts)
	if t.notices < noticesHeld {
		t.notices += s.addNotices(sum.Notices)
	}
	if s.FirstReceived.IsZero() || !sum.FirstReceived.IsZero() && sum.FirstReceived.Before(s.FirstReceived) {
		s.FirstReceived = sum.FirstReceived
	}
	s.LastReceived = later(s.LastReceived, sum.LastReceived)
	s.LastApplied = later(s.LastApplied, sum.LastApplied)
	if !sum.LastEvent.IsZero() {
		s.LastEvent = sum.LastEvent
	}
}

// Drain returns what was added since the last call. A caller that cannot pass on a sum must add it again.
func (t *Counter) Drain() map[Feed]*Sum {
	t.mu.Lock()
	defer t.mu.Unlock()
	sums := t.sums
	t.sums, t.notices = nil, 0
	return sums
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Notice gives the reason why a message or body was refused, or a warning about an accepted one. It contains no value
// from the message.
type Notice struct {
	At        time.Time
	Refused   bool   // whether the message was refused; if not, it was accepted with a warning
	Routine   bool   // whether most messages of a hospital-wide feed cause this warning, because they concern other units
	Event     string // trigger event of an HL7 message that had no effect, such as A05; "": none
	ControlID string // MSH-10 of an HL7 message, or its pseudonym; "": none
	RequestID string // id of the HTTP request; "": none
	Code      string // stable code of the refusal or warning
	Path      string // location of the fault; "": the whole message
}

// Notices are the newest notices of a feed, newest first.
type Notices struct {
	Refused, Warned, Routine []Notice
}

// The limits of stored notices.
const (
	NoticesKept = 100    // of each kind (refusals, warnings, routine warnings) for one feed
	NoticeFeeds = 64     // feeds for which a hospital keeps notices: those with the newest notices
	noticeText  = 128    // maximum length of a code or a path in bytes
	noticesHeld = 10_000 // a Counter with this many notices, of all feeds together, drops new ones
)

// Cut returns the notice with Code and Path truncated to noticeText bytes.
func (n Notice) Cut() Notice {
	n.Code, n.Path = n.Code[:min(len(n.Code), noticeText)], n.Path[:min(len(n.Path), noticeText)]
	return n
}

// addNotices appends notices to the sum. If the sum then has more than 2*NoticesKept notices, addNotices keeps only
// the newest NoticesKept of each kind. It returns how many more notices the sum now has; the number can be negative.
func (s *Sum) addNotices(added []Notice) (more int) {
	before := len(s.Notices)
	s.Notices = append(s.Notices, added...)
	if len(s.Notices) > 2*NoticesKept {
		var kept [3]int // warnings, refusals, routine warnings
		newest := make([]Notice, 0, 3*NoticesKept)
		for _, n := range slices.Backward(s.Notices) {
			kind := 0
			switch {
			case n.Refused:
				kind = 1
			case n.Routine:
				kind = 2
			}
			if kept[kind] < NoticesKept {
				kept[kind]++
				newest = append(newest, n)
			}
		}
		slices.Reverse(newest)
		s.Notices = newest
	}
	return len(s.Notices) - before
}
