// Package audit describes administrative acts: actor, time, action, subjects.
//
// The record of an act is written before the act takes effect. If the record cannot be written, the act is not
// executed. If an act fails after its record was written, a second record is written. The action of the second record
// ends in [Failed], or in [Unclear] if it is unknown whether the act was executed.
//
// An [Act] contains ids of subjects and versions of their states. It contains no secret, no text that an
// administrator wrote, and no patient data.
package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/httpapi/access"
)

// CommandLine is the value of By for an act from an operator's command line.
const CommandLine = "command line"

// Act is one administrative act.
type Act struct {
	Hospital string
	At       time.Time
	By       string // id of the key or of the user, CommandLine, or Unknown
	Action   string // stable word that the acting package defines, such as "key.mint"
	Subject  string // id of a key, a mapping, a factor or another thing that the act changed
	Before   string // version of the subject before the act, as its ETag without quotes; "": the subject did not exist
	After    string // version after the act; "": the subject no longer exists
	Reason   string // stable word for why a request was refused or a session ended; "": none
}

// Record writes the record of an act, and returns once it is durable.
type Record func(ctx context.Context, act Act) error

// Suffixes of the action in a second record.
const (
	Failed  = ".failed"  // nothing was changed
	Unclear = ".unclear" // the act may have taken effect: the store did not respond
)

// recordNotDoneWithin is the timeout for writing the second record of an act. It is short, because the caller is
// waiting for a response.
const recordNotDoneWithin = 2 * time.Second

// RecordNotDone writes the second record of an act, after its first record was written. how is [Failed] if the act
// changed nothing, and [Unclear] if that is unknown. RecordNotDone writes the record even if ctx has ended.
func (record Record) RecordNotDone(ctx context.Context, act Act, how string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordNotDoneWithin)
	defer cancel()
	act.Action, act.After = act.Action+how, ""
	return record(ctx, act)
}

// Do records acts and then calls do, which executes them together. If an act could not be recorded, do is not called.
//
// If do was not called or fails, Do writes a second record for each recorded act. The action of the second record
// ends in [Unclear] after an error of do other than [access.ErrOvertaken], because it is then unknown whether do
// changed something. In all other cases, it ends in [Failed].
func (record Record) Do(ctx context.Context, do func() error, acts ...Act) error {
	recorded, err := writeEach(acts, func(act Act) error { return record(ctx, act) })
	how := Failed
	if err != nil {
		err = fmt.Errorf("record the action: %w", err)
	} else if err = do(); err == nil {
		return nil
	} else if !errors.Is(err, access.ErrOvertaken) {
		how = Unclear
	}
	if _, fault := writeEach(recorded, func(act Act) error { return record.RecordNotDone(ctx, act, how) }); fault != nil {
		err = fmt.Errorf("%w; the record of this failure was not written: %w", err, fault)
	}
	return err
}

// Retry calls change, and calls it again while it returns [access.ErrOvertaken], which means that another change came
// first. Each call must read the current state, so that the change is based on it. Retry stops when ctx ends.
func Retry(ctx context.Context, change func() error) error {
	for {
		if err := change(); !errors.Is(err, access.ErrOvertaken) || ctx.Err() != nil {
			return err
		}
	}
}

// atOnce is the maximum number of records that are written concurrently. A person may have access to hundreds of
// hospitals, and each gets a separate record.
const atOnce = 32

// writeEach writes the records of acts. It writes the records of one hospital in order, until one of them fails, and
// those of different hospitals concurrently. It returns the acts whose records were written, and the first error.
func writeEach(acts []Act, write func(Act) error) (written []Act, err error) {
	hospitals := map[string][]Act{}
	for _, act := range acts {
		hospitals[act.Hospital] = append(hospitals[act.Hospital], act)
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, acts := range hospitals {
		group.Go(func() error {
			for _, act := range acts {
				if fault := write(act); fault != nil {
					return fault
				}
				mu.Lock()
				written = append(written, act)
				mu.Unlock()
			}
			return nil
		})
	}
	err = group.Wait()
	return written, err //nolint:wrapcheck // the caller adds its operation
}

// Query selects acts of one hospital, newest first.
type Query struct {
	Hospital string
	Action   string    // only this action, including its failures; a word that ends in "." is a prefix; "": all actions
	Since    time.Time // start, inclusive; zero: no limit
	Until    time.Time // end, exclusive; zero: now
	Before   int64     // Cursor of the previous page; 0: the newest acts
	Limit    int       // 1 or more
}

// Page is one page of acts, newest first.
type Page struct {
	Acts   []Act
	Cursor int64 // start of the next page; 0: this is the last page
}

// List returns the acts that a query selects.
type List func(ctx context.Context, q Query) (Page, error)

// Matches reports whether the query selects an act.
func (q *Query) Matches(a *Act) bool {
	return a.Hospital == q.Hospital && q.matchesAction(a.Action) &&
		(q.Since.IsZero() || !a.At.Before(q.Since)) && (q.Until.IsZero() || a.At.Before(q.Until))
}

func (q *Query) matchesAction(action string) bool {
	if n := len(q.Action); n > 0 && q.Action[n-1] == '.' {
		return len(action) > n && action[:n] == q.Action
	}
	return q.Action == "" || q.Action == action || action == q.Action+Failed || action == q.Action+Unclear
}
