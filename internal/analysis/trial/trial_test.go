package trial

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"svc/acuity/catalogue"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/replay"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/readapi/web/integrations"
)

// TestPastSum: the sums contain the rows for the level and for rooms, but not those for axes.
func TestPastSum(t *testing.T) {
	at := func(hour int) tables.Moment {
		return tables.Moment(time.Date(2031, 4, 5, hour, 0, 0, 0, time.UTC).UnixMilli())
	}
	s := &pastSum{changes: map[integrations.PastChange]time.Duration{}, rooms: map[integrations.PastChange]map[string]bool{}}
	for _, row := range []replay.DiffRow{
		{Hour: at(10), Subject: "level", ID: "unit", Recorded: "yellow", Replayed: "red", Minutes: 30},
		{Hour: at(11), Subject: "level", ID: "unit", Recorded: "yellow", Replayed: "red", Minutes: 60},
		{Hour: at(11), Subject: "room", ID: "3", Recorded: "green", Replayed: "red", Minutes: 60},
		{Hour: at(11), Subject: "room", ID: "4", Recorded: "green", Replayed: "red", Minutes: 6},
		{Hour: at(11), Subject: "axis", ID: "acuity", Recorded: "green", Replayed: "red", Minutes: 60},
	} {
		s.add(&row)
	}
	changes, worst := s.sorted()
	if len(changes) != 2 || changes[0] != (integrations.PastChange{Was: "yellow", Would: "red", For: 90 * time.Minute}) ||
		changes[1] != (integrations.PastChange{Room: true, Rooms: 2, Was: "green", Would: "red", For: 66 * time.Minute}) {
		t.Fatalf("%+v", changes)
	}
	if len(worst) != 2 || worst[0].At.Hour() != 11 || worst[0].For != time.Hour {
		t.Fatalf("%+v", worst)
	}
}

// TestTrials: several requests for the same rule start only one trial, and trials run one after the other. A trial
// that is no longer requested is stopped. A failed trial is restarted.
func TestTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		type call struct{ answer chan error }
		calls := make(chan call, 10)
		p := New(ctx, inputlog.Source{Spans: func(ctx context.Context, _, _ time.Time) ([]stream.Span, error) {
			c := call{make(chan error)}
			calls <- c
			select {
			case err := <-c.answer:
				return nil, err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}, time.Now, slog.New(slog.DiscardHandler))
		f, ok := catalogue.FactorByID("high-mag")
		if !ok {
			t.Fatal("no such factor")
		}
		rule := func(floor string) catalogue.Rule {
			return catalogue.Rule{Factor: f, Lines: []catalogue.RuleLine{{Name: "floor", Text: floor}}}
		}
		for range 3 {
			p.Try(ctx, "north", rule("1"))
		}
		p.Try(ctx, "north", rule("2"))
		p.Try(ctx, "south", rule("1"))
		synctest.Wait()
		if len(calls) != 1 || len(p.trials) != 3 {
			t.Fatalf("%d trials run, of %d", len(calls), len(p.trials))
		}
		(<-calls).answer <- inputlog.ErrGone
		synctest.Wait()
		if len(calls) != 1 {
			t.Fatalf("after the first %d run", len(calls))
		}
		gone := 0
		for _, got := range []integrations.PastResult{p.Try(ctx, "north", rule("1")), p.Try(ctx, "north", rule("2")), p.Try(ctx, "south", rule("1"))} {
			if got.Fault == integrations.PastGone {
				gone++
			}
		}
		if gone != 1 {
			t.Fatalf("%d are over", gone)
		}
		time.Sleep(trialIdle + time.Second)
		p.Try(ctx, "west", rule("1")) // this call stops the trials that are no longer requested
		synctest.Wait()
		if len(p.trials) != 2 {
			t.Errorf("%d trials are kept", len(p.trials))
		}
		for len(calls) > 1 {
			<-calls // the trial was stopped
		}
		(<-calls).answer <- context.DeadlineExceeded
		synctest.Wait()
		if got := p.Try(ctx, "west", rule("1")); got.Fault != "" {
			t.Errorf("one that failed is %q, not begun anew", got.Fault)
		}
		synctest.Wait()
		if len(calls) != 1 {
			t.Errorf("%d run", len(calls))
		}
	})
}

// TestHospitalsTakeTurns: a hospital has at most three unfinished trials, and another hospital does
// not wait for all of them.
func TestHospitalsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		answer := make(chan struct{})
		p := New(ctx, inputlog.Source{Spans: func(ctx context.Context, _, _ time.Time) ([]stream.Span, error) {
			select {
			case <-answer:
			case <-ctx.Done():
			}
			return nil, inputlog.ErrGone
		}}, time.Now, slog.New(slog.DiscardHandler))
		f, _ := catalogue.FactorByID("high-mag")
		try := func(hospital, floor string) integrations.PastFault {
			got := p.Try(ctx, hospital, catalogue.Rule{Factor: f, Lines: []catalogue.RuleLine{{Name: "floor", Text: floor}}}).Fault
			synctest.Wait()
			return got
		}
		for _, floor := range []string{"1", "2", "3"} {
			if fault := try("north", floor); fault != "" {
				t.Fatalf("trial %s: %q", floor, fault)
			}
		}
		if fault := try("north", "4"); fault != integrations.PastBusy {
			t.Errorf("a fourth trial: %q", fault)
		}
		if fault := try("south", "1"); fault != "" {
			t.Errorf("of another hospital: %q", fault)
		}
		answer <- struct{}{} // north's first trial ends; south is next, because north's second trial waited for the first one, not for p.turn
		synctest.Wait()
		answer <- struct{}{}
		synctest.Wait()
		if fault := try("south", "1"); fault != integrations.PastGone {
			t.Errorf("south waits for more than one trial of north: %q", fault)
		}
		if fault := try("north", "4"); fault != "" {
			t.Errorf("after one is done, another one: %q", fault)
		}
	})
}
