package replay

import (
	"context"

	"svc/acuity"
	"svc/internal/stream"
)

// The methods in this file are used only by the tests of package replay_test.

// Chart returns the current chart, which is valid until the next call to Apply or ElapseTo and must not be changed.
func (f *Refold) Chart() *acuity.Chart { return f.unit.Chart() }

// ElapseTo calls fn with every change that the timers of the live processor would have caused up to the given instant
// of the processor's clock.
func (f *Refold) ElapseTo(now acuity.Instant, fn func(*acuity.Change)) {
	for due := f.unit.Due(); due != 0 && due <= now; due = f.unit.Due() {
		f.change, _ = f.unit.Advance(now)
		fn(&f.change)
	}
}

// Run calls fn with every change, one partition after the other.
func (r *Rerun) Run(ctx context.Context, fn func(partition int32, c *acuity.Change) error) error {
	return r.foldPartitions(ctx, 1, func(_ context.Context, s stream.Span, in inputs) error {
		return r.remake(in, func(c *acuity.Change) error { return fn(s.Partition, c) })
	})
}
