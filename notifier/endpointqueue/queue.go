// Package endpointqueue decides when which event of an endpoint is sent next. It also
// decides what the end of an attempt means. It is a state machine: it keeps no events, sends
// nothing, and gets the time from its caller.
//
// Events go in the order of the ledger. One is in flight; the next goes when it is
// final. So an endpoint that fails delays nobody but itself. There is one exception,
// an event that the endpoint alone cannot take. It is passed by once the next event,
// sent as a probe, is accepted.
package endpointqueue

import (
	"slices"
	"time"

	"svc/internal/outbound"
)

// The waits after failed attempts; our defaults, since nothing is specified. A
// receiver that restarts is back within a minute; one that is down is tried every
// five.
var waits = [...]time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute,
}

const (
	jitter     = 0.2              // share of a wait, to both sides
	mostAsked  = time.Hour        // upper bound of a Retry-After
	throttled  = time.Minute      // after a 429 without Retry-After
	slow       = 2 * time.Second  // an attempt that takes longer makes the queue a slow one
	refusals   = 3                // answers with a status that blames the event, until it is rejected
	poisonSize = 10               // attempts, only 5xx, before a probe
	poisonTime = 30 * time.Minute // time since the first of them before a probe

	// Expiry is how long after an event a failing endpoint is still sent it.
	Expiry = 72 * time.Hour

	disableTime     = 120 * time.Hour
	disableAttempts = 50

	firstNotice  = time.Hour
	secondNotice = 24 * time.Hour

	burst = time.Second // seconds of the rate that may go at once after a pause
)

// The reasons why a queue is disabled.
const (
	Gone    = "gone"    // the endpoint answered 410
	Failing = "failing" // 120 h and 50 attempts without success
)

// Notice is the news about an endpoint for administrators. The ledger has its number,
// and its name is part of the id of the message.
type Notice uint8

// The notices; zero is none.
const (
	FailingHour Notice = iota + 1
	FailingDay
	Disabled
	Recovered
)

// String returns the name of the notice.
func (n Notice) String() string {
	return [...]string{"", "failing_1h", "failing_24h", "disabled", "recovered"}[n]
}

// Queue is the state of one endpoint's queue. The zero value with a cursor is a new
// queue.
type Queue struct {
	Cursor       int64     // ledger offset up to which no event waits here
	NextAt       time.Time // earliest instant of the next attempt
	FailingSince time.Time // zero: the last attempt was accepted
	Failures     int       // attempts in a row without success
	Disabled     string    // reason; "": not disabled
	Noticed      Notice    // last notice about this failure
	Slow         bool      // the last attempt failed or took long

	head    head
	probing bool // the next attempt is of the event behind the head
	tat     time.Time
}

// head sums up the attempts of the event at the head.
type head struct {
	position int64
	tries    int
	refused  int
	first    time.Time
	only5xx  bool
}

// Verdict is the effect of the end of an attempt.
type Verdict struct {
	State  outbound.State // of the event that was sent
	Reason string         // of a final state other than Delivered
	Passed bool           // the probe was accepted: the head is poison
	Notice Notice
	Since  time.Time // start of the failure that the notice reports
}

// Resume restores a queue from the ledger with the attempts of its head, if any. It
// cuts a NextAt that a wrong clock has set too far ahead.
func (q *Queue) Resume(now time.Time, position int64, attempts []outbound.Attempt) {
	if most := now.Add(mostAsked); q.NextAt.After(most) {
		q.NextAt = most
	}
	q.Slow = q.Failures > 0
	if len(attempts) == 0 {
		return
	}
	q.head = head{position: position, tries: attempts[len(attempts)-1].N, first: attempts[0].At, only5xx: true}
	for i := range attempts {
		q.head.blame(attempts[i].Class, attempts[i].Status)
	}
}

// blame notes whom a failed attempt blames: the receiver or the event.
func (h *head) blame(class outbound.Class, status int) {
	h.only5xx = h.only5xx && fault(class, status)
	if refused(class, status) {
		h.refused++
	}
}

// Probing reports whether the next attempt is of the event behind the head.
func (q *Queue) Probing() bool { return q.probing }

// Alone records that there is no event behind the head to probe with.
func (q *Queue) Alone() { q.probing = false }

// Due returns the earliest instant of the next attempt at rate attempts a second.
func (q *Queue) Due(rate float64) time.Time {
	at := q.NextAt
	if free := q.tat.Add(-max(burst-interval(rate), 0)); free.After(at) {
		at = free
	}
	return at
}

