package view

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lists reads the lists that [Deliveries] writes. While it is unknown whether the lists of a hospital are complete, a
// read returns an error together with the entries that it found, because some callers use them.
type Lists struct{ view *View }

// Lists returns a reader of the lists.
func (b *View) Lists() *Lists { return &Lists{b} }

// Listed returns, for each partition, whether its lists contain all deliveries in the ledger. The result is false for
// lists that Redis has lost.
func (l *Lists) Listed(ctx context.Context, partitions []int32) ([]bool, error) {
	headers, err := l.view.readHeaders(ctx, l.view.listedKey, partitions...)
	if err != nil {
		return nil, err
	}
	all := make([]bool, len(partitions))
	for i := range headers {
		if headers[i].away != nil {
			return nil, headers[i].away
		}
		all[i] = headers[i].whole
	}
	return all, nil
}

// SetListed marks the lists of a partition as containing all deliveries in the ledger. A new generation begins; its
// count of writes is not compared with that of an earlier generation.
func (l *Lists) SetListed(ctx context.Context, partition int32) error {
	key := l.view.listedKey(partition)
	n := l.view.nodeOf(ctx, key)
	return l.view.call(ctx, n, func() error {
		return n.redis.HSet(ctx, key, fieldWhole, "1", fieldGeneration, rand.Text()).Err()
	})
}

// Faults returns which of the partitions 0 to n-1 have lists that cannot be read, and why. The error is [ErrAway].
func (l *Lists) Faults(ctx context.Context, n int32) (map[int32]error, error) {
	return l.view.faults(ctx, l.view.listedKey, n, DerivedAtMost)
}

// fault returns why the lists of a hospital may be incomplete, or nil. It is called after the lists are read, so that
// lists that Redis has lost in the meantime are not mistaken for empty lists.
func (l *Lists) fault(ctx context.Context, hospital string) error {
	if !l.view.cfg.Current {
		return nil
	}
	headers, err := l.view.readHeaders(ctx, l.view.listedKey, l.view.partitionOf(hospital))
	if err != nil {
		return err
	}
	return headers[0].fault(DerivedAtMost)
}

// Mark is a position in a list of deliveries. The zero value is the beginning.
type Mark struct {
	At int64 // Unix ms
	ID string
}

// String returns the mark as a cursor.
func (m Mark) String() string { return strconv.FormatInt(m.At, 10) + "." + m.ID }

// ParseMark parses the result of [Mark.String].
func ParseMark(text string) (m Mark, ok bool) {
	at, id, ok := strings.Cut(text, ".")
	if !ok || id == "" {
		return Mark{}, false
	}
	ms, err := strconv.ParseInt(at, 10, 64)
	return Mark{ms, id}, err == nil && ms > 0
}

// scanBatch is the number of deliveries that one round trip reads.
const scanBatch = 200

// ScanDeliveries calls fn for every delivery of a hospital or of one endpoint that occurred in [since, until), newest
// first, until fn returns false. It begins after the given mark. A zero time means no limit. As with all reads of
// lists, an error may mean that some deliveries were missing or outdated.
func (l *Lists) ScanDeliveries(
	ctx context.Context, hospital, endpoint string, since, until time.Time, behind Mark, fn func(m Mark, value []byte) bool,
) error {
	least, most := "-inf", "+inf"
	if !since.IsZero() {
		least = strconv.FormatInt(since.UnixMilli(), 10)
	}
	if !until.IsZero() {
		most = "(" + strconv.FormatInt(until.UnixMilli(), 10)
	}
	if behind.ID != "" && (until.IsZero() || behind.At < until.UnixMilli()) {
		most = strconv.FormatInt(behind.At, 10)
	}
	key := l.view.orderKey(hospital, endpoint)
	for offset := int64(0); ; offset += scanBatch {
		var rows []redis.Z
		n := l.view.nodeOf(ctx, key)
		if err := l.view.call(ctx, n, func() (err error) {
			rows, err = n.redis.ZRevRangeByScoreWithScores(ctx, key,
				&redis.ZRangeBy{Min: least, Max: most, Offset: offset, Count: scanBatch}).Result()
			return err
		}); err != nil {
			return err
		}
		more, err := l.passDeliveries(ctx, hospital, rows, &behind, fn)
		if err != nil {
			return err
		}
		if !more || len(rows) < scanBatch {
			return l.fault(ctx, hospital)
		}
	}
}

