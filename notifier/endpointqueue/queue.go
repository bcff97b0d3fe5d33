// Package endpointqueue schedules the deliveries to one endpoint. It also decides the effect of each attempt's
// result. It is a state machine: it stores no events, sends nothing, and gets the time from its caller.
//
// Events are sent one at a time, in the order of the ledger; an event is sent only after the previous one is final.
// Thus a failing endpoint delays only its own events. There is one exception: if the endpoint responds to an event
// with 5xx again and again, the queue sends the next event as a probe. Once the endpoint accepts the probe, the
// failing event is skipped.
package endpointqueue

import (
	"slices"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
)

// The waits after failed attempts. They are defaults of this project, because the specification defines none. A
// receiver that restarts is reached again within a minute; one that stays down is tried every five minutes.
var waits = [...]time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute,
}

const (
	jitter     = 0.2              // maximum deviation from a wait, as a fraction of the wait
	mostAsked  = time.Hour        // maximum accepted Retry-After
	throttled  = time.Minute      // wait after a 429 without Retry-After
	slow       = 2 * time.Second  // an attempt that takes longer marks the queue as slow
	refusals   = 3                // number of rejections after which an event is not sent again
	poisonSize = 10               // number of attempts, all with 5xx responses, before a probe
	poisonTime = 30 * time.Minute // minimum time between the first attempt to send an event and a probe

	// Expiry is the age at which an event is no longer sent to a failing endpoint.
	Expiry = 72 * time.Hour

	disableTime     = 120 * time.Hour
	disableAttempts = 50

	firstNotice  = time.Hour
	secondNotice = 24 * time.Hour

	burst = time.Second // after a pause, a burst may have as many attempts as the rate allows in this time
)

// The reasons why a queue is disabled.
const (
	Gone    = "gone"    // the endpoint responded with 410
	Failing = "failing" // 120 h and 50 attempts without success
)

// Notice is a notification about an endpoint for administrators. The ledger stores its numeric value; its name is
// part of message ids.
type Notice uint8

// The notices about an endpoint; 0 means no notice.
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

// Queue is the state of one endpoint's queue. A new queue is the zero value with its Cursor set.
type Queue struct {
	Cursor       int64     // all events up to this ledger offset are final for this endpoint
	NextAt       time.Time // earliest instant of the next attempt
	FailingSince time.Time // zero: the last attempt was accepted
	Failures     int       // consecutive failed attempts
	Disabled     string    // why the queue is disabled; "" if it is enabled
	Noticed      Notice    // last notice about the current failure
	Slow         bool      // whether the last attempt failed or was slow

	head    head
	probing bool // whether the next attempt sends the event after the head
	tat     time.Time
	asked   time.Time // end of the wait that the receiver last requested
}

// head summarizes the attempts to send the event at the head of the queue.
type head struct {
	position int64
	tries    int
	refused  int
	first    time.Time
	only5xx  bool
}

// Verdict is the effect of an attempt's result on the event and on the queue.
type Verdict struct {
	State  outbound.State // state of the sent event after the attempt
	Reason string         // why the state is final but not Delivered
	Passed bool           // whether the probe was accepted, so that the head is skipped as a poison event
	Notice Notice
	Since  time.Time // when the failure that Notice reports began
}

