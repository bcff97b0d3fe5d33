package schemas

import (
	"fmt"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
)

// The kinds of entry of the ledger. A delivery is h/delivery/<endpoint>/<dlv>.
const (
	KindEvent    = "event"
	KindDelivery = "delivery"
	KindLane     = "lane"
	KindPolicy   = "policy"
	KindCommand  = "command"
)

// CommandKey returns the key of a command. The progress of the command has the same key.
func CommandKey(hospital, id string) Key {
	return Key{Hospital: hospital, Kind: KindCommand, ID: id}
}

// EncodeLedger returns the key of an entry of the ledger and appends its record
// to dst. An entry is a pointer to [outbound.Event], Entry, Lane, Unit or Order.
func EncodeLedger(dst []byte, entry any) (key Key, value []byte, err error) {
	switch e := entry.(type) {
	case *outbound.Event:
		value, err = EncodeLedgerEvent(dst, e)
		return Key{e.Hospital, KindEvent, e.ID}, value, err
	case *outbound.Entry:
		value, err = EncodeDelivery(dst, e)
		return Key{e.Delivery.Hospital, KindDelivery, e.Delivery.EndpointID + "/" + e.Delivery.ID}, value, err
	case *outbound.EndpointQueue:
		value, err = EncodeLane(dst, e)
		return Key{e.Hospital, KindLane, e.Endpoint}, value, err
	case *outbound.HospitalState:
		value, err = EncodeNotifiedUnit(dst, e)
		return Key{e.Hospital, KindPolicy, "state"}, value, err
	case *outbound.Order:
		value, err = EncodeOrder(dst, e)
		return CommandKey(e.Command.Hospital, e.Command.ID), value, err
	}
	return Key{}, dst, fmt.Errorf("encode ledger: no schema for %T", entry)
}

// DecodeLedger reads an entry of the ledger of any released version, as [EncodeLedger] takes
// it. A record that is not ours, and a tombstone, are nil. The errors are [ErrMalformed] and
// [UnknownSchemaError].
func DecodeLedger(key, value []byte) (any, error) {
	k, err := ParseKey(key)
	if err != nil || value == nil {
		return nil, nil //nolint:nilerr // a barrier
	}
	switch k.Kind {
	case KindEvent:
		return DecodeLedgerEvent(value)
	case KindDelivery:
		return DecodeDelivery(value)
	case KindLane:
		return DecodeLane(value)
	case KindPolicy:
		return DecodeNotifiedUnit(value)
	case KindCommand:
		return DecodeOrder(value)
	}
	return nil, nil
}

// EncodeLedgerEvent appends the record of e to dst, which it returns.
func EncodeLedgerEvent(dst []byte, e *outbound.Event) ([]byte, error) {
	w := begin(dst, &ledgerEventV1)
	w.text(e.ID)
	w.text(e.Hospital)
	w.text(e.Event)
	w.long(e.Version)
	w.long(e.Source)
	w.int(e.RoomID)
	w.when(e.OccurredAt)
	w.texts(e.Only)
	w.text(e.Command)
	w.bytes(e.Body)
	w.long(e.Term)
	return w.end(&ledgerEventV1)
}

// DecodeLedgerEvent reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeLedgerEvent(b []byte) (*outbound.Event, error) {
	return decoded(b, &ledgerEventV1, func(r *reader, e *outbound.Event) {
		e.ID = r.text()
		e.Hospital = r.text()
		e.Event = r.text()
		e.Version = r.long()
		e.Source = r.long()
		e.RoomID = r.int()
		e.OccurredAt = r.when()
		e.Only = r.texts()
		e.Command = r.text()
		e.Body = r.bytes()
		e.Term = r.long()
	})
}

// EncodeDelivery appends the record of e to dst, which it returns.
func EncodeDelivery(dst []byte, e *outbound.Entry) ([]byte, error) {
	w := begin(dst, &deliveryV1)
	d := &e.Delivery
	w.text(d.ID)
	w.text(d.Hospital)
	w.text(d.EventID)
	w.text(d.Event)
	w.text(string(d.Channel))
	w.text(d.EndpointID)
	w.text(string(d.State))
	w.text(d.Reason)
	w.when(d.OccurredAt)
	w.when(d.NextAttemptAt)
	w.items(len(d.Attempts))
	for i := range d.Attempts {
		a := &d.Attempts[i]
		w.number(a.N)
		w.when(a.At)
		w.long(int64(a.Took))
		w.text(string(a.Class))
		w.number(a.Status)
		w.text(a.Response)
	}
	w.done()
	w.long(e.Position)
	w.text(e.Command)
	w.when(e.Expires)
	w.bytes(e.Sealed)
	w.long(e.Term)
	return w.end(&deliveryV1)
}

// DecodeDelivery reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeDelivery(b []byte) (*outbound.Entry, error) {
	return decoded(b, &deliveryV1, func(r *reader, e *outbound.Entry) {
		d := &e.Delivery
		d.ID = r.text()
		d.Hospital = r.text()
		d.EventID = r.text()
		d.Event = r.text()
		d.Channel = outbound.Channel(r.text())
		d.EndpointID = r.text()
		d.State = outbound.State(r.text())
		d.Reason = r.text()
		d.OccurredAt = r.when()
		d.NextAttemptAt = r.when()
		for l := r.items(); l.next(r); {
			d.Attempts = extend(d.Attempts, l)
			a := &d.Attempts[len(d.Attempts)-1]
			a.N = int(r.int())
			a.At = r.when()
			a.Took = time.Duration(r.long())
			a.Class = outbound.Class(r.text())
			a.Status = int(r.int())
			a.Response = r.text()
		}
		e.Position = r.long()
		e.Command = r.text()
		e.Expires = r.when()
		e.Sealed = r.bytes()
		e.Term = r.long()
	})
}

