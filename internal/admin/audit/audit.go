// Package audit says what an administrative act was: who did what to which thing
// of a hospital, and when.
//
// An act is on record before it takes effect: nothing happens without one, and an
// act that could not be recorded is not done. What follows the record may still
// fail. Then a second record says so: the same act, whose action ends in [Failed], or
// in [Unclear] if nobody knows whether it came about.
//
// An [Act] names things by their ids and states of them by their versions. It
// holds no secret, no text that an administrator wrote, nothing of a patient.
package audit

import (
	"context"
	"time"
)

// CommandLine is the By of an act that came from the command line of an operator.
const CommandLine = "command line"

// Act is one administrative act.
type Act struct {
	Hospital string
	At       time.Time
	By       string // id of the key, or CommandLine
	Action   string // a stable word: one of the Actions of whoever acts, as "key.mint"
	Subject  string // id of what it was done to: a key, a mapping, a factor
	Before   string // version of the subject before, as its ETag without quotes; "": there was none
	After    string // version after; "": there is none any more
}

// Record puts an act on record, and returns once it is durable.
type Record func(ctx context.Context, act Act) error

// How the action of a second record ends.
const (
	Failed  = ".failed"  // nothing was done
	Unclear = ".unclear" // it may have been done: what it was to be written to did not answer
)

// settleWithin bounds the second record: the caller waits for its answer.
const settleWithin = 2 * time.Second

// NotDone puts on record that an act came to nothing, or may have. The request may
// have ended.
func (record Record) NotDone(ctx context.Context, act Act, how string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	act.Action, act.After = act.Action+how, ""
	return record(ctx, act)
}

// Query asks for the acts of one hospital, newest first.
type Query struct {
	Hospital string
	Action   string    // only these, failed ones too; a word that ends in "." stands for all that begin so; "": all
	Since    time.Time // not before; zero: from the beginning
	Until    time.Time // before; zero: up to now
	Before   int64     // the Cursor of the page before; 0: the newest
	Limit    int       // 1 or more
}

// Page is one page of acts, newest first.
type Page struct {
	Acts   []Act
	Cursor int64 // where the next page begins; 0: there is none
}

// List answers a query.
type List func(ctx context.Context, q Query) (Page, error)

// Matches reports whether an act is one of those asked for.
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
