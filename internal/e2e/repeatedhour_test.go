package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// lastRepeated finds the most recent hour that occurred twice in a time zone because clocks were set back. It returns
// the instant in the middle of the first occurrence of that hour.
func lastRepeated(zone *time.Location, now time.Time) time.Time {
	offset := func(at time.Time) int {
		_, seconds := at.In(zone).Zone()
		return seconds
	}
	at := now.Truncate(time.Hour)
	for offset(at) >= offset(at.Add(-time.Hour)) {
		at = at.Add(-time.Hour)
	}
	return at.Add(-30 * time.Minute).In(zone)
}

// TestCancelOfARepeatedHour: when clocks are set back, an hour occurs twice. A patient is discharged during the first
// occurrence, and EVN-6 of the discharge message has no UTC offset. The cancellation is sent the next day, when MSH-7
// has the winter offset. It must revert the discharge, over HTTP and over MLLP.
func TestCancelOfARepeatedHour(t *testing.T) {
	t.Parallel()
	const name = "America/New_York"
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	d := startDev(t, t.TempDir(), "--ephemeral")
	newPartner(d.BaseURL, d.HospitalID, d.AdminKey).act(t, http.MethodPut, "settings", fmt.Sprintf(`{"timezone":%q}`, name), http.StatusOK)
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	left := lastRepeated(zone, time.Now())
	message := func(visit, kind string, sent, occurred time.Time) string {
		return `MSH|^~\&|EPIC|STMARY|SVC|STMARY|` + sent.In(zone).Format("20060102150405-0700") + "||ADT^" + kind + "|" + visit + kind + "|P|2.5.1\r" +
			"EVN||||||" + occurred.In(zone).Format("20060102150405") + "\rPID|1||MR" + visit + "^^^STMARY^MR\r" +
			"PV1|1|I|L&D^" + visit + strings.Repeat("|", 16) + visit + "\r"
	}
	check := func(visit string, send func(message, want string)) {
		for _, step := range []struct {
			message, want string
		}{
			{message(visit, "A01", left.Add(-4*time.Hour), left.Add(-4*time.Hour)), "occupied yellow 1 labor-standard"},
			{message(visit, "A03", left.Add(15*time.Minute), left), "empty gray 0"},
			{message(visit, "A13", left.Add(9*time.Hour), left), "occupied yellow 1 labor-standard"},
		} {
			send(step.message, step.want)
		}
	}
	check("HTTP1", func(message, want string) {
		p.sendUntilApplied(t, "hl7", asJSON(t, map[string]string{"message": message}), strings.Split(message, "|")[9])
		u := p.unitState(t)
		if got := u.room("HTTP1"); got != want {
			t.Errorf("%q, want %q after %s", got, want, message)
		}
	})
	e := &engine{address: func() string { return d.MLLP }}
	defer e.close()
	check("MLLP1", func(message, want string) {
		if code, err := e.send(message); err != nil || code != "AA" {
			t.Errorf("%s %v for %s", code, err, message)
		}
		eventually(t, 20*time.Second, func() error {
			u := p.unitState(t)
			if got := u.room("MLLP1"); got != want {
				return fmt.Errorf("%q, want %q after %s", got, want, message)
			}
			return nil
		})
	})
}
