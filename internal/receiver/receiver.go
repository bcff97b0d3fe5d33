// Package receiver is a partner's endpoint for webhooks, as svc listen and svc dev
// have it: it checks the signature of each delivery.
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

// Receiver checks deliveries, knows what came before, and hands each one on.
type Receiver struct {
	Now func() time.Time
	// Secrets are those that may have signed a delivery for a hospital. Without any
	// nothing can be checked: then everything is accepted, or nothing if it is Strict.
	Secrets func(hospital string) []Secret
	Strict  bool
	Took    func(d *Delivery)
	Answer  int // status of an accepted delivery

	mu   sync.Mutex
	seen map[string]int // by id, how often
	ids  []string       // in the order in which they came first
}

// Secret is a signing secret and whose it is.
type Secret struct{ Endpoint, Value string }

// remembered is how many ids are known again.
const remembered = 10_000

// Delivery is one delivery as it came.
type Delivery struct {
	ReceivedAt httpapi.Time      `json:"receivedAt"`
	Status     int               `json:"status"` // of our answer
	Verdict    string            `json:"signature"`
	Body       signature.Outcome `json:"xSvcSignature"`
	Standard   signature.Outcome `json:"webhookSignature"`
	Endpoint   string            `json:"endpoint,omitempty"` // whose secret signed it, where that is known
	Times      int               `json:"times"`              // 1: for the first time
	Payload    json.RawMessage   `json:"payload"`            // null if it is no JSON
	Envelope   `json:"-"`        // what of the payload a line shows
}

// Envelope is the part of an envelope that a line shows.
type Envelope struct {
	ID         string `json:"id"`
	Event      string `json:"event"`
	HospitalID string `json:"hospitalId"`
	OccurredAt string `json:"occurredAt"`
	Summary    string `json:"summary"`
}

// The verdicts on a signature.
const (
	Verified  = "verified"
	Unchecked = "not checked" // no secret is known
	Refused   = "refused"
)

// Clock is when it came, by the clock on the wall.
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
	r.Took(d)
	w.WriteHeader(d.Status)
}

func (r *Receiver) check(header http.Header, body []byte) *Delivery {
	now := r.Now()
	d := &Delivery{ReceivedAt: httpapi.Time(now), Status: r.Answer, Verdict: Unchecked, Times: 1}
	if json.Valid(body) {
		d.Payload = body
		if err := json.Unmarshal(body, &d.Envelope); err != nil {
			d.Envelope = Envelope{} // JSON, but no envelope: shown as it is
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
		return d // an id that nobody vouches for is not remembered
	case !checked.Accepted():
		d.Verdict, d.Status = Refused, http.StatusUnauthorized
		return d
	}
	d.Verdict, d.Endpoint = Verified, secrets[checked.Secret].Endpoint
	d.Times = r.count(d.ID)
	return d
}

// count remembers an id and says how often it has come.
func (r *Receiver) count(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	if r.seen[id] == 0 {
		r.ids = append(r.ids, id)
		if len(r.ids) > remembered {
			delete(r.seen, r.ids[0])
			r.ids = r.ids[1:]
		}
	}
	r.seen[id]++
	return r.seen[id]
}