// Begin records that an attempt begins.
func (q *Queue) Begin(now time.Time, rate float64) {
	if q.tat.Before(now) {
		q.tat = now
	}
	q.tat = q.tat.Add(interval(rate))
}

func interval(rate float64) time.Duration {
	if rate <= 0 {
		rate = outbound.DefaultRate
	}
	return time.Duration(float64(time.Second) / rate)
}

// Expired reports whether an event that is useful until then is not sent any more.
// That is so only while the queue fails; otherwise late events are sent all the same.
func (q *Queue) Expired(now, until time.Time) bool {
	return !q.FailingSince.IsZero() && !until.IsZero() && !now.Before(until)
}

// Skip records that the event at a position is not for this endpoint, or is not sent
// any more.
func (q *Queue) Skip(position int64) {
	q.Cursor = max(q.Cursor, position)
	q.head, q.probing = head{}, false
}

// End records the end of an attempt of the event at a position, which is useful until
// then. spread is a random number in [0, 1).
func (q *Queue) End(now time.Time, position int64, until time.Time, r outbound.Result, spread float64) Verdict {
	if r.Class == outbound.ClassInterrupted {
		return Verdict{State: outbound.Pending}
	}
	probe := q.probing
	if !probe && q.head.position != position {
		q.head = head{position: position, first: now, only5xx: true}
	}
	q.Slow = r.Class != outbound.ClassOK || r.Took > slow
	if r.Class == outbound.ClassOK {
		v := Verdict{State: outbound.Delivered, Passed: probe}
		if q.Noticed != 0 {
			v.Notice, v.Since = Recovered, q.FailingSince
		}
		q.NextAt, q.FailingSince, q.Failures, q.Noticed = time.Time{}, time.Time{}, 0, 0
		q.Skip(position)
		return v
	}
	if q.FailingSince.IsZero() {
		q.FailingSince = now
	}
	q.Failures++
	q.NextAt = now.Add(wait(q.Failures, r, spread))
	v := Verdict{State: outbound.Pending}
	if probe {
		q.probing = false // the head is next
	} else {
		h := &q.head
		h.tries++
		if h.first.After(now) { // the clock was set back
			h.first = now
		}
		h.blame(r.Class, r.Status)
		switch {
		case q.head.refused >= refusals:
			v.State, v.Reason = outbound.Rejected, "refused"
		case q.Expired(now, until):
			v.State, v.Reason = outbound.Expired, string(r.Class)
		default:
			q.probing = h.only5xx && h.tries >= poisonSize && now.Sub(h.first) >= poisonTime
		}
	}
	if v.State != outbound.Pending {
		q.Skip(position)
	}
	v.Notice, v.Since = q.notice(now, r), q.FailingSince
	return v
}

// notice disables a queue that has failed for too long, and returns the notice that
// is due, if any.
func (q *Queue) notice(now time.Time, r outbound.Result) Notice {
	since := now.Sub(q.FailingSince)
	switch {
	case r.Class == outbound.ClassGone:
		q.Disabled = Gone
	case since >= disableTime && q.Failures >= disableAttempts:
		q.Disabled = Failing
	}
	before := q.Noticed
	switch {
	case q.Disabled != "":
		q.Noticed = Disabled
	case since >= secondNotice:
		q.Noticed = max(before, FailingDay)
	case since >= firstNotice:
		q.Noticed = max(before, FailingHour)
	}
	if q.Noticed == before {
		return 0
	}
	return q.Noticed
}

// Enable enables a queue again, by order of an administrator. A failure that goes on
// gives its notices again.
func (q *Queue) Enable(now time.Time) {
	if q.Disabled == "" {
		return
	}
	q.Disabled, q.Failures, q.Noticed, q.NextAt = "", 0, 0, time.Time{}
	q.FailingSince = now
}

// wait returns the time until the next attempt after so many failures.
func wait(failures int, r outbound.Result, spread float64) time.Duration {
	base := waits[min(failures, len(waits))-1]
	w := time.Duration(float64(base) * (1 - jitter + 2*jitter*spread))
	asked := min(r.RetryAfter, mostAsked)
	if r.Class == outbound.ClassThrottled && asked == 0 {
		asked = throttled
	}
	return max(w, asked)
}

// refused reports whether a status blames the event: no other attempt will do better.
func refused(c outbound.Class, status int) bool {
	return c == outbound.ClassStatus && slices.Contains([]int{400, 409, 413, 415, 422}, status)
}

// fault reports whether the receiver answered with a failure of its own.
func fault(c outbound.Class, status int) bool {
	return (c == outbound.ClassStatus || c == outbound.ClassThrottled) && status >= 500 && status <= 599
}
