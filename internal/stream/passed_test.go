package stream

import (
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Passed reports the end of a log even if the last record is followed by the marker of a committed or aborted
// transaction, and also after a restart.
func TestPassedReachesTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		for _, how := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
			r.finish(how, "1", "2")
			var mu sync.Mutex
			told := map[int32]int64{}
			stop := r.process(r.cluster, Config{
				Sparse: true, NewTask: func(partition int32) Task { return newCounter(partition) },
				Passed: func(partition int32, next int64) {
					mu.Lock()
					defer mu.Unlock()
					told[partition] = next
				},
			})
			ends, err := r.cluster.Ends(t.Context(), inTopic, []int32{0, 1, 2})
			if err != nil || len(ends) != parts {
				t.Fatal(ends, err)
			}
			r.await("partitions read to their ends", parts, func() (n int64) {
				mu.Lock()
				defer mu.Unlock()
				for partition, end := range ends {
					if told[partition] == end {
						n++
					}
				}
				return n
			})
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
