package stream

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestFormerMembers: group members are counted by the topic to which they subscribe, until they leave. A build with a
// different input topic begins after all members of the previous build have left.
func TestFormerMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		m := membership{cluster: r.cluster, group: "group", log: r.log}
		count := func(topic string) int64 {
			n, err := m.subscribers(t.Context(), topic)
			if err != nil {
				return -1 // the group rebalances
			}
			return int64(n)
		}
		if n := count(inTopic); n != 0 {
			t.Errorf("an unknown group has %d subscribers", n)
		}
		join := func(topic string) *kgo.Client {
			client, err := kgo.NewClient(r.cluster.with(kgo.ConsumerGroup("group"), kgo.ConsumeTopics(topic), kgo.HeartbeatInterval(100*time.Millisecond))...)
			if err != nil {
				t.Fatal(err)
			}
			return client
		}
		before := join(inTopic)
		r.await("subscribers of the input", 1, func() int64 { return count(inTopic) })
		after := join(logTopic)
		defer after.Close()
		r.await("subscribers of the log", 1, func() int64 { return count(logTopic) })
		if n := count(inTopic); n != 1 {
			t.Errorf("%d subscribers of the input, want 1", n)
		}
		began := make(chan struct{})
		go func() {
			m.awaitFormer(t.Context(), inTopic)
			close(began)
		}()
		time.Sleep(5 * time.Second) // virtual time
		select {
		case <-began:
			t.Error("begins although a member of the build before is there")
		default:
		}
		before.Close()
		<-began
		r.await("no subscriber of the input", 1, func() int64 {
			if count(inTopic) == 0 {
				return 1
			}
			return 0
		})
		if n := count(logTopic); n != 1 {
			t.Errorf("%d subscribers of the log, want 1", n)
		}
	})
}
