package subscribers

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// Limits for pages of deliveries.
const (
	deliveriesUsual  = 50
	deliveriesAtMost = 200
	deliveriesListed = 10_000 // maximum number of deliveries listed for one endpoint
)

var channelNames = []string{string(subscriber.ChannelMail), string(subscriber.ChannelSMS), string(subscriber.ChannelWebhook)}

var stateNames = []string{
	string(outbound.Pending), string(outbound.Delivered), string(outbound.Rejected), string(outbound.Expired), string(outbound.Poison),
	string(outbound.Cancelled), string(outbound.Failed), string(outbound.Suppressed), string(outbound.Superseded),
}

func deliveryReads() []contract.Route[*webhooks] {
	page := []contract.Parameter{
		{Name: "channel", In: "query", About: "Only this value.", Values: channelNames},
		{Name: "state", In: "query", About: "Only this value.", Values: stateNames},
		{Name: "event", In: "query", About: "Only this value.", Values: eventNames},
		contract.Since(), contract.Until(), contract.Limit(deliveriesUsual, deliveriesAtMost),
		{Name: "cursor", In: "query", About: "The value of next in the previous page."},
	}
	hook := idOf("webhook", "whk_0123456789abcdef")
	const about = "The newest 10,000 deliveries of an endpoint."
	return []contract.Route[*webhooks]{
		{Operation: contract.Operation{
			Method: http.MethodGet, Path: "/api/admin/deliveries", ID: "listDeliveries",
			Summary: "List deliveries, newest first", About: about,
			Parameters: page, Data: deliveryPage{}, Refuses: []problem.Kind{problem.Unprocessable},
			Limits: map[string]int64{"deliveriesPerPage": deliveriesAtMost, "deliveriesListed": deliveriesListed},
		}, Serve: (*webhooks).listDeliveries},
		{Operation: contract.Operation{
			Method: http.MethodGet, Path: "/api/admin/deliveries/{id}", ID: "getDelivery", Summary: "Get one delivery with its attempts",
			Parameters: []contract.Parameter{idOf("delivery", "dlv_0123456789abcdef0123456789abcdef")},
			Data:       deliveryRow{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*webhooks).getDelivery},
		{Operation: contract.Operation{
			Method: http.MethodGet, Path: "/api/admin/webhooks/{id}/deliveries", ID: "listWebhookDeliveries",
			Summary: "List the deliveries to one endpoint, newest first", About: about,
			Parameters: append([]contract.Parameter{hook}, page...), Data: deliveryPage{},
			Refuses: []problem.Kind{problem.Missing, problem.Unprocessable},
		}, Serve: (*webhooks).listWebhookDeliveries},
		{Operation: contract.Operation{
			Method: http.MethodGet, Path: "/api/v1/webhooks/{id}/deliveries", Keyed: true, ID: "listOwnDeliveries",
			Summary: "List the deliveries to the partner's own endpoint, newest first",
			About: about + " Available to the keys in readerKeyIds of the endpoint, whatever their scopes; for other keys the endpoint " +
				"does not exist.",
			Parameters: append([]contract.Parameter{hook}, page...), Data: ownDeliveryPage{},
			Refuses: []problem.Kind{problem.Missing, problem.Unprocessable},
		}, Serve: (*webhooks).listOwnDeliveries},
		{Operation: contract.Operation{
			Method: http.MethodGet, Path: "/api/admin/commands/{id}", ID: "getCommand", Summary: "Get the progress of a test, retry or replay",
			Parameters: []contract.Parameter{idOf("command", "cmd_0123456789abcdef")},
			Data:       commandRow{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*webhooks).getCommand},
	}
}

// deliveryBase contains the fields of a delivery that both administrators and partners may see.
type deliveryBase struct {
	ID            string       `json:"id"`
	EventID       string       `json:"eventId"`
	Event         string       `json:"event"`
	Channel       string       `json:"channel"`
	EndpointID    string       `json:"endpointId"` // id of a webhook or a recipient
	State         string       `json:"state"`
	Reason        *string      `json:"reason"` // stable code for why the event was not delivered
	OccurredAt    httpapi.Time `json:"occurredAt"`
	NextAttemptAt httpapi.Time `json:"nextAttemptAt"` // null: no further attempt
}

type attemptBase struct {
	N      int          `json:"n"` // from 1
	At     httpapi.Time `json:"at"`
	MS     int64        `json:"ms"`
	Class  string       `json:"class"`
	Status *int         `json:"status"` // HTTP or SMTP status; null: there was no response
}

type deliveryRow struct {
	deliveryBase
	Attempts []attemptRow `json:"attempts"` // the last 20 at most, oldest first
}

type attemptRow struct {
	attemptBase
	Response *string `json:"response"` // start of the response
}

type deliveryPage struct {
	Items []deliveryRow `json:"items"`
	Next  *string       `json:"next"` // cursor of the next page; null: this is the last page
}

type ownDelivery struct {
	deliveryBase
	Attempts []attemptBase `json:"attempts"`
}

type ownDeliveryPage struct {
	Items []ownDelivery `json:"items"`
	Next  *string       `json:"next"`
}

func baseOf(d *outbound.Delivery) deliveryBase {
	return deliveryBase{
		d.ID, d.EventID, d.Event, string(d.Channel), d.EndpointID, string(d.State), some(d.Reason),
		httpapi.Time(d.OccurredAt), httpapi.Time(d.NextAttemptAt),
	}
}

func attemptOf(a *sending.Attempt) attemptBase {
	return attemptBase{a.N, httpapi.Time(a.At), a.Took.Milliseconds(), string(a.Class), some(a.Status)}
}

func deliveryOf(d *outbound.Delivery) deliveryRow {
	row := deliveryRow{baseOf(d), make([]attemptRow, len(d.Attempts))}
	for i := range d.Attempts {
		row.Attempts[i] = attemptRow{attemptOf(&d.Attempts[i]), some(d.Attempts[i].Response)}
	}
	return row
}

// Query selects deliveries, newest first.
type Query struct {
	Hospital string
	Endpoint string // "": all
	Channel  subscriber.Channel
	State    outbound.State
	Event    string
	Since    time.Time
	Until    time.Time
	Limit    int
	Cursor   string
}

// Page is one page of deliveries.
type Page struct {
	Items []outbound.Delivery
	Next  string // "": none
}

// readPage returns the requested page. If it returns false, it has sent an error response.
func (s *webhooks) readPage(w http.ResponseWriter, r *http.Request, endpoint string) (page Page, ok bool) {
	given := httpapi.QueryOf(r)
	since, until := given.Period(s.Zone(hospitalOf(r)))
	q := Query{
		Hospital: hospitalOf(r), Endpoint: endpoint, Channel: subscriber.Channel(given.One("channel", channelNames...)),
		State: outbound.State(given.One("state", stateNames...)), Event: given.One("event", eventNames...),
		Since: since, Until: until,
		Limit: int(given.Whole("limit", deliveriesUsual, 1, deliveriesAtMost)), Cursor: given.Text("cursor"),
	}
	if given.Refused(w, r) {
		return page, false
	}
	page, err := s.Lists.Deliveries(r.Context(), q)
	switch {
	case err == nil:
		return page, true
	case errors.Is(err, ErrCursor):
		unprocessable(w, r, "The cursor is not from this list; start again without a cursor.", "cursor", "cursor")
	default:
		s.failUnavailable(w, r, err)
	}
	return page, false
}

func (s *webhooks) answerPage(w http.ResponseWriter, r *http.Request, endpoint string) {
	found, ok := s.readPage(w, r, endpoint)
	if !ok {
		return
	}
	page := deliveryPage{Items: make([]deliveryRow, len(found.Items)), Next: some(found.Next)}
	for i := range found.Items {
		page.Items[i] = deliveryOf(&found.Items[i])
	}
	httpapi.OK(w, r, page)
}

func (s *webhooks) listDeliveries(w http.ResponseWriter, r *http.Request) { s.answerPage(w, r, "") }

func (s *webhooks) listWebhookDeliveries(w http.ResponseWriter, r *http.Request) {
	if hook, ok := s.findWebhook(w, r); ok {
		s.answerPage(w, r, hook.ID)
	}
}

func (s *webhooks) listOwnDeliveries(w http.ResponseWriter, r *http.Request) {
	hook, known := s.Register.Webhook(hospitalOf(r), pathID(r))
	if !known || !s.mayRead(r, hook) {
		missing(w, r)
		return
	}
	found, ok := s.readPage(w, r, hook.ID)
	if !ok {
		return
	}
	page := ownDeliveryPage{Items: make([]ownDelivery, len(found.Items)), Next: some(found.Next)}
	for i := range found.Items {
		d := &found.Items[i]
		page.Items[i] = ownDelivery{baseOf(d), make([]attemptBase, len(d.Attempts))}
		for j := range d.Attempts {
			page.Items[i].Attempts[j] = attemptOf(&d.Attempts[j])
		}
	}
	httpapi.OK(w, r, page)
}

// mayRead reports whether the caller's key may list the deliveries to an endpoint: whether the key, a predecessor or
// a successor of it is a reader key of the endpoint.
func (s *webhooks) mayRead(r *http.Request, hook *subscriber.Webhook) bool {
	caller := httpapi.Caller(r.Context())
	return slices.ContainsFunc(hook.ReaderKeys, func(id string) bool {
		if id == caller.ID {
			return true
		}
		named, known := s.Key(id)
		return known && named.Hospital == caller.Hospital && named.Lineage() == caller.Lineage()
	})
}

func (s *webhooks) getDelivery(w http.ResponseWriter, r *http.Request) {
	if d, ok, err := s.Lists.Delivery(r.Context(), hospitalOf(r), pathID(r)); s.requireListed(w, r, ok, err) {
		httpapi.OK(w, r, deliveryOf(&d))
	}
}
