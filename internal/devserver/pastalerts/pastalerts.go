// Package pastalerts computes the alerts that a demo would have sent during the simulated weeks before it starts.
//
// The notifier would process weeks of level changes within seconds, and would alert only about the current level.
// [People] instead runs the notifier's steps as of the times of those changes. In these steps, the demo's recipients
// receive every message and acknowledge most alerts. The results are written to the ledger like those of any other
// step. After the past changes, People runs the notifier's usual steps.
package pastalerts

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/notifier"
	"svc/notifier/people"
)

const (
	askAgain  = 200 * time.Millisecond // pause before a postponed step is repeated
	sentAfter = 2 * time.Second        // simulated delivery time of a past message
)

// People implements [notifier.People] for a demo.
type People struct {
	*people.Alerting                  // for current changes
	past             *people.Alerting // for past changes, without the current rooms
	runs             *recorder
	hospital         string
	ready            <-chan struct{}

	mu   sync.Mutex
	live bool
}

// New returns the People of a demo. hospital is the hospital that has past level changes. ready must be closed once
// the notifier has read all past changes and the recipients exist. Until then, People sends no alerts of this
// hospital.
func New(c people.Config, hospital string, ready <-chan struct{}) *People {
	past, runs := c, &recorder{AlertRunList: c.Lists}
	past.Rooms, past.Lists = nil, runs
	return &People{Alerting: people.New(c), past: people.New(past), runs: runs, hospital: hospital, ready: ready}
}

var _ notifier.People = (*People)(nil)

// Step implements [notifier.People].
func (p *People) Step(ctx context.Context, now time.Time, in notifier.Happening) notifier.Step {
	if in.Hospital != p.hospital {
		return p.Alerting.Step(ctx, now, in)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		return p.Alerting.Step(ctx, now, in)
	}
	select {
	case <-p.ready:
	default: // the notifier stores postponed changes, so a restart does not lose them
		return notifier.Step{Postponed: true, Next: now.Add(askAgain)}
	}
	r := rehearsal{People: p, ctx: ctx, memory: in.Memory}
	r.run(now, in.Changes)
	in.Memory, in.Changes, in.Ended = r.memory, nil, append(r.ended, in.Ended...)
	p.live = true
	last := p.Alerting.Step(ctx, now, in)
	if last.Memory == nil {
		last.Memory = r.memory
	}
	last.Messages, last.Events = append(r.out.Messages, last.Messages...), append(r.out.Events, last.Events...)
	last.Closed, last.Decisions = append(r.out.Closed, last.Closed...), append(r.out.Decisions, last.Decisions...)
	return last
}

// rehearsal is the state while the past level changes are processed.
type rehearsal struct {
	*People
	ctx    context.Context //nolint:containedctx // the value lives only during one call to Step
	memory []byte
	ended  []outbound.Entry   // messages that the last step delivered; they are an input of the next step
	next   time.Time          // when the next step is due, as the last step has reported
	acks   []outbound.Command // pending acknowledgments; at most one per alert
	asked  string             // alert for which acks was last computed
	out    notifier.Step
}

// run processes, step by step, everything that happened before now: the given level changes, the steps that became
// due, and the acknowledgments.
func (r *rehearsal) run(now time.Time, changes []notifier.LevelChange) {
	for {
		var in notifier.Happening
		at := now
		if len(changes) > 0 && changes[0].OccurredAt.Before(at) {
			at, in.Changes = changes[0].OccurredAt, changes[:1]
		}
		if !r.next.IsZero() && r.next.Before(at) {
			at, in.Changes = r.next, nil
		}
		if len(r.acks) > 0 && r.acks[0].At.Before(at) {
			at, in.Changes, in.Commands = r.acks[0].At, nil, r.acks[:1]
		}
		if !at.Before(now) {
			return
		}
		changes, r.acks = changes[len(in.Changes):], r.acks[len(in.Commands):]
		r.step(at, in)
	}
}

// step runs one step of the notifier as of a past instant, and adds the results to r.out. It marks the pending
// messages as delivered, and schedules the acknowledgment of a new alert.
func (r *rehearsal) step(at time.Time, in notifier.Happening) {
	in.Hospital, in.Memory, in.Ended, r.ended = r.hospital, r.memory, r.ended, nil
	s := r.past.Step(r.ctx, at, in)
	r.next = s.Next
	if s.Memory != nil {
		r.memory = s.Memory
	}
	for _, m := range s.Messages {
		if d := &m.Delivery; d.State == outbound.Pending {
			d.State = outbound.Delivered
			d.Attempts = []sending.Attempt{{N: 1, At: d.OccurredAt, Took: sentAfter, Class: sending.ClassOK}}
			r.ended = append(r.ended, m)
		}
		r.out.Messages = append(r.out.Messages, m)
	}
	r.out.Events = append(r.out.Events, s.Events...)
	r.out.Closed, r.out.Decisions = append(r.out.Closed, s.Closed...), append(r.out.Decisions, s.Decisions...)
	if run := r.runs.last; !run.AckBy.IsZero() && run.Alert != r.asked {
		r.asked, r.acks = run.Alert, nil
		if after := ackAfter(run.Alert); after > 0 {
			r.acks = []outbound.Command{{
				Hospital: r.hospital, Verb: outbound.VerbAck, At: at.Add(after), By: "link", Episode: run.ID, EventID: run.Alert,
			}}
		}
	}
}

// ackAfter returns the time from an alert to its acknowledgment; 0 means never. Of ten alerts, seven are acknowledged
// in time, two after an escalation, and one never.
func ackAfter(alert string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(alert))
	chance := h.Sum32() >> 8 //nolint:mnd // the low bits of an FNV hash vary least
	within := time.Duration(chance/10%200) * time.Second
	switch chance % 10 {
	case 0:
		return 0
	case 1, 2:
		return 12*time.Minute + within
	}
	return time.Minute + within
}

// recorder passes on the alert runs that have ended, and stores the latest run. If a run is still open after the past
// changes, the first regular step of the notifier lists it.
type recorder struct {
	people.AlertRunList
	last outbound.AlertRun
}

// AlertRun implements [people.AlertRunList].
func (r *recorder) AlertRun(e outbound.AlertRun) {
	r.last = e
	if r.AlertRunList != nil && !e.ClosedAt.IsZero() {
		r.AlertRunList.AlertRun(e)
	}
}

// Link does nothing. The link of a past alert has either expired, or is listed by the first regular step of the
// notifier.
func (r *recorder) Link(string, outbound.AckLink) {}

// Written returns immediately, because links in past alerts are never opened.
func (r *recorder) Written(context.Context) {}
