package verify

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/internal/analysis/inputlog"
	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/schemas"
)

// writtenSnapshot is a record of the snapshots topic.
type writtenSnapshot struct {
	hospital string
	key      string
	at       acuity.Instant // timestamp of the record
	offset   int64
	value    []byte
	record   *schemas.Snapshot // nil: this release cannot decode it
}

// madeSnapshot is a snapshot computed from the log.
type madeSnapshot struct {
	record  schemas.Snapshot
	missing *Difference // the difference to report if the topic does not contain the snapshot
}

// snapshotCheck is the comparison of one hospital's snapshots.
type snapshotCheck struct {
	queue    []writtenSnapshot // records that are read but not yet compared
	awaited  []*madeSnapshot   // computed snapshots that were not found in the topic yet
	compared hourSet
	optional hourSet // computed hours that may be missing from the topic, and are not compared

	levels  verdict.LevelTime
	counted acuity.Instant // instant since which the time in each level is known
}

// hourSet is a set of hours of a hospital, by generation.
type hourSet map[int32][]facts.HourSpan

func (h hourSet) add(s *acuity.Snapshot) {
	spans := h[s.Generation]
	if n := len(spans); n > 0 && spans[n-1].To == s.Hour-1 {
		spans[n-1].To = s.Hour
		return
	}
	h[s.Generation] = append(spans, facts.HourSpan{From: s.Hour, To: s.Hour})
}

func (h hourSet) has(s *acuity.Snapshot) bool {
	return slices.ContainsFunc(h[s.Generation], func(span facts.HourSpan) bool { return span.From <= s.Hour && s.Hour <= span.To })
}

// compareSnapshot compares the snapshot of a computed change with the recorded one. If the snapshots topic does not
// contain the snapshot yet, finishSnapshots looks for it later. A snapshot that retention may have deleted is not
// compared.
func (u *unitCheck) compareSnapshot(c *acuity.Change, in stream.Position, seconds []int32) {
	if u.p.deletedSnapshot(c.AppliedAt) {
		u.snapshots.optional.add(c.Snapshot)
		return
	}
	made := &madeSnapshot{record: schemas.Snapshot{Hospital: u.Hospital, Snapshot: *c.Snapshot, LevelSeconds: seconds}}
	made.missing = u.differenceAt(MissingSnapshot, c, in, "")
	made.missing.Key = string(verdict.SnapshotKey(u.Hospital, c.Snapshot.Hour))
	for !u.takeSnapshot(made) {
		if !u.p.readSnapshot() {
			u.snapshots.awaited = append(u.snapshots.awaited, made)
			return
		}
	}
}

// takeSnapshot removes the recorded snapshot of the same hour and generation from the queue, and compares the
// computed snapshot with it. It returns false if the queue does not contain such a snapshot.
func (u *unitCheck) takeSnapshot(made *madeSnapshot) bool {
	want := &made.record.Snapshot
	i := slices.IndexFunc(u.snapshots.queue, func(w writtenSnapshot) bool {
		return w.record.Snapshot.Hour == want.Hour && w.record.Snapshot.Generation == want.Generation
	})
	if i < 0 {
		return false
	}
	w := u.snapshots.queue[i]
	u.snapshots.queue = slices.Delete(u.snapshots.queue, i, i+1)
	u.snapshots.compared.add(want)
	u.Snapshots++
	if fields := u.changedSnapshotFields(&w, &made.record); fields != "" {
		d := *made.missing
		d.Fault, d.Detail = WrongSnapshot, fmt.Sprintf("%s in snapshots %d:%d", fields, u.p.partition, w.offset)
		u.reportDifference(&d)
	}
	return true
}

// changedSnapshotFields returns the names of the fields in which a record differs from the computed snapshot. A
// processor counts the seconds in each level only while it runs, so fewer seconds in the record are not a difference.
func (u *unitCheck) changedSnapshotFields(w *writtenSnapshot, made *schemas.Snapshot) string {
	hour := acuity.Instant(made.Snapshot.Hour-1) * acuity.Instant(time.Hour/time.Millisecond)
	if len(w.record.LevelSeconds) == len(made.LevelSeconds) &&
		(hour < u.snapshots.counted || total(w.record.LevelSeconds) < total(made.LevelSeconds)) {
		made.LevelSeconds = w.record.LevelSeconds
	}
	if w.key != string(verdict.SnapshotKey(made.Hospital, made.Snapshot.Hour)) {
		return "key"
	}
	want, err := schemas.SnapshotCodec.Encode(nil, made)
	if err != nil {
		return err.Error()
	}
	if bytes.Equal(w.value, want) {
		return ""
	}
	// The record may have an older version of the schema.
	if again, err := schemas.SnapshotCodec.Encode(nil, w.record); err == nil && bytes.Equal(again, want) {
		return ""
	}
	fields := differentFields(reflect.ValueOf(w.record.Snapshot), reflect.ValueOf(made.Snapshot))
	for _, more := range []struct {
		name string
		same bool
	}{
		{"Hospital", w.record.Hospital == made.Hospital},
		{"LevelSeconds", slices.Equal(w.record.LevelSeconds, made.LevelSeconds)},
	} {
		if !more.same {
			fields = append(fields, more.name)
		}
	}
	return joined(fields)
}

