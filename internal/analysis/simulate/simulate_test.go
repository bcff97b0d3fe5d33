package simulate_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/score"
	"svc/ingest"
	"svc/internal/analysis/simulate"
)

// start is a Monday.
var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func run(t testing.TB, o simulate.Options, fn func(simulate.Request)) {
	t.Helper()
	requests, err := simulate.Requests(o)
	if err != nil {
		t.Fatal(err)
	}
	for r := range requests {
		fn(r)
	}
}

func sum(t testing.TB, o simulate.Options) (sum [sha256.Size]byte) {
	t.Helper()
	h := sha256.New()
	var line []byte
	run(t, o, func(r simulate.Request) {
		line = simulate.AppendLine(line[:0], r)
		h.Write(line)
	})
	h.Sum(sum[:0])
	return sum
}

func TestSameOptionsSameBytes(t *testing.T) {
	o := simulate.Options{Seed: 1, Profile: "medium", Start: start, For: 14 * 24 * time.Hour}
	first := sum(t, o)
	if sum(t, o) != first {
		t.Error("another run of the same options differs")
	}
	for name, change := range map[string]func(*simulate.Options){
		"seed":    func(o *simulate.Options) { o.Seed = 2 },
		"profile": func(o *simulate.Options) { o.Profile = "chaos" },
		"births":  func(o *simulate.Options) { o.Births = 900 },
		"start":   func(o *simulate.Options) { o.Start = start.AddDate(0, 0, 1) },
		"steady":  func(o *simulate.Options) { o.Steady = true },
	} {
		other := o
		change(&other)
		if sum(t, other) == first {
			t.Errorf("another %s makes the same bytes", name)
		}
	}
}

// A shorter run is the beginning of a longer one, so a demonstration can be continued later.
func TestLongerRunGoesOn(t *testing.T) {
	o := simulate.Options{Seed: 3, Profile: "small", Start: start, For: 3 * 24 * time.Hour}
	var short, long []byte
	run(t, o, func(r simulate.Request) { short = simulate.AppendLine(short, r) })
	o.For *= 2
	run(t, o, func(r simulate.Request) { long = simulate.AppendLine(long, r) })
	if len(short) == 0 || len(long) <= len(short) || !bytes.HasPrefix(long, short) {
		t.Error("three days are not the beginning of six")
	}
}

// usual are warnings that real senders also get. For example, a message that was charted late
// arrives after the patient has moved.
var usual = []string{"room_not_occupied", "place_differs", "prior_place_differs", "statement_older", "patient_left"}

// Every request is a line of valid JSON, and the requests are ordered by time. The decoders accept them with only the
// usual warnings.
func TestEveryLineIsAccepted(t *testing.T) {
	for _, profile := range simulate.Profiles() {
		t.Run(profile, func(t *testing.T) {
			allowed := usual
			if profile == "chaos" { // a cancellation may arrive before its event, and an update before the admission
				allowed = append(slices.Clone(usual), "cancel_waiting", "update_waiting")
			}
			u := newUnit()
			var last time.Time
			remarks := 0
			run(t, simulate.Options{Seed: 1, Profile: profile, Start: start, For: 10 * 24 * time.Hour}, func(r simulate.Request) {
				if r.At.Before(last) || r.At.Before(start) {
					t.Fatalf("%s is sent at %v, after %v", r.Path, r.At, last)
				}
				last = r.At
				var line struct {
					At   time.Time
					Path string
					Body json.RawMessage
				}
				if err := json.Unmarshal(simulate.AppendLine(nil, r), &line); err != nil || !line.At.Equal(r.At) || line.Path != r.Path || !bytes.Equal(line.Body, r.Body) {
					t.Fatalf("%v in line %+v", err, line)
				}
				u.advance(r.At)
				c, found := u.accept(t, r)
				if c.Outcome != acuity.Applied && profile != "chaos" {
					t.Errorf("outcome %v %s: %s", c.Outcome, c.Reason, r.Body)
				}
				for _, w := range append(found, c.Warnings...) {
					if remarks++; !slices.Contains(allowed, w.Code) {
						t.Errorf("warning %s %s: %s", w.Code, w.Path, r.Body)
					}
				}
			})
			if u.lines < 100 || int64(remarks)*20 > u.lines {
				t.Errorf("%d lines with %d warnings", u.lines, remarks)
			}
			v := score.Judge(u.Chart(), acuity.At(last))
			if v.Required == 0 || v.OnDuty < 2 || v.Roster == nil || len(v.Rooms) < 10 {
				t.Errorf("after ten days %d/60 nurses are required, %d on duty, %d rooms", v.Required, v.OnDuty, len(v.Rooms))
			}
		})
	}
}

// unit applies requests as the service does.
type unit struct {
	*hospital.State
	pseudonyms ingest.Pseudonyms
	lines      int64
}

func newUnit() *unit {
	return &unit{State: hospital.New("h"), pseudonyms: ingest.NewPseudonyms([]byte("0123456789abcdef0123456789abcdef"))}
}

func (u *unit) advance(to time.Time) {
	for more := true; more; {
		_, more = u.Advance(acuity.At(to))
	}
}

// accept applies a request, which must not be rejected. It returns the change, and the warnings of the decoder.
func (u *unit) accept(t testing.TB, r simulate.Request) (acuity.Change, []acuity.Warning) {
	t.Helper()
	o := &acuity.Observation{Hospital: "h", ReceivedAt: acuity.At(r.At), Channel: acuity.Channel(path.Base(r.Path)), Source: "k"}
	found, err := ingest.Decode(o, r.Body, time.UTC, u.pseudonyms)
	if err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	c := u.Apply(o, u.lines)
	u.lines++
	if c.Outcome == acuity.Rejected {
		t.Fatalf("rejected, %s: %s", c.Reason, r.Body)
	}
	return c, found
}

// fold applies all requests and calls fn with the verdict of every hour.
func fold(t testing.TB, o simulate.Options, fn func(*score.Verdict)) *unit {
	t.Helper()
	u := newUnit()
	next := o.Start.Add(time.Hour)
	run(t, o, func(r simulate.Request) {
		for ; !next.After(r.At); next = next.Add(time.Hour) {
			u.advance(next)
			v := score.Judge(u.Chart(), acuity.At(next))
			fn(&v)
		}
		u.advance(r.At)
		u.accept(t, r)
	})
	return u
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := simulate.Requests(simulate.Options{Profile: "huge", Births: 1})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"profile:", "births:", "for:", "start:"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
}
