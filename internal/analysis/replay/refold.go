package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// Input is one record of the log.
type Input struct {
	stream.Position
	Hospital string
	At       acuity.Instant // timestamp of the record

	// Observation is what it says; nil: this release cannot read it, and Reason
	// says why.
	Observation *acuity.Observation
	Reason      string

	Key, Value []byte // as stored

	intake schemas.Intake // memory of the observation
}

// Read reads a record, in the memory of what it read before. It never fails: what
// cannot be read is an input too.
func (in *Input) Read(r *stream.Record) {
	in.pass(r)
	in.Hospital, in.At, in.Key, in.Value = schemas.InputHospital(r.Key), acuity.At(r.Timestamp), r.Key, r.Value
	o, reason, err := in.intake.Read(r.Key, r.Value)
	if err != nil {
		in.Reason = reason
		return
	}
	in.Observation = o
}

// pass makes it an input of nobody, which has a position alone.
func (in *Input) pass(r *stream.Record) {
	in.Position = stream.Position{Partition: r.Partition, Offset: r.Offset}
	in.Hospital, in.At, in.Observation, in.Reason, in.Key, in.Value = "", 0, nil, "", nil, nil
}

// Inputs yields the inputs of one hospital, in the order of their log, from the
// first record whose timestamp is not before from up to the first that is not
// before to; the zero times are the beginning and the end as it is now. An error
// is the last that is yielded.
func (l *Log) Inputs(ctx context.Context, hospital string, from, to time.Time) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		spans, err := l.Spans(ctx, from, to)
		if err != nil {
			yield(Input{}, err)
			return
		}
		partition := schemas.Partition([]byte(hospital), int32(len(spans))) //nolint:gosec // Kafka counts them so
		err = l.Read(ctx, spans[partition], func(r stream.Record) error {
			if schemas.InputHospital(r.Key) != hospital {
				return nil
			}
			var in Input
			if in.Read(&r); !yield(in, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Input{}, err)
		}
	}
}

// errEnough ends a reading whose reader wants no more.
var errEnough = errors.New("enough")

// Refold makes the changes of one hospital anew from its inputs, by the same
// functions as the live processor: nothing here judges. One goroutine uses it.
//
// It takes the log alone: the clock of an input is its time of receipt. The live
// processor may have fired a timer by the wall clock that lies after the receipt
// of an input that was still under way, and applied the input at that instant;
// who has the recorded change sets [acuity.Observation.AppliedAt] of the input to
// what it says, and gets the same versions.
type Refold struct {
	unit   *acuity.Unit
	rules  Override
	inputs int
	change acuity.Change // that is handed out
}

// tidyEvery is after how many inputs the lists are emptied of what a processor
// would have written by then.
const tidyEvery = 500

// NewRefold returns one of a hospital of which nothing is known but the rules.
func NewRefold(hospital string, rules Override) (*Refold, error) {
	u := acuity.NewUnit(hospital)
	if err := rules.enforce(u, hospital); err != nil {
		return nil, err
	}
	return &Refold{unit: u, rules: rules}, nil
}

// Chart is the unit as it is now; it is valid until the next call of Take or
// Until, and the caller does not change it.
func (f *Refold) Chart() *acuity.Chart { return f.unit.Chart() }

// Take hands the changes to each that are due until an input, and the one that
// it makes. A change holds until each returns.
func (f *Refold) Take(in *Input, each func(*acuity.Change)) {
	if in.Observation == nil {
		f.advance(in.At, each)
		f.change = f.unit.Reject(in.Reason, in.At, in.Offset)
		each(&f.change)
		return
	}
	o := f.rules.strip(in.Observation)
	f.advance(max(o.ReceivedAt, o.AppliedAt), each)
	f.change = f.unit.Apply(o, in.Offset)
	each(&f.change)
	if f.inputs++; f.inputs%tidyEvery == 0 {
		f.unit.Dirty(func([]byte, acuity.State) {})
		f.unit.View(func(int32, *acuity.RoomChart) {})
	}
}

// advance hands all to each that is due up to an instant.
func (f *Refold) advance(to acuity.Instant, each func(*acuity.Change)) {
	for more := true; more; {
		if f.change, more = f.unit.Advance(to); more {
			each(&f.change)
		}
	}
}

// Until hands the changes to each that the live processor has made up to an
// instant of its clock.
func (f *Refold) Until(now acuity.Instant, each func(*acuity.Change)) {
	for more := true; more; {
		if f.change, more = f.unit.Elapse(now); more {
			each(&f.change)
		}
	}
}

// Override puts rules in force that hold whatever the log says of their factors:
// what it says of them is taken out of the inputs.
type Override []acuity.Rule

// enforce puts the rules in force at a unit of which nothing is known.
func (rules Override) enforce(u *acuity.Unit, hospital string) error {
	for i := range rules {
		r := &rules[i]
		if r.Delete { // as the catalogue has it
			continue
		}
		key := schemas.Key{Hospital: hospital, Kind: schemas.KindRule, ID: r.Factor.ID()}
		if err := u.Restore(key.String(), &acuity.RuleState{Rule: *r}); err != nil {
			return fmt.Errorf("put a rule in force: %w", err)
		}
	}
	if len(rules) > 0 {
		u.Restored()
	}
	return nil
}

// strip returns the observation without what it says of the factors.
func (rules Override) strip(o *acuity.Observation) *acuity.Observation {
	if len(rules) == 0 || len(o.Rules) == 0 {
		return o
	}
	kept := *o
	kept.Rules = nil
	for _, said := range o.Rules {
		overridden := false
		for i := range rules {
			overridden = overridden || rules[i].Factor == said.Factor
		}
		if !overridden {
			kept.Rules = append(kept.Rules, said)
		}
	}
	return &kept
}
