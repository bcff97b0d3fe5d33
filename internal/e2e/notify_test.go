package e2e

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/hospital/hospitaltest"
	"svc/notifier/event"
)

// partnerSide serves the partners' endpoints over HTTPS on a private address of this machine. The notifier's allow
// list contains this address.
type partnerSide struct {
	address string   // host:port
	ca      string   // file with the endpoint's certificate
	env     []string // environment variables of the processes that send to the endpoints

	mu    sync.Mutex
	seen  map[string][]gotten       // accepted deliveries, by path
	tried map[string]int            // number of requests, by path
	judge func(r *http.Request) int // returns the status; nil accepts each request with 204
}

type gotten struct {
	id, body string
	at       time.Time
}

// receive starts an endpoint server for hospitals.
func receive(t testing.TB, hospitals ...string) *partnerSide {
	t.Helper()
	p := &partnerSide{seen: map[string][]gotten{}, tried: map[string]int{}}
	var server *httptest.Server
	server, p.ca = serveHTTPS(t, p)
	p.address = server.Listener.Addr().String()
	ip, port, err := net.SplitHostPort(p.address)
	if err != nil {
		t.Fatal(err)
	}
	var allow []string
	for _, h := range hospitals {
		allow = append(allow, h+"="+ip+":"+port)
	}
	p.env = []string{
		"SVC_EGRESS_ALLOW=" + strings.Join(allow, ","), "SVC_EGRESS_CA_FILE=" + p.ca,
		"SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef-of-tests",
	}
	return p
}

// roots returns a certificate pool that trusts the endpoints.
func (p *partnerSide) roots(t testing.TB) *x509.CertPool {
	t.Helper()
	content, err := os.ReadFile(p.ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(content)
	return pool
}

// ServeHTTP accepts one delivery.
func (p *partnerSide) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // a kill interrupted the request, so it was not received
	}
	p.mu.Lock()
	p.tried[r.URL.Path]++
	judge := p.judge
	p.mu.Unlock()
	status := http.StatusNoContent
	if judge != nil {
		status = judge(r)
	}
	if r.Context().Err() != nil {
		return // the sender interrupted the request
	}
	if status == http.StatusNoContent {
		p.mu.Lock()
		p.seen[r.URL.Path] = append(p.seen[r.URL.Path], gotten{r.Header.Get("webhook-id"), string(body), time.Now()})
		p.mu.Unlock()
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "3600")
	}
	w.WriteHeader(status)
}

// answers makes judge answer all later requests. judge may block. If judge is nil, each request is accepted.
func (p *partnerSide) answers(judge func(r *http.Request) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

// hold blocks requests until open is called, and then accepts them.
func (p *partnerSide) hold() (open func()) { return p.holdAnd(http.StatusNoContent) }

// holdAnd is like hold, but answers the requests that it has blocked with the given status. Later requests are
// accepted.
func (p *partnerSide) holdAnd(answer int) (open func()) {
	gate := make(chan struct{})
	p.answers(func(r *http.Request) int {
		select {
		case <-gate:
			return http.StatusNoContent
		default:
		}
		select {
		case <-r.Context().Done():
		case <-gate:
		}
		return answer
	})
	return func() { close(gate) }
}

// requests returns the number of requests to a path, accepted or not.
func (p *partnerSide) requests(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tried[path]
}

func (p *partnerSide) at(path string) []gotten {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen[path])
}

// hook creates an endpoint for a hospital through the API.
func (p *partnerSide) hook(t testing.TB, s *system, hospital, path string) {
	t.Helper()
	admin := newPartner(s.base, hospital, s.cli("keys", "mint", "--hospital", hospital, "--name", "admin", "--scopes", "admin", "--rate", "0"))
	body, err := json.Marshal(map[string]any{"url": "https://" + p.address + path, "events": []string{"surge.level_changed", "room.rescored"}, "ratePerSecond": 500, "timeoutSeconds": 30})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func() error {
		a, err := admin.do(http.MethodPost, "/api/admin/webhooks", "application/json", string(body))
		if err == nil && a.status != http.StatusOK {
			err = fmt.Errorf("%d %s", a.status, a.raw)
		}
		return err
	})
}

// notifier starts an svc notify process with the given instance name.
func (s *system) notifier(instance string) *node {
	s.t.Helper()
	return s.start(instance, "notify", "--instance", instance, "--private-listen", "127.0.0.1:"+mustFreePort(s.t))
}

