// Package replay recomputes the verdicts from the log.
//
// A [Refold] computes the changes of one hospital from its inputs, with the functions of the live processor. A [Rerun]
// writes the changes as rows, and a [Diff] compares them with the recorded changes. The results do not depend on the
// wall clock: the same records produce the same bytes.
package replay

import (
	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/hospital"
	"svc/internal/analysis/inputlog"
)

// Refold recomputes the changes of one hospital from its inputs. It calls the same functions as the live processor
// and has no logic of its own. It is not safe for concurrent use.
//
// Refold knows only the log, so it applies each input at the time of receipt. The live processor may have fired a
// timer between the receipt of an input and its processing; in that case, it applied the input at the instant of the
// timer. A caller that has the recorded change can set [acuity.Observation.AppliedAt] of the input to the recorded
// instant, and then gets the same versions.
type Refold struct {
	unit   *hospital.State
	rules  Override
	inputs int
	change acuity.Change // passed to the callbacks
}

// tidyEvery is the number of inputs after which the unit's lists of changed records are cleared. The processor clears
// them at each commit.
const tidyEvery = 500

// RefoldOf returns a Refold that continues from the state of a unit, with the rules of that unit.
func RefoldOf(unit *hospital.State) *Refold { return &Refold{unit: unit} }

// NewRefold returns a Refold that begins with an empty hospital. The given rules replace those in the log.
func NewRefold(hospitalID string, rules Override) (*Refold, error) {
	u := hospital.New(hospitalID)
	if err := rules.enforce(u, hospitalID); err != nil {
		return nil, err
	}
	return &Refold{unit: u, rules: rules}, nil
}

// Apply calls fn with the changes that are due before an input, and then with the change that the input causes. A
// change is valid until fn returns.
func (f *Refold) Apply(in *inputlog.Input, fn func(*acuity.Change)) {
	if in.Observation == nil {
		f.advanceTo(in.At, fn)
		f.change = f.unit.Reject(in.Reason, in.At, in.Offset)
		fn(&f.change)
		return
	}
	o := f.rules.strip(in.Observation)
	f.advanceTo(max(o.ReceivedAt, o.AppliedAt), fn)
	f.change = f.unit.Apply(o, in.Offset)
	fn(&f.change)
	if f.inputs++; f.inputs%tidyEvery == 0 {
		f.unit.Dirty(func([]byte, facts.Record) {})
		f.unit.View(func(int32, *acuity.RoomChart) {})
	}
}

// advanceTo calls fn with every change that is due up to an instant.
func (f *Refold) advanceTo(to acuity.Instant, fn func(*acuity.Change)) {
	for more := true; more; {
		if f.change, more = f.unit.Advance(to); more {
			fn(&f.change)
		}
	}
}
