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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/notifier/egress"
	"svc/notifier/egress/egresstest"
	"svc/notifier/webhook"
)

// busy returns the CPU time that this process has used. Other load on the machine affects it less than wall time.
func busy(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// local starts an HTTP receiver on this machine. It returns a URL for each of the receiver's 16 host names, and a
// sender that can reach them.
func local(b *testing.B, handle http.HandlerFunc) (urls []string, sender sending.Sender) {
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

// benched returns a notifier with a ledger in memory and the given number of hospitals, each with one endpoint.
func benched(b *testing.B, urls []string, sender sending.Sender, endpoints int) (*rig, *notifier.Notifier) {
	b.Helper()
	r := newRig(b)
	for e := range endpoints {
		r.hook(fmt.Sprintf("h%d", e), fmt.Sprintf("whk_%d", e), func(w *subscriber.Webhook) {
			w.URL, w.RatePerSecond = urls[e%len(urls)], 1e6
			w.Secrets = []subscriber.Secret{{ID: "sec_1", Value: "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY", State: subscriber.SecretCurrent}}
		})
	}
	n := notifier.New(notifier.Config{
		Settings: r.settings, Ledger: r.ledger, LedgerID: "L", Partition: func(string) int32 { return 0 }, Lists: nowhere{}, Metrics: nothing{},
		Senders: map[subscriber.Channel]sending.Sender{subscriber.ChannelWebhook: sender}, Log: slog.New(slog.DiscardHandler),
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
	if _, _, err := n.Assign(ctx, 0, -1, ""); err != nil {
		b.Fatal(err)
	}
	return r, n
}

// nowhere discards everything that is written to the delivery lists.
type nowhere struct{}

func (nowhere) Delivery(*outbound.Entry)              {}
func (nowhere) Health(_, _ string, _ outbound.Health) {}
func (nowhere) Progress(outbound.Progress)            {}
func (nowhere) AlertRun(outbound.AlertRun)            {}

// BenchmarkDeliveries measures how many events per second reach receivers on this machine. The measured path begins
// with the change that causes the event. For comparison, a plain client sends the same requests. The benchmark
// reports wall time and CPU time. CPU time includes the receivers, and can exceed wall time on several cores.
func BenchmarkDeliveries(b *testing.B) {
	const endpoints = 256
	var got atomic.Int64
	received := make(chan struct{}, 1)
	urls, sender := local(b, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // irrelevant in a benchmark
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
		n.WaitForCapacity(b.Context())
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

// BenchmarkLatency measures the time from a change to the receipt of its event, at 500 changes per second in 100
// hospitals with one endpoint each. In every second run, one of the endpoints never answers. For the other endpoints,
// the benchmark reports percentiles in ms, and the ratio between runs with and without a hanging endpoint.
func BenchmarkLatency(b *testing.B) {
	var all [2][]time.Duration // index 0: no endpoint hangs; index 1: one hangs
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
	b.ReportMetric(0, "ns/op") // has no meaning here
}

// latencies sends 2,000 changes within four seconds and returns the time from each change to the receipt of its
// event. hanging is the number of endpoints that never answer.
func latencies(b *testing.B, hanging int) (took []time.Duration) {
	b.Helper()
	const endpoints, count = 100, 2000
	var mu sync.Mutex
	began := map[string]time.Time{} // time of the change by event id, without events for hanging endpoints
	received, open := make(chan time.Duration, count), make(chan struct{})
	urls, sender := local(b, func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		io.Copy(io.Discard, r.Body) //nolint:errcheck // irrelevant in a benchmark
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
