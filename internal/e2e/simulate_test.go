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

// TestSimulateIntoDev streams several days of a made-up unit through svc dev. The served verdict must equal the
// verdict that the reference implementation derives from the log.
func TestSimulateIntoDev(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	said := simulateInto(t, nil, "--to", "dev", "--data", dir, "--profile", "chaos", "--births", "900", "--for", "4d")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	awaitBackfill(t, d, p)
	p.predicted(t, 30*time.Second) // the history was sent in batches, and the forecast learns from it
	log := readSettled(t, []*partner{p}, d.Kafka, "")
	log.check(t, nil)
	log.refold(t, p)
	if len(log.observations) != said.Sent {
		t.Errorf("%d sent, %d in the log", said.Sent, len(log.observations))
	}
}

// awaitBackfill waits until every hour of a history that was sent in batches is recorded.
func awaitBackfill(t *testing.T, d *dev, p *partner) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		left := int32(-1)
		for _, s := range recordedHours(t, d.Kafka, "", p.hospital) {
			if s.Backfill > 0 {
				left = s.Backfill - 1
			}
		}
		if left != 0 {
			return fmt.Errorf("%d hours of the past are to come", left)
		}
		return nil
	})
}

// TestSimulateOnServers repeats TestSimulateIntoDev with two hospitals on a real Kafka and Redis.
// One of two processors is killed during the simulation.
func TestSimulateOnServers(t *testing.T) {
	t.Parallel()
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

// TestDemo: the demo immediately shows a unit with a history. After a kill -9, the unit continues, and repeated
// requests have no further effect.
func TestDemo(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir, "--demo")
	await(t, d, "requests covering 28 days were applied")
	first := d.received(t)
	d.kill()
	before := demoKept(t, dir)
	const lost = 200
	rewindDemo(t, dir, lost) // as if the last saves had not reached the disk

	d = startDev(t, dir, "--demo")
	await(t, d, "the unit now continues in real time")
	if strings.Contains(d.logged(), "28 days") {
		t.Errorf("it began again: %s", d.logged())
	}
	now := demoKept(t, dir)
	if !now.Start.Equal(before.Start) || now.Sent < before.Sent || len(now.Course) != 1 {
		t.Errorf("kept %+v, before %+v", now, before)
	}
	// The messages of the simulated history are counted, even after the restart, which empties the embedded Redis.
	for feed, n := range map[string]int64{"adt": 20, "census": 1, "clinical": 20, "roster": 2, "staffing": 2} {
		if again := d.received(t); first[feed] < n || again[feed] < first[feed]*9/10 {
			t.Errorf("%s: %d received in 24 h, and %d after a restart", feed, first[feed], again[feed])
		}
	}
	log := readLog(t, d.Kafka, "")
	events, ids := 0, map[string]bool{}
	for _, o := range log.observations {
		for i := range o.Events {
			events++
			ids[o.Events[i].ID] = true
		}
	}
	now = demoKept(t, dir)
	if want := now.events(t); len(ids) < want || len(ids) > want+lost || events > len(ids)+lost {
		t.Errorf("%d events, %d of them different; %d are noted as sent", events, len(ids), want)
	}
}

// received returns how many messages each channel received within 24 h. The test fails if a feed has no name, has
// received no message, or has applied none.
func (d *dev) received(t *testing.T) map[string]int64 {
	t.Helper()
	var status struct {
		Feeds []struct {
			Channel, SourceName           string
			LastReceivedAt, LastAppliedAt time.Time
			Windows                       map[string]struct{ Received, Applied int64 }
		}
	}
	a := newPartner(d.BaseURL, d.HospitalID, d.APIKey).get(t, "/api/ingest/status")
	into(t, a.Data, &status)
	all := map[string]int64{}
	for _, f := range status.Feeds {
		all[f.Channel] += f.Windows["24h"].Received
		if f.SourceName == "" || f.LastReceivedAt.IsZero() || f.LastAppliedAt.IsZero() || f.Windows["24h"].Applied == 0 {
			t.Errorf("feed %+v", f)
		}
	}
	return all
}

