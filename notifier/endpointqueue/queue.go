// Package endpointqueue is the queue of one endpoint as a state machine: which event is sent
// next, when, and what an attempt's end means for it. It keeps no events, sends
// nothing, and is told what time it is.
//
// Events go in the order of the ledger, one under way; the next goes when the one
// before is final. So an endpoint that fails holds up nobody but itself. One
// exception: an event that the endpoint alone cannot take is passed by, once the
// next one, sent as a probe, is accepted.
package endpointqueue

import (
	"time"

	"svc/internal/outbound"
)

// The schedule. Our defaults, as nothing is specified: a receiver that restarts
// is back within a minute, one that is down is asked every five.
var waits = [...]time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute,
}

const (
	jitter     = 0.2              // of a wait, to both sides
	mostAsked  = time.Hour        // of a Retry-After
	throttled  = time.Minute      // after a 429 that asks for nothing
	slow       = 2 * time.Second  // of an attempt: the queue is a slow one
	refusals   = 3                // of the same event, by a status that says it is at fault
	poisonSize = 10               // attempts
	poisonTime = 30 * time.Minute // since the first of them

	// Expiry is how long after an event an endpoint that fails is still sent it.
	Expiry = 72 * time.Hour

	disableTime     = 120 * time.Hour
	disableAttempts = 50

	firstNotice  = time.Hour
	secondNotice = 24 * time.Hour

	burst = time.Second // of the rate, at once after a pause
)

// The reasons for which a lane is disabled.
const (
	Gone    = "gone"    // the endpoint answered 410
	Failing = "failing" // 120 h and 50 attempts without success
)

// Notice is what administrators are to be told.
type Notice uint8

// The notices; zero is none.
const (
	FailingHour Notice = iota + 1
	FailingDay
	Disabled
	Recovered
)

// Queue is the state of one. Its zero value with a cursor is a fresh one.
type Queue struct {
	Cursor       int64     // ledger offset up to which no event waits here
	NextAt       time.Time // no attempt before
	FailingSince time.Time // zero: the last attempt was accepted
	Failures     int       // attempts in a row without success
	Disabled     string    // reason; "": it is not
	Noticed      Notice    // the last one about this failure
	Slow         bool      // the last attempt failed or took long

	head    head
	probing bool // the next attempt is of the event behind the head
	tat     time.Time
}

// head is what the attempts of the event at the head have in common.
type head struct {
	position int64
	tries    int
	refused  int
	first    time.Time
	only5xx  bool
}

// Verdict is what the end of an attempt means.
type Verdict struct {
	State  outbound.State // of what was sent
	Reason string         // of a state that is final and not Delivered
	Passed bool           // the probe was accepted: the head is poison
	Notice Notice
	Since  time.Time // of the failure that the notice is about
}

// Resume brings a lane back from the ledger: the attempts of its head, if it has
// any, and an instant that a clock of the past has set too far away is cut.
func (l *Queue) Resume(now time.Time, position int64, attempts []outbound.Attempt) {
	if most := now.Add(mostAsked); l.NextAt.After(most) {
		l.NextAt = most
	}
	l.Slow = l.Failures > 0
	if len(attempts) == 0 {
		return
	}
	l.head = head{position: position, tries: attempts[len(attempts)-1].N, first: attempts[0].At, only5xx: true}
	for i := range attempts {
		a := &attempts[i]
		l.head.only5xx = l.head.only5xx && fault(a.Class, a.Status)
		if refused(a.Class, a.Status) {
			l.head.refused++
		}
	}
}

// Probing says that the next attempt is of the event behind the head.
func (l *Queue) Probing() bool { return l.probing }

// Alone says that there is no event behind the head to probe with.
func (l *Queue) Alone() { l.probing = false }

// Due is the earliest instant of the next attempt, at so many a second.
func (l *Queue) Due(rate float64) time.Time {
	at := l.NextAt
	if free := l.tat.Add(-max(burst-interval(rate), 0)); free.After(at) {
		at = free
	}
	return at
}

// Begin notes that an attempt begins.
func (l *Queue) Begin(now time.Time, rate float64) {
	if l.tat.Before(now) {
		l.tat = now
	}
	l.tat = l.tat.Add(interval(rate))
}

func interval(rate float64) time.Duration {
	if rate <= 0 {
		rate = outbound.DefaultRate
	}
	return time.Duration(float64(time.Second) / rate)
}