// expected returns the events that the reference implementation derives from the observations of a hospital, in
// order. The result does not depend on what was delivered.
func (l *systemLog) expected(t testing.TB, hospitalID string, at acuity.Instant) (ids []string, bodies map[string]string) {
	t.Helper()
	bodies = map[string]string{}
	for _, c := range hospitaltest.Fold(l.inputs(hospitalID), at).Changes {
		c.Hospital = hospitalID
		events, err := event.FromChange(&c, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			ids = append(ids, e.ID)
			bodies[e.ID] = string(e.Body)
		}
	}
	return ids, bodies
}

// complete returns the number of repeated deliveries. It returns an error unless an endpoint received all events in
// order, each with the expected body, and no other event.
func complete(seen []gotten, ids []string, bodies map[string]string) (repeats int, err error) {
	place := make(map[string]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	next := 0
	for _, r := range seen {
		at, known := place[r.id]
		switch {
		case !known:
			return 0, fmt.Errorf("event %s is of no change", r.id)
		case bodies[r.id] != r.body:
			return 0, fmt.Errorf("event %d has another body\n%s\nwant\n%s", at, r.body, bodies[r.id])
		case at > next:
			return 0, fmt.Errorf("event %d comes before %d", at, next)
		case at == next:
			next++
		default:
			repeats++
		}
	}
	if next < len(ids) {
		return 0, fmt.Errorf("%d of %d events", next, len(ids))
	}
	return repeats, nil
}

// startNotified starts a system with two endpoints for each hospital.
func startNotified(t testing.TB, hospitals ...string) (*system, *partnerSide) {
	t.Helper()
	kafka, redis := needServers(t)
	return startNotifiedOn(t, kafka, redis, hospitals...)
}

// startNotifiedOn is like startNotified, but uses the given servers.
func startNotifiedOn(t testing.TB, kafka, redis *server, hospitals ...string) (*system, *partnerSide) {
	t.Helper()
	p := receive(t, hospitals...)
	s := startSystemOn(t, kafka, redis, p.env, hospitals...)
	for _, h := range hospitals {
		p.hook(t, s, h, "/"+h+"/a")
		p.hook(t, s, h, "/"+h+"/b")
	}
	return s, p
}

// allReceived waits until every endpoint has received every event that the reference derives. It returns the number
// of events and the number of repeated deliveries.
func allReceived(t testing.TB, s *system, p *partnerSide, within time.Duration, hospitals ...string) (events, repeats int) {
	t.Helper()
	log := readSettled(t, s.partners, s.kafka.address, s.prefix)
	for _, h := range hospitals {
		last := log.changes[h][len(log.changes[h])-1]
		ids, bodies := log.expected(t, h, last.AppliedAt)
		events += len(ids)
		for _, path := range []string{"/" + h + "/a", "/" + h + "/b"} {
			eventually(t, within, func() error {
				n, err := complete(p.at(path), ids, bodies)
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				repeats += n
				return nil
			})
		}
	}
	return events, repeats
}

// TestKillNotifier runs two notifiers under load and kills one of them at a time, 50 times in total. Five times, it
// also starts and kills a third notifier. The endpoints must receive exactly the events that the reference derives;
// repeats must have the same bytes.
func TestKillNotifier(t *testing.T) {
	t.Parallel()
	hospitals := []string{"north", "south", "west"}
	s, p := startNotified(t, hospitals...)
	s.processor("p1")
	nodes := []*node{s.notifier("n1"), s.notifier("n2")}
	l := feed(t, 60, s.partners...)
	third := 0
	const kills = 50
	for kill := range kills {
		l.awaitMore(t, 25)
		i := kill % 2
		nodes[i].kill()
		switch kill % 5 {
		case 1: // in this case, input arrives while no process has taken the place of the killed notifier
			l.awaitMore(t, 10)
		}
		nodes[i] = s.notifier(fmt.Sprintf("n%d", i+1))
		if kill%10 == 3 { // a third instance is assigned some of the partitions and is killed while it owns them
			n := s.notifier(fmt.Sprintf("x%d", kill))
			select {
			case <-n.says("partition restored"):
				third++
			case <-n.exited:
				t.Fatalf("ended:\n%s", tail(n.logged(), 10))
			case <-after(30 * time.Second):
				t.Fatalf("a third instance gets no partition:\n%s", tail(n.logged(), 10))
			}
			l.awaitMore(t, 25)
			n.kill()
		}
	}
	l.awaitMore(t, 50)
	l.finish()
	events, repeats := allReceived(t, s, p, 2*time.Minute, hospitals...)
	t.Logf("%d kills, %d with a third instance that had partitions: %d events to each of two endpoints, %d requests again", kills, third, events, repeats)
	if events < 100 {
		t.Errorf("only %d events: the load changes too little", events)
	}
}