// passDeliveries calls fn for every delivery in rows that comes after a mark, and advances the mark, so that no
// delivery is passed twice if newer deliveries arrive between two batches. If fn returns false, more is false and the
// remaining rows are not passed.
func (l *Lists) passDeliveries(
	ctx context.Context, hospital string, rows []redis.Z, behind *Mark, fn func(m Mark, value []byte) bool,
) (more bool, err error) {
	ids := make([]string, 0, len(rows))
	marks := make([]Mark, 0, len(rows))
	for _, row := range rows {
		id, _ := row.Member.(string) //nolint:errcheck // go-redis returns members as strings
		m := Mark{int64(row.Score), id}
		if behind.ID == "" || m.At < behind.At || m.At == behind.At && m.ID < behind.ID {
			ids, marks, *behind = append(ids, id), append(marks, m), m
		}
	}
	if len(ids) == 0 {
		return true, nil
	}
	var values []any
	key := l.view.of(hospital, listDeliveries)
	n := l.view.nodeOf(ctx, key)
	if err := l.view.call(ctx, n, func() (err error) {
		values, err = n.redis.HMGet(ctx, key, ids...).Result()
		return err
	}); err != nil {
		return false, err
	}
	for i, value := range values {
		if text, ok := value.(string); ok && len(text) >= rankSize && !fn(marks[i], []byte(text[rankSize:])) {
			return false, nil
		}
	}
	return true, nil
}

// Delivery returns one delivery, or nil if it does not exist.
func (l *Lists) Delivery(ctx context.Context, hospital, id string) ([]byte, error) {
	value, err := l.read(ctx, note{hospital, listDeliveries, id})
	if len(value) < rankSize {
		return nil, err
	}
	return value[rankSize:], err
}

// Health returns the health of an endpoint, or nil if none is known.
func (l *Lists) Health(ctx context.Context, hospital, endpoint string) ([]byte, error) {
	return l.read(ctx, note{hospital, noteHealth, endpoint})
}

// Command returns the progress of a command, or nil if none is known.
func (l *Lists) Command(ctx context.Context, hospital, id string) ([]byte, error) {
	return l.read(ctx, note{hospital, noteCommand, id})
}

// Link returns the target of the link that contains a token, or nil if the link is unknown.
func (l *Lists) Link(ctx context.Context, token string) ([]byte, error) {
	return l.field(ctx, linkNote(token))
}

// Episodes returns the states of all alert runs of a hospital, by id.
func (l *Lists) Episodes(ctx context.Context, hospital string) (all map[string]string, err error) {
	key := l.view.of(hospital, noteEpisode)
	n := l.view.nodeOf(ctx, key)
	err = l.view.call(ctx, n, func() (err error) {
		all, err = n.redis.HGetAll(ctx, key).Result()
		return err
	})
	if err == nil {
		err = l.fault(ctx, hospital)
	}
	return all, err
}

// read returns a value of a hospital. If the value may be outdated, read returns the value and an error.
func (l *Lists) read(ctx context.Context, n note) ([]byte, error) {
	value, err := l.field(ctx, n)
	if err == nil {
		err = l.fault(ctx, n.hospital)
	}
	return value, err
}

func (l *Lists) field(ctx context.Context, of note) (value []byte, err error) {
	key := l.view.noteKey(of)
	n := l.view.nodeOf(ctx, key)
	err = l.view.call(ctx, n, func() (err error) {
		value, err = n.redis.HGet(ctx, key, of.id).Bytes()
		return err
	})
	return value, err
}

// linkNote returns the key of a link's target. The key contains a hash of the token, so the data in Redis is not
// sufficient to acknowledge an alert. The key does not contain a hospital, because a request for a link does not name
// one.
func linkNote(token string) note {
	sum := sha256.Sum256([]byte("svc.v1 link " + token))
	return note{"", noteLink, hex.EncodeToString(sum[:16])}
}

// The lists of a partition have a header, as the view does. The header states whether the lists include the whole
// ledger, and how far the partition's notifier has read its log. It is evaluated in the same way as the view's
// header.

// ListPulse is the position of a partition's notifier in its log.
type ListPulse struct {
	Reached int64 // offset after the last change in the ledger
	End     int64 // end of the log at the last query; negative: the log did not respond
}

