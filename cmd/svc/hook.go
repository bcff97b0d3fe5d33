package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"svc/internal/api"
	"svc/internal/outbound"
	"svc/internal/signature"
)

// hook is a partner's endpoint as svc listen and svc dev have it: it checks the
// signature of what comes, knows what came before, and hands it on.
type hook struct {
	now func() time.Time
	// secrets are those that may have signed a delivery for a hospital. Without
	// any nothing can be checked: then everything is accepted, or if strict nothing.
	secrets func(hospital string) []hookSecret
	strict  bool
	took    func(d *hookDelivery)
	answer  int // status of an accepted delivery

	mu   sync.Mutex
	seen map[string]int // by id, how often
	ids  []string       // in the order in which they came first
}

// hookSecret is a signing secret and whose it is.
type hookSecret struct{ endpoint, value string }

// hookRemembers is how many ids are known again.
const hookRemembers = 10_000

// hookDelivery is one delivery as it came.
type hookDelivery struct {
	ReceivedAt api.Time          `json:"receivedAt"`
	Status     int               `json:"status"` // of our answer
	Verdict    string            `json:"signature"`
	Body       signature.Outcome `json:"xSvcSignature"`
	Standard   signature.Outcome `json:"webhookSignature"`
	Endpoint   string            `json:"endpoint,omitempty"` // whose secret signed it, where that is known
	Times      int               `json:"times"`              // 1: for the first time
	Payload    json.RawMessage   `json:"payload"`            // null if it is no JSON
	hookEvent  `json:"-"`        // what of the payload a line shows
}

// hookEvent is the part of an envelope that a line shows.
type hookEvent struct {
	ID         string `json:"id"`
	Event      string `json:"event"`
	HospitalID string `json:"hospitalId"`
	OccurredAt string `json:"occurredAt"`
	Summary    string `json:"summary"`
}

// The verdicts on a signature.
const (
	hookVerified  = "verified"
	hookUnchecked = "not checked" // no secret is known
	hookRefused   = "refused"
)

// Clock is when it came, by the clock on the wall.
func (d *hookDelivery) Clock() string { return time.Time(d.ReceivedAt).Format("15:04:05.000") }

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, outbound.MaxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		w.WriteHeader(status)
		return
	}
	d := h.check(r.Header, body)
	h.took(d)
	w.WriteHeader(d.Status)
}

func (h *hook) check(header http.Header, body []byte) *hookDelivery {
	now := h.now()
	d := &hookDelivery{ReceivedAt: api.Time(now), Status: h.answer, Verdict: hookUnchecked, Times: 1}
	if json.Valid(body) {
		d.Payload = body
		if err := json.Unmarshal(body, &d.hookEvent); err != nil {
			d.hookEvent = hookEvent{} // JSON, but no envelope: shown as it is
		}
	}
	secrets := h.secrets(d.HospitalID)
	values := make([]string, len(secrets))
	for i, s := range secrets {
		values[i] = s.value
	}
	checked := signature.Check(header, body, now, values...)
	d.Body, d.Standard = checked.Body, checked.Standard
	switch {
	case len(secrets) == 0 && !h.strict:
		return d // an id that nobody vouches for is not remembered
	case !checked.Accepted():
		d.Verdict, d.Status = hookRefused, http.StatusUnauthorized
		return d
	}
	d.Verdict, d.Endpoint = hookVerified, secrets[checked.Secret].endpoint
	d.Times = h.count(d.ID)
	return d
}

// count remembers an id and says how often it has come.
func (h *hook) count(id string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		h.seen = map[string]int{}
	}
	if h.seen[id] == 0 {
		h.ids = append(h.ids, id)
		if len(h.ids) > hookRemembers {
			delete(h.seen, h.ids[0])
			h.ids = h.ids[1:]
		}
	}
	h.seen[id]++
	return h.seen[id]
}
