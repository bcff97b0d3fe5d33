package audit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Names of actions in the audit log for refused requests.
const (
	ActRefuseSignIn = "session.refuse" // a sign-in failed
	ActRefuse       = "act.refuse"     // an action or a page was refused; the subject is its route
)

// Unknown is the value of By if the person is unknown. Installation is the value of Hospital if the act concerns no
// known hospital.
const (
	Unknown      = "unknown"
	Installation = "*"
)

// Refusals records refused requests. If one person or key exceeds the limit, further refusals are written only to the
// log of the process, and not to the audit log.
type Refusals struct {
	Record Record
	Now    func() time.Time
	Log    *slog.Logger

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// Limits on the refusals recorded for one person or key in one hospital. No specification prescribes these values.
const (
	refusalsPerSecond = 1
	refusalsAtOnce    = 60
	refusersAtMost    = 10_000 // people and keys whose rate is tracked
	refusalWithin     = time.Second
)

// Add records a refusal. The response waits at most one second for the record, and does not depend on it.
func (f *Refusals) Add(ctx context.Context, act Act) {
	if f == nil {
		return
	}
	act.At = f.Now()
	f.Log.WarnContext(ctx, "refused",
		"action", act.Action, "hospital", act.Hospital, "by", act.By, "subject", act.Subject, "reason", act.Reason)
	if !f.allow(act.Hospital+"\n"+act.By, act.At) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refusalWithin)
	defer cancel()
	if err := f.Record(ctx, act); err != nil {
		f.Log.ErrorContext(ctx, "refusal not recorded", "error", err)
	}
}

func (f *Refusals) allow(who string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.buckets[who]
	if b == nil {
		if f.buckets == nil || len(f.buckets) >= refusersAtMost {
			f.buckets = map[string]*rate.Limiter{}
		}
		b = rate.NewLimiter(refusalsPerSecond, refusalsAtOnce)
		f.buckets[who] = b
	}
	return b.AllowN(now, 1)
}
