// Package feeds tells how the feeds of a hospital are doing: how much came in over
// the last minute, hour and day, and whether one is silent for longer than is
// usual for it.
//
// Whoever takes feeds in adds up in a [Tally] and hands the sums on about once a
// second; where they are kept they are added to the [Bucket] of their time, those
// of all instances. Who asks gets the [History] of each feed.
package feeds

import (
	"slices"
	"time"
)

// Feed is one channel of one source.
type Feed struct {
	Hospital string
	Channel  string // the last element of its path
	Source   string // id of the API key
}

// Counts are numbers of messages, of HL7, or else of bodies. What was received is
// the sum of the others once all is applied.
type Counts struct {
	Received   int64
	Applied    int64
	Duplicates int64
	Ignored    int64
	Rejected   int64
	Warnings   int64 // beside the others
}

func (c *Counts) add(o *Counts) {
	c.Received += o.Received
	c.Applied += o.Applied
	c.Duplicates += o.Duplicates
	c.Ignored += o.Ignored
	c.Rejected += o.Rejected
	c.Warnings += o.Warnings
}

// Sum is what came in by one feed since the last sum. Times are zero if there is
// none.
type Sum struct {
	Counts
	FirstReceived time.Time
	LastReceived  time.Time
	LastApplied   time.Time
	LastEvent     time.Time // that the last message with a time tells of
	Notices       []Notice  // oldest first
}

// Level is one fineness of what is kept.
type Level struct {
	Name  string
	Width time.Duration // of a bucket
	Block time.Duration // of the buckets that are kept together
	Keep  time.Duration // a block, after its last change
}

// Levels are those of the three windows.
func Levels() [3]Level {
	return [3]Level{
		{"s", 5 * time.Second, 5 * time.Minute, 10 * time.Minute},
		{"m", time.Minute, time.Hour, 2 * time.Hour},
		{"q", quarter, 24 * time.Hour, 49 * time.Hour},
	}
}

const quarter = 15 * time.Minute

// Bucket is what came in between At and At plus the width of its level.
type Bucket struct {
	At time.Time
	Counts
	// Gap is the longest silence that a message in it ended; 0 if none did.
	Gap time.Duration
}

// History is one feed as it is kept.
type History struct {
	Feed
	LastReceived, LastApplied, LastEvent time.Time
	Buckets                              [3][]Bucket // by level
}

// The windows.
const (
	MinuteWindow = iota
	HourWindow
	DayWindow
)

// Window adds up the last minute, hour or day.
func (h *History) Window(window int, now time.Time) (sum Counts) {
	since := now.Add(-[3]time.Duration{time.Minute, time.Hour, 24 * time.Hour}[window])
	for i := range h.Buckets[window] {
		if b := &h.Buckets[window][i]; b.At.After(since) {
			sum.add(&b.Counts)
		}
	}
	return sum
}

// The rule of silence. Our defaults.
const (
	rhythmLeast  = 5               // quarters of an hour with a message after a silence: fewer are no rhythm
	rhythmShare  = 90              // percent of them that the rhythm covers
	expectLeast  = time.Minute     // nothing is expected more often
	stalePatient = 3               // times the expected silence
	staleLeast   = 5 * time.Minute // no feed is stale earlier
)

// Expected is the longest silence that is usual for the feed: of each quarter of an
// hour of the last day in which a message came, the longest silence before one;
// and of these the one that nine of ten do not exceed. So the nights are in it, and
// a single outage is not. It is 0 while there are fewer than five.
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

// Stale reports whether the feed is silent for more than three times what is
// usual for it, and at least five minutes. A feed without a rhythm never is.
func (h *History) Stale(now time.Time) bool {
	expected := h.Expected(now)
	return expected > 0 && now.Sub(h.LastReceived) > max(stalePatient*expected, staleLeast)
}
