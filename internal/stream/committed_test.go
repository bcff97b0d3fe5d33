package stream

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestCommittedInputs: each input is reported once, with its timestamp, after its transaction is committed. Restores
// report their duration.
func TestCommittedInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var (
			stats    Stats
			mu       sync.Mutex
			restores int
		)
		seen := map[int32][]int64{}
		stop := r.process(r.cluster, Config{
			Stats: &stats,
			Committed: func(partition int32, inputs []Input, at time.Time) {
				mu.Lock()
				defer mu.Unlock()
				for _, input := range inputs {
					seen[partition] = append(seen[partition], input.Offset)
					if waited := at.Sub(input.Timestamp); waited < 0 || waited > time.Minute {
						t.Errorf("input %d:%d waited for %v", partition, input.Offset, waited)
					}
				}
			},
			Restored: func(took time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				restores++
				if took < 0 {
					t.Errorf("a restore took %v", took)
				}
			},
		})
		r.send(30)
		r.await("records", 30, stats.Records.Load)
		r.send(30)
		r.await("records", 60, stats.Records.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		total := 0
		for partition, offsets := range seen {
			total += len(offsets)
			for i, offset := range offsets {
				if offset != int64(i) {
					t.Errorf("partition %d reported %v", partition, slices.Clone(offsets))
					break
				}
			}
		}
		if total != 60 || restores == 0 || stats.Restoring.Load() != 0 {
			t.Errorf("%d inputs and %d restores were reported; restoring since %d", total, restores, stats.Restoring.Load())
		}
	})
}
