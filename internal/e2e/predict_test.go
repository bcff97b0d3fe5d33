package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/internal/analysis/simulate"
	"svc/schemas"
)

// simulatedEvents returns the ADT events of a simulated unit for the given number of days before now. The simulated clock always ends at
// the same instant, so the state of the unit does not depend on when the test runs.
func simulatedEvents(t testing.TB, seed uint64, days int) (events []json.RawMessage) {
	t.Helper()
	const lately = 6 * time.Hour // a forecast needs an event from the last twelve hours
	span, now := time.Duration(days)*24*time.Hour, time.Now().Truncate(time.Second)
	start := time.Date(2026, 3, 11, 15, 0, 0, 0, time.UTC).Add(-span)
	requests, err := simulate.Requests(simulate.Options{
		Seed: seed, Profile: "small", Start: start, For: span, Steady: true,
		Clock: simulate.Course{{Unit: start, Real: now.Add(-span), Speed: 1}}.Real,
	})
	if err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for r := range requests {
		if r.Path == "/api/ingest/adt" {
			events, last = append(events, bytes.Clone(r.Body)), r.At
		}
	}
	if len(events) < days*5 || now.Sub(last) > lately {
		t.Fatalf("%d events in %d days, the last %v ago", len(events), days, now.Sub(last))
	}
	return events
}

// sendEvents posts events in batches.
func (p *partner) sendEvents(t testing.TB, events []json.RawMessage) {
	t.Helper()
	for batch := range slices.Chunk(events, 500) {
		body, err := json.Marshal(map[string]any{"events": batch})
		if err != nil {
			t.Fatal(err)
		}
		if a := p.post(t, "batch", string(body)); a.status != http.StatusOK {
			t.Fatalf("batch: %d %s", a.status, a.raw)
		}
	}
}

// prediction is the part of a predict response that the tests read.
type prediction struct {
	Current struct {
		Level, DrivingAxis, DrivingAxisLabel string
		RatioShortfall                       int
		NursesRequired                       float64
		AsOf                                 time.Time
	}
	Prediction struct {
		HorizonMinutes int
		Points         []struct {
			At                             time.Time
			Level                          string
			PGreen, PYellow, POrange, PRed float64
			DrivingAxis                    string
		}
	}
	StaffingForecast struct {
		Hours []struct {
			Start, End                       time.Time
			NursesP10, NursesP50, NursesP90  float64
			ExpectedCensus, ExpectedArrivals float64
			ShortfallP50, ShortfallP90       *int
		}
		Peak struct {
			At        time.Time
			NursesP90 float64
		}
		Drivers      []string
		HistoryHours int
		Method       string
	}
}

// predicted waits until the hospital has a forecast.
func (p *partner) predicted(t testing.TB, within time.Duration) (f prediction, a *answer) {
	t.Helper()
	eventually(t, within, func() (err error) {
		if a, err = p.do(http.MethodGet, "/api/v1/predict", "", ""); err != nil {
			return err
		}
		if a.status != http.StatusOK {
			return fmt.Errorf("predict: %d %s", a.status, a.raw)
		}
		return nil
	})
	into(t, a.Data, &f)
	return f, a
}

// expectPlausible expects a plausible forecast.
func (f *prediction) expectPlausible(t testing.TB) {
	t.Helper()
	if len(f.Prediction.Points) != 10 || len(f.StaffingForecast.Hours) != 8 || f.Prediction.HorizonMinutes != 480 || f.StaffingForecast.Method != "pathway-v1" {
		t.Fatalf("%+v", f)
	}
	for _, q := range f.Prediction.Points {
		if sum := q.PGreen + q.PYellow + q.POrange + q.PRed; sum < .9995 || sum > 1.0005 {
			t.Errorf("probabilities at %v sum to %v", q.At, sum)
		}
	}
	greatest := 0.0
	for i, h := range f.StaffingForecast.Hours {
		if h.NursesP10 > h.NursesP50 || h.NursesP50 > h.NursesP90 || h.End.Sub(h.Start) != time.Hour || !h.Start.Equal(f.Current.AsOf.Add(time.Duration(i)*time.Hour)) {
			t.Errorf("hour %d: %+v", i, h)
		}
		greatest = max(greatest, h.NursesP90)
	}
	if f.StaffingForecast.Peak.NursesP90 != greatest {
		t.Errorf("peak %+v, greatest %v", f.StaffingForecast.Peak, greatest)
	}
}

