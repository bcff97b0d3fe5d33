package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// derivedReads is a system with the clients, processes and paths that the tests of delivery lists and forecasts use.
type derivedReads struct {
	*system
	admin               *partner
	desk                *desk
	processor, notify   *node
	processes, notifies string   // private addresses of the processor (processes) and of the notifier (notifies)
	lists, predictions  []string // paths of the delivery lists (lists) and of the forecasts (predictions)
}

func startDerivedReads(t *testing.T, s *system, endpoint string) *derivedReads {
	t.Helper()
	x := &derivedReads{system: s, predictions: []string{"/api/v1/predict"}}
	x.processor, x.processes = s.measured("p1")
	x.notifyStarts()
	key := cli(t, s.env, "keys", "mint", "--hospital", "north", "--name", "admin", "--scopes", "admin", "--rate", "0")
	x.admin = newPartner(s.base, "north", key)
	x.admin.honored(t)
	x.desk = &desk{t: t, p: s.partners[0]}
	x.healthy(t)
	x.desk.surge()
	hook := x.command(t, "/api/admin/webhooks", fmt.Sprintf(`{"url":"https://%s/north"}`, endpoint)).ID
	replay := x.command(t, "/api/admin/webhooks/"+hook+"/replay", `{"since":"2026-01-01T00:00:00Z"}`).CommandID
	x.lists = []string{
		"/api/admin/deliveries", "/api/admin/deliveries/dlv_0123456789abcdef0123456789abcdef", "/api/admin/webhooks/" + hook + "/deliveries",
		"/api/admin/commands/" + replay, "/api/admin/alerts/episodes",
	}
	x.awaitAnswers(t)
	return x
}

// command sends a request as the administrator and expects success.
func (x *derivedReads) command(t *testing.T, path, body string) (done struct{ ID, CommandID string }) {
	t.Helper()
	a, err := x.admin.do(http.MethodPost, path, "application/json", body)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%d %s", a.status, a.raw)
	}
	if err == nil {
		err = json.Unmarshal(a.Data, &done)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return done
}

func (x *derivedReads) notifyStarts() {
	address := "127.0.0.1:" + mustFreePort(x.t)
	x.notifies = "http://" + address
	x.notify = start(x.t, "n1", []string{"notify", "--instance", "n1", "--private-listen", address}, x.env...)
}

// healthy waits until each process is ready.
func (x *derivedReads) healthy(t *testing.T) {
	t.Helper()
	for _, private := range []string{x.private, x.notifies, x.processes} {
		eventually(t, time.Minute, func() error { return ready(private + "/readyz") })
	}
}

// awaitAnswers waits until no request for a list or a forecast returns a 5xx status. The lists may still be empty.
func (x *derivedReads) awaitAnswers(t *testing.T) {
	t.Helper()
	for _, path := range append(x.lists, x.predictions...) {
		eventually(t, time.Minute, func() error {
			if a := x.read(t, path); a.status >= http.StatusInternalServerError {
				return fmt.Errorf("%s: %d %s", path, a.status, a.raw)
			}
			return nil
		})
	}
	x.healthy(t)
}

