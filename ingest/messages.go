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

// Messages takes HL7 v2 messages that come by another way than HTTP: the same
// decoding, observations and acknowledgments as POST /api/ingest/hl7.
type Messages struct{ s server }

// NewMessages returns what takes messages.
func NewMessages(c Config) *Messages { return &Messages{server{c}} }

// Take returns the acknowledgment of a message, or the batch of those of several;
// it is empty if the sender asked for none. When it returns what was accepted is
// in the log; it does not wait until that is applied, for the acknowledgment does
// not depend on it, and the sender's next message does not come before. After
// [ErrAway] the outcome is unclear, and sending again is harmless.
func (m *Messages) Take(ctx context.Context, key access.Key, body []byte) (ack []byte, err error) {
	if !key.Allows(access.IngestHL7) {
		return nil, ErrForbidden
	}
	if err := awaitShare(ctx, &m.s, key.Hospital, len(body), 0); err != nil {
		return nil, err
	}
	o := m.s.observed(key, acuity.ChannelHL7)
	in := m.s.reader(o)
	x, problem := in.exchange(body, hl7.Charset{}, o.Hospital, m.s.options(key, o))
	if problem != nil { // nothing that could be answered by its control id
		return m.refuse(o, 1, 100), nil
	}
	if o.Events = x.events; len(o.Events) > 0 {
		if err := awaitShare(ctx, &m.s, key.Hospital, 0, factsOf(o)); err != nil {
			return nil, err
		}
		at, err := m.s.append(ctx, o, messagePatience)
		switch {
		case errors.Is(err, ErrTooLarge):
			return m.refuse(o, len(x.results), 102), nil // sending it again would not help
		case err != nil:
			return nil, err
		}
		m.s.took(o, in, "", at)
	}
	m.s.refused(o, "", len(x.results)-len(x.events), in.refusals()...)
	return x.ack, nil
}

func (m *Messages) refuse(o *acuity.Observation, messages, condition int) []byte {
	fault := &hl7.Fault{Code: hl7.AE, Condition: condition, Segment: "MSH"}
	m.s.refused(o, "", messages, Notice{Refused: true, Code: fault.Name(), Path: fault.Place()})
	return hl7.AppendError(nil, hl7.Acknowledgment{
		Hospital: o.Hospital, At: o.ReceivedAt.Time().In(m.s.Zone(o.Hospital)), ID: ackID(), Fault: fault,
	})
}
