package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// feedsStatus is the part of a status that the tests read.
type feedsStatus struct {
	Status  string
	Reasons []string
	Feeds   []struct {
		Channel, Source string
		SourceName      *string
		LastReceivedAt  *time.Time
		LastAppliedAt   *time.Time
		LastEventAt     *time.Time
		Windows         map[string]struct{ Received, Applied, Duplicates, Ignored, Rejected, Warnings int }
	}
	Pipeline struct {
		Topics []struct {
			Name                          string
			Partitions                    int
			Lag, OldestUnprocessedSeconds int
		}
		ProcessorHeartbeatAt *time.Time
		DeadLetters          int
	}
	UnitState struct {
		Recorded                  bool
		RoomsKnown, RoomsOccupied *int
	}
	Terminology struct{ UnmappedCodes, UnmappedHits24h, UnknownLocations *int }
}

func (p *partner) feedsStatus(t testing.TB) (s feedsStatus) {
	t.Helper()
	a := p.get(t, "/api/ingest/status")
	if a.status != http.StatusOK {
		t.Fatalf("status: %d %s", a.status, a.raw)
	}
	into(t, a.Data, &s)
	return s
}

// counted waits until a channel has the given counts for the last day: received, applied, duplicate, ignored and
// rejected messages, in this order.
func (p *partner) counted(t testing.TB, channel string, want [5]int) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		var got [5]int
		for _, f := range p.feedsStatus(t).Feeds {
			if f.Channel == channel {
				for _, window := range []string{"1h", "24h"} {
					w := f.Windows[window]
					got = [5]int{w.Received, w.Applied, w.Duplicates, w.Ignored, w.Rejected}
				}
			}
		}
		if got != want {
			return fmt.Errorf("%s: received, applied, duplicates, ignored, rejected %v, want %v", channel, got, want)
		}
		return nil
	})
}

// noticed expects the notices of a feed to contain the given notices.
func (p *partner) noticed(t testing.TB, source, channel string, want ...string) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		a := p.get(t, "/api/ingest/status/"+source)
		if a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.raw)
		}
		type notice struct{ ControlID, Code, Path string }
		var s struct {
			Feeds []struct {
				Channel            string
				Refusals, Warnings []notice
			}
		}
		into(t, a.Data, &s)
		var got []string
		for _, f := range s.Feeds {
			if f.Channel == channel {
				for _, n := range f.Refusals {
					got = append(got, "refused "+n.ControlID+" "+n.Code+" "+n.Path)
				}
				for _, n := range f.Warnings {
					got = append(got, "warned "+n.ControlID+" "+n.Code+" "+n.Path)
				}
			}
		}
		for _, line := range want {
			if !slices.Contains(got, line) {
				return fmt.Errorf("%s: %q has no %q", channel, got, line)
			}
		}
		return nil
	})
}

