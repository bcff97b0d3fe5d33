package tables

import (
	"time"

	"svc/acuity"
	"svc/internal/outbound/sending"
	"svc/internal/stream"
	"svc/schemas"
	"svc/schemas/ledger"
)

// DeliveryRow is the state of a delivery when the notifier recorded it. Each record is a row, and the last row of a
// delivery is current. An endpoint's response is not exported, because its content is arbitrary.
type DeliveryRow struct {
	Hospital      string       `parquet:"hospital,dict" json:"hospital" about:"Hospital ID"`
	Delivery      string       `parquet:"delivery" json:"delivery" about:"Delivery ID"`
	Partition     int32        `parquet:"partition" json:"partition" about:"Topic partition; with offset, the position of the record"`
	Offset        int64        `parquet:"offset,delta" json:"offset" about:"Offset within the partition"`
	At            Moment       `parquet:"at,timestamp(millisecond)" json:"at" about:"Record timestamp"`
	Event         string       `parquet:"event,dict" json:"event" about:"Event type, such as surge.level_changed"`
	EventID       string       `parquet:"event_id" json:"event_id" about:"Event ID"`
	Channel       string       `parquet:"channel,dict" json:"channel" about:"webhook, email or sms"`
	Endpoint      string       `parquet:"endpoint,dict" json:"endpoint" about:"ID of the webhook or recipient"`
	State         string       `parquet:"state,dict" json:"state" about:"pending, delivered, rejected, expired, poison, cancelled, failed, suppressed or superseded"`
	Reason        *string      `parquet:"reason,dict,optional" json:"reason,omitempty" about:"Reason code if the state is not delivered"`
	OccurredAt    *Moment      `parquet:"occurred_at,timestamp(millisecond),optional" json:"occurred_at,omitzero" about:"Time of the event"`
	NextAttemptAt *Moment      `parquet:"next_attempt_at,timestamp(millisecond),optional" json:"next_attempt_at,omitzero" about:"Time of the next attempt; null if none is scheduled"`
	Attempts      []AttemptRow `parquet:"attempts,list" json:"attempts,omitempty" about:"The most recent attempts, oldest first"`
}

// AttemptRow is one attempt at a delivery.
type AttemptRow struct {
	N      int32  `parquet:"n" json:"n" about:"Attempt number, starting at 1"`
	At     Moment `parquet:"at,timestamp(millisecond)" json:"at" about:"Start of the attempt"`
	TookMS int64  `parquet:"took_ms" json:"took_ms" about:"Duration in milliseconds"`
	Class  string `parquet:"class,dict" json:"class" about:"Result: ok, status, throttled, gone, redirect, dns, refused, reset, timeout, tls, blocked, sealed or interrupted"`
	Status int32  `parquet:"status" json:"status" about:"HTTP or SMTP status; 0 if there was no response"`
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

func attemptRow(a *sending.Attempt) AttemptRow {
	return AttemptRow{
		N: int32(a.N), At: momentOf(a.At), TookMS: a.Took.Milliseconds(), //nolint:gosec // a small number of attempts
		Class: string(a.Class), Status: int32(a.Status), //nolint:gosec // three digits
	}
}

func momentOf(t time.Time) Moment { return Moment(acuity.At(t)) }

// Deliveries returns the table of the deliveries on the notifier's topic. Two kinds of records have no row: records
// that are internal to the notifier, and tombstones, which mean that a delivery was deleted.
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