// Pulse reports the partitions of this process and their positions, as of an instant that precedes the queries for
// the ends of their logs. Call it every second; otherwise, the lists cannot be read. Everything that was queued
// before the call is written before the report.
func (d *Deliveries) Pulse(at time.Time, partitions map[int32]ListPulse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for partition := range d.partitions {
		if _, ours := partitions[partition]; !ours {
			delete(d.partitions, partition)
		}
	}
	for partition, said := range partitions {
		w := d.partitions[partition]
		if w == nil { // Redis must have what the previous owner has committed
			w = &listsWriter{least: said.Reached - 1, begins: true}
			d.partitions[partition] = w
		}
		if said.End >= 0 {
			w.fresh.RecordEnd(at, said.End-1)
		}
		w.reached = said.Reached - 1
		w.fresh.RecordProgress(w.reached)
	}
	d.pulse = true
	d.signal()
}

// Fault returns why the lists cannot be written, or why the lists of an owned partition may be outdated. It returns
// nil if neither is the case.
func (d *Deliveries) Fault(now time.Time) error {
	if fault := d.lastFault(); fault != nil {
		return fmt.Errorf("the lists cannot be written: %w", fault)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, partition := range slices.Sorted(maps.Keys(d.partitions)) {
		if err := d.partitions[partition].fresh.Fault(now, DerivedAtMost); err != nil {
			return fmt.Errorf("lists of partition %d: %w", partition, err)
		}
	}
	return nil
}

// Lacks reports whether the lists of an owned partition are incomplete, because Redis has lost some of them or
// because the previous owner did not write all of them. If so, all lists must be queued again, and then
// [Deliveries.Complete] must be called. Until then, no signs of life are written.
func (d *Deliveries) Lacks(partition int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.partitions[partition]
	return w != nil && w.lacks
}

// Complete records that all lists of a partition have been queued again after [Deliveries.Lacks].
func (d *Deliveries) Complete(partition int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.partitions[partition]; w != nil {
		w.lacks, w.begins, w.least, w.count = false, true, -1, 0
	}
}

// listSigns are the signs of life to write after the lists of a partition; their times are by the local clock.
type listSigns struct {
	signs
	of      *listsWriter
	reached int64
}

// drainSigns returns and clears the signs of life to write after the lists. The caller must hold the lock.
func (d *Deliveries) drainSigns() map[int32]listSigns {
	if !d.pulse {
		return nil
	}
	d.pulse = false
	now := d.view.now()
	all := make(map[int32]listSigns, len(d.partitions))
	for partition, w := range d.partitions {
		if w.fresh.AsOf().IsZero() || w.lacks {
			continue // nothing is known yet, or the lists are incomplete
		}
		s := signs{pulse: now, asOf: w.fresh.AsOf()}
		if waits := w.fresh.Waits(); !waits.IsZero() {
			s.waiting = max(now.Sub(waits), 0)
		}
		all[partition] = listSigns{s, w, w.reached}
	}
	return all
}

// putSigns writes the signs of life of partitions without a fault. It converts their times to the clock of the
// partition's node.
func (d *Deliveries) putSigns(ctx context.Context, all map[int32]listSigns, faults map[int32]error) {
	b := d.view
	for partition, s := range all {
		if faults[partition] != nil {
			continue
		}
		n := b.nodeOf(ctx, b.listedKey(partition))
		err := b.readClock(ctx, n)
		if err == nil {
			ahead := n.redisNow().Sub(b.now())
			s.pulse, s.asOf = s.pulse.Add(ahead), s.asOf.Add(ahead)
			err = d.putSign(ctx, partition, &s)
		}
		if err != nil {
			faults[partition] = err
		}
	}
}

// putSign writes the signs of life of a partition. If Redis lacks some of the partition's lists, putSign writes
// nothing and records that the lists must be rewritten.
func (d *Deliveries) putSign(ctx context.Context, partition int32, s *listSigns) error {
	d.mu.Lock()
	count, least, begins := s.of.count, s.of.least, 0
	if s.of.begins {
		begins = 1
	}
	d.mu.Unlock()
	answer, err := d.view.runScript(ctx, signsScript, []string{d.view.listedKey(partition)}, s.encode(), count, least, s.reached, begins)
	if err != nil {
		return err
	}
	stored, err := answer.Int64()
	if err != nil {
		return fmt.Errorf("write heartbeat: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if stored < 0 {
		s.of.lacks = true
		d.log.WarnContext(ctx, "lists rebuilt", "partition", partition)
		return nil
	}
	s.of.count, s.of.least, s.of.begins = max(stored, s.of.count), max(s.reached, least), false
	return nil
}

// encode encodes the signs of life for decodeSigns.
func (s *signs) encode() string {
	return strings.Trim(fmt.Sprint([]int64{s.pulse.UnixMilli(), s.asOf.UnixMilli(), s.waiting.Milliseconds()}), "[]")
}
