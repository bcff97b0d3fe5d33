package endpointqueue_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/notifier/endpointqueue"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func status(code int) sending.Result {
	switch {
	case code >= 200 && code < 300:
		return sending.Result{Class: sending.ClassOK, Status: code}
	case code == 410:
		return sending.Result{Class: sending.ClassGone, Status: code, Final: true}
	case code == 429:
		return sending.Result{Class: sending.ClassThrottled, Status: code}
	}
	return sending.Result{Class: sending.ClassStatus, Status: code}
}

func refused() sending.Result { return sending.Result{Class: sending.ClassRefused} }

// run drives a queue on a simulated clock. Each attempt moves the clock to the instant at which the attempt is due.
type run struct {
	t   *testing.T
	l   endpointqueue.Queue
	now time.Time
}

// attempt waits until the next attempt is due, and records that the attempt ended with the given result.
func (r *run) attempt(position int64, result sending.Result) endpointqueue.Verdict {
	if due := r.l.Due(50); due.After(r.now) {
		r.now = due
	}
	r.l.Begin(r.now, 50)
	return r.l.End(r.now, position, start.Add(endpointqueue.Expiry), result, 0.5)
}

func TestSchedule(t *testing.T) {
	r := run{t: t, now: start}
	for i, want := range []int{1, 5, 15, 30, 60, 120, 300, 300, 300} {
		v := r.attempt(1, refused())
		if v.State != outbound.Pending {
			t.Fatalf("attempt %d: %+v", i+1, v)
		}
		if got := r.l.NextAt.Sub(r.now); got != time.Duration(want)*time.Second {
			t.Errorf("after attempt %d: %v, want %ds", i+1, got, want)
		}
	}
	if v := r.attempt(1, status(204)); v.State != outbound.Delivered || r.l.Cursor != 1 || r.l.Failures != 0 || !r.l.NextAt.IsZero() {
		t.Errorf("%+v %+v", v, r.l)
	}
}

