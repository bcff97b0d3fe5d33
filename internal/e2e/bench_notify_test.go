package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/notifier/event"
	"svc/schemas"
)

// notified is a svc notify process on a real Kafka, with one endpoint for each unit. The benchmark, not a processor,
// writes the changes.
type notified struct {
	*system
	side    *partnerSide
	private string
	node    *node
	writer  *kgo.Client
	units   []string
	arrived sync.Map // keys are event ids, values are of type chan struct{}

	mu       sync.Mutex
	versions []int64
}

func startNotify(b *testing.B, units int) *notified {
	b.Helper()
	needServers(b)
	n := &notified{versions: make([]int64, units)}
	for i := range units {
		n.units = append(n.units, fmt.Sprintf("unit%d", i))
	}
	n.side = receive(b, n.units...)
	n.system = startSystemWith(b, n.side.env, n.units...)
	n.env = append(n.env, "SVC_LOG_LEVEL=info")
	for _, unit := range n.units {
		n.side.hook(b, n.system, unit, "/"+unit)
	}
	n.side.answers(func(r *http.Request) int {
		if done, ok := n.arrived.LoadAndDelete(r.Header.Get("webhook-id")); ok {
			close(done.(chan struct{})) //nolint:errcheck // the map contains only channels of this type
		}
		return http.StatusNoContent
	})
	n.writer = n.client(b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	n.node, n.private = n.watched("bench")
	return n
}

// change writes a change of a unit's level. The returned channel is closed when the endpoint receives the event for
// this change.
func (n *notified) change(unit int) (arrived chan struct{}, err error) {
	n.mu.Lock()
	defer n.mu.Unlock() // so that versions are in order in the log
	n.versions[unit]++
	v := n.versions[unit]
	c := &acuity.Change{
		Hospital: n.units[unit], Version: v, AppliedAt: acuity.At(time.Now()), Level: acuity.Level(v % 4),
		Effects: []acuity.Effect{{Kind: acuity.LevelChanged, Level: acuity.Level(v % 4), Prior: acuity.Level((v + 3) % 4), Ratio: 100}},
	}
	events, err := event.FromChange(c, 0)
	if err != nil {
		return nil, err
	}
	value, err := schemas.ChangeCodec.Encode(nil, c)
	if err != nil {
		return nil, err
	}
	arrived = make(chan struct{})
	n.arrived.Store(events[0].ID, arrived)
	key := []byte(c.Hospital)
	n.writer.Produce(context.Background(), &kgo.Record{
		Topic: n.prefix + schemas.Verdicts().Name, Partition: schemas.Partition(key, partitions), Key: key, Value: value,
	}, nil) // no callback: if the append fails, the event never arrives, and the caller notices
	return arrived, nil
}

var errArrival = errors.New("an event did not arrive")

// BenchmarkNotifyKafka measures the time from a change in Kafka until an endpoint receives it over HTTPS, at 500
// changes per second. For comparison, bare clients append a record, read it with read_committed, append another
// record, and post it. Then the benchmark measures the maximum rate.
func BenchmarkNotifyKafka(b *testing.B) {
	const units = 12
	n := startNotify(b, units)
	wait := func(arrived chan struct{}, err error) error {
		if err != nil {
			return err
		}
		select {
		case <-arrived:
			return nil
		case <-time.After(20 * time.Second):
			return errArrival
		}
	}
	for unit := range units { // opens the connections
		if err := wait(n.change(unit)); err != nil {
			b.Fatal(err)
		}
	}
	bare, stop := n.bare(b)
	defer stop()
	for b.Loop() {
		var sent atomic.Int64
		before := n.node.busy(b)
		compareSenders(b, bare, func(i int) error {
			sent.Add(1)
			return wait(n.change(i % units))
		})
		b.ReportMetric(float64((n.node.busy(b)-before).Microseconds())/float64(sent.Load()), "cpu-us/delivery-at-500")
		const many = 12_000
		busy, began := n.node.busy(b), time.Now()
		var last []chan struct{}
		for i := range many {
			arrived, err := n.change(i % units)
			if err != nil {
				b.Fatal(err)
			}
			if i >= many-units {
				last = append(last, arrived)
			}
		}
		for _, arrived := range last { // each unit's events arrive in order, so all earlier events have arrived, too
			if err := wait(arrived, nil); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(many/time.Since(began).Seconds(), "deliveries/s")
		b.ReportMetric(float64((n.node.busy(b)-busy).Microseconds())/many, "cpu-us/delivery")
	}
}

// bare returns the baseline, which is the minimum work of any notifier. The function do appends a record and waits
// until its copy arrives over HTTPS. In the background, a bare client reads the record, appends it to a second topic,
// and posts it.
func (n *notified) bare(b *testing.B) (do func(i int) error, stop func()) {
	b.Helper()
	in, out := n.topic(b, "bare-in", partitions), n.topic(b, "bare-out", partitions)
	ctx, cancel := context.WithCancel(context.Background())
	from := map[int32]kgo.Offset{}
	for p := range int32(partitions) {
		from[p] = kgo.NewOffset().AtStart()
	}
	reader := n.client(b, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{in: from}), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 32, MaxConnsPerHost: 32, // as in the notifier
		TLSClientConfig: &tls.Config{RootCAs: n.side.roots(b), MinVersion: tls.VersionTLS12},
	}}
	var loops sync.WaitGroup
	loops.Go(func() {
		for ctx.Err() == nil {
			reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				n.writer.Produce(ctx, &kgo.Record{Topic: out, Partition: r.Partition, Value: r.Value}, func(_ *kgo.Record, err error) {
					if err != nil {
						if ctx.Err() == nil {
							b.Error(err)
						}
						return
					}
					loops.Go(func() {
						request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+n.side.address+"/bare", bytes.NewReader(r.Value))
						if err != nil {
							b.Error(err)
							return
						}
						request.Header.Set("webhook-id", string(r.Key))
						answer, err := client.Do(request)
						if err != nil {
							if ctx.Err() == nil {
								b.Error(err)
							}
							return
						}
						answer.Body.Close()
					})
				})
			})
		}
	})
	value := bytes.Repeat([]byte("x"), 420) // as long as an event
	return func(i int) error {
			id, arrived := uuid.NewString(), make(chan struct{})
			n.arrived.Store(id, arrived)
			n.writer.Produce(ctx, &kgo.Record{Topic: in, Partition: int32(i % partitions), Key: []byte(id), Value: value}, nil)
			select {
			case <-arrived:
				return nil
			case <-time.After(20 * time.Second):
				return errArrival
			}
		}, func() {
			cancel()
			loops.Wait()
		}
}
