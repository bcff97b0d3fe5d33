package history

import (
	"fmt"

	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/schemas"
)

// In the previous build, a change contained the snapshot of its hour, and the history processor copied the snapshot
// to the snapshots topic. The previous build's history processor may not have read all of these changes. The first
// task of this build for a partition therefore learns the snapshots in the remaining changes and copies them to the
// topic. The task then reads the topic from the beginning, skipping the hours that its models include. This happens
// only once, because every model written by this build has a position in the snapshots topic.

// learnOlder learns the snapshots from Older and keeps them for Outputs.
func (t *task) learnOlder() error {
	if t.Older == nil || t.next > 0 {
		return nil
	}
	levels := map[string]*verdict.LevelTime{}
	err := t.Older(t.partition, func(r stream.Record) error {
		if !schemas.IsChange(r.Key) || r.Copy {
			return nil
		}
		c, err := schemas.ChangeCodec.Decode(r.Value)
		if err != nil {
			return nil //nolint:nilerr // the previous build also skipped such a record
		}
		l := levels[c.Hospital]
		if l == nil {
			l = new(verdict.LevelTime)
			levels[c.Hospital] = l
		}
		seconds := l.Add(c)
		if c.Snapshot == nil {
			return nil
		}
		s := schemas.Snapshot{Hospital: c.Hospital, Snapshot: *c.Snapshot, LevelSeconds: seconds}
		if t.hospital(s.Hospital).includes(&s.Snapshot) {
			return nil
		}
		t.older = append(t.older, s)
		return t.learn(&s)
	})
	if err != nil {
		return fmt.Errorf("learn older changes: %w", err)
	}
	return nil
}

// emitOlder emits the snapshots from Older.
func (t *task) emitOlder(emit func(key, value []byte)) error {
	for i := range t.older {
		s := &t.older[i]
		value, err := schemas.SnapshotCodec.Encode(nil, s)
		if err != nil {
			return fmt.Errorf("encode snapshot: %w", err)
		}
		emit(verdict.SnapshotKey(s.Hospital, s.Snapshot.Hour), value)
	}
	t.older = nil
	return nil
}
