package hospital

import (
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/facts"
)

// A request repeated within 24 h has no effect, and its answer refers to the change made by the first request, even
// after a restore. With a different body, the request is refused.
func TestRequestsAreTakenOnce(t *testing.T) {
	received := acuity.At(time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC))
	ask := func(key, digest string, at acuity.Instant, nurses int32) *acuity.Observation {
		return &acuity.Observation{
			Hospital: "north", ReceivedAt: at, Channel: acuity.ChannelStaffing, Request: &acuity.Request{Key: key, Digest: digest},
			Staffing: &acuity.Staffing{AsOf: at, Nurses: nurses},
		}
	}
	u := New("north")
	offset := int64(0)
	apply := func(o *acuity.Observation) acuity.Change {
		offset++
		return u.Apply(o, offset)
	}
	first := apply(ask("k1", "d1", received, 5))
	if first.Outcome != acuity.Applied || first.Repeats != 0 {
		t.Fatalf("first: %+v", first)
	}
	apply(ask("k2", "d1", received, 7))
	u = u.Twin() // like a restart
	for name, c := range map[string]struct {
		o       *acuity.Observation
		outcome acuity.Outcome
		repeats int64
		reason  string
	}{
		"again":                   {ask("k1", "d1", received+1, 5), acuity.Duplicate, first.Version, ""},
		"another body":            {ask("k1", "d2", received+1, 9), acuity.Duplicate, first.Version, facts.ReasonReused},
		"almost a day later":      {ask("k1", "d1", received.Add(24*time.Hour)-1, 5), acuity.Duplicate, first.Version, ""},
		"the other key, repeated": {ask("k2", "d1", received+1, 7), acuity.Duplicate, first.Version + 1, ""},
	} {
		w := u.Twin()
		if got := w.Apply(c.o, 9); got.Outcome != c.outcome || got.Repeats != c.repeats || got.RepeatsAt != received || got.Reason != c.reason || len(got.Effects) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if n := w.registry.Facts.Staffing[len(w.registry.Facts.Staffing)-1].Nurses; n != 7 {
			t.Errorf("%s: %d nurses, want those of the last request that was taken", name, n)
		}
	}
	if got := apply(ask("k1", "d2", received.Add(24*time.Hour), 9)); got.Outcome != acuity.Applied || got.Repeats != 0 {
		t.Errorf("a day later it is another request: %+v", got)
	}
}
