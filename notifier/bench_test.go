package notifier_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/notifier"
	"svc/notifier/egress"
	"svc/notifier/egress/egresstest"
	"svc/notifier/webhook"
)

// heap is what is live.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// forget drops what the fakes keep, which is not the notifier's; the ledger stays.
func (r *rig) forget() {
	r.receiver.mu.Lock()
	r.receiver.seen = nil
	r.receiver.mu.Unlock()
	r.board.mu.Lock()
	r.board.deliveries, r.board.health = map[string]outbound.Delivery{}, map[string]outbound.Health{}
	r.board.mu.Unlock()
	r.verdicts, r.log = nil, bytes.Buffer{}
}

// TestIdleEndpointsAreSmall: 10,000 endpoints of 1,000 hospitals, each of which had
// an event; beside the settings and the lists, which are not the notifier's.
func TestIdleEndpointsAreSmall(t *testing.T) {
	const hospitals, each = 1000, 10
	bubble(t, func(t *testing.T, r *rig) {
		for h := range hospitals {
			for e := range each {
				r.hook(fmt.Sprintf("h%d", h), fmt.Sprintf("whk_%d-%d", h, e))
			}
		}
		before := heap()
		r.start()
		for h := range hospitals {
			r.change(fmt.Sprintf("h%d", h))
		}
		r.settle(time.Minute)
		if n := len(r.receiver.seen); n != hospitals*each {
			t.Fatalf("%d requests", n)
		}
		r.forget()
		r.ledger.mu.Lock()
		r.ledger.records, r.ledger.times = nil, nil
		r.ledger.mu.Unlock()
		one := (int64(heap()) - int64(before)) / (hospitals * each)
		t.Logf("an idle endpoint takes %d bytes", one)
		if one > 4<<10 {
			t.Errorf("an idle endpoint takes %d bytes", one)
		}
		r.end()
	})
}

// TestAnHourOfDeadEndpoints: 10,000 endpoints of 100 hospitals, of which 1,000 are
// down for an hour while their hospitals tell more than may stay in memory. What
// is held is the bound, and little for each that is down, also after a restart;
// and one that comes back gets all.
func TestAnHourOfDeadEndpoints(t *testing.T) {
	const hospitals, dead, asleep, changes = 100, 10, 89, 90
	limits := notifier.Limits{Memory: 2 << 20}
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = limits
		for h := range hospitals {
			hospital := fmt.Sprintf("h%d", h)
			for e := range dead {
				id := fmt.Sprintf("whk_%d-dead%d", h, e)
				r.hook(hospital, id)
				r.receiver.set(id, always(refused()))
			}
			for e := range asleep {
				r.hook(hospital, fmt.Sprintf("whk_%d-asleep%d", h, e), func(w *outbound.Webhook) { w.Events = []string{outbound.Alert} })
			}
			r.hook(hospital, fmt.Sprintf("whk_%d-up", h))
		}
		before := heap()
		check := func(when string) {
			t.Helper()
			r.forget()
			ledger := r.ledger.size()
			held := int64(heap()) - int64(before) - ledger
			t.Logf("%s %d MiB are held beside a ledger of %d MiB", when, held>>20, ledger>>20)
			if most := int64(limits.Memory) + hospitals*(dead+asleep+1)*4<<10; held > most { // 4 KiB for each endpoint
				t.Errorf("%s %d MiB are held, %d may be", when, held>>20, most>>20)
			}
		}
		r.start()
		var ids []string // of the first hospital
		for range changes {
			for h := range hospitals {
				if c := r.change(fmt.Sprintf("h%d", h)); h == 0 {
					ids = append(ids, c...)
				}
			}
			r.settle(time.Hour / changes)
			for h := range hospitals {
				if id := fmt.Sprintf("whk_%d-up", h); len(r.receiver.of(id)) != 1 {
					t.Fatalf("%s waits for one that is down", id)
				}
			}
			r.forget()
		}
		check("after an hour")
		r.settle(10 * time.Minute) // records are written anew: a restore begins behind most of the events
		r.commit()
		r.end()
		r.verdicts = nil
		r.start()
		r.settle(10 * time.Minute)
		check("after a restart")
		if most, reads := r.ledger.most, r.ledger.reads; most > 8 || reads > hospitals*dead+2 { // one for each take-over
			t.Errorf("the ledger is read %d times, by %d at once", reads, most)
		}
		r.receiver.set("whk_0-dead0", always(ok()))
		r.settle(10 * time.Minute)
		r.want("whk_0-dead0", ids)
		r.end()
	})
}

