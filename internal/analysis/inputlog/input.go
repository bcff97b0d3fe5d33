package inputlog

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// Input is one record of the log.
type Input struct {
	stream.Position
	Hospital string         // "": the record was not wanted, and is not decoded
	At       acuity.Instant // timestamp of the record

	// Observation is the decoded record. It is nil if this release cannot read the record; then
	// Reason says why.
	Observation *acuity.Observation
	Reason      string
}

// InputOf decodes a record. It never fails: a record that cannot be read is an input too.
func InputOf(r *stream.Record) Input {
	in := Input{
		Position: stream.Position{Partition: r.Partition, Offset: r.Offset},
		Hospital: schemas.InputHospital(r.Key), At: acuity.At(r.Timestamp),
	}
	o, reason, err := schemas.ReadInput(r.Key, r.Value)
	if err != nil {
		in.Reason = reason
		return in
	}
	in.Observation = o
	return in
}

// ReadInputs begins to read the inputs of a span. It decodes the inputs of the named hospitals, or
// all without a name. The other inputs have only a position and a time.
func ReadInputs(ctx context.Context, read Read, s stream.Span, hospitals []string) *Ahead[Input] {
	return ReadAhead(ctx, read, s, func(r *stream.Record, in *Input) bool {
		if len(hospitals) == 0 || slices.Contains(hospitals, schemas.InputHospital(r.Key)) {
			*in = InputOf(r)
		} else {
			*in = Input{Position: stream.Position{Partition: r.Partition, Offset: r.Offset}, At: acuity.At(r.Timestamp)}
		}
		return true
	})
}

// Inputs yields the inputs of one hospital in the order of the log, up to its present end. An error
// is yielded last.
func (l *Log) Inputs(ctx context.Context, hospital string) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		spans, err := l.Spans(ctx, time.Time{}, time.Time{})
		if err != nil {
			yield(Input{}, err)
			return
		}
		partition := schemas.Partition([]byte(hospital), int32(len(spans))) //nolint:gosec // Kafka counts them so
		err = l.Read(ctx, spans[partition], func(r stream.Record) error {
			if schemas.InputHospital(r.Key) != hospital {
				return nil
			}
			if !yield(InputOf(&r), nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Input{}, err)
		}
	}
}

// errEnough ends a reading when the caller needs no more inputs.
var errEnough = errors.New("enough")
