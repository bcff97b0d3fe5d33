// Package trial evaluates rules on recorded observations.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"svc/acuity/catalogue"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/replay"
	"svc/readapi/web/integrations"
)

// Trials evaluates rules on recorded observations, as svc replay --diff does. A trial reads a hospital's log from the
// start. It is stopped if no page requests its result for trialIdle. A process runs one trial at a time, and the
// hospitals take turns.
type Trials struct {
	inputs inputlog.Source
	ends   context.Context //nolint:containedctx // context of the process
	now    func() time.Time
	log    *slog.Logger

	turn chan struct{} // holds a token while a trial runs

	mu     sync.Mutex
	trials map[string]*trial        // by hospital, hour and rule
	turns  map[string]chan struct{} // by hospital; holds a token while one of the hospital's trials runs or is next
}

// trial is the trial of one rule in one hospital.
type trial struct {
	hospital string

	mu     sync.Mutex
	asked  time.Time
	result integrations.PastResult
	cancel context.CancelFunc
}

const (
	trialIdle  = time.Minute      // a running trial is stopped this long after the last request for its result
	trialKept  = 15 * time.Minute // a result is deleted this long after the last request for it
	trialsMost = 3                // maximum number of unfinished trials of a hospital
	worstHours = 20
)

// New returns trials that read a log of observations, until ctx ends.
func New(ctx context.Context, inputs inputlog.Source, now func() time.Time, log *slog.Logger) *Trials {
	return &Trials{
		inputs: inputs, ends: ctx, now: now, log: log,
		turn: make(chan struct{}, 1), trials: map[string]*trial{}, turns: map[string]chan struct{}{},
	}
}

// Try implements [integrations.Past].
func (p *Trials) Try(_ context.Context, hospital string, rule catalogue.Rule) integrations.PastResult {
	now := p.now()
	until := now.Truncate(time.Hour)
	key := fmt.Sprintf("%s %d %s %#v", hospital, until.Unix(), rule.Factor.ID(), rule.Lines)
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, t := range p.trials {
		if other != key && t.stopIfForgotten(now) {
			delete(p.trials, other)
		}
	}
	t := p.trials[key]
	if t == nil || t.failed() {
		if p.unfinished(hospital) >= trialsMost {
			return integrations.PastResult{Fault: integrations.PastBusy}
		}
		ctx, cancel := context.WithCancel(p.ends)
		since := until.AddDate(0, 0, -integrations.PastDays)
		t = &trial{hospital: hospital, asked: now, cancel: cancel, result: integrations.PastResult{Since: since}}
		p.trials[key] = t
		turn := p.turns[hospital]
		if turn == nil {
			turn = make(chan struct{}, 1)
			p.turns[hospital] = turn
		}
		go p.run(ctx, t, turn, rule, until) //nolint:contextcheck // outlives the request that started it
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = now
	return t.result
}

// unfinished counts the waiting and running trials of a hospital.
func (p *Trials) unfinished(hospital string) (n int) {
	for _, t := range p.trials {
		if t.hospital == hospital && !t.done() {
			n++
		}
	}
	return n
}

func (t *trial) done() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.result.Ready || t.result.Fault != ""
}

// stopIfForgotten cancels an unfinished trial whose result has not been requested for trialIdle. It reports whether
// the trial may be deleted: either it has just been canceled, or its result has not been requested for trialKept.
func (t *trial) stopIfForgotten(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := t.result.Ready || t.result.Fault != ""
	if idle := now.Sub(t.asked); !over && idle > trialIdle || idle > trialKept {
		t.cancel()
		return true
	}
	return false
}

// failed reports whether a trial failed because a required server was unavailable. Such a trial must be restarted.
func (t *trial) failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.result.Fault == integrations.PastAway
}

// run waits until no other trial of the hospital runs, then until no trial of another hospital runs, and then
// executes the trial.
func (p *Trials) run(ctx context.Context, t *trial, ofHospital chan struct{}, rule catalogue.Rule, until time.Time) {
	defer t.cancel()
	for _, turn := range []chan struct{}{ofHospital, p.turn} {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return
		}
	}
	since := until.AddDate(0, 0, -integrations.PastDays)
	sum := &pastSum{changes: map[integrations.PastChange]time.Duration{}, rooms: map[integrations.PastChange]map[string]bool{}}
	d := &replay.Diff{Rerun: replay.Rerun{
		Inputs: p.inputs, Hospitals: []string{t.hospital}, From: since, To: until, Rules: replay.Override{rule},
		Progress: func(done, total int64) {
			t.mu.Lock()
			t.result.Done, t.result.Total = done, total
			t.mu.Unlock()
			t.stopIfForgotten(p.now())
		},
	}}
	summary, err := d.Each(ctx, sum.add)
	absent := replay.AbsentError("")
	result := integrations.PastResult{Ready: true, Since: since, Until: until}
	switch {
	case err == nil:
		if first := summary.First.Time(); summary.First != 0 && first.After(since) {
			result.Since = first
		}
		result.Hours, result.Level = int(summary.Hours), time.Duration(summary.LevelMinutes*float64(time.Minute))
		result.Changes, result.Worst = sum.sorted()
	case errors.As(err, &absent):
		result.Fault = integrations.PastNothing
	case errors.Is(err, inputlog.ErrGone):
		result.Fault = integrations.PastGone
	default:
		if ctx.Err() == nil {
			p.log.WarnContext(ctx, "rule not evaluated on past hours", "hospital", t.hospital, "error", err)
		}
		result.Fault = integrations.PastAway
	}
	t.mu.Lock()
	t.result = result
	t.mu.Unlock()
}

// pastSum sums up the rows of a replay diff.
type pastSum struct {
	changes map[integrations.PastChange]time.Duration
	rooms   map[integrations.PastChange]map[string]bool
	worst   []integrations.PastHour
}

func (s *pastSum) add(row *replay.DiffRow) {
	took := time.Duration(row.Minutes * float64(time.Minute))
	key := integrations.PastChange{Room: row.Subject == "room", Was: row.Recorded, Would: row.Replayed}
	switch row.Subject {
	case "level":
		at := time.UnixMilli(int64(row.Hour)).UTC()
		s.worst = append(s.worst, integrations.PastHour{At: at, Was: row.Recorded, Would: row.Replayed, For: took})
	case "room":
		if s.rooms[key] == nil {
			s.rooms[key] = map[string]bool{}
		}
		s.rooms[key][row.ID] = true
	default:
		return
	}
	s.changes[key] += took
}

// sorted returns the sums, and the hours in which the level differed longest. Sums for the level precede sums for
// rooms; within each group, the longest comes first. There are at most worstHours hours, newest first.
func (s *pastSum) sorted() (changes []integrations.PastChange, worst []integrations.PastHour) {
	for key, took := range s.changes {
		c := key
		c.For, c.Rooms = took, len(s.rooms[key])
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b integrations.PastChange) int {
		switch {
		case a.Room != b.Room && b.Room:
			return -1
		case a.Room != b.Room:
			return 1
		}
		return cmp.Or(cmp.Compare(b.For, a.For), cmp.Compare(a.Was, b.Was), cmp.Compare(a.Would, b.Would))
	})
	slices.SortStableFunc(s.worst, func(a, b integrations.PastHour) int { return cmp.Or(cmp.Compare(b.For, a.For), b.At.Compare(a.At)) })
	worst = s.worst[:min(len(s.worst), worstHours)]
	slices.SortFunc(worst, func(a, b integrations.PastHour) int { return b.At.Compare(a.At) })
	return changes, worst
}