// TestDemoPast: the demo's simulated history is processed as if it happened live. The pages show consistent values
// for each past hour, for the present and for the hours ahead.
func TestDemoPast(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	d := startDev(t, t.TempDir(), "--demo", "--ephemeral")
	await(t, d, "requests covering 28 days were applied")
	p, admin := newPartner(d.BaseURL, d.HospitalID, d.APIKey), newPartner(d.BaseURL, d.HospitalID, d.AdminKey)

	var u struct {
		Rooms              []struct{ Status string }
		Level              string
		NursesRequired     float64
		NursesOnDuty       *int
		Roster             *struct{ Nurses int }
		UnplacedPatients   int
		Axes               []struct{ ID, Status string }
		LevelSince, AsOf   time.Time
		RatioShortfall     int
		CallStaffAvailable *bool
	}
	a := p.get(t, "/api/v1/unit-state")
	into(t, a.Data, &u)
	if a.status != http.StatusOK || len(u.Rooms) < 30 || u.NursesRequired < 3 || u.NursesOnDuty == nil || u.Roster == nil || u.UnplacedPatients != 0 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if *u.NursesOnDuty+1 != u.Roster.Nurses {
		t.Errorf("%d on duty, and a roster of %d with the charge nurse", *u.NursesOnDuty, u.Roster.Nurses)
	}
	for _, axis := range u.Axes {
		if axis.Status != "known" {
			t.Errorf("axis %s is %s", axis.ID, axis.Status)
		}
	}

	since := time.Now().Add(-27 * 24 * time.Hour).UTC().Format(time.RFC3339)
	var trends struct {
		Hours []struct {
			Observed     bool
			NursesOnDuty *int
		}
		LevelMinutes struct{ Green, Yellow, Orange, Red, Estimated, Unknown int }
		Forecast     struct {
			Status     string
			Coverage80 float64
		}
	}
	eventually(t, 5*time.Minute, func() error { // the forecast learns from the history afterwards
		if a = admin.get(t, "/api/admin/trends?since="+since); a.status != http.StatusOK {
			return fmt.Errorf("%d: %s", a.status, a.raw)
		}
		trends.LevelMinutes.Unknown = 0
		into(t, a.Data, &trends)
		if len(trends.Hours) < 27*24-1 || trends.LevelMinutes.Unknown > 0 || trends.Forecast.Status != "calibrated" {
			return fmt.Errorf("%d hours, forecast %+v: %.300s", len(trends.Hours), trends.Forecast, a.raw)
		}
		return nil
	})
	for i, h := range trends.Hours {
		if !h.Observed || h.NursesOnDuty == nil {
			t.Errorf("hour %d: observed %v, nurses on duty %v", i, h.Observed, h.NursesOnDuty)
		}
	}
	m := trends.LevelMinutes // they depend on the hour and weekday at which the demo begins
	all := m.Green + m.Yellow + m.Orange + m.Red
	if m.Unknown+m.Estimated > 0 || m.Green*10 < all || m.Yellow*20 < all || m.Orange == 0 || m.Red == 0 || m.Red*4 > all {
		t.Errorf("minutes of the levels: %+v", m)
	}

	var said struct {
		Current struct {
			Level          string
			NursesRequired float64
			RatioShortfall int
			AsOf           time.Time
		}
		StaffingForecast struct{ HistoryHours int }
	}
	eventually(t, 3*time.Minute, func() error { // a timer may change the unit between the two reads
		if a = p.get(t, "/api/v1/predict"); a.status != http.StatusOK {
			return fmt.Errorf("%d: %s", a.status, a.raw)
		}
		into(t, a.Data, &said)
		if said.StaffingForecast.HistoryHours < 600 {
			return fmt.Errorf("%d hours learned: %s", said.StaffingForecast.HistoryHours, a.raw)
		}
		into(t, p.get(t, "/api/v1/unit-state").Data, &u)
		c := said.Current
		if c.Level != u.Level || c.NursesRequired != u.NursesRequired || c.RatioShortfall != u.RatioShortfall {
			return fmt.Errorf("the forecast begins at %+v, the unit is %s, %v nurses, %d short", c, u.Level, u.NursesRequired, u.RatioShortfall)
		}
		return nil
	})
	demoAlerts(t, p, admin)
	out := cli(t, nil, "backtest", "--data", d.dir, "--hospital", d.HospitalID, "--warmup", "14d", "--gate", "--out", t.TempDir())
	if !strings.Contains(out, "gate: passed") {
		t.Error(out)
	}
}