// Expired says that an event is not sent any more, being of use until then: the
// lane fails, else late events are sent all the same.
func (l *Queue) Expired(now, until time.Time) bool {
	return !l.FailingSince.IsZero() && !until.IsZero() && !now.Before(until)
}

// Skip notes that the event at a position is not for this endpoint, or not sent
// any more.
func (l *Queue) Skip(position int64) {
	l.Cursor = max(l.Cursor, position)
	l.head, l.probing = head{}, false
}

// End takes the end of an attempt of the event at a position, of use until then.
// spread is a random number in [0, 1).
func (l *Queue) End(now time.Time, position int64, until time.Time, r outbound.Result, spread float64) Verdict {
	if r.Class == outbound.ClassInterrupted {
		return Verdict{State: outbound.Pending}
	}
	probe := l.probing
	if !probe && l.head.position != position {
		l.head = head{position: position, first: now, only5xx: true}
	}
	l.Slow = r.Class != outbound.ClassOK || r.Took > slow
	if r.Class == outbound.ClassOK {
		v := Verdict{State: outbound.Delivered, Passed: probe}
		if l.Noticed != 0 {
			v.Notice, v.Since = Recovered, l.FailingSince
		}
		l.NextAt, l.FailingSince, l.Failures, l.Noticed = time.Time{}, time.Time{}, 0, 0
		l.Skip(position)
		return v
	}
	if l.FailingSince.IsZero() {
		l.FailingSince = now
	}
	l.Failures++
	l.NextAt = now.Add(wait(l.Failures, r, spread))
	v := Verdict{State: outbound.Pending}
	if probe {
		l.probing = false // the head's turn
	} else {
		l.fail(now, r)
		switch {
		case l.head.refused >= refusals:
			v.State, v.Reason = outbound.Rejected, "refused"
		case l.Expired(now, until):
			v.State, v.Reason = outbound.Expired, string(r.Class)
		default:
			h := &l.head
			l.probing = h.only5xx && h.tries >= poisonSize && now.Sub(h.first) >= poisonTime
		}
	}
	if v.State != outbound.Pending {
		l.Skip(position)
	}
	v.Notice, v.Since = l.notice(now, r), l.FailingSince
	return v
}

// fail counts a failed attempt of the head.
func (l *Queue) fail(now time.Time, r outbound.Result) {
	h := &l.head
	if h.first.After(now) {
		h.first = now
	}
	h.tries++
	h.only5xx = h.only5xx && fault(r.Class, r.Status)
	if refused(r.Class, r.Status) {
		h.refused++
	}
}

// notice disables a lane that has failed for too long, and says who is told.
func (l *Queue) notice(now time.Time, r outbound.Result) Notice {
	since := now.Sub(l.FailingSince)
	switch {
	case r.Class == outbound.ClassGone:
		l.Disabled = Gone
	case since >= disableTime && l.Failures >= disableAttempts:
		l.Disabled = Failing
	}
	was := l.Noticed
	switch {
	case l.Disabled != "":
		l.Noticed = Disabled
	case since >= secondNotice:
		l.Noticed = max(was, FailingDay)
	case since >= firstNotice:
		l.Noticed = max(was, FailingHour)
	}
	if l.Noticed == was {
		return 0
	}
	return l.Noticed
}

// Enable ends a disabling: an administrator said so. The failure is told of anew.
func (l *Queue) Enable(now time.Time) {
	if l.Disabled == "" {
		return
	}
	l.Disabled, l.Failures, l.Noticed, l.NextAt = "", 0, 0, time.Time{}
	l.FailingSince = now
}

// wait is how long until the next attempt after so many failures.
func wait(failures int, r outbound.Result, spread float64) time.Duration {
	base := waits[min(failures, len(waits))-1]
	w := time.Duration(float64(base) * (1 - jitter + 2*jitter*spread))
	asked := min(r.RetryAfter, mostAsked)
	if r.Class == outbound.ClassThrottled && asked == 0 {
		asked = throttled
	}
	return max(w, asked)
}

// refused says that a status blames the event: no other try will be better.
func refused(c outbound.Class, status int) bool {
	if c != outbound.ClassStatus {
		return false
	}
	switch status {
	case 400, 409, 413, 415, 422:
		return true
	}
	return false
}

// fault says that the receiver answered, and failed.
func fault(c outbound.Class, status int) bool {
	return (c == outbound.ClassStatus || c == outbound.ClassThrottled) && status >= 500 && status <= 599
}
