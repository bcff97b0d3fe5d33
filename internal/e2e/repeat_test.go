package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// send posts a body with an Idempotency-Key.
func (p *partner) send(t testing.TB, feed, body, key string) *answer {
	t.Helper()
	a, err := p.do(http.MethodPost, "/api/ingest/"+feed, "application/json", body, "Idempotency-Key", key)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sendUntilApplied sends a body with an Idempotency-Key. Because the machine may be slow, it retries after a 503 and
// after a response that precedes the effect. once reports whether one request was enough.
func (p *partner) sendUntilApplied(t testing.TB, feed, body, key string) (a *answer, once bool) {
	t.Helper()
	once = true
	eventually(t, time.Minute, func() error {
		a = p.send(t, feed, body, key)
		var in ingested
		if a.status == http.StatusOK {
			into(t, a.Data, &in)
		}
		if a.status == http.StatusServiceUnavailable || a.status == http.StatusOK && !in.Applied {
			once = false
			return fmt.Errorf("%d %s", a.status, a.raw)
		}
		return nil
	})
	return a, once
}

// wantRepeat expects a repeated request to get the same answer as the first request.
func wantRepeat(t testing.TB, first, again *answer) {
	t.Helper()
	if again.status != http.StatusOK || again.header.Get("Idempotency-Replayed") != "true" || !bytes.Equal(again.Data, first.Data) {
		t.Errorf("again %d %q %s\nfirst %s", again.status, again.header.Get("Idempotency-Replayed"), again.Data, first.Data)
	}
}

const labor = `{"rooms":[{"roomId":1,"status":"occupied","primaryFactor":"labor-standard"}]}`

// TestResendInDev: a repeated request gets the first answer, even after a kill, and has no second effect. With a
// different body, the request is refused.
func TestResendInDev(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	first := p.send(t, "census", labor, "census-1")
	if first.status != http.StatusOK || first.header.Get("Idempotency-Replayed") != "" {
		t.Fatalf("first: %d %s", first.status, first.raw)
	}
	wantRepeat(t, first, p.send(t, "census", labor, "census-1"))
	p.accepted(t, "census", `{"rooms":[{"roomId":1,"status":"empty"}]}`)
	d.kill()
	d = restartDev(t, dir, d.BaseURL[len("http://"):])
	p = newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	wantRepeat(t, first, p.send(t, "census", labor, "census-1"))
	if u := p.unitState(t); len(u.Rooms) != 1 || u.Rooms[0].Status != "empty" {
		t.Errorf("the resend had an effect: %+v", u.Rooms)
	}
	if a := p.send(t, "census", `{"rooms":[]}`, "census-1"); a.status != http.StatusConflict || a.Error.Code != "invalid_request" {
		t.Errorf("another body: %d %s", a.status, a.raw)
	}
}

// TestResendAcrossInstances: on real servers with two instances, a repeated request has one effect and one answer,
// whichever instance gets it, and even if both instances get it at the same time.
func TestResendAcrossInstances(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north")
	s.processor("one")
	listen := "127.0.0.1:" + mustFreePort(t)
	private := "127.0.0.1:" + mustFreePort(t)
	other := start(t, "other", []string{"run", "ingest,read", "--listen", listen, "--private-listen", private}, s.env...)
	other.await("http://" + private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
	here := s.partners[0]
	there := newPartner("http://"+listen, here.hospital, here.key)
	eventually(t, 60*time.Second, func() error { // until the processor is assigned its partitions
		var in ingested
		if into(t, here.post(t, "staffing", `{"nursesOnDuty":3}`).Data, &in); !in.Applied {
			return fmt.Errorf("nothing is applied yet")
		}
		return nil
	})

	first, _ := here.sendUntilApplied(t, "census", labor, "k")
	if first.status != http.StatusOK || !first.OK {
		t.Fatalf("first: %d %s", first.status, first.raw)
	}
	again, _ := there.sendUntilApplied(t, "census", labor, "k")
	wantRepeat(t, first, again)
	for i := range 10 {
		body := fmt.Sprintf(`{"nursesOnDuty":%d}`, i)
		answers := make([]*answer, 6)
		var all sync.WaitGroup
		var late atomic.Bool // whether any request was retried; if so, the first answer may have been lost
		for n := range answers {
			p := []*partner{here, there}[n%2]
			all.Go(func() {
				a, once := p.sendUntilApplied(t, "staffing", body, "at-once-"+strconv.Itoa(i))
				if !once {
					late.Store(true)
				}
				answers[n] = a
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		firsts := 0
		for _, a := range answers {
			if a.status != http.StatusOK || !bytes.Equal(a.Data, answers[0].Data) {
				t.Errorf("%d %s, another got %s", a.status, a.raw, answers[0].Data)
			}
			if a.header.Get("Idempotency-Replayed") == "" {
				firsts++
			}
		}
		if firsts > 1 || firsts == 0 && !late.Load() {
			t.Errorf("%d of %d requests at once were the first", firsts, len(answers))
		}
	}
	other.kill()
	other = start(t, "other", []string{"run", "ingest,read", "--listen", listen, "--private-listen", private}, s.env...)
	other.await("http://" + private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
	again, _ = there.sendUntilApplied(t, "census", labor, "k")
	wantRepeat(t, first, again)
}