// demoAlerts checks the demo's past alerts. They must be consistent with the current level, and must have been sent
// to the demo's recipients when they were raised.
func demoAlerts(t *testing.T, p, admin *partner) {
	t.Helper()
	var list struct {
		Items []struct {
			ID, Tier, Level, Reason string
			OpenedAt                time.Time
			ClosedAt, AckedAt       *time.Time
			Round                   int
			Unreached               bool
		}
	}
	var level struct{ Level string }
	eventually(t, 3*time.Minute, func() error { // the past alerts are listed one after the other, after svc dev has printed its greeting
		a := admin.get(t, "/api/admin/alerts/episodes")
		if a.status != http.StatusOK {
			return fmt.Errorf("%d: %s", a.status, a.raw)
		}
		list.Items = nil
		into(t, a.Data, &list)
		tiers, acked, escalated, oldest := map[string]int{}, 0, 0, time.Now()
		for i := range list.Items {
			e := &list.Items[i]
			tiers[e.Tier]++
			if e.AckedAt != nil {
				acked++
			}
			if e.Round > 0 {
				escalated++
			}
			oldest = e.OpenedAt
		}
		if len(list.Items) < 28 || acked < 10 || escalated < 2 || escalated > acked || time.Since(oldest) < 21*24*time.Hour {
			return fmt.Errorf("%d alerts since %v, %d acknowledged, %d escalated; tiers %v", len(list.Items), oldest, acked, escalated, tiers)
		}
		into(t, p.get(t, "/api/v1/level").Data, &level)
		if newest := &list.Items[0]; (newest.ClosedAt == nil) != (level.Level != "green") && time.Since(newest.OpenedAt) > time.Hour {
			return fmt.Errorf("the unit is %s, and its last alert is %+v", level.Level, newest)
		}
		return nil
	})
	for i := range list.Items {
		e := &list.Items[i]
		if e.Unreached {
			t.Errorf("alert %+v reached no one", e)
		}
		if i > 0 && (e.ClosedAt == nil || e.ClosedAt.After(list.Items[i-1].OpenedAt)) {
			t.Errorf("alert %+v overlaps the next one", e)
		}
	}
	var sent struct {
		Items []struct {
			Channel, State string
			OccurredAt     time.Time
			Attempts       []struct{ At time.Time }
		}
	}
	path := "/api/admin/deliveries?limit=200&until=" + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	channels := map[string]int{}
	eventually(t, time.Minute, func() error { // deliveries are listed after the alerts
		a := admin.get(t, path)
		if a.status != http.StatusOK {
			return fmt.Errorf("%d: %s", a.status, a.raw)
		}
		into(t, a.Data, &sent)
		clear(channels)
		for i := range sent.Items {
			channels[sent.Items[i].Channel]++
		}
		if channels["email"] < 20 || channels["sms"] < 5 {
			return fmt.Errorf("messages by channel: %v", channels)
		}
		return nil
	})
	for _, d := range sent.Items {
		if d.State != "delivered" && d.State != "suppressed" || d.State == "delivered" && (len(d.Attempts) != 1 || !d.Attempts[0].At.Equal(d.OccurredAt)) {
			t.Errorf("delivery %+v", d)
		}
	}
}

// rewindDemo rewinds the saved state by a number of requests, as if the last saves had been lost.
func rewindDemo(t *testing.T, dir string, requests int) {
	t.Helper()
	name := filepath.Join(dir, "demo.json")
	content, err := os.ReadFile(name)
	state := map[string]any{}
	if err == nil {
		err = json.Unmarshal(content, &state)
	}
	if err == nil {
		sent, ok := state["sent"].(float64)
		if !ok {
			t.Fatalf("%s counts no requests", name)
		}
		state["sent"] = sent - float64(requests)
		content, err = json.Marshal(state)
	}
	if err == nil {
		err = os.WriteFile(name, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
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

// events returns the number of ADT events among the requests that the state counts as sent.
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
