package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/internal/outbound"
	"svc/schemas"
	"svc/schemas/ledger"
)

// closedRuns waits until the API can list alert episodes. It returns the JSON of every episode that has ended, keyed
// by the episode's id.
func closedRuns(t *testing.T, admin *partner) (all map[string]string) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		a := admin.get(t, "/api/admin/alerts/episodes")
		if a.status != http.StatusOK {
			return fmt.Errorf("%d %s", a.status, a.raw)
		}
		var list struct{ Items []json.RawMessage }
		into(t, a.Data, &list)
		all = map[string]string{}
		for _, item := range list.Items {
			var run struct {
				ID       string
				ClosedAt *time.Time
			}
			if into(t, item, &run); run.ClosedAt != nil {
				all[run.ID] = string(item)
			}
		}
		return nil
	})
	return all
}

// awaitPastAlerts waits until the API lists the alert e-mails of the demo's simulated history. The API lists none of
// them until the ledger contains the last alert run of this history.
func awaitPastAlerts(t *testing.T, admin *partner) {
	t.Helper()
	eventually(t, 5*time.Minute, func() error {
		a := admin.get(t, "/api/admin/deliveries?channel=email")
		var list struct{ Items []json.RawMessage }
		if a.status == http.StatusOK {
			into(t, a.Data, &list)
		}
		if len(list.Items) == 0 {
			return fmt.Errorf("no messages: %d %s", a.status, a.raw)
		}
		return nil
	})
}

// TestDevStoppedEarly interrupts a demo three times, by kill -9 or by a normal stop, while the demo computes its past
// alerts. After the next start, the API must list at least ten alert episodes of the demo's 28 days.
func TestDevStoppedEarly(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	dir := t.TempDir()
	startDev(t, dir, "--demo").kill()
	startDev(t, dir, "--demo").stop()
	startDev(t, dir, "--demo").kill()
	d := startDev(t, dir, "--demo")
	admin := newPartner(d.BaseURL, d.HospitalID, d.AdminKey)
	awaitPastAlerts(t, admin)
	if n := len(closedRuns(t, admin)); n < 10 {
		t.Errorf("%d episodes of 28 days", n)
	}
}

// TestDevAlertHistory: the alert episodes of the demo are the same after Redis loses everything, after a restart (which
// starts Redis empty), and after kill -9.
func TestDevAlertHistory(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir, "--demo")
	await(t, d, "the unit now continues in real time")
	admin := func() *partner { return newPartner(d.BaseURL, d.HospitalID, d.AdminKey) }
	one := admin()
	awaitPastAlerts(t, one)
	before := closedRuns(t, one)
	if t.Logf("%d episodes have ended", len(before)); len(before) < 10 {
		t.Fatal("too few of 28 days")
	}
	same := func(when string, now map[string]string) {
		t.Helper()
		for id, run := range before {
			if now[id] != run {
				t.Errorf("%s: %s\nbefore %s", when, now[id], run)
			}
		}
	}
	client := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(d.Redis, "redis://")})
	defer client.Close()
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	same("after FLUSHALL", closedRuns(t, one))
	d.stop()
	d = startDev(t, dir, "--demo")
	same("after a restart", closedRuns(t, admin()))
	d.kill()
	d = startDev(t, dir, "--demo")
	same("after kill -9", closedRuns(t, admin()))
}

// writeClosedRuns appends ended alert runs to the ledger in the notifier's format: one for each age in days, oldest
// first.
func (s *system) writeClosedRuns(hospital string, ages ...int) {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	for _, days := range ages {
		at := time.Now().AddDate(0, 0, -days).Truncate(time.Millisecond)
		key, value, err := ledger.Encode(nil, &outbound.ClosedRun{Term: 1, Run: outbound.AlertRun{
			ID: fmt.Sprintf("epi_%016d", days), Hospital: hospital, Tier: "T2", Level: "green", Reason: "cleared", Alert: fmt.Sprintf("evt_%032d", days),
			OpenedAt: at.Add(-time.Hour), ClosedAt: at, ToldAt: at, AckedAt: at.Add(-30 * time.Minute), AckedBy: "link",
		}})
		if err != nil {
			s.t.Fatal(err)
		}
		record := &kgo.Record{
			Topic: s.prefix + schemas.Deliveries().Name, Partition: schemas.Partition([]byte(hospital), partitions),
			Key: []byte(key.String()), Value: value, Timestamp: at,
		}
		if err := client.ProduceSync(s.t.Context(), record).FirstErr(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestAlertHistoryOnServers: on a real Kafka and Redis, the episodes of the last 90 days are listed from the ledger,
// even after Redis has lost everything, after kill -9 of the notifier, and after both. Older episodes are not listed.
func TestAlertHistoryOnServers(t *testing.T) {
	kafka, own := ownRedis(t)
	s := startSystemOn(t, kafka, own, []string{"SVC_SECRETS_KEY=a key for tests, 32 characters and more"}, "north")
	s.processor("p1")
	s.writeClosedRuns("north", 100, 80, 30, 8, 2)
	s.partners[0].accepted(t, "staffing", staffing(4, true))
	notify := func() *node {
		private := "127.0.0.1:" + mustFreePort(t)
		n := start(t, "notify", []string{"notify", "--instance", "n1", "--private-listen", private, "--public-url", s.base}, s.env...)
		n.await("http://" + private + "/readyz")
		return n
	}
	n := notify()
	admin := newPartner(s.base, "north", cli(t, s.env, "keys", "mint", "--hospital", "north", "--name", "admin", "--scopes", "admin", "--rate", "0"))
	admin.honored(t)
	wants := func(when string) {
		t.Helper()
		eventually(t, 90*time.Second, func() error {
			runs := closedRuns(t, admin)
			for _, days := range []int{80, 30, 8, 2} {
				if run := runs[fmt.Sprintf("epi_%016d", days)]; !strings.Contains(run, `"ackedBy":"link"`) {
					return fmt.Errorf("%s: the episode of %d days ago is %q of %d", when, days, run, len(runs))
				}
			}
			if len(runs) != 4 {
				return fmt.Errorf("%s: %d episodes", when, len(runs))
			}
			return nil
		})
	}
	flush := func() {
		if err := s.redisClient().FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	wants("at first")
	flush()
	wants("after FLUSHALL")
	n.kill()
	n = notify()
	wants("after kill -9 of the notifier")
	n.kill()
	flush()
	notify()
	wants("after both")
}
