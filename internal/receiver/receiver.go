// Package receiver implements a partner's webhook endpoint that verifies the signature of each delivery. svc listen and
// svc dev run it.
package receiver

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"svc/internal/httpapi"
	"svc/internal/outbound"
	"svc/internal/signature"
)

// Receiver verifies deliveries, and passes each delivery to OnDelivery. It also counts how often it has verified a
// delivery with each id.
type Receiver struct {
	Now func() time.Time
	// Secrets returns the secrets that may have signed a delivery for a hospital. Without secrets, nothing can be
	// verified; in that case, a Strict receiver refuses everything, and any other receiver accepts everything.
	Secrets    func(hospital string) []Secret
	Strict     bool
	OnDelivery func(d *Delivery)
	Answer     int // status of the response to an accepted delivery

	mu   sync.Mutex
	seen map[string]int // number of verified deliveries, by id
	ids  []string       // keys of seen, oldest first
}

// Secret is a signing secret with the endpoint that it belongs to.
type Secret struct{ Endpoint, Value string }

// maxIDs is the maximum number of ids that a Receiver stores.
const maxIDs = 10_000

// Delivery is a received delivery with the result of its verification.
type Delivery struct {
	ReceivedAt httpapi.Time      `json:"receivedAt"`
	Status     int               `json:"status"` // status of the receiver's response
	Verdict    string            `json:"signature"`
	Body       signature.Outcome `json:"xSvcSignature"`
	Standard   signature.Outcome `json:"webhookSignature"`
	Endpoint   string            `json:"endpoint,omitempty"` // endpoint whose secret signed the delivery; "": unknown
	Times      int               `json:"times"`              // verified deliveries with this id, including this one; 1: not verified
	Payload    json.RawMessage   `json:"payload"`            // null if the body is not JSON
	Envelope   `json:"-"`        // displayed fields of the payload
}

// Envelope contains the displayed fields of a payload's envelope.
type Envelope struct {
	ID         string `json:"id"`
	Event      string `json:"event"`
	HospitalID string `json:"hospitalId"`
	OccurredAt string `json:"occurredAt"`
	Summary    string `json:"summary"`
}

// The values of [Delivery.Verdict].
const (
	Verified  = "verified"
	Unchecked = "not checked" // no secret is known
	Refused   = "refused"
)

// Clock returns the local time of day at which the delivery was received.
func (d *Delivery) Clock() string { return time.Time(d.ReceivedAt).Format("15:04:05.000") }

// ServeHTTP implements [http.Handler].
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, outbound.MaxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		w.WriteHeader(status)
		return
	}
	d := r.check(request.Header, body)
	r.OnDelivery(d)
	w.WriteHeader(d.Status)
}

func (r *Receiver) check(header http.Header, body []byte) *Delivery {
	now := r.Now()
	d := &Delivery{ReceivedAt: httpapi.Time(now), Status: r.Answer, Verdict: Unchecked, Times: 1}
	if json.Valid(body) {
		d.Payload = body
		if err := json.Unmarshal(body, &d.Envelope); err != nil {
			d.Envelope = Envelope{} // the body is JSON but not an envelope, so only the payload is displayed
		}
	}
	secrets := r.Secrets(d.HospitalID)
	values := make([]string, len(secrets))
	for i, s := range secrets {
		values[i] = s.Value
	}
	checked := signature.Check(header, body, now, values...)
	d.Body, d.Standard = checked.Body, checked.Standard
	switch {
	case len(secrets) == 0 && !r.Strict:
		return d // without a secret, nothing is verified, and the id is not counted
	case !checked.Accepted():
		d.Verdict, d.Status = Refused, http.StatusUnauthorized
		return d
	}
	d.Verdict, d.Endpoint = Verified, secrets[checked.Secret].Endpoint
	d.Times = r.count(d.ID)
	return d
}

// count records a receipt of an id and returns how many times the id has been received.
func (r *Receiver) count(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	if r.seen[id] == 0 {
		r.ids = append(r.ids, id)
		if len(r.ids) > maxIDs {
			delete(r.seen, r.ids[0])
			r.ids = r.ids[1:]
		}
	}
	r.seen[id]++
	return r.seen[id]
}
