package main

import (
	"context"

	"svc/internal/admin/keys"
	"svc/internal/httpapi/limit"
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

	used := keys.NewLastUse(h.now)
	h.shell.Used = used.Note
	h.Run("last use", func(ctx context.Context) error { return used.Run(ctx, h.redis.Use) })
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
