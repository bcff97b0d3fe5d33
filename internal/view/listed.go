package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The lists of a partition have a header as the view has one: it says that they have
// all that the ledger knows, and what the notifier that has the partition knows of
// its log. It is judged as every header is.

func (b *View) listedKey(partition int32) string { return b.key(partition, "listed") }

// ListPulse is how far a partition is in the hands of the notifier that has it.
type ListPulse struct {
	Reached int64 // offset behind the last change that is in the ledger
	End     int64 // of the log, when it was asked; below 0: it did not answer
}

// Pulse says which partitions this process has, at an instant before it asked where
// their logs end. It is to be called each second, and what was put before it is
// written before it is said; without it the lists are not read.
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

// Fault is why the lists cannot be written, or lack something of a partition that is
// ours; nil if all is well.
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

// takeSigns returns what is to be said of each partition once the lists are written,
// by our clock; the caller holds the lock.
func (d *Deliveries) takeSigns() map[int32]signs {
	if !d.pulse {
		return nil
	}
	d.pulse = false
	now := d.view.cfg.Now()
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

// putSigns says them, by the clock of Redis.
func (d *Deliveries) putSigns(ctx context.Context, all map[int32]signs) error {
	b := d.view
	if len(all) == 0 {
		return nil
	}
	if err := b.readClock(ctx); err != nil {
		return err
	}
	ahead := b.redisNow().Sub(b.cfg.Now())
	pipe := b.redis.Pipeline()
	for partition, s := range all {
		s.pulse, s.asOf = s.pulse.Add(ahead), s.asOf.Add(ahead)
		pipe.HSet(ctx, b.listedKey(partition), fieldSigns, s.encode())
	}
	return b.call(ctx, func() error { _, err := pipe.Exec(ctx); return err })
}

// encode is what decodeSigns reads.
func (s *signs) encode() string {
	return strings.Trim(fmt.Sprint([]int64{s.pulse.UnixMilli(), s.asOf.UnixMilli(), s.waiting.Milliseconds()}), "[]")
}
