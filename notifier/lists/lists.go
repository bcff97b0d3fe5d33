// Package lists writes the state of the notifier to the view, from which the read API serves it.
package lists

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"

	"svc/internal/outbound"
	"svc/internal/view"
	"svc/notifier"
	"svc/schemas/ledger"
)

// Writer writes the lists of deliveries, commands and alert runs.
type Writer struct {
	lists *view.Deliveries
	log   *slog.Logger
}

// New returns a writer for the lists in the view.
func New(lists *view.Deliveries, log *slog.Logger) Writer { return Writer{lists, log} }

// Delivery writes a delivery, without the text of an e-mail or SMS.
func (s Writer) Delivery(e *outbound.Entry) {
	shown := *e
	shown.Sealed = nil
	value, err := ledger.DeliveryCodec.Encode(nil, &shown)
	if err != nil {
		s.log.Error("delivery not listed", "error", err)
		return
	}
	d := &e.Delivery
	s.lists.Put(view.Delivery{
		Hospital: d.Hospital, Endpoint: d.EndpointID, ID: d.ID, OccurredAt: d.OccurredAt,
		Final: d.State != outbound.Pending, Term: e.Term, Value: value,
	})
}

// Health writes the health of an endpoint.
func (s Writer) Health(hospital, endpoint string, h outbound.Health) {
	s.note(h, func(value []byte) { s.lists.PutHealth(hospital, endpoint, value) })
}

// Progress writes the progress of a command.
func (s Writer) Progress(p outbound.Progress) {
	s.note(p, func(value []byte) { s.lists.PutCommand(p.Hospital, p.ID, value) })
}

// AlertRun writes an alert run.
func (s Writer) AlertRun(e outbound.AlertRun) {
	s.note(e, func(value []byte) { s.lists.PutEpisode(e.Hospital, e.ID, e.ClosedAt, value) })
}

// Link writes the target of an alert's acknowledgment link.
func (s Writer) Link(token string, l outbound.AckLink) {
	s.note(l, func(value []byte) { s.lists.PutLink(token, value) })
}

// Written waits until all entries are in Redis or ctx ends. It is called before an alert is sent, so that the page
// behind the acknowledgment link can find the alert run.
func (s Writer) Written(ctx context.Context) { s.lists.Written(ctx) }

func (s Writer) note(v any, put func([]byte)) {
	value, err := json.Marshal(v)
	if err != nil {
		s.log.Error("note not listed", "error", err)
		return
	}
	put(value)
}

// relistEvery is the interval at which the lists are checked.
const relistEvery = time.Second

// Relist runs until ctx ends. It rewrites the lists of the owned partitions whenever Redis has lost some of them. It
// uses marks to record which lists are complete in Redis.
func (s Writer) Relist(ctx context.Context, n *notifier.Notifier, marks *view.Lists) error {
	for {
		owned := slices.Collect(maps.Keys(n.Positions()))
		listed, err := marks.Listed(ctx, owned)
		for i := 0; err == nil && i < len(listed); i++ {
			if listed[i] && !s.lists.Lacks(owned[i]) {
				continue
			}
			if err = n.RefillLists(ctx, owned[i], s.lists.Written); err == nil {
				s.lists.Written(ctx) // the lists must be in Redis before they are marked as complete
				if err = marks.SetListed(ctx, owned[i]); err == nil {
					s.lists.Complete(owned[i])
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.DebugContext(ctx, "lists not reported yet", "error", err)
		}
		wait, stop := context.WithTimeout(ctx, relistEvery)
		<-wait.Done()
		stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// pulseEvery is the interval at which a notifier publishes its partitions.
const pulseEvery = time.Second

// Log returns the end offsets of the given partitions of the verdicts topic.
type Log func(ctx context.Context, partitions []int32) (map[int32]int64, error)

// Pulse publishes the partitions of this process every second: for each partition of the verdicts topic, the offset
// up to which the lists are complete, and the end offset. The loop of the notifier provides the first offset, so a
// process whose loop hangs publishes nothing. A value from the channel took means that a partition has been assigned;
// Pulse then publishes immediately.
func (s Writer) Pulse(ctx context.Context, n *notifier.Notifier, ends Log, took <-chan struct{}, now func() time.Time) error {
	every := time.NewTicker(pulseEvery) //nolint:forbidigo // paces the loop; no decision depends on it
	defer every.Stop()
	for {
		if owned := slices.Collect(maps.Keys(n.Positions())); len(owned) > 0 {
			asked := now()
			within, cancel := context.WithTimeout(ctx, pulseEvery)
			end, err := ends(within, owned)
			cancel()
			if err != nil && ctx.Err() == nil {
				s.log.DebugContext(ctx, "end offsets of the verdicts not read", "error", err)
			}
			said := map[int32]view.ListPulse{}
			for partition, mark := range n.Positions() {
				at, known := end[partition]
				if !known {
					at = -1
				}
				said[partition] = view.ListPulse{Reached: mark.Offset, End: at}
			}
			s.lists.Pulse(asked, said)
		}
		select {
		case <-every.C:
		case <-took:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