// TestBacklogsAreBounded: endpoints that are down while their hospitals tell
// more than fits; all of it comes once they are up, read back from the ledger.
func TestBacklogsAreBounded(t *testing.T) {
	const hospitals, changes = 10, 400
	bubble(t, func(_ *testing.T, r *rig) {
		r.limits = notifier.Limits{Memory: 1 << 20}
		ids := make([][]string, hospitals)
		for h := range hospitals {
			id := fmt.Sprintf("whk_%d", h)
			r.hook(fmt.Sprintf("h%d", h), id, func(w *outbound.Webhook) { w.RatePerSecond = 500 })
			r.receiver.set(id, always(refused()))
		}
		r.start()
		for range changes {
			for h := range hospitals {
				ids[h] = append(ids[h], r.change(fmt.Sprintf("h%d", h), 1)...)
			}
			r.settle(time.Second)
		}
		for h := range hospitals {
			r.receiver.set(fmt.Sprintf("whk_%d", h), always(ok()))
		}
		r.settle(20 * time.Minute)
		for h := range hospitals {
			r.want(fmt.Sprintf("whk_%d", h), ids[h])
		}
		r.end()
	})
}

// busy is the processor time that this process has taken, which other load on the
// machine disturbs less than it disturbs the wall clock.
func busy(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// local is a receiver on this machine, by the names of 16 hosts, and the sender
// that reaches it.
func local(b *testing.B, handle http.HandlerFunc) (urls []string, sender outbound.Sender) {
	b.Helper()
	const hosts = 16
	server := httptest.NewServer(handle)
	b.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	names := &egresstest.Names{}
	for i := range hosts {
		name := fmt.Sprintf("partner%d.test", i)
		names.Set(name, netip.MustParseAddr("127.0.0.1"))
		urls = append(urls, "http://"+net.JoinHostPort(name, port)+"/hook")
	}
	s := webhook.New(webhook.Config{Guard: egress.New(egress.Config{Loopback: true, Resolver: names.Resolver()}), Now: time.Now})
	b.Cleanup(s.Close)
	return urls, s
}

// benched is a notifier on a ledger in memory, with endpoints of as many hospitals.
func benched(b *testing.B, urls []string, sender outbound.Sender, endpoints int) (*rig, *notifier.Notifier) {
	b.Helper()
	r := newRig(b)
	for e := range endpoints {
		r.hook(fmt.Sprintf("h%d", e), fmt.Sprintf("whk_%d", e), func(w *outbound.Webhook) {
			w.URL, w.RatePerSecond = urls[e%len(urls)], 1e6
			w.Secrets = []outbound.Secret{{ID: "sec_1", Value: "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY", State: outbound.SecretCurrent}}
		})
	}
	n := notifier.New(notifier.Config{
		Settings: r.settings, Ledger: r.ledger, LedgerID: "L", Partition: func(string) int32 { return 0 }, Board: nowhere{}, Metrics: nothing{},
		Senders: map[outbound.Channel]outbound.Sender{outbound.ChannelWebhook: sender}, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	if _, _, err := n.Take(ctx, 0, -1, ""); err != nil {
		b.Fatal(err)
	}
	return r, n
}

// nowhere shows nothing.
type nowhere struct{}

func (nowhere) Delivery(*outbound.Entry)              {}
func (nowhere) Health(_, _ string, _ outbound.Health) {}
func (nowhere) Progress(outbound.Progress)            {}

// BenchmarkDeliveries is deliveries a second to receivers on this machine, from a
// change that is handed over to its receipt, and how that compares with the same
// requests by a plain client: also in processor time, the receivers' included, of
// which two cores have two seconds in each.
func BenchmarkDeliveries(b *testing.B) {
	const endpoints = 256
	var got atomic.Int64
	received := make(chan struct{}, 1)
	urls, sender := local(b, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // a benchmark
		w.WriteHeader(http.StatusNoContent)
		if got.Add(1) == int64(b.N) {
			received <- struct{}{}
		}
	})
	r, n := benched(b, urls, sender, endpoints)
	changes := make([]notifier.Change, b.N)
	for i := range changes {
		changes[i], _ = r.make(fmt.Sprintf("h%d", i%endpoints))
	}
	b.ReportAllocs()
	b.ResetTimer()
	began, before := time.Now(), busy(b)
	for chunk := range slices.Chunk(changes, 500) {
		n.Room(b.Context())
		if err := n.Changes(0, chunk, chunk[len(chunk)-1].Offset+1, false); err != nil {
			b.Fatal(err)
		}
	}
	<-received
	ours, work := time.Since(began), busy(b)-before
	b.StopTimer()

	body := bytes.Repeat([]byte("x"), 420)
	address := strings.TrimPrefix(urls[0], "http://partner0.test")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: endpoints}}
	got.Store(0)
	began, before = time.Now(), busy(b)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range endpoints {
		wait.Go(func() {
			for next.Add(1) <= int64(b.N) {
				answer, err := client.Post("http://127.0.0.1"+address, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				answer.Body.Close()
			}
		})
	}
	wait.Wait()
	raw, rawWork := time.Since(began), busy(b)-before
	client.CloseIdleConnections()
	b.ReportMetric(float64(b.N)/ours.Seconds(), "deliveries/s")
	b.ReportMetric(float64(b.N)/raw.Seconds(), "raw/s")
	b.ReportMetric(float64(work.Microseconds())/float64(b.N), "cpu-us")
	b.ReportMetric(float64(rawWork.Microseconds())/float64(b.N), "raw-cpu-us")
	b.ReportMetric(work.Seconds()/rawWork.Seconds(), "cpu-of-raw")
}

// BenchmarkLatency is from the change to its receipt at 500 a second, spread over
// a hundred endpoints of as many hospitals, all of which accept; and, taking turns
// with it, the same where one of them never answers: percentiles of the others in
// ms, and how those of the second compare with the first's.
func BenchmarkLatency(b *testing.B) {
	var all [2][]time.Duration // quiet, one hangs
	for range 2 {
		for hanging := range all {
			all[hanging] = append(all[hanging], latencies(b, hanging)...)
		}
	}
	percentile := func(took []time.Duration, p int) float64 {
		slices.SortFunc(took, cmp.Compare[time.Duration])
		return float64(took[len(took)*p/100].Microseconds()) / 1000
	}
	b.ReportMetric(percentile(all[0], 50), "p50-ms")
	b.ReportMetric(percentile(all[0], 99), "p99-ms")
	b.ReportMetric(percentile(all[1], 50), "p50-ms-one-hangs")
	b.ReportMetric(percentile(all[1], 99), "p99-ms-one-hangs")
	b.ReportMetric(percentile(all[1], 99)/percentile(all[0], 99), "p99-of-quiet")
	b.ReportMetric(0, "ns/op") // says nothing
}

// latencies sends 2,000 changes within four seconds, the first endpoints hanging.
func latencies(b *testing.B, hanging int) (took []time.Duration) {
	b.Helper()
	const endpoints, count = 100, 2000
	var mu sync.Mutex
	began := map[string]time.Time{} // of the changes to those that accept
	received, open := make(chan time.Duration, count), make(chan struct{})
	urls, sender := local(b, func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		io.Copy(io.Discard, r.Body) //nolint:errcheck // a benchmark
		mu.Lock()
		at, accepts := began[r.Header.Get("webhook-id")]
		mu.Unlock()
		if !accepts {
			select {
			case <-open:
			case <-r.Context().Done():
			}
		}
		w.WriteHeader(http.StatusNoContent)
		if accepts {
			received <- now.Sub(at)
		}
	})
	r, n := benched(b, urls, sender, endpoints)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	want := 0
	for i := range count {
		<-tick.C
		e := i % endpoints
		c, ids := r.make(fmt.Sprintf("h%d", e))
		if e >= hanging {
			mu.Lock()
			began[ids[0]] = time.Now()
			mu.Unlock()
			want++
		}
		if err := n.Changes(0, []notifier.Change{c}, c.Offset+1, false); err != nil {
			b.Fatal(err)
		}
	}
	for range want {
		took = append(took, <-received)
	}
	close(open)
	return took
}
