package trial

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"svc/acuity/catalogue"
	"svc/internal/analysis/replay"
	"svc/internal/stream"
	"svc/readapi/web/integrations"
)

// TestPastSum: rows are added up, however the writes are cut.
func TestPastSum(t *testing.T) {
	const rows = `{"hospital":"h","hour":"2031-04-05T10:00:00Z","subject":"level","id":"unit","recorded":"yellow","replayed":"red","minutes":30}
{"hospital":"h","hour":"2031-04-05T11:00:00Z","subject":"level","id":"unit","recorded":"yellow","replayed":"red","minutes":60}
{"hospital":"h","hour":"2031-04-05T11:00:00Z","subject":"room","id":"3","recorded":"green","replayed":"red","minutes":60}
{"hospital":"h","hour":"2031-04-05T11:00:00Z","subject":"room","id":"4","recorded":"green","replayed":"red","minutes":6}
{"hospital":"h","hour":"2031-04-05T11:00:00Z","subject":"axis","id":"acuity","recorded":"green","replayed":"red","minutes":60}
`
	for size := 1; size < len(rows); size += 37 {
		s := &pastSum{changes: map[integrations.PastChange]time.Duration{}, rooms: map[integrations.PastChange]map[string]bool{}}
		for at := 0; at < len(rows); at += size {
			if _, err := s.Write([]byte(rows[at:min(at+size, len(rows))])); err != nil {
				t.Fatal(err)
			}
		}
		changes, worst := s.sorted()
		if len(changes) != 2 || changes[0] != (integrations.PastChange{Was: "yellow", Would: "red", For: 90 * time.Minute}) ||
			changes[1] != (integrations.PastChange{Room: true, Rooms: 2, Was: "green", Would: "red", For: 66 * time.Minute}) {
			t.Fatalf("%d: %+v", size, changes)
		}
		if len(worst) != 2 || worst[0].At.Hour() != 11 || worst[0].For != time.Hour {
			t.Fatalf("%d: %+v", size, worst)
		}
	}
	if _, err := (&pastSum{}).Write([]byte("no\n")); err == nil {
		t.Error("a row that is none")
	}
}

// TestTrials: a trial runs once, however often it is requested, and trials run one after the
// other. A trial ends when no page requests it. One that failed begins again.
func TestTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		type call struct{ answer chan error }
		calls := make(chan call, 10)
		p := New(ctx, replay.Source{Spans: func(ctx context.Context, _, _ time.Time) ([]stream.Span, error) {
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
		(<-calls).answer <- replay.ErrGone
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
		p.Try(ctx, "west", rule("1")) // this call stops the trials without requests
		synctest.Wait()
		if len(p.trials) != 2 {
			t.Errorf("%d trials are kept", len(p.trials))
		}
		for len(calls) > 1 {
			<-calls // stopped
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
