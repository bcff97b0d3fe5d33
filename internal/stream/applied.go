package stream

import "context"

// Applied answers when an input is applied. It is fed with the changes of a
// [Tail] and keeps only the last ones of each partition, so that a change that
// comes before its Wait is not missed.
type Applied[T any] struct {
	decode func(Record) (T, int64, bool)
}

// NewApplied returns an Applied. decode returns what a change record says and
// the offset of the input that made it, on the same partition; false for a
// record that answers no input (a state record, a due instant).
func NewApplied[T any](decode func(Record) (change T, input int64, ok bool)) *Applied[T] {
	return &Applied[T]{decode: decode}
}

// See takes one record of the tail.
func (a *Applied[T]) See(r Record) {}

// Wait returns once the change of the input at position has been seen, or that
// of a later one. known is false if the input is applied but its change is no
// longer kept. The error is that of ctx.
func (a *Applied[T]) Wait(ctx context.Context, input Position) (change T, known bool, err error) {
	return change, false, nil
}
