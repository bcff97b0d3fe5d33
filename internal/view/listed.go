package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The lists of a partition have a header, like the view. It says whether they have everything in
// the ledger, and how far the notifier of the partition has read its log. It is judged like every
// header.

// ListPulse is how far the notifier of a partition has read its log.
type ListPulse struct {
	Reached int64 // offset after the last change that is in the ledger
	End     int64 // of the log when it was asked; negative: it did not answer
}

// Pulse reports the partitions of this process, at an instant before it asked for the ends of
// their logs. Call it each second: without it the lists are not read. Whatever was put before is
// written before the report.
func (d *Deliveries) Pulse(at time.Time, partitions map[int32]ListPulse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for partition := range d.fresh {
		if _, ours := partitions[partition]; !ours {
			delete(d.fresh, partition)
		}
	}
	for partition, said := range partitions {
		f := d.fresh[partition]
		if f == nil {
			f = &Freshness{}
			d.fresh[partition] = f
		}
		if said.End >= 0 {
			f.Ended(at, said.End-1)
		}
		f.Reached(said.Reached - 1)
	}
	d.pulse = true
	d.move()
}

// Fault returns why the lists cannot be written, or why they lack something of a partition of this
// process; nil: neither.
func (d *Deliveries) Fault(now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault != nil {
		return fmt.Errorf("the lists cannot be written: %w", d.fault)
	}
	for _, partition := range slices.Sorted(maps.Keys(d.fresh)) {
		if err := d.fresh[partition].Fault(now, BesideAtMost); err != nil {
			return fmt.Errorf("lists of partition %d: %w", partition, err)
		}
	}
	return nil
}

// takeSigns returns the signs to write after the lists, by our clock. The caller holds the lock.
func (d *Deliveries) takeSigns() map[int32]signs {
	if !d.pulse {
		return nil
	}
	d.pulse = false
	now := d.view.now()
	all := make(map[int32]signs, len(d.fresh))
	for partition, f := range d.fresh {
		if f.AsOf().IsZero() {
			continue // nothing is known yet
		}
		s := signs{pulse: now, asOf: f.AsOf()}
		if waits := f.Waits(); !waits.IsZero() {
			s.waiting = max(now.Sub(waits), 0)
		}
		all[partition] = s
	}
	return all
}

// putSigns writes the signs, by the clock of Redis.
func (d *Deliveries) putSigns(ctx context.Context, all map[int32]signs) error {
	b := d.view
	if len(all) == 0 {
		return nil
	}
	if err := b.readClock(ctx); err != nil {
		return err
	}
	ahead := b.redisNow().Sub(b.now())
	pipe := b.redis.Pipeline()
	for partition, s := range all {
		s.pulse, s.asOf = s.pulse.Add(ahead), s.asOf.Add(ahead)
		pipe.HSet(ctx, b.listedKey(partition), fieldSigns, s.encode())
	}
	return b.exec(ctx, pipe)
}

// encode writes the text that decodeSigns reads.
func (s *signs) encode() string {
	return strings.Trim(fmt.Sprint([]int64{s.pulse.UnixMilli(), s.asOf.UnixMilli(), s.waiting.Milliseconds()}), "[]")
}
