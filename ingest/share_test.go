package ingest_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/ingest"
	"svc/internal/httpapi/limit"
)

// shareFixture returns a fixture that limits hospitals to their rate share and records its intakes.
func shareFixture(t *testing.T) (d *fixture, counted *[]ingest.Intake) {
	t.Helper()
	d, counted = open(t), &[]ingest.Intake{}
	d.config.Share = limit.NewShare(limit.NewMemory(time.Now), time.Now)
	d.config.Received = func(in ingest.Intake) { *counted = append(*counted, in) }
	d.Handler = mounted(d.config)
	return d, counted
}

func batchOf(n int) string {
	events := make([]string, n)
	for i := range events {
		events[i] = fmt.Sprintf(`{"eventType":"A01","occurredAt":"2026-03-04T09:00:00-06:00","visitId":"V%d","roomId":1}`, i)
	}
	return `{"events":[` + strings.Join(events, ",") + `]}`
}

// TestBeyondShare: a hospital that sends more than its rate share in large bodies gets 429. A refused body is neither
// appended nor counted as refused by a feed. Small bodies from the hospital are accepted.
func TestBeyondShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, counted := shareFixture(t)
		var a *answer
		for range 100 {
			if a = d.post(t, "batch", batchOf(500)); a.status != http.StatusOK {
				break
			}
			d.config.Share.Applied(2, int64(len(d.stored)-1))
		}
		if len(d.stored) < 5 || len(d.stored) > 10 || len(*counted) != len(d.stored) {
			t.Errorf("%d were kept, %d counted", len(d.stored), len(*counted))
		}
		if a.status != http.StatusTooManyRequests || a.Error.Code != "rate_limited" || a.header.Get("Retry-After") == "" || a.details() != "factsPerSecond:100" {
			t.Errorf("%d %v %s", a.status, a.header, a.details())
		}
		before, again := len(d.stored), a.header.Get("Retry-After")
		if a = d.post(t, "batch", batchOf(5)); a.status != http.StatusOK {
			t.Errorf("a small body: %d %s", a.status, a.details())
		}
		if a = d.post(t, "clinical", pad(`{"roomId":1,"signals":[]}`, 600<<10)); a.status != http.StatusTooManyRequests {
			t.Errorf("a long body that tells nothing: %d %s", a.status, a.details())
		}
		wait, err := time.ParseDuration(again + "s")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		if a = d.post(t, "batch", batchOf(500)); a.status != http.StatusOK || len(d.stored) != before+2 {
			t.Errorf("sent again when it was told to: %d %s", a.status, a.details())
		}
	})
}

// TestBeyondUnapplied: a hospital that sends faster than the processor applies gets 429. Observations that the log
// did not accept are not counted.
func TestBeyondUnapplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := shareFixture(t)
		d.fail = ingest.ErrAway
		for range 20 {
			if a := d.post(t, "batch", batchOf(100)); a.status != http.StatusServiceUnavailable {
				t.Fatalf("%d %s", a.status, a.details())
			}
		}
		d.fail = nil
		for range limit.FactsUnapplied / 200 {
			if a := d.post(t, "batch", batchOf(100), "Prefer", "respond-async"); a.status != http.StatusOK {
				t.Fatalf("%d %s", a.status, a.details())
			}
		}
		a := d.post(t, "batch", batchOf(100), "Prefer", "respond-async")
		if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "1" || a.details() != "factsUnapplied:1000" {
			t.Errorf("%d %v %s", a.status, a.header, a.details())
		}
		d.config.Share.Applied(2, int64(len(d.stored)-1))
		if a := d.post(t, "batch", batchOf(100)); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.details())
		}
	})
}

// TestMessagesBeyondShare: a message over MLLP waits until the rate share permits it. If the rate share does not
// permit it within the maximum wait, the message is neither stored nor acknowledged.
func TestMessagesBeyondShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := shareFixture(t)
		m := ingest.NewMessages(d.config)
		body := []byte(strings.Repeat(admission, 200))
		if busy := d.config.Share.Spend(t.Context(), "stmary", 0, limit.FactsAtOnce); busy != nil {
			t.Fatal(busy)
		}
		began := time.Now()
		if ack, err := m.IngestBody(t.Context(), d.key, body); err != nil || len(ack) == 0 || time.Since(began) < 4*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		d.config.Share.Applied(2, int64(len(d.stored)-1))
		body = []byte(strings.Repeat(admission, 900))
		kept := len(d.stored)
		_, err := m.IngestBody(t.Context(), d.key, body)
		if busy, ok := errors.AsType[*limit.Busy](err); !ok || busy.Reason != limit.Large || len(d.stored) != kept {
			t.Errorf("%v", err)
		}
	})
}
