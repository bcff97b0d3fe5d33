package main

import (
	"encoding/json"
	"log/slog"

	"svc/internal/outbound"
	"svc/internal/view"
	"svc/schemas"
)

// listing is the lists of deliveries as the notifier, which writes them, sees them.
type listing struct {
	lists *view.Deliveries
	log   *slog.Logger
}

// Delivery notes a delivery, without what mail and SMS say.
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

// Health notes how an endpoint fares.
func (s listing) Health(hospital, endpoint string, h outbound.Health) {
	s.note(h, func(value []byte) { s.lists.PutHealth(hospital, endpoint, value) })
}

// Progress notes how far a command is.
func (s listing) Progress(p outbound.Progress) {
	s.note(p, func(value []byte) { s.lists.PutCommand(p.Hospital, p.ID, value) })
}

// Episode notes when people were told.
func (s listing) Episode(e outbound.Episode) {
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
