package sources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"svc/internal/admin/subscribers"
	"svc/internal/outbound"
	"svc/internal/view"
	"svc/schemas/ledger"
)

// Deliveries provides the notifier's lists to administrators.
type Deliveries struct{ Lists *view.Lists }

// scannedMost is the maximum number of entries that are read for one page if a filter excludes nearly all of them.
const scannedMost = 20_000

// Deliveries implements [subscribers.View].
func (l Deliveries) Deliveries(ctx context.Context, q subscribers.Query) (page subscribers.Page, err error) {
	behind, ok := view.ParseMark(q.Cursor)
	if q.Cursor != "" && !ok {
		return page, subscribers.ErrCursor
	}
	var fault error
	var last view.Mark
	scanned := 0
	err = l.Lists.ScanDeliveries(ctx, q.Hospital, q.Endpoint, q.Since, q.Until, behind, func(m view.Mark, value []byte) bool {
		scanned++
		e, wrong := ledger.DeliveryCodec.Decode(value)
		if wrong != nil {
			fault = fmt.Errorf("decode delivery: %w", wrong)
			return false
		}
		d := &e.Delivery
		wanted := (q.Channel == "" || d.Channel == q.Channel) && (q.State == "" || d.State == q.State) && (q.Event == "" || d.Event == q.Event)
		if full := len(page.Items) == q.Limit; full && wanted || scanned > scannedMost {
			page.Next = last.String()
			return false
		}
		if last = m; wanted {
			page.Items = append(page.Items, *d)
		}
		return true
	})
	return page, errors.Join(convertViewError(err), fault)
}

// Delivery implements [subscribers.View].
func (l Deliveries) Delivery(ctx context.Context, hospital, id string) (outbound.Delivery, bool, error) {
	value, err := l.Lists.Delivery(ctx, hospital, id)
	if value == nil {
		return outbound.Delivery{}, false, convertViewError(err)
	}
	e, fault := ledger.DeliveryCodec.Decode(value)
	if fault != nil {
		return outbound.Delivery{}, false, fmt.Errorf("decode delivery: %w", fault)
	}
	return e.Delivery, true, convertViewError(err)
}

// Health implements [subscribers.View].
func (l Deliveries) Health(ctx context.Context, hospital, endpoint string) (h outbound.Health, ok bool, err error) {
	value, err := l.Lists.Health(ctx, hospital, endpoint)
	ok, err = decodeNote(value, err, &h)
	return h, ok, err
}

// Progress implements [subscribers.View].
func (l Deliveries) Progress(ctx context.Context, hospital, command string) (p outbound.Progress, ok bool, err error) {
	value, err := l.Lists.Command(ctx, hospital, command)
	ok, err = decodeNote(value, err, &p)
	return p, ok, err
}

// Episodes implements [subscribers.View].
func (l Deliveries) Episodes(ctx context.Context, hospital string) ([]outbound.AlertRun, error) {
	values, err := l.Lists.Episodes(ctx, hospital)
	err = convertViewError(err)
	all := make([]outbound.AlertRun, 0, len(values))
	for _, value := range values {
		var e outbound.AlertRun
		if _, fault := decodeNote([]byte(value), nil, &e); fault != nil {
			return nil, fault
		}
		all = append(all, e)
	}
	return all, err
}

// decodeNote decodes a value that the notifier wrote to the view. value and err are the results of reading it; ok is
// false if there is no value. If ok is true, an error means that the value may be outdated.
func decodeNote(value []byte, err error, into any) (ok bool, _ error) {
	if value == nil {
		return false, convertViewError(err)
	}
	if fault := json.Unmarshal(value, into); fault != nil {
		return false, fmt.Errorf("decode note: %w", fault)
	}
	return true, convertViewError(err)
}

// Links resolves the links in alerts.
type Links struct {
	Lists      *view.Lists
	Partitions int32
}

// Link returns the target of the link with the given token, and reports whether there is such a link. If ok is false,
// an error means that the link may exist.
func (l Links) Link(ctx context.Context, token string) (link outbound.AckLink, ok bool, err error) {
	value, err := l.Lists.Link(ctx, token)
	if ok, err = decodeNote(value, err, &link); ok || err != nil {
		return link, ok, err
	}
	// The hospital of a missing link is unknown, so the absence of the link is certain only if the lists of all
	// partitions are complete.
	faults, err := l.Lists.Faults(ctx, l.Partitions)
	return link, false, convertViewError(errors.Join(err, view.PartitionFaults(faults, int(l.Partitions))))
}

// Episode returns an alert run of a hospital.
func (l Links) Episode(ctx context.Context, hospital, id string) (e outbound.AlertRun, ok bool, err error) {
	all, err := l.Lists.Episodes(ctx, hospital)
	if all[id] == "" {
		return e, false, convertViewError(err)
	}
	ok, err = decodeNote([]byte(all[id]), err, &e)
	return e, ok, err
}
