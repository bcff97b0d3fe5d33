package ingest_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
)

// slow is a service in which one part answers only when its context ends.
type slow struct{ part string }

func (s slow) stall(ctx context.Context, part string) error {
	if s.part != part {
		return nil
	}
	<-ctx.Done()
	return fmt.Errorf("gave up: %w", ctx.Err())
}

func (s slow) Append(ctx context.Context, _ *acuity.Observation) (ingest.Position, error) {
	return ingest.Position{}, s.stall(ctx, "log")
}

type slowApplied struct{ slow }

func (s slowApplied) Wait(ctx context.Context, _ string, _ ingest.Position) (acuity.Change, error) {
	return acuity.Change{}, s.stall(ctx, "applied")
}

type slowView struct{ slow }

func (s slowView) Wait(ctx context.Context, _ string, _ ingest.Position) bool {
	return s.stall(ctx, "view") == nil
}

// TestHowLongASenderWaits: a sender waits up to 5 s for the log, and up to 2 s for the processor and the view. The
// answer is "applied" only if reads already show the effect.
func TestHowLongASenderWaits(t *testing.T) {
	for part, test := range map[string]struct {
		wait    time.Duration
		status  int
		applied bool
		counted ingest.Progress
	}{
		"nothing": {0, http.StatusOK, true, ingest.ProgressApplied},
		"log":     {5 * time.Second, http.StatusServiceUnavailable, false, ""},
		"applied": {2 * time.Second, http.StatusOK, false, ingest.ProgressVerdict},
		"view":    {2 * time.Second, http.StatusOK, false, ingest.ProgressView},
	} {
		t.Run(part, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				register := access.NewRegister(time.Now)
				key, secret := access.Mint(access.Key{Hospital: "stmary", Scopes: access.Scopes()}, time.Now())
				register.SetKey(key)
				token = secret
				s := slow{part}
				var counted ingest.Progress
				d := &fixture{Handler: mounted(ingest.Config{
					Shell: &httpapi.Shell{Now: time.Now, Lookup: register.Lookup, Log: slog.New(slog.DiscardHandler)},
					Log:   s, Applied: slowApplied{s}, View: slowView{s}, Zone: register.Zone,
					Answered: func(p ingest.Progress) { counted += p },
				})}
				start := time.Now()
				a := d.post(t, "staffing", `{"nursesOnDuty":1}`)
				if took := time.Since(start); took != test.wait || a.status != test.status || a.Data.Applied != test.applied || counted != test.counted {
					t.Errorf("%v, %d %s, counted as %q", took, a.status, a.raw, counted)
				}
			})
		})
	}
}
