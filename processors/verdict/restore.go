package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"svc/acuity/facts"
	"svc/internal/stream"
	"svc/schemas"
)

// restoring holds the parts of a record that a restore needs. The type is small because a partition has hundreds of
// thousands of such records.
type restoring struct {
	key, value []byte
	offset     int64
}

// Restore keeps the record for Restored, which restores the hospitals in parallel.
func (t *task) Restore(r stream.Record) error {
	id := schemas.HospitalOf(r.Key)
	h := t.hospitals[string(id)]
	if h == nil {
		if !schemas.IsChange(id) { // a barrier record of the loop
			return nil
		}
		h = t.hospital(string(id))
	}
	h.restoring = append(h.restoring, restoring{r.Key, r.Value, r.Offset})
	return nil
}

func (t *task) Restored() (int64, error) {
	hospitals := slices.SortedFunc(maps.Values(t.hospitals), func(a, b *hospitalEntry) int { return cmp.Compare(a.id, b.id) })
	charts := make([]Chart, len(hospitals))
	next := make([]int64, len(hospitals))
	err := stream.Parallel(len(hospitals), func(i int) (err error) {
		if next[i], err = hospitals[i].restore(); err == nil {
			charts[i], err = fullChart(hospitals[i])
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	for i, h := range hospitals {
		t.next = max(t.next, next[i])
		t.schedule(h)
	}
	if t.view != nil {
		t.owned = t.view.Own(t.partition, t.next-1, charts)
	}
	return t.next, nil
}

// restore rebuilds the hospital from its records. It returns the offset of the first input that the records do not
// include.
func (h *hospitalEntry) restore() (next int64, err error) {
	var in schemas.StateIntake
	for _, r := range h.restoring {
		if schemas.IsChange(r.key) {
			head, bad := schemas.PeekChange(r.value)
			if bad != nil {
				return 0, fmt.Errorf("restore change at %d: %w", r.offset, bad)
			}
			h.head = append(h.head[:0], r.value...)
			next = max(next, head.Offset+1)
			continue
		}
		var state facts.Record
		if r.value != nil {
			if state, err = in.Read(r.value); err != nil {
				return 0, fmt.Errorf("restore state at %d: %w", r.offset, err)
			}
		}
		if err := h.unit.Restore(string(r.key), state); err != nil {
			return 0, err
		}
	}
	h.restoring = nil
	h.unit.Restored()
	h.unit.Recall(math.MaxInt64, math.MaxInt) // replays the backfill here rather than later, because hospitals are restored in parallel
	return next, nil
}
