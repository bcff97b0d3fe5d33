package stream

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// End offsets are returned for every leader that responds, even if a different leader does not.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &kfake.VirtualNetwork{}
		broker, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.Ports(9092, 9093, 9094), kfake.ListenFn(net.Listen), kfake.ClusterID("three"))
		if err != nil {
			t.Fatal(err)
		}
		defer broker.Close()
		cluster, err := Dial(t.Context(), Options{Brokers: []string{"localhost:9092"}, Log: slog.New(slog.DiscardHandler), Dial: net.DialContext})
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		if err = cluster.Ensure(t.Context(), Topic{Name: inTopic, Partitions: parts}); err != nil {
			t.Fatal(err)
		}
		for partition := range int32(parts) {
			if err = broker.MoveTopicPartition(inTopic, partition, partition); err != nil {
				t.Fatal(err)
			}
			for range partition {
				if _, err = cluster.Publisher(inTopic).Append(t.Context(), []byte("k"), []byte("v"), partition); err != nil {
					t.Fatal(err)
				}
			}
		}
		ends, err := cluster.Ends(t.Context(), inTopic, []int32{0, 2})
		if want := map[int32]int64{0: 0, 2: 2}; err != nil || !maps.Equal(ends, want) {
			t.Errorf("ends %v, %v, want %v", ends, err, want)
		}

		hung := make(chan struct{})
		broker.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
			broker.KeepControl()
			if broker.CurrentNode() == 1 {
				broker.SleepControl(func() { <-hung })
			}
			return nil, nil, false
		})
		began := time.Now()
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ends, err = cluster.Ends(within, inTopic, []int32{0, 1, 2})
		if want := map[int32]int64{0: 0, 2: 2}; err == nil || !maps.Equal(ends, want) {
			t.Errorf("with a leader that hangs ends %v, %v, want %v", ends, err, want)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		close(hung)

		if _, err = cluster.Ends(t.Context(), "nothing", []int32{0}); !errors.Is(err, kerr.UnknownTopicOrPartition) {
			t.Errorf("of no topic: %v", err)
		}
		cluster.health.away.Store(1)
		if _, err = cluster.Ends(t.Context(), inTopic, []int32{0}); !errors.Is(err, ErrAway) {
			t.Errorf("while Kafka is away: %v", err)
		}
	})
}
