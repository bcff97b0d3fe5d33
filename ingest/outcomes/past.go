package outcomes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/feeds"
	"svc/schemas"
)

// Past counts the observations in the log that earlier processes received. It restores the counts for feeds after
// their store has been lost. Refused requests are not in the log, so neither they nor their notices are counted.
type Past struct {
	now     time.Time
	pending map[ingest.Position]received
	sums    map[time.Time]map[feeds.Feed]*feeds.Sum // by the start of each step
}

// received is an observation from the log.
type received struct {
	sum      *feeds.Sum
	messages int
	at       time.Time
}

// NewPast returns an empty Past. The windows of the feeds end at the given time.
func NewPast(now time.Time) *Past {
	return &Past{now: now, pending: map[ingest.Position]received{}, sums: map[time.Time]map[feeds.Feed]*feeds.Sum{}}
}

// PastWindow is the longest window of a feed. Older observations are added together and stored at the time of the
// latest one. They count in no window, but they restore the time at which a feed last sent data.
const PastWindow = 24 * time.Hour

const pastStep = time.Minute // resolution of the restored counts

// Received counts an observation that the given source sent.
func (p *Past) Received(at ingest.Position, source string, o *acuity.Observation) {
	when, messages := o.ReceivedAt.Time(), 1
	if o.Channel == acuity.ChannelHL7 {
		messages = len(o.Events)
	}
	step := time.Time{}
	if p.now.Sub(when) < PastWindow {
		step = when.Truncate(pastStep)
	}
	if p.sums[step] == nil {
		p.sums[step] = map[feeds.Feed]*feeds.Sum{}
	}
	feed := feeds.Feed{Hospital: o.Hospital, Channel: string(o.Channel), Source: source}
	sum := p.sums[step][feed]
	if sum == nil {
		sum = &feeds.Sum{FirstReceived: when}
		p.sums[step][feed] = sum
	}
	sum.Received += int64(messages)
	if sum.FirstReceived = earlier(sum.FirstReceived, when); !when.Before(sum.LastReceived) {
		sum.LastReceived = when
		if event := ingest.NewestTime(o); event != 0 {
			sum.LastEvent = event.Time()
		}
	}
	p.pending[at] = received{sum, messages, when}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Applied counts the outcome of the observation at a position. A repeated call has no effect. change is the record of
// the outcome in the verdicts topic.
func (p *Past) Applied(at ingest.Position, change []byte) {
	r, known := p.pending[at]
	if delete(p.pending, at); !known {
		return
	}
	c, err := schemas.ChangeCodec.Decode(change)
	if err != nil {
		return // written by a newer release, so counted only as received
	}
	for _, w := range c.Warnings {
		addWarning(&r.sum.Counts, w)
	}
	before := r.sum.Applied
	if addOutcomes(&r.sum.Counts, c, r.messages); r.sum.Applied > before && r.at.After(r.sum.LastApplied) {
		r.sum.LastApplied = r.at
	}
}

// PastStore stores counts for past times.
type PastStore interface {
	// AddFeedsAt adds counts for an instant and returns those that it could not add. The instants increase from call
	// to call.
	AddFeedsAt(ctx context.Context, at time.Time, counts map[feeds.Feed]*feeds.Sum) (left map[feeds.Feed]*feeds.Sum, err error)
}

// Store stores all counts.
func (p *Past) Store(ctx context.Context, store PastStore) error {
	for _, step := range slices.SortedFunc(maps.Keys(p.sums), time.Time.Compare) {
		last := slices.MaxFunc(slices.Collect(maps.Values(p.sums[step])), func(a, b *feeds.Sum) int {
			return cmp.Compare(a.LastReceived.UnixNano(), b.LastReceived.UnixNano())
		})
		if _, err := store.AddFeedsAt(ctx, last.LastReceived, p.sums[step]); err != nil {
			return fmt.Errorf("store the feed counts: %w", err)
		}
	}
	return nil
}