// TestPredict sends the history of a new hospital and reads its forecast.
func TestPredict(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	const days = 5
	d := startDev(t, t.TempDir())
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	none := p.get(t, "/api/v1/predict")
	if none.status != http.StatusUnprocessableEntity || none.Error.Code != "unprocessable" || len(none.Error.Details) != 1 ||
		none.Error.Details[0].Path != "history.hours" || none.Error.Details[0].Rule != "at least 24 observed hours in 28 days" ||
		none.Error.Message != "Not enough history to forecast: 0 of the 24 required hours were observed in the last 28 days." {
		t.Fatalf("without any state: %d %s", none.status, none.raw)
	}
	level := cli(t, nil, "keys", "mint", "--data", d.dir, "--hospital", d.HospitalID, "--name", "level", "--scopes", "read:unit-state")
	eventually(t, 5*time.Second, func() error {
		if a := newPartner(d.BaseURL, d.HospitalID, level).get(t, "/api/v1/predict"); a.status != http.StatusForbidden || !strings.Contains(a.Error.Message, "read:predict") {
			return fmt.Errorf("without the scope: %d %s", a.status, a.raw)
		}
		return nil
	})

	p.sendEvents(t, simulatedEvents(t, 1, days))
	f, a := p.predicted(t, time.Minute)
	f.expectPlausible(t)
	if f.StaffingForecast.HistoryHours < days*24-6 { // the first hours of the history are incomplete
		t.Errorf("%d hours learnt of %d days", f.StaffingForecast.HistoryHours, days)
	}
	if h := f.StaffingForecast.Hours[0]; h.ShortfallP50 != nil || h.ShortfallP90 != nil {
		t.Error("a shortfall although the nurses are unknown")
	}
	if a.header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("headers %v", a.header)
	}

	// No nurse is on duty now, so any unit is short-staffed. In an hour and a half, forty nurses will be on duty.
	ahead := time.Now().Add(90 * time.Minute).UTC().Format(time.RFC3339)
	p.accepted(t, "staffing", `{"nursesOnDuty": 0, "callStaffAvailable": false}`)
	p.accepted(t, "staffing", fmt.Sprintf(`{"nursesOnDuty": 40, "asOf": %q}`, ahead))
	f, a = p.predicted(t, 10*time.Second)
	f.expectPlausible(t)
	hours := f.StaffingForecast.Hours
	if hours[0].ShortfallP50 == nil || *hours[0].ShortfallP50 < 1 || *hours[1].ShortfallP90 != 0 || *hours[7].ShortfallP90 != 0 {
		t.Errorf("the plan is not honoured: %s", a.Data)
	}
	eventually(t, 10*time.Second, func() error { // a timer may change the unit between the two requests
		f, _ = p.predicted(t, 10*time.Second)
		u := p.unitState(t)
		if f.Current.Level != u.Level || f.Current.DrivingAxis != u.DrivingAxis || f.Current.RatioShortfall != u.RatioShortfall || f.Current.NursesRequired != u.NursesRequired {
			return fmt.Errorf("current %+v, unit-state %+v", f.Current, u)
		}
		return nil
	})
	eventually(t, 10*time.Second, func() error { // the minute may change between the two requests
		tag := p.get(t, "/api/v1/predict").header.Get("ETag")
		if again := p.get(t, "/api/v1/predict", "If-None-Match", tag); again.status != http.StatusNotModified {
			return fmt.Errorf("with its own tag: %d", again.status)
		}
		return nil
	})

	// After a crash the forecast is available again.
	before := f.StaffingForecast.HistoryHours
	port := d.BaseURL[len("http://"):]
	d.kill()
	restartDev(t, d.dir, port)
	if f, _ = p.predicted(t, 20*time.Second); f.StaffingForecast.HistoryHours < before {
		t.Errorf("%d hours learnt after a crash, %d before", f.StaffingForecast.HistoryHours, before)
	}
}

