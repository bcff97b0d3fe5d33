package main

import (
	"context"
	"maps"
	"sync"
	"time"

	"svc/internal/httpapi/limit"
	"svc/internal/view"
)

// limits limits the rates of keys, and notes when keys were used.
func (h *service) limits() {
	limits := limit.New(h.redis, h.now)
	h.shell.Limits = limits
	h.Run("limits", limits.Run)
	h.metrics.Counter("svc_rate_limited_requests_total", "Requests refused, or messages made to wait, because their key had sent too many.", limits.Limited)
	h.metrics.Gauge("svc_rate_limited_keys", "Keys that were refused at least once lately.", limits.Clients)

	strangers := limit.NewStrangers(limit.Rate{PerSecond: float64(h.config.StrangersRate), Burst: strangersBurst * h.config.StrangersRate}, h.now)
	h.shell.Strangers = strangers
	h.metrics.Counter("svc_unauthorized_limited_total", "Requests without a valid key that were too many from their address.", strangers.Limited)

	used := &lastUse{redis: h.redis, now: h.now, pending: map[string]time.Time{}, written: map[string]time.Time{}}
	h.shell.Used = used.note
	h.Run("last use", used.run)
}

// shares limits each hospital to its share of the processors.
func (h *service) shares() *limit.Share {
	share := limit.NewShare(h.redis, h.now)
	for _, reason := range limit.Reasons() {
		h.metrics.Labelled("svc_ingest_beyond_share_total", "Requests and messages refused, or not taken, because their hospital was beyond its share of the processors, by reason.",
			"reason", reason.String(), func() int64 { return share.Refused(reason) })
	}
	return share
}

// strangersBurst is the burst of requests without a key, in seconds of their rate.
const strangersBurst = 30

// lastUse notes in Redis when keys were used, each at most once a minute. It is best effort: a
// note that cannot be written is lost.
type lastUse struct {
	redis *view.View
	now   func() time.Time

	mu      sync.Mutex
	pending map[string]time.Time
	written map[string]time.Time
}

const (
	noteEvery  = time.Minute
	writeEvery = 5 * time.Second
)

func (u *lastUse) note(id string) {
	now := u.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Sub(u.written[id]) >= noteEvery {
		u.pending[id] = now
	}
}

func (u *lastUse) run(ctx context.Context) error {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		u.mu.Lock()
		due := u.pending
		u.pending = map[string]time.Time{}
		maps.Copy(u.written, due)
		u.mu.Unlock()
		u.redis.Use(ctx, due) //nolint:errcheck // best effort
	}
}