// Resume prepares a queue whose exported fields were restored from the ledger. position is the ledger offset of the
// queue's head, and attempts are the earlier attempts to send the head. If a wrong clock has set NextAt more than an
// hour ahead, Resume reduces it to an hour from now.
func (q *Queue) Resume(now time.Time, position int64, attempts []sending.Attempt) {
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

// blame records the cause of a failed attempt to send the head: refused counts the responses that reject the event
// itself, and only5xx is true as long as all responses were 5xx.
func (h *head) blame(class sending.Class, status int) {
	h.only5xx = h.only5xx && fault(class, status)
	if refused(class, status) {
		h.refused++
	}
}

// Probing reports whether the next attempt sends the event after the head.
func (q *Queue) Probing() bool { return q.probing }

// CancelProbe records that no event follows the head, so a probe is impossible.
func (q *Queue) CancelProbe() { q.probing = false }

// Due returns the earliest instant of the next attempt; rate is the maximum number of attempts per second.
func (q *Queue) Due(rate float64) time.Time {
	at := q.NextAt
	if free := q.tat.Add(-max(burst-interval(rate), 0)); free.After(at) {
		at = free
	}
	return at
}

// Begin records the start of an attempt.
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

// Expired reports whether an event must no longer be sent; until is the event's expiry. Events expire only while the
// queue is failing.
func (q *Queue) Expired(now, until time.Time) bool {
	return !q.FailingSince.IsZero() && !until.IsZero() && !now.Before(until)
}

// Skip records that the event at a position is not for this endpoint, or must no longer be sent.
func (q *Queue) Skip(position int64) {
	q.Cursor = max(q.Cursor, position)
	q.head, q.probing = head{}, false
}

// Reset prepares the queue for other events to the same endpoint. The rate limit, and a wait that the receiver has
// requested, remain in effect.
func (q *Queue) Reset() { *q = Queue{NextAt: q.asked, Slow: q.Slow, tat: q.tat, asked: q.asked} }

// End records the result of an attempt to send the event at a position. until is the event's expiry, and spread is a
// random number in [0, 1).
func (q *Queue) End(now time.Time, position int64, until time.Time, r sending.Result, spread float64) Verdict {
	if r.Class == sending.ClassInterrupted {
		return Verdict{State: outbound.Pending}
	}
	probe := q.probing
	if !probe && q.head.position != position {
		q.head = head{position: position, first: now, only5xx: true}
	}
	q.Slow = r.Class != sending.ClassOK || r.Took > slow
	if r.Class == sending.ClassOK {
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
	if asked := askedWait(r); asked > 0 {
		q.asked = now.Add(asked)
	}
	v := Verdict{State: outbound.Pending}
	if probe {
		q.probing = false // the next attempt sends the head
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
	v.Notice, v.Since = q.checkFailing(now, r), q.FailingSince
	return v
}

// checkFailing disables a queue whose endpoint is gone, or which has been failing for disableTime and at least
// disableAttempts attempts. It returns the notice that is due, or 0.
func (q *Queue) checkFailing(now time.Time, r sending.Result) Notice {
	since := now.Sub(q.FailingSince)
	switch {
	case r.Class == sending.ClassGone:
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

// Enable re-enables a disabled queue at an administrator's request. If the endpoint continues to fail, administrators
// get the notices about the failure again.
func (q *Queue) Enable(now time.Time) {
	if q.Disabled == "" {
		return
	}
	q.Disabled, q.Failures, q.Noticed, q.NextAt = "", 0, 0, time.Time{}
	q.FailingSince = now
}

// wait returns the time until the next attempt after the given number of consecutive failures. It is the wait that
// the receiver requested, or the wait from the table, whichever is longer. spread, a random number in [0, 1), varies
// the wait from the table.
func wait(failures int, r sending.Result, spread float64) time.Duration {
	base := waits[min(failures, len(waits))-1]
	w := time.Duration(float64(base) * (1 - jitter + 2*jitter*spread))
	return max(w, askedWait(r))
}

// askedWait returns the wait that the receiver requested, or 0.
func askedWait(r sending.Result) time.Duration {
	asked := min(r.RetryAfter, mostAsked)
	if r.Class == sending.ClassThrottled && asked == 0 {
		asked = throttled
	}
	return asked
}

// refused reports whether the status rejects the event itself, so that a retry would have the same result.
func refused(c sending.Class, status int) bool {
	return c == sending.ClassStatus && slices.Contains([]int{400, 409, 413, 415, 422}, status)
}

// fault reports whether the response says that the receiver itself failed.
func fault(c sending.Class, status int) bool {
	return (c == sending.ClassStatus || c == sending.ClassThrottled) && status >= 500 && status <= 599
}
