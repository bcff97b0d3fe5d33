// Package ledger defines the records that the notifier keeps, such as events or deliveries.
package ledger

import (
	"fmt"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/schemas"
)

// The kinds of entries in the ledger. The key of a delivery has the form h/delivery/<endpoint>/<delivery>.
const (
	KindEvent    = "event"
	KindDelivery = "delivery"
	KindQueue    = "endpoint-queue"
	KindPolicy   = "policy"
	KindCommand  = "command"
	KindAlertRun = "alert-run" // written when the run has ended
)

// CommandKey returns the key of a command. The command's progress has the same key.
func CommandKey(hospital, id string) schemas.Key {
	return schemas.Key{Hospital: hospital, Kind: KindCommand, ID: id}
}

// The codecs of the ledger entries: events, deliveries, endpoint queues, hospital states, orders and ended alert
// runs. An order is a command with its progress.
var (
	EventCodec     = schemas.NewCodec("ledger-event", eventFields)
	DeliveryCodec  = schemas.NewCodec("delivery", deliveryFields)
	QueueCodec     = schemas.NewCodec("endpoint-queue", queueFields)
	StateCodec     = schemas.NewCodec("notified-unit", stateFields)
	OrderCodec     = schemas.NewCodec("order", orderFields)
	ClosedRunCodec = schemas.NewCodec("alert-run", closedRunFields)
)

// Encode encodes a ledger entry. It returns the key of the entry's record, and dst with the record appended. The
// entry is a pointer to an [outbound.Event], Entry, EndpointQueue, HospitalState, Order or ClosedRun.
func Encode(dst []byte, entry any) (key schemas.Key, value []byte, err error) {
	switch e := entry.(type) {
	case *outbound.Event:
		value, err = EventCodec.Encode(dst, e)
		return schemas.Key{Hospital: e.Hospital, Kind: KindEvent, ID: e.ID}, value, err
	case *outbound.Entry:
		value, err = DeliveryCodec.Encode(dst, e)
		return schemas.Key{Hospital: e.Delivery.Hospital, Kind: KindDelivery, ID: e.Delivery.EndpointID + "/" + e.Delivery.ID}, value, err
	case *outbound.EndpointQueue:
		value, err = QueueCodec.Encode(dst, e)
		return schemas.Key{Hospital: e.Hospital, Kind: KindQueue, ID: e.Endpoint}, value, err
	case *outbound.HospitalState:
		value, err = StateCodec.Encode(dst, e)
		return schemas.Key{Hospital: e.Hospital, Kind: KindPolicy, ID: "state"}, value, err
	case *outbound.Order:
		value, err = OrderCodec.Encode(dst, e)
		return CommandKey(e.Command.Hospital, e.Command.ID), value, err
	case *outbound.ClosedRun:
		value, err = ClosedRunCodec.Encode(dst, e)
		return schemas.Key{Hospital: e.Run.Hospital, Kind: KindAlertRun, ID: e.Run.ID}, value, err
	}
	return schemas.Key{}, dst, fmt.Errorf("encode ledger: no schema for %T", entry)
}

// Decode decodes a ledger entry of any released version. It returns one of the pointer types of [Encode], or nil for
// a tombstone or a record of another kind. The error is or wraps [schemas.ErrMalformed] or a
// [schemas.UnknownSchemaError].
func Decode(key, value []byte) (any, error) {
	k, err := schemas.ParseKey(key)
	if err != nil || value == nil {
		return nil, nil //nolint:nilerr // the record is a barrier or a tombstone
	}
	switch k.Kind {
	case KindEvent:
		return EventCodec.Decode(value)
	case KindDelivery:
		return DeliveryCodec.Decode(value)
	case KindQueue:
		return QueueCodec.Decode(value)
	case KindPolicy:
		return StateCodec.Decode(value)
	case KindCommand:
		return OrderCodec.Decode(value)
	case KindAlertRun:
		return ClosedRunCodec.Decode(value)
	}
	return nil, nil
}