func total(seconds []int32) (sum int64) {
	for _, s := range seconds {
		sum += int64(s)
	}
	return sum
}

// finishSnapshots looks for the awaited snapshots in the records that have been read since. It then reports recorded
// snapshots that occur twice, or that were not computed from the log. Snapshots for inputs that are not folded yet
// remain in the queue.
func (u *unitCheck) finishSnapshots() {
	s := &u.snapshots
	s.awaited = slices.DeleteFunc(s.awaited, u.takeSnapshot)
	s.queue = slices.DeleteFunc(s.queue, func(w writtenSnapshot) bool {
		snapshot := &w.record.Snapshot
		folded := snapshot.Position < u.folded || u.Inputs == 0 && snapshot.Position < u.p.inputs
		d := &Difference{Key: w.key, Detail: fmt.Sprintf("snapshots %d:%d", u.p.partition, w.offset)}
		switch {
		case s.optional.has(snapshot):
			return true
		case s.compared.has(snapshot):
			d.Fault = DoubledSnapshot
		case !folded:
			return false
		case u.p.old(acuity.Instant(snapshot.Hour) * acuity.Instant(time.Hour/time.Millisecond)):
			return true // belongs to a change that may have been compacted
		default:
			d.Fault = ForeignSnapshot
		}
		defer u.reportDifference(d)
		return true
	})
}

// deletedSnapshot reports whether retention may have deleted a snapshot that was taken at the given instant.
func (p *partitionCheck) deletedSnapshot(at acuity.Instant) bool { return at < p.snapshotsKept }

// snapshotOf decodes a record of the snapshots topic. It runs in the goroutine that reads ahead of the fold.
func (p *partitionCheck) snapshotOf(r *stream.Record, w *writtenSnapshot) (wanted bool) {
	key, err := schemas.ParseKey(r.Key)
	if err != nil {
		return false
	}
	*w = writtenSnapshot{hospital: key.Hospital, key: string(r.Key), at: acuity.At(r.Timestamp), offset: r.Offset, value: r.Value}
	if p.wants(key.Hospital) {
		w.record, _ = schemas.SnapshotCodec.Decode(r.Value) //nolint:errcheck // after an error, the record is nil
	}
	return true // even for an unchecked hospital, because the first record shows what retention has kept
}

// openSnapshots begins to read the snapshots for a round. If retention has deleted the beginning of the topic,
// openSnapshots also reads the first record, whose time shows which hours may have been deleted.
func (p *partitionCheck) openSnapshots(ctx context.Context) error {
	s, err := p.v.Snapshots.Partition(ctx, p.partition)
	if err != nil {
		return err
	}
	if p.snapshots < 0 {
		p.snapshots = s.From
		if s.From > 0 {
			p.snapshotsKept = math.MaxInt64
		}
	}
	s.From = p.snapshots
	p.cuts = inputlog.ReadAhead(ctx, p.v.Snapshots.Read, s, p.snapshotOf)
	if p.snapshotsKept == math.MaxInt64 {
		p.readSnapshot()
	}
	return nil
}

// readSnapshot reads the next record of the snapshots topic, or returns false if there is none.
func (p *partitionCheck) readSnapshot() bool {
	w := p.cuts.Next()
	if w == nil {
		return false
	}
	p.snapshots, p.snapshotsKept = w.offset+1, min(p.snapshotsKept, w.at)
	u := p.unit(w.hospital)
	switch {
	case u == nil || u.Difference != nil:
	case w.record == nil:
		detail := fmt.Sprintf("snapshots %d:%d", p.partition, w.offset)
		u.reportDifference(&Difference{Fault: Unreadable, Key: w.key, Version: u.version(), Detail: detail})
	default:
		u.snapshots.queue = append(u.snapshots.queue, *w)
	}
	return true
}

// finishSnapshots reads the rest of the snapshots. The commit marker of a transaction may reach the snapshots topic
// after the verdicts topic, so finishSnapshots waits for missing snapshots, for at most Patience.
func (p *partitionCheck) finishSnapshots(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, p.v.Patience)
	defer cancel()
	tick := time.NewTicker(askAgain) //nolint:forbidigo // measures the lag of Kafka, not a time of the domain
	defer tick.Stop()
	for {
		for p.readSnapshot() {
		}
		if err := p.cuts.Err(); err != nil {
			return err
		}
		var late []*unitCheck
		for _, u := range p.units {
			if u.finishSnapshots(); len(u.snapshots.awaited) > 0 {
				late = append(late, u)
			}
		}
		if len(late) == 0 {
			return nil
		}
		select {
		case <-patience.Done():
			if ctx.Err() != nil {
				return ctx.Err() //nolint:wrapcheck // the error of the caller's context
			}
			for _, u := range late {
				u.reportDifference(u.snapshots.awaited[0].missing)
			}
			return nil
		case <-tick.C:
		}
		p.cuts.Stop()
		if err := p.openSnapshots(ctx); err != nil {
			return err
		}
	}
}