// recordedHours returns the snapshots of a hospital in the topic.
func recordedHours(t testing.TB, broker, prefix, hospital string) (list []acuity.Snapshot) {
	t.Helper()
	readTopic(t, broker, prefix+schemas.Snapshots().Name, func(r *kgo.Record) {
		s, err := schemas.SnapshotCodec.Decode(r.Value)
		if err != nil {
			t.Fatal(err)
		}
		if s.Hospital == hospital {
			list = append(list, s.Snapshot)
		}
	})
	return list
}

// TestKillHistory kills the processor repeatedly while the processor records the past hours of a hospital and learns
// from them. Each snapshot that a replay of the log produces must be stored exactly once. The forecast of this
// hospital must be based on as many hours as the forecast of a hospital whose history was complete before the first
// kill; one hour may be missing.
func TestKillHistory(t *testing.T) {
	const days = 6
	kafka, redis := ownRedis(t)
	s := startSystemOn(t, kafka, redis, nil, "north", "south")
	n := s.processor("p1")
	random := rand.New(rand.NewPCG(1, 1))
	north, south := s.partners[0], s.partners[1]
	events := simulatedEvents(t, 2, days)
	south.sendEvents(t, events)
	south.predicted(t, time.Minute)
	north.sendEvents(t, events)
	kills := 0
	for began := time.Now(); time.Since(began) < 12*time.Second; kills++ {
		select {
		case <-time.After(time.Duration(50+random.IntN(900)) * time.Millisecond): // lifetime of the process
		case <-n.exited:
			t.Fatalf("svc process ended:\n%s", tail(n.logged(), 20))
		}
		n.kill()
		n = s.processor("p1")
	}
	a, _ := north.predicted(t, 2*time.Minute)
	b, _ := south.predicted(t, time.Minute)
	if a.StaffingForecast.HistoryHours < b.StaffingForecast.HistoryHours-1 {
		t.Errorf("%d hours learnt after %d kills, %d without", a.StaffingForecast.HistoryHours, kills, b.StaffingForecast.HistoryHours)
	}
	log := readSettled(t, s.partners, s.kafka.address, s.prefix)
	log.check(t, nil)
	for _, p := range s.partners {
		log.refold(t, p)
		if n := len(log.snapshots[p.hospital]); n < days*24-2 {
			t.Fatalf("%s: %d hours in the log", p.hospital, n)
		}
		seen := map[string]bool{}
		for _, hour := range log.snapshots[p.hospital] {
			name := fmt.Sprint(hour.Hour, "/", hour.Generation)
			if seen[name] {
				t.Errorf("%s: hour %s was written twice", p.hospital, name)
			}
			seen[name] = true
		}
	}
	t.Logf("%d kills", kills)

	// Redis contains only derived data, so the learned models are restored after a flush.
	if err := s.redisClient().FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	again, _ := north.predicted(t, 30*time.Second)
	if again.StaffingForecast.HistoryHours < a.StaffingForecast.HistoryHours {
		t.Errorf("%d hours learnt after Redis was lost, %d before", again.StaffingForecast.HistoryHours, a.StaffingForecast.HistoryHours)
	}
}

// BenchmarkPredict requests a forecast from svc dev. The baseline is a request for the level.
func BenchmarkPredict(b *testing.B) {
	d := startDev(b, b.TempDir())
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	p.sendEvents(b, simulatedEvents(b, 1, 28))
	p.predicted(b, time.Minute)
	ask := func(path string, n int) time.Duration {
		began := time.Now()
		for range n {
			if a := p.get(b, path); a.status != http.StatusOK {
				b.Fatalf("%s: %d", path, a.status)
			}
		}
		return time.Since(began) / time.Duration(n)
	}
	ask("/api/v1/predict", 10)
	raw := ask("/api/v1/level", 200)
	n := 0
	for b.Loop() {
		ask("/api/v1/predict", 1)
		n++
	}
	each := b.Elapsed() / time.Duration(n)
	b.ReportMetric(float64(each)/float64(raw), "×level")
}
