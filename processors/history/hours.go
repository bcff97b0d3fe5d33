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

// relearnSpan is the period whose snapshots are used when a model is learned again. Older hours have less than half
// the weight, and their snapshots are deleted a week later.
const relearnSpan = 56 * 24 * time.Hour

// relearn rebuilds the models of hospitals from the accepted snapshots of the last relearnSpan. Of several snapshots
// of the same hour, the one with the latest generation counts.
func (t *task) relearn(list ...*hospital) error {
	if len(list) == 0 {
		return nil
	}
	newest, wanted := int32(0), map[string]*hospital{}
	hours := map[string]map[int32]*acuity.Snapshot{}
	for _, h := range list {
		newest = max(newest, h.copied, h.past)
		hours[h.id], wanted[h.id] = map[int32]*acuity.Snapshot{}, h
	}
	since := time.Unix(int64(newest)*3600, 0).Add(-relearnSpan)
	oldest := acuity.At(since).Hour()
	add := func(s *schemas.Snapshot) {
		h := wanted[s.Hospital]
		if h == nil || s.Snapshot.Hour < oldest || !h.includes(&s.Snapshot) { // snapshots not accepted yet will arrive as inputs
			return
		}
		byHour := hours[h.id]
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
		return fmt.Errorf("relearn: %w", err)
	}
	for i := range t.older { // these snapshots are not committed yet
		add(&t.older[i])
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