// EncodeLane appends the record of l to dst, which it returns.
func EncodeLane(dst []byte, l *outbound.EndpointQueue) ([]byte, error) {
	w := begin(dst, &laneV1)
	w.text(l.Hospital)
	w.text(l.Endpoint)
	w.long(l.Cursor)
	w.when(l.NextAt)
	w.when(l.FailingSince)
	w.number(l.Failures)
	w.text(l.Disabled)
	w.long(l.Version)
	w.number(l.Noticed)
	w.long(l.Term)
	return w.end(&laneV1)
}

// DecodeLane reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeLane(b []byte) (*outbound.EndpointQueue, error) {
	return decoded(b, &laneV1, func(r *reader, l *outbound.EndpointQueue) {
		l.Hospital = r.text()
		l.Endpoint = r.text()
		l.Cursor = r.long()
		l.NextAt = r.when()
		l.FailingSince = r.when()
		l.Failures = int(r.int())
		l.Disabled = r.text()
		l.Version = r.long()
		l.Noticed = int(r.int())
		l.Term = r.long()
	})
}

// EncodeNotifiedUnit appends the record of u to dst, which it returns.
func EncodeNotifiedUnit(dst []byte, u *outbound.HospitalState) ([]byte, error) {
	w := begin(dst, &notifiedUnitV1)
	w.text(u.Hospital)
	w.long(u.Version)
	w.bytes(u.Policy)
	w.long(u.Term)
	return w.end(&notifiedUnitV1)
}

// DecodeNotifiedUnit reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeNotifiedUnit(b []byte) (*outbound.HospitalState, error) {
	return decoded(b, &notifiedUnitV1, func(r *reader, u *outbound.HospitalState) {
		u.Hospital = r.text()
		u.Version = r.long()
		u.Policy = r.bytes()
		u.Term = r.long()
	})
}

// EncodeOrder appends the record of o to dst, which it returns. A role that gives a command
// writes it without progress, position and term; the notifier adds them.
func EncodeOrder(dst []byte, o *outbound.Order) ([]byte, error) {
	w := begin(dst, &orderV1)
	c, p := &o.Command, &o.Progress
	w.text(c.ID)
	w.text(c.Hospital)
	w.text(string(c.Verb))
	w.when(c.At)
	w.text(c.By)
	w.text(c.Endpoint)
	w.text(c.Delivery)
	w.text(c.EventID)
	w.text(c.Command)
	w.text(c.Episode)
	w.text(c.Event)
	w.text(string(c.Channel))
	w.when(c.Since)
	w.when(c.Until)
	w.texts(c.Events)
	w.text(string(c.Only))
	w.text(string(c.Receipt))
	w.text(p.ID)
	w.text(p.Hospital)
	w.text(string(p.Verb))
	w.bool(p.Done)
	w.bool(p.Stopped)
	w.text(p.Reason)
	w.number(p.Count)
	w.number(p.Delivered)
	w.number(p.Failed)
	w.text(p.Delivery)
	w.when(p.UpdatedAt)
	w.long(o.Position)
	w.long(o.Term)
	return w.end(&orderV1)
}

// DecodeOrder reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeOrder(b []byte) (*outbound.Order, error) {
	return decoded(b, &orderV1, func(r *reader, o *outbound.Order) {
		c, p := &o.Command, &o.Progress
		c.ID = r.text()
		c.Hospital = r.text()
		c.Verb = outbound.Verb(r.text())
		c.At = r.when()
		c.By = r.text()
		c.Endpoint = r.text()
		c.Delivery = r.text()
		c.EventID = r.text()
		c.Command = r.text()
		c.Episode = r.text()
		c.Event = r.text()
		c.Channel = outbound.Channel(r.text())
		c.Since = r.when()
		c.Until = r.when()
		c.Events = r.texts()
		c.Only = outbound.Selection(r.text())
		c.Receipt = outbound.State(r.text())
		p.ID = r.text()
		p.Hospital = r.text()
		p.Verb = outbound.Verb(r.text())
		p.Done = r.bool()
		p.Stopped = r.bool()
		p.Reason = r.text()
		p.Count = int(r.int())
		p.Delivered = int(r.int())
		p.Failed = int(r.int())
		p.Delivery = r.text()
		p.UpdatedAt = r.when()
		o.Position = r.long()
		o.Term = r.long()
	})
}

// decoded reads one record of schema s.
func decoded[T any](b []byte, s *Schema, read func(*reader, *T)) (*T, error) {
	r, err := open(b, s)
	if err != nil {
		return nil, err
	}
	v := new(T)
	read(&r, v)
	if err := r.close(s); err != nil {
		return nil, err
	}
	return v, nil
}

func (w *writer) when(t time.Time) { w.at(acuity.At(t)) }

func (r *reader) when() time.Time { return r.at().Time() }

// number writes an int, which the wire holds in 32 bits.
func (w *writer) number(n int) {
	if int(int32(n)) != n { //nolint:gosec // that is what is checked
		w.refuse("number out of range")
		return
	}
	w.int(int32(n)) //nolint:gosec // checked
}

// bytes writes binary data.
func (w *writer) bytes(b []byte) {
	if len(b) > maxText {
		w.refuse("bytes too long")
		return
	}
	w.long(int64(len(b)))
	w.fixed(b)
}

// bytes reads a copy of binary data; no bytes are nil.
func (r *reader) bytes() []byte {
	from, to := r.span()
	if from == to {
		return nil
	}
	return append([]byte(nil), r.buf[from:to]...)
}