// TestStatusOfDev checks the message counts of each protocol.
func TestStatusOfDev(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	eventually(t, 10*time.Second, func() error { // until the processor sends its heartbeat
		if s := p.feedsStatus(t); s.Status != "stale" || !slices.Equal(s.Reasons, []string{"nothing_recorded"}) || s.UnitState.Recorded || len(s.Feeds) > 0 {
			return fmt.Errorf("before anything: %+v", s)
		}
		return nil
	})
	hl7 := func(message string) {
		if a, err := p.do(http.MethodPost, "/api/ingest/hl7", "text/plain", message); err != nil || a.status != http.StatusOK {
			t.Fatalf("%v %+v", err, a)
		}
	}
	at := time.Now().Add(-time.Hour)
	odd := func(n int, event string) string { return strings.Replace(arrival(n, at), "ADT^A01^ADT_A01", event, 1) }
	hl7(arrival(1, at))
	hl7(arrival(1, at))                     // duplicate
	hl7(odd(2, "ADT^A60"))                  // ignored
	hl7(odd(3, "ORU^R01"))                  // rejected
	hl7(arrival(4, at) + odd(5, "ORU^R01")) // two messages
	e := &engine{address: func() string { return d.MLLP }}
	defer e.close()
	for _, message := range []string{arrival(6, at), arrival(1, at), odd(7, "ORU^R01")} {
		if _, err := e.try(message); err != nil {
			t.Fatal(err)
		}
	}
	p.counted(t, "hl7", [5]int{9, 3, 2, 1, 3})
	p.accepted(t, "staffing", `{"nursesOnDuty":3}`)
	p.accepted(t, "clinical", `{"roomId":900,"signals":[{"kind":"observation","system":"local","code":"NOBODY-KNOWS"}]}`)
	if a := p.post(t, "staffing", `{"nursesOnDuty":-3}`); a.status != http.StatusBadRequest {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	p.counted(t, "staffing", [5]int{2, 1, 0, 0, 1})
	s := p.feedsStatus(t)
	if s.Status != "ok" || !s.UnitState.Recorded || s.Pipeline.ProcessorHeartbeatAt == nil || len(s.Pipeline.Topics) != 1 || s.Pipeline.Topics[0].Lag != 0 ||
		*s.UnitState.RoomsOccupied < 3 || *s.Terminology.UnmappedCodes != 1 || *s.Terminology.UnmappedHits24h != 1 || *s.Terminology.UnknownLocations < 3 {
		t.Errorf("%+v", s)
	}
	for _, f := range s.Feeds {
		if f.LastReceivedAt == nil || f.LastAppliedAt == nil || f.Channel == "hl7" && (f.LastEventAt == nil || f.LastEventAt.After(at)) {
			t.Errorf("%+v", f)
		}
	}
	// The columns are received, applied, duplicates, ignored and rejected messages, followed by changed, known and
	// unused facts, and facts outside the unit.
	counts := regexp.MustCompile(`(?m)^hl7 .* 9 +3 +2 +1 +3 +3 +2 +1 +0 +`)
	if said := cli(t, nil, "status", "--data", dir); !strings.HasPrefix(said, "ok\n") || !strings.Contains(said, "staffing") || !counts.MatchString(said) {
		t.Errorf("svc status says %s", said)
	}
	// The refused messages of both protocols are among the notices.
	source, name := s.Feeds[0].Source, *s.Feeds[0].SourceName
	p.noticed(t, source, "hl7", "refused M5 AR 200 messages[1].MSH-9", "refused M7 AR 200 MSH-9", "refused M3 AR 200 MSH-9")
	p.noticed(t, source, "staffing", "refused  min:0 nursesOnDuty")
	for _, word := range []string{source, name} {
		if said := cli(t, nil, "status", word, "--data", dir); !strings.HasPrefix(said, name+" ("+source+")\n") || !strings.Contains(said, "AR 200") || !strings.Contains(said, "MSH-9 A60") {
			t.Errorf("svc status %s says %s", word, said)
		}
	}
	out, err := exec.Command(binary(t), "status", "nobody", "--data", dir).CombinedOutput()
	wantRefusal(t, out, err, "no key with that id or name has sent anything")
	out, err = exec.Command(binary(t), "status", "--data", dir, "--key", "svc_0").CombinedOutput()
	wantRefusal(t, out, err, "API key")
}

// TestStatusOnServers: the status is the sum over two instances and keeps its counts when one instance restarts. If no
// processor runs, the status says so.
func TestStatusOnServers(t *testing.T) {
	needServers(t)
	t.Parallel()
	s := startSystem(t, "north")
	p := s.partners[0]
	processor := s.processor("p1")
	ingest, address := s.mllp()
	e := &engine{address: func() string { return address }}
	defer e.close()
	eventually(t, time.Minute, func() error { // until the processor is assigned the hospital's partition
		if s := p.feedsStatus(t); s.Pipeline.ProcessorHeartbeatAt == nil {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	for n := range 20 {
		if _, err := e.send(arrival(n, time.Now())); err != nil {
			t.Fatal(err)
		}
		if a, err := p.do(http.MethodPost, "/api/ingest/hl7", "text/plain", arrival(n, time.Now().Add(-time.Minute))); err != nil || a.status != http.StatusOK {
			t.Fatalf("%v %+v", err, a)
		}
	}
	if a, err := p.do(http.MethodPost, "/api/ingest/hl7", "text/plain", strings.Replace(arrival(99, time.Now()), "ADT^A01", "ORU^R01", 1)); err != nil || a.status != http.StatusOK {
		t.Fatalf("%v %+v", err, a)
	}
	p.counted(t, "hl7", [5]int{41, 40, 0, 0, 1})
	ingest.stop() // ingest writes its counts before it exits
	s.mllpAt("north", address)
	if _, err := e.send(arrival(100, time.Now())); err != nil {
		t.Fatal(err)
	}
	p.counted(t, "hl7", [5]int{42, 41, 0, 0, 1})
	p.noticed(t, p.feedsStatus(t).Feeds[0].Source, "hl7", "refused M99 AR 200 MSH-9")

	processor.stop()
	if _, err := e.send(arrival(101, time.Now())); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func() error {
		got := p.feedsStatus(t)
		if got.Status != "down" || !slices.Contains(got.Reasons, "processor_silent") || !slices.Contains(got.Reasons, "processing_behind") || got.Pipeline.Topics[0].Lag != 1 {
			return fmt.Errorf("without a processor: %+v", got)
		}
		return nil
	})
	s.processor("p1")
	p.counted(t, "hl7", [5]int{43, 42, 0, 0, 1})
	eventually(t, 10*time.Second, func() error {
		if got := p.feedsStatus(t); got.Status != "ok" || got.Pipeline.Topics[0].Lag != 0 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
}
