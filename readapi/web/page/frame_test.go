package page

import (
	"net/http/httptest"
	"testing"
	"time"

	"svc/acuity"
	"svc/readapi/web/text"
)

// TestTimesNameTheirDay: a future instant includes its weekday if the time of day alone would be ambiguous. An
// instant on a different day includes its date.
func TestTimesNameTheirDay(t *testing.T) {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	p := &Writer{Texts: text.For(httptest.NewRequest("GET", "/", nil)), Zone: zone}
	now := time.Date(2031, 4, 5, 23, 30, 0, 0, zone) // a Saturday
	for _, row := range []struct {
		from          time.Duration
		ahead, moment string
	}{
		{20 * time.Minute, "23:50", "23:50"},
		{time.Hour, "00:30", "Apr 6 00:30"},
		{12 * time.Hour, "11:30", "Apr 6 11:30"},
		{24 * time.Hour, "23:30 Sun", "Apr 6 23:30"},
		{47 * time.Hour, "22:30 Mon", "Apr 7 22:30"},
		{-23 * time.Hour, "00:30", "00:30"},
		{-25 * time.Hour, "22:30", "Apr 4 22:30"},
		{-8 * 24 * time.Hour, "23:30", "Mar 28"},
	} {
		at := acuity.At(now.Add(row.from))
		if got := p.FormatAhead(at, now); got != row.ahead {
			t.Errorf("%v ahead: %q, want %q", row.from, got, row.ahead)
		}
		if got := p.FormatMoment(at, now); got != row.moment {
			t.Errorf("%v from now: %q, want %q", row.from, got, row.moment)
		}
	}
	if p.FormatAhead(0, now) != "" || p.FormatMoment(0, now) != "" {
		t.Error("no instant is written")
	}
}

// TestTimesOfARepeatedHour: in the night in which clocks are set back, no two instants look the same.
func TestTimesOfARepeatedHour(t *testing.T) {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	p := &Writer{Texts: text.For(httptest.NewRequest("GET", "/", nil)), Zone: zone}
	now := time.Date(2031, 11, 2, 6, 40, 0, 0, time.UTC) // 01:40, for the first time
	again := acuity.At(now.Add(30 * time.Minute))
	if got := p.FormatClock(now); got != "01:40 CDT" {
		t.Errorf("the clock shows %q", got)
	}
	for _, got := range []string{p.FormatAhead(again, now), p.FormatMoment(again, now), p.FormatInstant(again)} {
		if got != "01:10 CST" {
			t.Errorf("in half an hour is %q", got)
		}
	}
}
