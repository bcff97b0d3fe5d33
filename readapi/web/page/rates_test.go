package page

import (
	"fmt"
	"testing"
	"time"

	"svc/readapi/web/auth"
)

// TestRates requests pages as fast as possible. A session with too many requests must wait without slowing down other
// sessions, and one hospital must not slow down another.
func TestRates(t *testing.T) {
	now := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	var r rates
	ask := func(session *auth.Session, times int) (had int) {
		for range times {
			if r.reservePage(session, now) == 0 {
				had++
			}
		}
		return had
	}
	first, second := &auth.Session{User: "usr_1", Hospital: "north", ID: fmt.Sprint("usr_1", 1)}, &auth.Session{User: "usr_2", Hospital: "north", ID: fmt.Sprint("usr_2", 1)}
	if got := ask(first, 10*sessionBurst); got != sessionBurst {
		t.Errorf("a session had %d pages at once, want %d", got, sessionBurst)
	}
	if got := ask(second, sessionBurst); got != sessionBurst {
		t.Errorf("beside it another session had %d pages", got)
	}
	now = now.Add(time.Second)
	if got := ask(first, sessionBurst); got != sessionPerSecond {
		t.Errorf("a second later it had %d pages, want %d", got, sessionPerSecond)
	}
	for i := range int64(20) {
		ask(&auth.Session{User: "usr_3", Hospital: "north", ID: fmt.Sprint("usr_3", i)}, sessionBurst)
	}
	if r.reservePage(&auth.Session{User: "usr_4", Hospital: "north", ID: fmt.Sprint("usr_4", 1)}, now) == 0 {
		t.Error("a hospital has no limit")
	}
	if r.reservePage(&auth.Session{User: "usr_1", Hospital: "south", ID: fmt.Sprint("usr_1", 9)}, now) != 0 {
		t.Error("one hospital slows down another")
	}
	now = now.Add(2 * rateIdle)
	if r.reservePage(first, now); len(r.buckets) != 2 {
		t.Errorf("%d buckets are kept", len(r.buckets))
	}
}
