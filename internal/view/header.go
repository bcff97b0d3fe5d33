package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrBehind means that the view may lack inputs that were acknowledged to their senders.
var ErrBehind = errors.New("the view is behind the log, or its lag is unknown")

// BehindError is an [ErrBehind] with the duration of the delay.
type BehindError struct {
	For time.Duration // how long the view may have lacked inputs; 0: since an unknown time
	why string
}

func (e *BehindError) Error() string { return ErrBehind.Error() + ": " + e.why }

// Is reports whether target is [ErrBehind].
func (*BehindError) Is(target error) bool { return target == ErrBehind }

// These are the limits within which the view of a partition can be read. Healthy processors report each second that no
// input is missing.
const (
	knownWithin = 5 * time.Second // maximum age of the latest instant up to which the view is known to be complete
	waitsAtMost = 2 * time.Second // maximum age of the oldest known pending input
	// DerivedAtMost replaces waitsAtMost for forecasts and lists, which are derived from verdicts up to a second
	// later.
	DerivedAtMost = 3 * time.Second
)

// header describes the view of a partition. Its times are by the clock of the partition's node, which all writers and
// readers share.
type header struct {
	generation string
	whole      bool
	position   int64 // last input in the view; -1: none yet
	// versions identifies the writes in Redis. It is the sum of the versions of all hospitals or, for lists, a count
	// of the writes. 0 means that an earlier release wrote the header.
	versions int64
	// older means that this process has read a later state, so Redis was restored to an earlier one.
	older bool
	// unproved means that a different Redis process responds, and no processor is known to have checked its data.
	unproved bool
	away     error         // why the node of the partition did not respond; nil: it did
	awayFor  time.Duration // how long the node has not responded
	readAt   time.Time     // when the header was read
	signs
}

// isBefore reports whether the header is older than an earlier response; nil means that there was no earlier response.
func (h *header) isBefore(earlier *header) bool {
	return earlier != nil && h.generation == earlier.generation &&
		(h.position < earlier.position || h.versions != 0 && h.versions < earlier.versions)
}

// signs are the signs of life that the processor of a partition writes each second.
type signs struct {
	pulse   time.Time     // when the signs were written; zero: never
	asOf    time.Time     // instant up to which the view has every input of the log
	waiting time.Duration // how long the oldest missing input has been pending
}

// fault returns why a partition cannot be read, or nil. No other function makes this decision. A view that is not
// known to be current cannot be read. most is the longest time that an input may have been pending.
func (h *header) fault(most time.Duration) error {
	switch {
	case h.away != nil:
		return h.away
	case !h.whole:
		return ErrNotWhole
	case h.older:
		return &BehindError{0, "Redis came back with an older state"}
	case h.unproved:
		return &BehindError{0, "no processor has checked the data in Redis yet"}
	case h.pulse.IsZero():
		return &BehindError{0, "no processor has written yet"}
	}
	if err := h.silence(); err != nil {
		return err
	}
	return lacks(h.waiting, h.readAt.Sub(h.asOf).Abs(), most)
}

// silence returns an error if a processor has written before, but not recently.
func (h *header) silence() error {
	silent := h.readAt.Sub(h.pulse).Abs()
	if h.pulse.IsZero() || silent <= knownWithin {
		return nil
	}
	return &BehindError{silent, fmt.Sprintf("no processor has written for %s", rounded(silent))}
}

