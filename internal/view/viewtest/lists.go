package viewtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"svc/internal/view"
)

// testCompleteLists tests that lists can be read without an error while they are known to be complete. In all other
// cases, a read returns an error. If the lists are only behind, the read also returns their entries.
func testCompleteLists(t *testing.T, s Server) {
	now := time.Now //nolint:forbidigo // real servers, real time
	b := openCurrent(t, s.URL, now)
	d := deliveries(t, b)
	read := func() map[string]error {
		faults := map[string]error{}
		_, faults["health"] = b.Lists().Health(t.Context(), "north", "whk_1")
		_, faults["command"] = b.Lists().Command(t.Context(), "north", "cmd_1")
		_, faults["delivery"] = b.Lists().Delivery(t.Context(), "north", "dlv_1")
		_, faults["episodes"] = b.Lists().Episodes(t.Context(), "north")
		for name, more := range map[string]bool{"scan": true, "first": false} {
			faults[name] = b.Lists().ScanDeliveries(t.Context(), "north", "", time.Time{}, time.Time{}, view.Mark{},
				func(view.Mark, []byte) bool { return more })
		}
		all, err := b.Lists().Faults(t.Context(), partition+1)
		faults["partition"] = errors.Join(err, all[partition])
		return faults
	}
	answers := func(when string, want error) {
		t.Helper()
		awaitSuccess(t, func() error {
			for way, err := range read() {
				if !errors.Is(err, want) || (err == nil) != (want == nil) {
					return fmt.Errorf("%s, %s: %w, want %w", when, way, err, want)
				}
			}
			return nil
		})
	}
	pulse := func(ago time.Duration, reached, end int64) {
		d.Pulse(now().Add(-ago), map[int32]view.ListPulse{partition: {Reached: reached, End: end}})
		d.Written(t.Context())
	}
	answers("nobody has written", view.ErrNotWhole)
	pulse(0, 7, 7)
	answers("no writer has completed the lists", view.ErrNotWhole)
	fatal(t, b.Lists().SetListed(t.Context(), partition))
	d.Complete(partition)
	pulse(0, 7, 7)
	answers("all is there", nil)
	if err := d.Fault(now()); err != nil {
		t.Errorf("of the writer: %v", err)
	}
	d.PutCommand("north", "cmd_1", []byte("begun"))
	pulse(0, 7, 9)
	answers("something has come", nil)
	d.Pulse(now(), nil) // the partition is revoked and assigned again
	pulse(4*time.Second, 7, 7)
	answers("complete until a few seconds ago", nil)
	pulse(3500*time.Millisecond, 7, 10)
	answers("a change has waited for too long", view.ErrBehind)
	if value, err := b.Lists().Command(t.Context(), "north", "cmd_1"); string(value) != "begun" || !errors.Is(err, view.ErrBehind) {
		t.Errorf("command in lists that are behind: %q, %v", value, err)
	}
	if err := d.Fault(now()); !errors.Is(err, view.ErrBehind) {
		t.Errorf("of the writer: %v", err)
	}
	pulse(0, 10, 10)
	answers("it is taken in", nil)
	s.Wipe(t)
	pulse(0, 10, 10)
	answers("Redis has lost it", view.ErrNotWhole)
}

// fatal ends the test on an error.
func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
