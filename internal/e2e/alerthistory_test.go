package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// closedRuns returns the alert episodes that have ended, as the API lists them, and waits until the list can be read.
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

// awaitPastAlerts waits until the messages of the demo's past are listed, which they are once its last episode is in the
// ledger.
func awaitPastAlerts(t *testing.T, admin *partner) {
	t.Helper()
	eventually(t, 2*time.Minute, func() error {
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

// TestDevStoppedEarly: a demo that is killed or stopped while its past is being computed has the alert episodes of its 28
// days after the next start.
func TestDevStoppedEarly(t *testing.T) {
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

// TestDevAlertHistory: the alert episodes of the demo are the same after Redis has lost everything, after a restart,
// which starts Redis empty, and after kill -9.
func TestDevAlertHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir, "--demo")
	await(t, d, "the unit continues in real time")
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
