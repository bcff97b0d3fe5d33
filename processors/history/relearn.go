package history

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/schemas"
)

// relearnSpan is how far back a model is learnt anew. Older hours weigh less than
// half, and are deleted a week later.
const relearnSpan = 56 * 24 * time.Hour

// relearn learns the models of hospitals anew from the copied snapshots. For each
// hour it takes the snapshot of the latest generation.
func (t *task) relearn(list ...*hospital) error {
	if len(list) == 0 {
		return nil
	}
	newest := int32(0)
	hours := map[string]map[int32]*acuity.Snapshot{}
	for _, h := range list {
		newest = max(newest, h.copied, h.past)
		hours[h.id] = map[int32]*acuity.Snapshot{}
	}
	since := time.Unix(int64(newest)*3600, 0).Add(-relearnSpan)
	oldest := acuity.At(since).Hour()
	add := func(s *schemas.Snapshot) {
		byHour, wanted := hours[s.Hospital]
		if !wanted || s.Snapshot.Hour < oldest {
			return
		}
		if old := byHour[s.Snapshot.Hour]; old == nil || old.Generation <= s.Snapshot.Generation {
			byHour[s.Snapshot.Hour] = &s.Snapshot
		}
	}
	err := t.Past(t.partition, since, func(value []byte) error {
		s, err := schemas.SnapshotCodec.Decode(value)
		if err != nil {
			return fmt.Errorf("read snapshot: %w", err)
		}
		add(s)
		return nil
	})
	if err != nil {
		return fmt.Errorf("learn anew: %w", err)
	}
	for i := range t.snapshots { // not committed yet
		s := t.snapshots[i]
		add(&s)
	}
	for _, h := range list {
		model := forecast.NewModel(h.id)
		for _, hour := range slices.Sorted(maps.Keys(hours[h.id])) {
			forecast.Learn(model, hours[h.id][hour], t.Zone(h.id))
		}
		model.Offset = h.model.Offset
		h.model = model
	}
	return nil
}