func TestJitterIsAFifth(t *testing.T) {
	for spread, want := range map[float64]time.Duration{0: 800 * time.Millisecond, 0.5: time.Second} {
		var l endpointqueue.Queue
		l.End(start, 1, time.Time{}, refused(), spread)
		if got := l.NextAt.Sub(start); got != want {
			t.Errorf("spread %v: %v, want %v", spread, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for name, tt := range map[string]struct {
		result sending.Result
		want   time.Duration
	}{
		"asked for ten minutes": {sending.Result{Class: sending.ClassThrottled, Status: 429, RetryAfter: 10 * time.Minute}, 10 * time.Minute},
		"at most an hour":       {sending.Result{Class: sending.ClassThrottled, Status: 429, RetryAfter: 48 * time.Hour}, time.Hour},
		"429 asks for nothing":  {status(429), time.Minute},
		"less than the wait":    {sending.Result{Class: sending.ClassStatus, Status: 503, RetryAfter: time.Millisecond}, time.Second},
		"503":                   {sending.Result{Class: sending.ClassStatus, Status: 503, RetryAfter: 2 * time.Minute}, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var l endpointqueue.Queue
			l.End(start, 1, time.Time{}, tt.result, 0.5)
			if got := l.NextAt.Sub(start); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestRejectedAtTheThirdRefusal(t *testing.T) {
	for _, code := range []int{400, 409, 413, 415, 422} {
		r := run{t: t, now: start}
		for i := range 2 {
			if v := r.attempt(1, status(code)); v.State != outbound.Pending {
				t.Fatalf("%d, attempt %d: %+v", code, i+1, v)
			}
		}
		if v := r.attempt(1, status(code)); v.State != outbound.Rejected || r.l.Cursor != 1 {
			t.Errorf("%d: %+v", code, v)
		}
	}
	for _, code := range []int{401, 403, 404, 500, 302} {
		r := run{t: t, now: start}
		for range 20 {
			if v := r.attempt(1, status(code)); v.State != outbound.Pending {
				t.Errorf("%d: %+v", code, v)
			}
		}
	}
}

// TestPoison: an event gets only 5xx responses, in at least ten attempts over at least half an hour. The queue then
// sends the next event as a probe. Once the endpoint accepts a probe, the first event is skipped as poison.
func TestPoison(t *testing.T) {
	r := run{t: t, now: start}
	for !r.l.Probing() {
		r.attempt(1, status(500))
		if r.l.Failures > 100 {
			t.Fatal("never probes")
		}
	}
	if r.l.Failures < 10 || r.now.Sub(start) < 30*time.Minute {
		t.Fatalf("probes after %d attempts, %v", r.l.Failures, r.now.Sub(start))
	}
	if v := r.attempt(2, status(500)); v.State != outbound.Pending || v.Passed || r.l.Probing() || r.l.Cursor != 0 {
		t.Fatalf("a probe that failed: %+v", v)
	}
	r.attempt(1, status(500))
	if !r.l.Probing() {
		t.Fatal("does not probe again")
	}
	if v := r.attempt(2, status(200)); v.State != outbound.Delivered || !v.Passed || r.l.Cursor != 2 || r.l.Probing() {
		t.Fatalf("a probe that was accepted: %+v, %+v", v, r.l)
	}
}

func TestAnythingButFaultsIsNoPoison(t *testing.T) {
	for name, result := range map[string]sending.Result{"refused": refused(), "404": status(404), "timeout": {Class: sending.ClassTimeout}} {
		r := run{t: t, now: start}
		r.attempt(1, result)
		for range 60 {
			if r.attempt(1, status(500)); r.l.Probing() {
				t.Errorf("%s: probes", name)
				break
			}
		}
	}
}

func TestExpiry(t *testing.T) {
	r := run{t: t, now: start}
	for {
		v := r.attempt(1, refused())
		if v.State == outbound.Expired {
			break
		}
		if r.now.Sub(start) > 73*time.Hour {
			t.Fatal("never expires")
		}
	}
	if age := r.now.Sub(start); age < endpointqueue.Expiry || age > endpointqueue.Expiry+6*time.Minute {
		t.Errorf("expires after %v", age)
	}
	if !r.l.Expired(r.now, start.Add(endpointqueue.Expiry)) {
		t.Error("the next one of that age is sent")
	}
	var fresh endpointqueue.Queue // no attempt has failed yet
	if fresh.Expired(r.now, start.Add(endpointqueue.Expiry)) {
		t.Error("expires without an attempt")
	}
}

func TestDisabled(t *testing.T) {
	r := run{t: t, now: start}
	if v := r.attempt(1, status(410)); v.State != outbound.Pending || v.Notice != endpointqueue.Disabled || r.l.Disabled != endpointqueue.Gone || r.l.Cursor != 0 {
		t.Fatalf("%+v %+v", v, r.l)
	}
	r.l.Enable(r.now)
	if r.l.Disabled != "" || r.l.Due(50).After(r.now) {
		t.Errorf("enabled: %+v", r.l)
	}

	r = run{t: t, now: start}
	var notices []endpointqueue.Notice
	for position := int64(1); r.l.Disabled == ""; position++ {
		if v := r.attempt(position, refused()); v.Notice != 0 {
			notices = append(notices, v.Notice)
		}
		if r.now.Sub(start) > 200*time.Hour {
			t.Fatal("never disabled")
		}
	}
	if since := r.now.Sub(start); since < 120*time.Hour || since > 121*time.Hour || r.l.Disabled != endpointqueue.Failing {
		t.Errorf("%s after %v", r.l.Disabled, since)
	}
	if len(notices) != 3 || notices[0] != endpointqueue.FailingHour || notices[1] != endpointqueue.FailingDay || notices[2] != endpointqueue.Disabled {
		t.Errorf("notices %v", notices)
	}
}

func TestRecoveryIsToldOnlyAfterANotice(t *testing.T) {
	r := run{t: t, now: start}
	r.attempt(1, refused())
	if v := r.attempt(1, status(200)); v.Notice != 0 {
		t.Errorf("%+v", v)
	}
	for r.l.Noticed == 0 {
		r.attempt(2, refused())
	}
	if v := r.attempt(2, status(200)); v.Notice != endpointqueue.Recovered || v.Since.IsZero() {
		t.Errorf("%+v", v)
	}
}

func TestInterruptedCountsNothing(t *testing.T) {
	r := run{t: t, now: start}
	before := r.l
	if v := r.l.End(r.now, 1, time.Time{}, sending.Result{Class: sending.ClassInterrupted}, 0.5); v.State != outbound.Pending || r.l != before {
		t.Errorf("%+v %+v", v, r.l)
	}
}

func TestRate(t *testing.T) {
	var l endpointqueue.Queue
	now, sent := start, 0
	for end := start.Add(10 * time.Second); ; sent++ {
		if due := l.Due(10); due.After(now) {
			now = due
		}
		if now.After(end) {
			break
		}
		l.Begin(now, 10)
	}
	if sent < 100 || sent > 111 { // ten seconds of the rate, and a burst of one second
		t.Errorf("%d in 10 s at 10 a second", sent)
	}
	slow := endpointqueue.Queue{}
	slow.Begin(start, 0.5)
	if got := slow.Due(0.5).Sub(start); got != 2*time.Second {
		t.Errorf("at one in two seconds the next goes after %v", got)
	}
}

// TestClockJump: if a wrong clock has set NextAt too far ahead, Resume reduces it to one hour from now.
func TestClockJump(t *testing.T) {
	l := endpointqueue.Queue{NextAt: start.Add(365 * 24 * time.Hour), Failures: 3, FailingSince: start}
	l.Resume(start, 0, nil)
	if got := l.NextAt.Sub(start); got != time.Hour {
		t.Errorf("next in %v", got)
	}
}

// TestResume: a queue that is restored from the ledger at any point behaves like a queue that was never interrupted.
func TestResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole endpointqueue.Queue
		var attempts []sending.Attempt
		now := start
		codes := rapid.SliceOfN(rapid.SampledFrom([]int{500, 503, 404, 422, 429}), 1, 19).Draw(t, "codes")
		next := func(l *endpointqueue.Queue, at time.Time, code int) endpointqueue.Verdict {
			return l.End(at, 1, start.Add(endpointqueue.Expiry), status(code), 0.5)
		}
		for i, code := range codes {
			if due := whole.Due(50); due.After(now) {
				now = due
			}
			result := status(code)
			attempts = append(attempts, sending.Attempt{N: i + 1, At: now, Class: result.Class, Status: code})
			if v := next(&whole, now, code); v.State != outbound.Pending || whole.Probing() {
				return
			}
			back := endpointqueue.Queue{Cursor: whole.Cursor, NextAt: whole.NextAt, FailingSince: whole.FailingSince, Failures: whole.Failures, Noticed: whole.Noticed}
			back.Resume(now, 1, attempts)
			other := whole
			at := whole.NextAt
			for _, code := range []int{422, 500} {
				if a, b := next(&back, at, code), next(&other, at, code); a != b || back.NextAt != other.NextAt {
					t.Fatalf("after %d attempts: %+v, want %+v", i+1, a, b)
				}
			}
		}
	})
}
