package main

import (
	"context"
	"sync"
	"time"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/ingest"
	"svc/internal/feeds"
	"svc/internal/stream"
	"svc/schemas"
)

// feedCounter counts the observations that this process ingests, and their outcomes. The counts
// of the last second are lost if the process dies.
type feedCounter struct {
	tally   feeds.Counter
	applied *stream.Applied[[]byte]
	now     func() time.Time

	mu      sync.Mutex
	pending map[stream.Position]kept // in the log, not applied yet
	events  int                      // of pending observations with places
}

// kept is an observation of this process that is in the log.
type kept struct {
	feed     feeds.Feed
	messages int
	request  string
	places   *ingest.Places
}

// Bounds of the pending observations, which grow while the processor is away. Observations beyond
// the first bound are counted as received only; events beyond the second have no notices.
const (
	pendingAtMost = 100_000
	eventsAtMost  = 200_000
)

// took implements [ingest.Config.Took].
func (n *feedCounter) took(in ingest.Intake) {
	feed := feeds.Feed{Hospital: in.Hospital, Channel: string(in.Channel), Source: in.Source}
	at := in.At.Time()
	sum := &feeds.Sum{
		Counts: feeds.Counts{
			Received: int64(in.Received), Ignored: int64(in.Ignored), Rejected: int64(in.Rejected), Warnings: int64(in.Warnings),
		},
		FirstReceived: at, LastReceived: at,
	}
	for _, notice := range in.Notices {
		sum.Notices = append(sum.Notices, noticed(at, in.Request, notice))
	}
	if in.Event != 0 {
		sum.LastEvent = in.Event.Time()
	}
	n.tally.Add(feed, sum)
	if in.Position == nil {
		return
	}
	position := stream.Position(*in.Position)
	n.mu.Lock()
	if len(n.pending) < pendingAtMost {
		k := kept{feed: feed, messages: in.Received, request: in.Request}
		if in.Places != nil && n.events < eventsAtMost {
			k.places = in.Places
			n.events += in.Places.Events()
		}
		n.pending[position] = k
	}
	n.mu.Unlock()
	// The change may have arrived before the acknowledgement of its own input.
	if value, known := n.applied.Known(position); known {
		n.countOutcome(position, value)
	}
}

// noticed returns a notice as it is stored.
func noticed(at time.Time, request string, n ingest.Notice) feeds.Notice {
	return feeds.Notice{
		At: at, Refused: n.Refused, ControlID: n.ControlID, RequestID: request, Code: n.Code, Path: n.Path,
	}.Cut()
}

// see handles one record of the tail of the verdicts.
func (n *feedCounter) see(r stream.Record) {
	n.applied.See(r)
	if value, input, ok := answered(r); ok {
		n.countOutcome(stream.Position{Partition: r.Partition, Offset: input}, value)
	}
}

// countOutcome counts the outcome of an observation, once.
func (n *feedCounter) countOutcome(at stream.Position, change []byte) {
	n.mu.Lock()
	k, ours := n.pending[at]
	delete(n.pending, at)
	if k.places != nil {
		n.events -= k.places.Events()
	}
	n.mu.Unlock()
	if !ours {
		return
	}
	c, err := schemas.DecodeChange(change)
	if err != nil {
		return // a newer release wrote it: counted as received only
	}
	sum := &feeds.Sum{Counts: feeds.Counts{Warnings: int64(len(c.Warnings))}}
	if k.messages > 1 && len(c.Items) == k.messages {
		for i := range c.Items {
			addOutcome(&sum.Counts, c.Items[i].Outcome, 1)
		}
	} else {
		outcome := c.Outcome
		if _, over := hospital.Exceeded(c.Reason); over {
			outcome = acuity.Rejected
		}
		addOutcome(&sum.Counts, outcome, int64(k.messages))
	}
	if sum.Applied > 0 {
		sum.LastApplied = n.now()
	}
	sum.Notices = k.notices(n.now(), c)
	n.tally.Add(k.feed, sum)
}

// notices returns the notices of applying an observation.
func (k *kept) notices(at time.Time, c *acuity.Change) (all []feeds.Notice) {
	if k.places == nil {
		return nil
	}
	for _, w := range c.Warnings {
		if n, fresh := k.places.Notice(w); fresh {
			all = append(all, noticed(at, k.request, n))
		}
	}
	for i := range c.Items {
		if c.Items[i].Outcome == acuity.Rejected {
			all = append(all, noticed(at, k.request, k.places.Refusal(i, c.Items[i].Reason)))
		}
	}
	if c.Outcome == acuity.Rejected && len(all) == 0 {
		all = append(all, noticed(at, k.request, ingest.Notice{Refused: true, ControlID: k.places.ControlID(), Code: c.Reason}))
	}
	return all
}

func addOutcome(c *feeds.Counts, outcome acuity.Outcome, n int64) {
	switch outcome {
	case acuity.Applied, acuity.Time:
		c.Applied += n
	case acuity.Duplicate:
		c.Duplicates += n
	case acuity.Ignored:
		c.Ignored += n
	case acuity.Rejected:
		c.Rejected += n
	}
}

// countsEvery is how often the counts go to Redis.
const countsEvery = time.Second

// keep writes the counts to Redis once a second, best effort. Counts that Redis does not accept
// are written the next time.
func (n *feedCounter) keep(h *service) func(context.Context) error {
	hand := func(ctx context.Context) {
		left, err := h.redis.AddFeeds(ctx, n.tally.Drain())
		if err != nil {
			h.log.DebugContext(ctx, "counts of feeds not kept", "error", err)
		}
		for feed, sum := range left {
			n.tally.Add(feed, sum)
		}
	}
	return func(ctx context.Context) error {
		for pause(ctx, countsEvery) == nil {
			hand(ctx)
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		hand(last)
		return ctx.Err()
	}
}
