package outbound

import "time"

// State is where a delivery stands.
type State string

// The states. All but Pending are final.
const (
	Pending    State = "pending"
	Delivered  State = "delivered"
	Rejected   State = "rejected" // 400, 409, 413, 415, 422 three times
	Expired    State = "expired"
	Poison     State = "poison" // the endpoint accepts other events but never this one
	Cancelled  State = "cancelled"
	Failed     State = "failed"
	Suppressed State = "suppressed"
	Superseded State = "superseded" // a newer alert replaced it
)

// Class is the outcome of an attempt.
type Class string

// The classes.
const (
	ClassOK          Class = "ok"
	ClassStatus      Class = "status" // an HTTP status other than success
	ClassThrottled   Class = "throttled"
	ClassGone        Class = "gone"
	ClassRedirect    Class = "redirect"
	ClassDNS         Class = "dns"
	ClassRefused     Class = "refused"
	ClassReset       Class = "reset"
	ClassTimeout     Class = "timeout"
	ClassTLS         Class = "tls"
	ClassBlocked     Class = "blocked"     // by the egress guard, before anything was sent
	ClassSealed      Class = "sealed"      // an address, a secret or the text does not decrypt; nothing was sent
	ClassInterrupted Class = "interrupted" // by our own shutdown; does not count as an attempt
)

// Delivery is one event on its way to one endpoint by one channel.
type Delivery struct {
	ID            string // "dlv_" + 32 hex
	Hospital      string
	EventID       string // "evt_" + 32 hex
	Event         string
	Channel       Channel
	EndpointID    string // of a webhook or a recipient
	State         State
	Reason        string // stable code; empty if Delivered
	OccurredAt    time.Time
	NextAttemptAt time.Time // zero: none
	Attempts      []Attempt // oldest first, the last [MaxAttemptsKept]
}

// Attempt is one try of a delivery.
type Attempt struct {
	N        int // from 1
	At       time.Time
	Took     time.Duration
	Class    Class
	Status   int    // of HTTP or SMTP; 0: no answer
	Response string // start of the answer; for administrators only
}
