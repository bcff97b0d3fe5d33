package ingest

import (
	"context"
	"errors"

	"svc/acuity"
	"svc/ingest/hl7"
	"svc/internal/httpapi/access"
)

// MaxMessage is the longest HL7 v2 message, or batch of them, in bytes.
const MaxMessage = maxBody

// ErrForbidden says that a key lacks the scope [access.IngestHL7].
var ErrForbidden = errors.New("the key lacks the scope ingest:hl7")

// Messages takes HL7 v2 messages that do not come over HTTP. Decoding, observations and
// acknowledgments are the same as in POST /api/ingest/hl7.
type Messages struct{ s server }

// NewMessages returns a Messages with the config of the HTTP handlers.
func NewMessages(c Config) *Messages { return &Messages{server{c}} }

// TakeBody returns the acknowledgment of a message, or the batch of acknowledgments of
// several messages; it is empty if the sender asked for none.
//
// When it returns, the accepted messages are in the log. It does not wait until they are
// applied: the acknowledgment does not depend on that, and the sender sends its next
// message only after it. After [ErrAway] the messages may be in the log or not, and
// sending them again does no harm.
func (m *Messages) TakeBody(ctx context.Context, key access.Key, body []byte) (ack []byte, err error) {
	if !key.Allows(access.IngestHL7) {
		return nil, ErrForbidden
	}
	if busy := m.s.Share.Await(ctx, key.Hospital, len(body), 0, messagePatience); busy != nil {
		return nil, busy
	}
	o := m.s.observed(key, acuity.ChannelHL7)
	in := m.s.reader(o)
	x, problem := in.exchange(body, hl7.Charset{}, o.Hospital, m.s.options(key, o))
	if problem != nil { // no message has a control id to answer to
		return m.refuse(o, 1, 100), nil
	}
	if o.Events = x.events; len(o.Events) > 0 {
		if busy := m.s.Share.Await(ctx, key.Hospital, 0, factsOf(o), messagePatience); busy != nil {
			return nil, busy
		}
		at, err := m.s.append(ctx, o, messagePatience)
		switch {
		case errors.Is(err, ErrTooLarge):
			return m.refuse(o, len(x.results), 102), nil // sending it again would not help
		case err != nil:
			return nil, err
		}
		m.s.reportTaken(o, in, "", at)
	}
	m.s.reportRefused(o, "", len(x.results)-len(x.events), in.drainNotices()...)
	return x.ack, nil
}

func (m *Messages) refuse(o *acuity.Observation, messages, condition int) []byte {
	fault := &hl7.Fault{Code: hl7.AE, Condition: condition, Segment: "MSH"}
	m.s.reportRefused(o, "", messages, Notice{Refused: true, Code: fault.Name(), Path: fault.Place()})
	return hl7.AppendError(nil, hl7.Acknowledgment{
		Hospital: o.Hospital, At: o.ReceivedAt.Time().In(m.s.Zone(o.Hospital)), ID: ackID(), Fault: fault,
	})
}
