package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/internal/analysis/simulate"
)

// TestSimulateIntoDev streams days of a made-up unit through svc dev. The served verdict is that
// of the plain reference on the log.
func TestSimulateIntoDev(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	said := simulateInto(t, nil, "--to", "dev", "--data", dir, "--profile", "chaos", "--births", "900", "--for", "4d")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	backfilled(t, d, p)
	p.predicted(t, 30*time.Second) // the past went in by batches, which the forecast learns from
	log := readSettled(t, []*partner{p}, d.Kafka, "")
	log.check(t, nil)
	log.refold(t, p)
	if len(log.observations) != said.Sent {
		t.Errorf("%d sent, %d in the log", said.Sent, len(log.observations))
	}
}

// backfilled waits until all hours of a past that came by batches are cut.
func backfilled(t *testing.T, d *dev, p *partner) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		left := int32(-1)
		for _, c := range readLog(t, d.Kafka, "").changes[p.hospital] {
			if c.Snapshot != nil && c.Snapshot.Backfill > 0 {
				left = c.Snapshot.Backfill - 1
			}
		}
		if left != 0 {
			return fmt.Errorf("%d hours of the past are to come", left)
		}
		return nil
	})
}

// TestSimulateOnServers does the same with two hospitals on a real Kafka and Redis. One of two
// processors is killed meanwhile.
func TestSimulateOnServers(t *testing.T) {
	s := startSystem(t, "north", "south")
	first := s.processor("p1")
	s.processor("p2")
	for i, p := range s.partners {
		simulateInto(t, s.env, "--to", s.base, "--key", p.key, "--profile", []string{"small", "census-only"}[i], "--seed", fmt.Sprint(i+1), "--for", "2d", "--connections", "4")
		if i == 0 {
			first.kill()
		}
	}
	s.verify(nil)
}

type simulated struct {
	Sent, Refused int
	Codes         map[string]int
}

func simulateInto(t *testing.T, env []string, args ...string) (said simulated) {
	t.Helper()
	into(t, []byte(cli(t, env, append([]string{"simulate", "--json"}, args...)...)), &said)
	if said.Sent < 50 || said.Refused != 0 || said.Codes["HTTP 200"] != said.Sent {
		t.Fatalf("simulate says %+v", said)
	}
	return said
}

// TestDemo: a unit with a past is shown at once and changes. After kill -9 it continues.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir, "--demo", "--speed", "1440")
	await(t, d, "requests of 28 days are in")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	a := p.get(t, "/api/v1/unit-state")
	var u struct {
		Rooms                       []struct{ Status string }
		NursesRequired              float64
		NursesOnDuty                *int
		Roster                      *struct{ Nurses int }
		UnplacedPatients            int
		Axes                        []struct{ ID, Status string }
		Level, DrivingAxis, Version any
	}
	into(t, a.Data, &u)
	if a.status != http.StatusOK || len(u.Rooms) < 30 || u.NursesRequired < 3 || u.NursesOnDuty == nil || u.Roster == nil || u.UnplacedPatients != 0 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	for _, axis := range u.Axes {
		if axis.Status != "known" {
			t.Errorf("axis %s is %s", axis.ID, axis.Status)
		}
	}
	before := demoKept(t, dir)
	eventually(t, 30*time.Second, func() error {
		if now := demoKept(t, dir); now.Sent < before.Sent+20 {
			return fmt.Errorf("%d requests, %d at first", now.Sent, before.Sent)
		}
		return nil
	})
	d.kill()
	before = demoKept(t, dir)
	d = startDev(t, dir, "--demo", "--speed", "60")
	await(t, d, "goes on at speed 60")
	if strings.Contains(d.logged(), "28 days") {
		t.Errorf("it began again: %s", d.logged())
	}
	now := demoKept(t, dir)
	if !now.Start.Equal(before.Start) || now.Sent < before.Sent || len(now.Course) != 3 {
		t.Errorf("kept %+v, before %+v", now, before)
	}
	d.kill()

	d = startDev(t, dir)
	p = newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	backfilled(t, d, p)
	eventually(t, 30*time.Second, func() error { // and learnt
		a := p.get(t, "/api/v1/predict")
		var said struct {
			StaffingForecast struct{ HistoryHours int }
		}
		if a.status != http.StatusOK {
			return fmt.Errorf("%d: %s", a.status, a.raw)
		}
		into(t, a.Data, &said)
		if hours := said.StaffingForecast.HistoryHours; hours < 600 {
			return fmt.Errorf("%d hours learnt", hours)
		}
		return nil
	})
	log := readSettled(t, []*partner{p}, d.Kafka, "")
	log.check(t, nil)
	log.refold(t, p)
	events, ids := 0, map[string]bool{}
	for _, o := range log.observations {
		for i := range o.Events {
			events++
			ids[o.Events[i].ID] = true
		}
	}
	now = demoKept(t, dir)
	if want := now.events(t); len(ids) < want || len(ids) > want+100 || events > len(ids)+100 {
		t.Errorf("%d events, %d of them different; %d are noted as sent", events, len(ids), want)
	}
}

func await(t *testing.T, d *dev, text string) {
	t.Helper()
	select {
	case <-d.says(text):
	case <-d.exited:
		t.Fatalf("svc dev ended:\n%s", d.logged())
	case <-after(time.Minute):
		t.Fatalf("svc dev does not say %q:\n%s", text, d.logged())
	}
}

// kept is the saved state of a demonstration.
type kept struct {
	Seed    uint64
	Profile string
	Start   time.Time
	Course  simulate.Course
	Sent    int
}

func demoKept(t *testing.T, dir string) (k kept) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "demo.json"))
	if errors.Is(err, os.ErrNotExist) {
		return k
	}
	if err == nil {
		err = json.Unmarshal(content, &k)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// events counts the ADT events among the requests that the state counts as sent.
func (k *kept) events(t *testing.T) (n int) {
	t.Helper()
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	requests, err := simulate.Requests(simulate.Options{Seed: k.Seed, Profile: k.Profile, Start: k.Start.In(zone), For: 365 * 24 * time.Hour, Steady: true})
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	for r := range requests {
		if sent++; sent > k.Sent {
			break
		}
		if r.Path == "/api/ingest/adt" {
			n++
		}
	}
	return n
}
