package main

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
	"svc/schemas"
)

// listing writes the lists of deliveries for the notifier.
type listing struct {
	lists *view.Deliveries
	log   *slog.Logger
}

// Delivery writes a delivery, without the texts of mail and SMS.
func (s listing) Delivery(e *outbound.Entry) {
	shown := *e
	shown.Sealed = nil
	value, err := schemas.EncodeDelivery(nil, &shown)
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
func (s listing) Health(hospital, endpoint string, h outbound.Health) {
	s.note(h, func(value []byte) { s.lists.PutHealth(hospital, endpoint, value) })
}

// Progress writes the progress of a command.
func (s listing) Progress(p outbound.Progress) {
	s.note(p, func(value []byte) { s.lists.PutCommand(p.Hospital, p.ID, value) })
}

// AlertRun writes an alert run.
func (s listing) AlertRun(e outbound.AlertRun) {
	s.note(e, func(value []byte) { s.lists.PutEpisode(e.Hospital, e.ID, value) })
}

func (s listing) note(v any, put func([]byte)) {
	value, err := json.Marshal(v)
	if err != nil {
		s.log.Error("note not listed", "error", err)
		return
	}
	put(value)
}

// relistEvery is how often the lists are checked.
const relistEvery = time.Second

// relist writes the lists of our partitions again after Redis has lost them.
func relist(ctx context.Context, h *service, n *notifier.Notifier, lists *view.Deliveries) error {
	for {
		owned := slices.Collect(maps.Keys(n.Positions()))
		listed, err := h.redis.Lists().Listed(ctx, owned)
		for i := 0; err == nil && i < len(listed); i++ {
			if listed[i] {
				continue
			}
			if err = n.RefillLists(ctx, owned[i]); err == nil {
				lists.Written(ctx) // the lists must be in Redis before they are marked as listed
				err = h.redis.Lists().SetListed(ctx, owned[i])
			}
		}
		if err != nil && ctx.Err() == nil {
			h.log.DebugContext(ctx, "lists are told later", "error", err)
		}
		if err := pause(ctx, relistEvery); err != nil {
			return err
		}
	}
}

// pulseLists reports each second the partitions of this process, and how far the lists have read
// the log. It is like [projection.Projection.Pulse]. A notifier that hangs reports nothing, because its loop
// returns the positions.
func pulseLists(ctx context.Context, h *service, work member, lists *view.Deliveries) error {
	every := time.NewTicker(pulseEvery)
	defer every.Stop()
	topic := h.config.Topic(schemas.Verdicts())
	for {
		if owned := slices.Collect(maps.Keys(work.Notifier.Positions())); len(owned) > 0 {
			asked := h.now()
			within, cancel := context.WithTimeout(ctx, pulseEvery)
			ends, err := h.cluster.Ends(within, topic, owned)
			cancel()
			if err != nil && ctx.Err() == nil {
				h.log.DebugContext(ctx, "the ends of the verdicts are not known", "error", err)
			}
			said := map[int32]view.ListPulse{}
			for partition, mark := range work.Notifier.Positions() {
				end, known := ends[partition]
				if !known {
					end = -1
				}
				said[partition] = view.ListPulse{Reached: mark.Offset, End: end}
			}
			lists.Pulse(asked, said)
		}
		select {
		case <-every.C:
		case <-work.took:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
