package view

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrBehind means that the view may lack inputs that were acknowledged to their senders.
var ErrBehind = errors.New("the view is behind the log, or nobody can tell")

// BehindError is an [ErrBehind] with its duration.
type BehindError struct {
	For time.Duration // how long the view may have lacked something; 0: always
	why string
}

func (e *BehindError) Error() string { return ErrBehind.Error() + ": " + e.why }

// Is reports whether the error asked for is [ErrBehind].
func (*BehindError) Is(target error) bool { return target == ErrBehind }

// The limits within which the view of a partition can be read. Healthy processors report each
// second that nothing is missing.
const (
	knownWithin = 5 * time.Second // since the instant up to which nothing is missing
	waitsAtMost = 2 * time.Second // for the oldest input that is known to wait
	// BesideAtMost is waitsAtMost for forecasts and lists. They are made from verdicts, a second
	// later.
	BesideAtMost = 3 * time.Second
)

// header describes the view of a partition. Its instants are of the clock of Redis, which all
// writers and readers share.
type header struct {
	generation string
	whole      bool
	position   int64 // of the last input in the view; -1: none yet
	signs
}

// signs are the fields that the processor of a partition writes each second.
type signs struct {
	pulse   time.Time     // when they were written; zero: never
	asOf    time.Time     // up to which the view has everything in the log
	waiting time.Duration // how long the oldest input that the view lacks has waited
}

// fault returns why a partition cannot be read, or nil. It is the only place that decides this. A
// view that is not current, or not known to be, is not read. An input may have waited no longer
// than most.
func (h *header) fault(now time.Time, most time.Duration) error {
	silent := now.Sub(h.pulse).Abs()
	switch {
	case !h.whole:
		return ErrNotWhole
	case h.pulse.IsZero():
		return &BehindError{0, "no processor has written yet"}
	case silent > knownWithin:
		return &BehindError{silent, fmt.Sprintf("no processor has written for %s", rounded(silent))}
	}
	return lacks(h.waiting, now.Sub(h.asOf).Abs(), most)
}

// lacks returns an error if an input has waited longer than most, or if the log has been
// unknown for longer than knownWithin.
func lacks(waiting, unknown, most time.Duration) error {
	switch {
	case waiting > most:
		return &BehindError{waiting, fmt.Sprintf("inputs have waited for %s", rounded(waiting))}
	case unknown > knownWithin:
		return &BehindError{unknown, fmt.Sprintf("the log has not said for %s what came", rounded(unknown))}
	}
	return nil
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// headerOf reads the fields of a header: generation, whole, position and signs. An absent field is
// zero. A field that cannot be read makes the view not whole.
func headerOf(fields []any) header {
	text := func(i int) string {
		s, _ := fields[i].(string) //nolint:errcheck // absent is empty
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
	return h
}

// decodeSigns reads three numbers of milliseconds: pulse and asOf since 1970, and waiting.
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

// readable returns why the partition of a header cannot be read, or nil.
func (b *View) readable(h *header) error {
	switch {
	case b.cfg.Current:
		return h.fault(b.redisNow(), b.cfg.WaitsAtMost)
	case !h.whole:
		return ErrNotWhole
	}
	return nil
}

// Faults returns which of the partitions 0 to n-1 cannot be read, and why. The error is [ErrAway].
func (b *View) Faults(ctx context.Context, n int32) (map[int32]error, error) {
	return b.faults(ctx, b.headerKey, n, b.cfg.WaitsAtMost)
}

// Progress is how far the view of a partition is.
type Progress struct {
	Partition int32
	Position  int64     // of the last input in the view; -1: none yet
	Pulse     time.Time // when a processor last wrote that it has the partition, by our clock; zero: never
}

// Progress returns how far the view of the partition of a hospital is. The error is [ErrAway].
func (b *View) Progress(ctx context.Context, hospital string) (Progress, error) {
	p := Progress{Partition: b.partitionOf(hospital), Position: -1}
	headers, err := b.headers(ctx, b.headerKey, p.Partition)
	if err != nil {
		return p, err
	}
	h := &headers[0]
	p.Position = h.position
	if !h.pulse.IsZero() {
		p.Pulse = b.now().Add(h.pulse.Sub(b.redisNow())).UTC()
	}
	return p, nil
}
