package tables

import (
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/stream"
	"svc/schemas"
	"svc/schemas/ledger"
)

// DeliveryRow is the state of a delivery when the notifier recorded it. Each record is a row, and
// the last row counts. The answer of an endpoint is not exported, because it is foreign text.
type DeliveryRow struct {
	Hospital      string       `parquet:"hospital,dict" json:"hospital" about:"id of the hospital"`
	Delivery      string       `parquet:"delivery" json:"delivery" about:"id of the delivery"`
	Partition     int32        `parquet:"partition" json:"partition" about:"of the topic; with offset the position of the record"`
	Offset        int64        `parquet:"offset,delta" json:"offset" about:"in the partition"`
	At            Moment       `parquet:"at,timestamp(millisecond)" json:"at" about:"timestamp of the record"`
	Event         string       `parquet:"event,dict" json:"event" about:"what the delivery is about, such as surge.level_changed"`
	EventID       string       `parquet:"event_id" json:"event_id" about:"id of the event"`
	Channel       string       `parquet:"channel,dict" json:"channel" about:"webhook, email or sms"`
	Endpoint      string       `parquet:"endpoint,dict" json:"endpoint" about:"id of the webhook or recipient"`
	State         string       `parquet:"state,dict" json:"state" about:"pending, delivered, rejected, expired, poison, cancelled, failed, suppressed or superseded"`
	Reason        *string      `parquet:"reason,dict,optional" json:"reason,omitempty" about:"stable code of a state that is not delivered"`
	OccurredAt    *Moment      `parquet:"occurred_at,timestamp(millisecond),optional" json:"occurred_at,omitzero" about:"when the event was"`
	NextAttemptAt *Moment      `parquet:"next_attempt_at,timestamp(millisecond),optional" json:"next_attempt_at,omitzero" about:"null: none"`
	Attempts      []AttemptRow `parquet:"attempts,list" json:"attempts,omitempty" about:"oldest first, the last ones that are kept"`
}

// AttemptRow is one attempt of a delivery.
type AttemptRow struct {
	N      int32  `parquet:"n" json:"n" about:"from 1"`
	At     Moment `parquet:"at,timestamp(millisecond)" json:"at" about:"when it began"`
	TookMS int64  `parquet:"took_ms" json:"took_ms" about:"how long it took"`
	Class  string `parquet:"class,dict" json:"class" about:"how it ended: ok, status, throttled, gone, redirect, dns, refused, reset, timeout, tls, blocked or interrupted"`
	Status int32  `parquet:"status" json:"status" about:"HTTP or SMTP; 0: none came"`
}

func readDelivery(r *stream.Record, row *DeliveryRow) (reason string) {
	e, err := ledger.DeliveryCodec.Decode(r.Value)
	if err != nil {
		return schemas.ReasonOf(err)
	}
	d := &e.Delivery
	*row = DeliveryRow{
		Hospital: d.Hospital, Delivery: d.ID, Partition: r.Partition, Offset: r.Offset, At: momentOf(r.Timestamp),
		Event: d.Event, EventID: d.EventID, Channel: string(d.Channel), Endpoint: d.EndpointID,
		State: string(d.State), Reason: nullable(d.Reason),
		OccurredAt: nullable(momentOf(d.OccurredAt)), NextAttemptAt: nullable(momentOf(d.NextAttemptAt)),
		Attempts: rowsOf(d.Attempts, attemptRow),
	}
	return ""
}

func attemptRow(a *outbound.Attempt) AttemptRow {
	return AttemptRow{
		N: int32(a.N), At: momentOf(a.At), TookMS: a.Took.Milliseconds(), //nolint:gosec // a number of attempts
		Class: string(a.Class), Status: int32(a.Status), //nolint:gosec // three digits
	}
}

func momentOf(t time.Time) Moment { return Moment(acuity.At(t)) }

// Deliveries is the table of the deliveries on the topic. Its other records are internal to the
// notifier. A tombstone is a delivery that was forgotten.
func Deliveries() *Table[DeliveryRow] {
	return &Table[DeliveryRow]{
		Topic: schemas.Deliveries(),
		Read:  readDelivery,
		Hospital: func(r *stream.Record) (string, bool) {
			key, err := schemas.ParseKey(r.Key)
			return key.Hospital, err == nil && key.Kind == ledger.KindDelivery && r.Value != nil
		},
	}
}