func (x *derivedReads) read(t *testing.T, path string) *answer {
	t.Helper()
	p := x.partners[0]
	if strings.HasPrefix(path, "/api/admin/") {
		p = x.admin
	}
	a, err := p.do(http.MethodGet, path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// listed returns the number of listed deliveries.
func (x *derivedReads) listed(t *testing.T) int {
	t.Helper()
	var page struct{ Items []struct{ ID string } }
	if a := x.read(t, "/api/admin/deliveries?limit=200"); a.status != http.StatusOK || json.Unmarshal(a.Data, &page) != nil {
		t.Fatalf("deliveries: %d %s", a.status, a.raw)
	}
	return len(page.Items)
}

// expectRefusals expects requests to be refused after a fault, at the latest once truthWithin has passed. From the
// first refusal, every request must be refused for one second with the documented error. Afterwards, the reader must
// report the given health check as failed. A request that Redis did not answer in time, which happens on a busy
// machine, is repeated.
func (x *derivedReads) expectRefusals(t *testing.T, check string, fault stopwatch, paths []string) {
	t.Helper()
	var all sync.WaitGroup
	for _, path := range paths {
		all.Go(func() {
			for since := (time.Time{}); since.IsZero() || time.Since(since) < time.Second; {
				asked, sinceFault := time.Now(), fault.elapsed()
				a := x.read(t, path)
				switch {
				case a.refusedBy("view_away") && sinceFault < time.Minute:
				case a.refusedBy("processing_behind"):
					if since.IsZero() {
						since = asked
					}
				case a.status == http.StatusServiceUnavailable:
					t.Errorf("%s: %v %s", path, a.header, a.raw)
					return
				case !since.IsZero() || sinceFault > truthWithin:
					t.Errorf("%s says %d, %v after the fault: %s", path, a.status, sinceFault, a.raw)
					return
				}
				<-time.After(10 * time.Millisecond)
			}
		})
	}
	all.Wait()
	eventually(t, time.Minute, func() error {
		if err := ready(x.private + "/readyz"); err == nil || !strings.Contains(err.Error(), check+": ") {
			return fmt.Errorf("the reader is ready: %w", err)
		}
		if got := healthy(t, x.private); got[check] != "0" || got["redis"] != "1" {
			return fmt.Errorf("svc_healthy of the reader: %v", got)
		}
		return nil
	})
}

// faults freezes, stops and kills the notifier, and freezes the processor. It expects lists or forecasts to be
// refused until the affected process runs again.
func (x *derivedReads) faults(t *testing.T) {
	verdicts := func(t *testing.T) {
		t.Helper()
		eventually(t, time.Minute, func() error {
			if a := x.read(t, "/api/v1/level"); a.status != http.StatusOK {
				return fmt.Errorf("verdicts do not go on: %d %s", a.status, a.raw)
			}
			return nil
		})
	}
	for _, f := range []struct {
		name       string
		make, mend func()
	}{
		{"the notifier stands still", func() { x.notify.freeze() }, func() { x.notify.thaw() }},
		{"the notifier stops", func() { x.notify.stop() }, x.notifyStarts},
		{"the notifier dies", func() { x.notify.kill() }, x.notifyStarts},
	} {
		t.Run(f.name, func(t *testing.T) {
			before := x.listed(t)
			f.make()
			fault := startWatch()
			x.desk.p.accepted(t, "staffing", `{"nursesOnDuty":9}`)
			x.desk.surge() // the level changes
			x.expectRefusals(t, "lists", fault, x.lists)
			verdicts(t)
			f.mend()
			x.awaitAnswers(t)
			eventually(t, time.Minute, func() error { // a delivery is listed from its first attempt
				if after := x.listed(t); after <= before {
					return fmt.Errorf("%d deliveries are listed, as many as before the level changed", after)
				}
				return nil
			})
		})
	}
	t.Run("the processor stands still", func(t *testing.T) {
		x.processor.freeze()
		x.expectRefusals(t, "forecast", startWatch(), x.predictions)
		x.processor.thaw()
		x.awaitAnswers(t)
	})
}

// TestDerivedReadsDuringFaults makes Redis refuse writes, and then causes the faults of [derivedReads.faults], all on
// embedded servers. During each fault, requests for the lists or forecasts that the fault affects must be refused,
// and they must succeed again after the fault.
func TestDerivedReadsDuringFaults(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	var refused atomic.Pointer[string] // Redis refuses writes whose key contains this string
	kafka, redis := embedServers(t, func(command string, args []string) string {
		word := refused.Load()
		if word != nil && (command == "HSET" || command == "EVALSHA") && strings.Contains(strings.Join(args, " "), *word) {
			return "READONLY You can't write against a read only replica."
		}
		return ""
	})
	side := receive(t, "north")
	x := startDerivedReads(t, startSystemOn(t, kafka, redis, side.env, "north"), side.address)
	for _, f := range []struct {
		check, word string
		private     func() string
		paths       []string
	}{
		{"lists", "}listed", func() string { return x.notifies }, x.lists},
		{"forecast", "forecast:{", func() string { return x.processes }, x.predictions},
	} {
		t.Run("Redis refuses to write: "+f.check, func(t *testing.T) {
			refused.Store(&f.word)
			x.expectRefusals(t, f.check, startWatch(), f.paths)
			if err := ready(f.private() + "/readyz"); err == nil || !strings.Contains(err.Error(), f.check+": ") || !strings.Contains(err.Error(), "READONLY") {
				t.Errorf("who cannot write is ready: %v", err)
			}
			refused.Store(nil)
			x.awaitAnswers(t)
		})
	}
	x.faults(t)
}

// TestDerivedReadsDuringFaultsOnServers pauses Kafka, makes Redis a replica, and then causes the faults of
// [derivedReads.faults], all on real servers.
func TestDerivedReadsDuringFaultsOnServers(t *testing.T) {
	kafka, redis := ownServers(t)
	side := receive(t, "north")
	x := startDerivedReads(t, startSystemOn(t, kafka, redis, side.env, "north"), side.address)
	t.Run("Kafka stands still", func(t *testing.T) {
		x.kafka.pause(t)
		thaw := sync.OnceFunc(func() { x.kafka.unpause(t) })
		defer thaw()
		fault := startWatch()
		x.expectRefusals(t, "lists", fault, x.lists)
		x.expectRefusals(t, "forecast", fault, x.predictions)
		thaw()
		x.awaitAnswers(t)
	})
	t.Run("Redis becomes a replica", func(t *testing.T) {
		replica := func(args ...any) {
			if err := x.redisClient().Do(t.Context(), append([]any{"REPLICAOF"}, args...)...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		mend := sync.OnceFunc(func() { replica("NO", "ONE") })
		defer mend()
		replica("127.0.0.1", "1")
		fault := startWatch()
		x.expectRefusals(t, "lists", fault, x.lists)
		x.expectRefusals(t, "forecast", fault, x.predictions)
		mend()
		x.awaitAnswers(t)
	})
	x.faults(t)
}
