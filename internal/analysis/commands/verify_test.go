package commands

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/verify"
	"svc/internal/cli"
	"svc/internal/metrics"
	"svc/internal/stream"
	"svc/internal/view"
)

// TestVerifyContinuouslyNobody: with --continuous, a requested hospital without a record is named once.
func TestVerifyContinuouslyNobody(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	rounds := 0
	empty := inputlog.Source{
		Spans: func(context.Context, time.Time, time.Time) ([]stream.Span, error) { return []stream.Span{{}}, nil },
		Read:  func(context.Context, stream.Span, func(stream.Record) error) error { return nil },
	}
	changes := empty
	changes.Spans = func(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
		if rounds++; rounds > 6 { // two requests in each round
			stop()
		}
		return empty.Spans(ctx, from, to)
	}
	var faults strings.Builder
	o := &verifyOptions{logCommand: newLogCommand(cli.Env{Stderr: &faults, Now: time.Now}, 0), every: time.Nanosecond}
	v := &verify.Verify{Inputs: empty, Changes: changes, Snapshots: empty, Hospitals: []string{"typo"}}
	if err := o.runRounds(ctx, v, NewVerifyMetrics(metrics.New(""))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if faults.String() != "verify: the log has no records for hospital \"typo\"\n" {
		t.Errorf("says %q", faults.String())
	}
}

// TestVerifyNobody: each requested hospital without a record is named.
func TestVerifyNobody(t *testing.T) {
	b := analysistest.NewKafka(t)
	redis, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	code, _, stderr := say(t.Context(), "verify", "--hospital", "typo1,typo2", "--kafka", b.Options.Brokers[0], "--redis", redis.URL())
	want := "svc verify: the log has no records for hospital \"typo1\"\nsvc verify: the log has no records for hospital \"typo2\"\n"
	if code != 1 || !strings.HasSuffix(stderr, want) {
		t.Errorf("code %d, says %q", code, stderr)
	}
}
