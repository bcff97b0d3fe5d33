package schemas

import (
	"fmt"

	"svc/internal/outbound"
)

// The kinds of entry of the ledger. A delivery is h/delivery/<endpoint>/<dlv>.
const (
	KindEvent    = "event"
	KindDelivery = "delivery"
	KindQueue    = "endpoint-queue"
	KindPolicy   = "policy"
	KindCommand  = "command"
)

// CommandKey returns the key of a command. The progress of the command has the same key.
func CommandKey(hospital, id string) Key {
	return Key{Hospital: hospital, Kind: KindCommand, ID: id}
}

// EncodeLedger returns the key of an entry of the ledger and appends its record to dst. An entry
// is a pointer to an [outbound.Event], Entry, EndpointQueue, HospitalState or Order.
func EncodeLedger(dst []byte, entry any) (key Key, value []byte, err error) {
	switch e := entry.(type) {
	case *outbound.Event:
		value, err = ledgerEventCodec.Encode(dst, e)
		return Key{e.Hospital, KindEvent, e.ID}, value, err
	case *outbound.Entry:
		value, err = DeliveryCodec.Encode(dst, e)
		return Key{e.Delivery.Hospital, KindDelivery, e.Delivery.EndpointID + "/" + e.Delivery.ID}, value, err
	case *outbound.EndpointQueue:
		value, err = endpointQueueCodec.Encode(dst, e)
		return Key{e.Hospital, KindQueue, e.Endpoint}, value, err
	case *outbound.HospitalState:
		value, err = notifiedUnitCodec.Encode(dst, e)
		return Key{e.Hospital, KindPolicy, "state"}, value, err
	case *outbound.Order:
		value, err = OrderCodec.Encode(dst, e)
		return CommandKey(e.Command.Hospital, e.Command.ID), value, err
	}
	return Key{}, dst, fmt.Errorf("encode ledger: no schema for %T", entry)
}

// DecodeLedger reads an entry of the ledger of any released version, as [EncodeLedger] takes it.
// It returns nil for a tombstone and for records of other kinds. The errors are [ErrMalformed] and
// [UnknownSchemaError].
func DecodeLedger(key, value []byte) (any, error) {
	k, err := ParseKey(key)
	if err != nil || value == nil {
		return nil, nil //nolint:nilerr // a barrier
	}
	switch k.Kind {
	case KindEvent:
		return ledgerEventCodec.Decode(value)
	case KindDelivery:
		return DeliveryCodec.Decode(value)
	case KindQueue:
		return endpointQueueCodec.Decode(value)
	case KindPolicy:
		return notifiedUnitCodec.Decode(value)
	case KindCommand:
		return OrderCodec.Decode(value)
	}
	return nil, nil
}

func ledgerEventFields(c *coder, e *outbound.Event) {
	c.text(&e.ID)
	c.text(&e.Hospital)
	c.text(&e.Event)
	c.long(&e.Version)
	c.long(&e.Source)
	c.int(&e.RoomID)
	c.when(&e.OccurredAt)
	list(c, &e.Only, (*coder).text)
	c.text(&e.Command)
	c.bytes(&e.Body)
	c.long(&e.Term)
}

func deliveryFields(c *coder, e *outbound.Entry) {
	d := &e.Delivery
	c.text(&d.ID)
	c.text(&d.Hospital)
	c.text(&d.EventID)
	c.text(&d.Event)
	word(c, &d.Channel)
	c.text(&d.EndpointID)
	word(c, &d.State)
	c.text(&d.Reason)
	c.when(&d.OccurredAt)
	c.when(&d.NextAttemptAt)
	list(c, &d.Attempts, attemptFields)
	c.long(&e.Position)
	c.text(&e.Command)
	c.when(&e.Expires)
	c.bytes(&e.Sealed)
	c.long(&e.Term)
}

func endpointQueueFields(c *coder, l *outbound.EndpointQueue) {
	c.text(&l.Hospital)
	c.text(&l.Endpoint)
	c.long(&l.Cursor)
	c.when(&l.NextAt)
	c.when(&l.FailingSince)
	c.number(&l.Failures)
	c.text(&l.Disabled)
	c.long(&l.Version)
	c.number(&l.Noticed)
	c.long(&l.Term)
}

func notifiedUnitFields(c *coder, u *outbound.HospitalState) {
	c.text(&u.Hospital)
	c.long(&u.Version)
	c.bytes(&u.Policy)
	c.long(&u.Term)
}

// orderFields goes through an order. A role that gives a command writes it without progress,
// position and term; the notifier adds them.
func orderFields(c *coder, o *outbound.Order) {
	cmd, p := &o.Command, &o.Progress
	c.text(&cmd.ID)
	c.text(&cmd.Hospital)
	word(c, &cmd.Verb)
	c.when(&cmd.At)
	c.text(&cmd.By)
	c.text(&cmd.Endpoint)
	c.text(&cmd.Delivery)
	c.text(&cmd.EventID)
	c.text(&cmd.Command)
	c.text(&cmd.Episode)
	c.text(&cmd.Event)
	word(c, &cmd.Channel)
	c.when(&cmd.Since)
	c.when(&cmd.Until)
	list(c, &cmd.Events, (*coder).text)
	word(c, &cmd.Only)
	word(c, &cmd.Receipt)
	c.bool(&cmd.DryRun)
	c.text(&p.ID)
	c.text(&p.Hospital)
	word(c, &p.Verb)
	c.bool(&p.Done)
	c.bool(&p.Stopped)
	c.text(&p.Reason)
	c.number(&p.Count)
	c.number(&p.Delivered)
	c.number(&p.Failed)
	c.text(&p.Delivery)
	c.when(&p.UpdatedAt)
	c.long(&o.Position)
	c.long(&o.Term)
}

func attemptFields(c *coder, a *outbound.Attempt) {
	c.number(&a.N)
	c.when(&a.At)
	c.nanoseconds(&a.Took)
	word(c, &a.Class)
	c.number(&a.Status)
	c.text(&a.Response)
}
