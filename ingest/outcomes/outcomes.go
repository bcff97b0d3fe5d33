// Package outcomes counts the results of the observations that a process received.
package outcomes

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/hospital"
	"svc/ingest"
	"svc/internal/feeds"
	"svc/internal/httpapi/rules"
	"svc/schemas"
)

// Counter counts the observations that this process ingests, and their outcomes. The counts of the
// last second are lost if the process dies.
type Counter struct {
	known  func(ingest.Position) ([]byte, bool)
	now    func() time.Time
	counts feeds.Counter

	mu      sync.Mutex
	pending map[ingest.Position]kept // in the log, not applied yet
	events  int                      // number of events in those pending observations whose places are kept
}

// New returns an empty counter. known returns the change of an observation if that change is still cached.
func New(known func(ingest.Position) (change []byte, seen bool), now func() time.Time) *Counter {
	return &Counter{known: known, now: now, pending: map[ingest.Position]kept{}}
}

// kept is an observation of this process that is in the log.
type kept struct {
	feed     feeds.Feed
	messages int
	warnings int // number of warnings from parsing the observation; they are already counted
	request  string
	places   *ingest.Places
}

// Limits of the pending observations, whose number grows while the processor is unavailable. While there are
// pendingAtMost of them, a new observation is counted only as received. While they contain eventsAtMost events, a new
// observation gets no notices from applying.
const (
	pendingAtMost = 100_000
	eventsAtMost  = 200_000
)

// Received implements [ingest.Config.Received].
func (n *Counter) Received(in ingest.Intake) {
	feed := feeds.Feed{Hospital: in.Hospital, Channel: string(in.Channel), Source: in.Source}
	at := in.At.Time()
	sum := &feeds.Sum{
		Counts: feeds.Counts{
			Received: int64(in.Received), Ignored: int64(in.Ignored), Rejected: int64(in.Rejected), Warnings: int64(in.Warnings),
			Unused: int64(in.Unused),
		},
		FirstReceived: at, LastReceived: at,
	}
	for _, notice := range in.Notices {
		sum.Notices = append(sum.Notices, noticed(at, in.Request, notice))
	}
	if in.Event != 0 {
		sum.LastEvent = in.Event.Time()
	}
	n.counts.Add(feed, sum)
	if in.Position == nil {
		return
	}
	position := *in.Position
	n.mu.Lock()
	if len(n.pending) < pendingAtMost {
		k := kept{feed: feed, messages: in.Received, warnings: in.Warnings, request: in.Request}
		if in.Places != nil && n.events < eventsAtMost {
			k.places = in.Places
			n.events += in.Places.Events()
		}
		n.pending[position] = k
	}
	n.mu.Unlock()
	// The change may have arrived before Kafka acknowledged the observation that caused it.
	if value, known := n.known(position); known {
		n.Applied(position, value)
	}
}

// noticed returns a notice in its stored form.
func noticed(at time.Time, request string, n ingest.Notice) feeds.Notice {
	return feeds.Notice{
		At: at, Refused: n.Refused, Routine: !n.Refused && rules.IsRoutine(n.Code), Event: n.Event,
		ControlID: n.ControlID, RequestID: request, Code: n.Code, Path: n.Path,
	}.Cut()
}

// Applied counts the outcome of the observation at a position. A repeated call has no effect. change is the record of
// the outcome in the verdicts topic.
func (n *Counter) Applied(at ingest.Position, change []byte) {
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
	c, err := schemas.ChangeCodec.Decode(change)
	if err != nil {
		return // written by a newer release, so counted only as received
	}
	sum := &feeds.Sum{}
	k.addWarnings(&sum.Counts, c)
	addOutcomes(&sum.Counts, c, k.messages)
	if sum.Applied > 0 {
		sum.LastApplied = n.now()
	}
	sum.Notices = k.notices(n.now(), c)
	n.counts.Add(k.feed, sum)
}