// lacks returns an error if an input has been pending for longer than most allows, or if the end of the log has been
// unknown for longer than knownWithin.
func lacks(waiting, unknown, most time.Duration) error {
	switch {
	case waiting > most:
		return &BehindError{waiting, fmt.Sprintf("inputs have waited for %s", rounded(waiting))}
	case unknown > knownWithin:
		return &BehindError{unknown, fmt.Sprintf("the end of the log has been unknown for %s", rounded(unknown))}
	}
	return nil
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// headerOf parses the fields of a header: generation, whole, position, signs of life and versions. A missing field is
// zero. A malformed field makes the view incomplete.
func headerOf(fields []any) header {
	text := func(i int) string {
		s, _ := fields[i].(string) //nolint:errcheck // a missing field is empty
		return s
	}
	h := header{generation: text(0), whole: text(1) == "1", position: -1}
	if at := text(2); at != "" {
		n, err := strconv.ParseInt(at, 10, 64)
		h.position, h.whole = n, h.whole && err == nil
	}
	if written := text(3); written != "" {
		var ok bool
		h.signs, ok = decodeSigns(written)
		h.whole = h.whole && ok
	}
	if sum := text(4); sum != "" {
		n, err := strconv.ParseInt(sum, 10, 64)
		h.versions, h.whole = n, h.whole && err == nil
	}
	return h
}

// decodeSigns decodes three numbers of milliseconds: pulse and asOf (both since 1970), and waiting.
func decodeSigns(text string) (signs, bool) {
	words := strings.Fields(text)
	if len(words) != 3 {
		return signs{}, false
	}
	var ms [3]int64
	for i := range ms {
		var err error
		if ms[i], err = strconv.ParseInt(words[i], 10, 64); err != nil {
			return signs{}, false
		}
	}
	return signs{time.UnixMilli(ms[0]), time.UnixMilli(ms[1]), time.Duration(ms[2]) * time.Millisecond}, true
}

// readable returns why a header's partition cannot be read, or nil.
func (b *View) readable(h *header) error {
	switch {
	case b.cfg.Current:
		return h.fault(b.waitsAtMost)
	case !h.whole:
		return ErrNotWhole
	}
	return nil
}

// Faults returns which of the partitions 0 to n-1 cannot be read, and why. The error is [ErrAway].
func (b *View) Faults(ctx context.Context, n int32) (map[int32]error, error) {
	return b.faults(ctx, b.headerKey, n, b.waitsAtMost)
}

// Progress is the position of the view of a partition.
type Progress struct {
	Partition int32
	Position  int64     // last input in the view; -1: none yet
	Pulse     time.Time // when a processor last reported that it owns the partition, by the local clock; zero: never
}

// Progress returns the progress of the view for the partition of a hospital. The error is [ErrAway].
func (b *View) Progress(ctx context.Context, hospital string) (Progress, error) {
	p := Progress{Partition: b.partitionOf(hospital), Position: -1}
	headers, err := b.readHeaders(ctx, b.headerKey, p.Partition)
	if err != nil {
		return p, err
	}
	h := &headers[0]
	p.Position = h.position
	if !h.pulse.IsZero() {
		p.Pulse = b.now().Add(h.pulse.Sub(h.readAt)).UTC()
	}
	return p, nil
}

// Freshness computes the instant up to which everything in a log has been processed. [Freshness.RecordEnd] records the
// end of the log at an instant; [Freshness.RecordProgress] records the progress of the log's reader. So a log without
// new records can be distinguished from a stuck reader.
type Freshness struct {
	since    time.Time // instant since which the log is queried; zero: unknown
	position int64     // position reached by the reader
	any      bool      // whether the reader has reached a position
	asOf     time.Time
	ends     []logEnd // ends not yet reached, oldest first
}

// logEnd is the last position of a log at an instant.
type logEnd struct {
	at   time.Time
	last int64
}

// endsAtMost is the maximum number of ends that are kept while a reader is stuck. Above that number, every other end is
// dropped, except the oldest and the newest.
const endsAtMost = 32

// FreshnessSince returns the Freshness of a log that has been queried since the given instant. If the log never
// responds, its state counts as unknown since that instant.
func FreshnessSince(at time.Time) Freshness { return Freshness{since: at} }

// RecordEnd records the last position in the log as of an instant, or -1 if the log was empty. The instant must
// precede the query.
func (f *Freshness) RecordEnd(at time.Time, last int64) {
	f.ends = append(f.ends, logEnd{at, last})
	if len(f.ends) > endsAtMost {
		odd := true
		f.ends = slices.DeleteFunc(f.ends, func(logEnd) bool {
			odd = !odd
			return odd
		})
	}
	if f.any {
		f.RecordProgress(f.position)
	}
}

// RecordProgress records that everything up to a position has been processed.
func (f *Freshness) RecordProgress(position int64) {
	f.position, f.any = position, true
	passed := 0
	for passed < len(f.ends) && f.ends[passed].last <= position {
		f.asOf = f.ends[passed].at
		passed++
	}
	f.ends = slices.Delete(f.ends, 0, passed)
}

// AsOf returns the instant up to which everything has been processed, or the zero time if it is unknown.
func (f *Freshness) AsOf() time.Time { return f.asOf }

// Waits returns the earliest instant at which a record is known to have been pending, or the zero time if none is
// pending.
func (f *Freshness) Waits() time.Time {
	if len(f.ends) == 0 {
		return time.Time{}
	}
	return f.ends[0].at
}

// Fault returns why the state derived from the log is not current, or nil. most is the longest time for which a
// record may be pending; 0 means 2 s, the limit for verdicts.
func (f *Freshness) Fault(now time.Time, most time.Duration) error {
	waiting, unknown := time.Duration(0), time.Duration(0)
	if waits := f.Waits(); !waits.IsZero() {
		waiting = now.Sub(waits)
	}
	if known := f.lastKnown(); !known.IsZero() {
		unknown = now.Sub(known)
	}
	return lacks(waiting, unknown, cmp.Or(most, waitsAtMost))
}

// Behind returns how long the oldest unprocessed record has been pending. If none is pending, but the end of the log
// has been unknown for more than 5 s, Behind returns that time instead. Otherwise, and if the log was never queried,
// the result is 0.
func (f *Freshness) Behind(now time.Time) time.Duration {
	if len(f.ends) > 0 {
		return max(now.Sub(f.Waits()), 0)
	}
	if known := f.lastKnown(); !known.IsZero() && now.Sub(known) > knownWithin {
		return now.Sub(known)
	}
	return 0
}

// Unasked reports whether the log has not responded yet.
func (f *Freshness) Unasked() bool { return f.asOf.IsZero() && len(f.ends) == 0 }

// lastKnown returns the instant up to which everything has been processed or, if there is no such instant yet, the
// instant since which the log has been queried. The zero time means that both are unknown.
func (f *Freshness) lastKnown() time.Time {
	if f.asOf.IsZero() {
		return f.since
	}
	return f.asOf
}

// PartitionFaults returns an error with the number of failing partitions and the fault of the first one.
func PartitionFaults(faults map[int32]error, all int) error {
	if len(faults) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(faults)))
	return fmt.Errorf("%d of %d partitions; partition %d: %w", len(faults), all, first, faults[first])
}