func eventFields(c *schemas.Coder, e *outbound.Event) {
	c.Text(&e.ID)
	c.Text(&e.Hospital)
	c.Text(&e.Event)
	c.Long(&e.Version)
	c.Long(&e.Source)
	c.Int(&e.RoomID)
	c.When(&e.OccurredAt)
	schemas.List(c, &e.Only, (*schemas.Coder).Text)
	c.Text(&e.Command)
	c.Bytes(&e.Body)
	c.Long(&e.Term)
}

func deliveryFields(c *schemas.Coder, e *outbound.Entry) {
	d := &e.Delivery
	c.Text(&d.ID)
	c.Text(&d.Hospital)
	c.Text(&d.EventID)
	c.Text(&d.Event)
	schemas.Word(c, &d.Channel)
	c.Text(&d.EndpointID)
	schemas.Word(c, &d.State)
	c.Text(&d.Reason)
	c.When(&d.OccurredAt)
	c.When(&d.NextAttemptAt)
	schemas.List(c, &d.Attempts, attemptFields)
	c.Long(&e.Position)
	c.Text(&e.Command)
	c.When(&e.Expires)
	c.Bytes(&e.Sealed)
	c.Long(&e.Term)
}

func queueFields(c *schemas.Coder, l *outbound.EndpointQueue) {
	c.Text(&l.Hospital)
	c.Text(&l.Endpoint)
	c.Long(&l.Cursor)
	c.When(&l.NextAt)
	c.When(&l.FailingSince)
	c.Number(&l.Failures)
	c.Text(&l.Disabled)
	c.Long(&l.Version)
	c.Number(&l.Noticed)
	c.Long(&l.Term)
}

func stateFields(c *schemas.Coder, u *outbound.HospitalState) {
	c.Text(&u.Hospital)
	c.Long(&u.Version)
	c.Bytes(&u.Policy)
	c.Long(&u.Term)
}

// orderFields visits the fields of an order. The role that issues a command leaves the progress, position and term of
// the order empty; the notifier sets them.
func orderFields(c *schemas.Coder, o *outbound.Order) {
	cmd, p := &o.Command, &o.Progress
	c.Text(&cmd.ID)
	c.Text(&cmd.Hospital)
	schemas.Word(c, &cmd.Verb)
	c.When(&cmd.At)
	c.Text(&cmd.By)
	c.Text(&cmd.Endpoint)
	c.Text(&cmd.Delivery)
	c.Text(&cmd.EventID)
	c.Text(&cmd.Command)
	c.Text(&cmd.Episode)
	c.Text(&cmd.Event)
	schemas.Word(c, &cmd.Channel)
	c.When(&cmd.Since)
	c.When(&cmd.Until)
	schemas.List(c, &cmd.Events, (*schemas.Coder).Text)
	schemas.Word(c, &cmd.Only)
	schemas.Word(c, &cmd.Receipt)
	c.Bool(&cmd.DryRun)
	c.Text(&p.ID)
	c.Text(&p.Hospital)
	schemas.Word(c, &p.Verb)
	c.Bool(&p.Done)
	c.Bool(&p.Stopped)
	c.Text(&p.Reason)
	c.Number(&p.Count)
	c.Number(&p.Delivered)
	c.Number(&p.Failed)
	c.Text(&p.Delivery)
	c.When(&p.UpdatedAt)
	c.Long(&o.Position)
	c.Long(&o.Term)
}

func closedRunFields(c *schemas.Coder, e *outbound.ClosedRun) {
	r := &e.Run
	c.Text(&r.ID)
	c.Text(&r.Hospital)
	c.Text(&r.Tier)
	c.Text(&r.Level)
	c.When(&r.OpenedAt)
	c.When(&r.ClosedAt)
	c.When(&r.ToldAt)
	c.Text(&r.Reason)
	c.Number(&r.Round)
	c.When(&r.AckBy)
	c.When(&r.AckedAt)
	c.Text(&r.AckedBy)
	c.Text(&r.Alert)
	c.Bool(&r.Unreached)
	c.Long(&e.Term)
}

func attemptFields(c *schemas.Coder, a *sending.Attempt) {
	c.Number(&a.N)
	c.When(&a.At)
	c.Nanoseconds(&a.Took)
	schemas.Word(c, &a.Class)
	c.Number(&a.Status)
	c.Text(&a.Response)
}