// notices returns the notices from applying an observation.
func (k *kept) notices(at time.Time, c *acuity.Change) (all []feeds.Notice) {
	if k.places == nil {
		return nil
	}
	for _, w := range c.Warnings {
		if n, fresh := k.places.Notice(w); fresh {
			about, known := rules.ExplainWarning(w.Code)
			n.Refused = known && about.Effect == rules.Refused // a signal or a census row beyond a limit of the hospital
			all = append(all, noticed(at, k.request, n))
		}
	}
	for i := range c.Items {
		if c.Items[i].Outcome == acuity.Rejected {
			all = append(all, noticed(at, k.request, k.places.Refusal(i, c.Items[i].Reason)))
		}
	}
	if outcomeOf(c) == acuity.Rejected && !slices.ContainsFunc(all, func(n feeds.Notice) bool { return n.Refused }) {
		all = append(all, noticed(at, k.request, ingest.Notice{Refused: true, ControlID: k.places.ControlID(), Code: c.Reason}))
	}
	return all
}

// addWarnings counts the warnings from applying an observation. The change also contains the warnings from parsing
// the observation, which were counted when the observation was accepted and are not counted again.
func (k *kept) addWarnings(sum *feeds.Counts, c *acuity.Change) {
	if k.places == nil {
		sum.Warnings += int64(max(0, len(c.Warnings)-k.warnings))
		return
	}
	for _, w := range c.Warnings {
		if _, fresh := k.places.Notice(w); !fresh {
			continue
		}
		addWarning(sum, w)
	}
}

func addWarning(sum *feeds.Counts, w acuity.Warning) {
	sum.Warnings++
	if about, ok := rules.ExplainWarning(w.Code); ok && about.Effect == rules.Unused {
		sum.Unused++
	}
	if w.Code == "outside_unit" {
		sum.Outside++
	}
}

// addOutcomes counts the messages of an observation by their outcomes in its change.
func addOutcomes(sum *feeds.Counts, c *acuity.Change, messages int) {
	if messages > 1 && len(c.Items) == messages {
		for i := range c.Items {
			addOutcome(sum, c.Items[i].Outcome, c.Items[i].Reason, 1)
		}
		return
	}
	addOutcome(sum, outcomeOf(c), c.Reason, int64(messages))
}

// outcomeOf returns the outcome of a whole observation for the counts. If the observation exceeds a limit of the
// hospital, or has the Idempotency-Key of a request with a different body, it counts as rejected, because its facts
// are not used.
func outcomeOf(c *acuity.Change) acuity.Outcome {
	if _, over := hospital.Exceeded(c.Reason); over || c.Reason == facts.ReasonReused {
		return acuity.Rejected
	}
	return c.Outcome
}

// addOutcome counts n messages by their outcome. reason says why a message was ignored; if the facts in the message
// were already known, the message also counts as unchanged.
func addOutcome(c *feeds.Counts, outcome acuity.Outcome, reason string, n int64) {
	switch outcome {
	case acuity.Applied, acuity.Time:
		c.Applied += n
		c.Changed += n
	case acuity.Duplicate:
		c.Duplicates += n
		c.Unchanged += n
	case acuity.Ignored:
		c.Ignored += n
		if about, ok := rules.ExplainWarning(reason); ok && about.Effect == rules.Known {
			c.Unchanged += n
		}
	case acuity.Rejected:
		c.Rejected += n
	}
}

// countsEvery is the interval at which the counts are stored.
const countsEvery = time.Second

// Store stores the counts of all processes.
type Store interface {
	// AddFeeds adds counts and returns those that it could not add.
	AddFeeds(ctx context.Context, counts map[feeds.Feed]*feeds.Sum) (left map[feeds.Feed]*feeds.Sum, err error)
}

// Run writes the counts to the store once a second, on a best-effort basis. Counts that the store did not accept are
// written the next time.
func (n *Counter) Run(ctx context.Context, store Store, log *slog.Logger) error {
	write := func(ctx context.Context) {
		left, err := store.AddFeeds(ctx, n.counts.Drain())
		if err != nil {
			log.DebugContext(ctx, "feed counters not written", "error", err)
		}
		for feed, sum := range left {
			n.counts.Add(feed, sum)
		}
	}
	for ctx.Err() == nil {
		wait, stop := context.WithTimeout(ctx, countsEvery)
		<-wait.Done()
		stop()
		if ctx.Err() == nil {
			write(ctx)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	write(last)
	return ctx.Err()
}
