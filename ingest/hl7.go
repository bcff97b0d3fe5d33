package ingest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"

	"svc/acuity"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/rules"
	"svc/internal/httpapi/syntax"
)

const (
	textType    = "text/plain"
	hl7Type     = "application/hl7-v2"
	maxMessages = 1000 // messages in one body
)

type hl7Answer struct {
	common
	Ack       string      `json:"ack"`
	AckCode   string      `json:"ackCode"` // the worst code if there are several messages
	ControlID *string     `json:"controlId"`
	EventType *string     `json:"eventType"`
	Acks      []hl7Result `json:"acks,omitempty"`
}

type hl7Result struct {
	AckCode   string  `json:"ackCode"`
	ControlID string  `json:"controlId"`
	EventType string  `json:"eventType"`
	Outcome   *string `json:"outcome"` // "rejected" for a refused message; null while pending
}

// exchange is one body with HL7 messages, and the response to it.
type exchange struct {
	batch   hl7.Batch
	ack     []byte
	results []hl7Result
	events  []acuity.Event
	several bool
	worst   hl7.AckCode
	message string           // why the last refused message was refused, and what to do
	details []httpapi.Detail // location and code of each refused message

	by   hl7.Acknowledgment // the common fields of all acknowledgments
	acks [][]byte           // one for each message
}

func (s *server) hl7(w http.ResponseWriter, r *http.Request) {
	kind, body, ok := readTyped(w, r, maxBody, textType, hl7Type, jsonType)
	if !ok {
		return
	}
	o := s.observe(r, acuity.ChannelHL7)
	in := s.reader(o)
	charset, _ := hl7.CharsetNamed(kind.charset)
	if kind.name == jsonType {
		var refusal *httpapi.Problem
		if body, refusal = in.message(body); refusal != nil {
			httpapi.Fail(w, r, *refusal)
			return
		}
		charset = hl7.UTF8
	}
	x, refused := in.exchange(body, charset, o.Hospital, s.options(httpapi.Caller(r.Context()), o))
	if refused != nil {
		httpapi.Fail(w, r, refused.problem())
		return
	}
	s.reportRefused(o, requestID(r), len(x.results)-len(x.events), in.drainNotices()...)
	got := nothingAppended
	if o.Events = x.events; len(o.Events) > 0 {
		if got, ok = s.submit(w, r, in, o); !ok {
			return
		}
		x.refuseMessages(&in.places, &got.change)
	}
	if kind.name != jsonType {
		w.Header().Set("Content-Type", kind.name+"; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(x.ack) //nolint:errcheck // fails only if the client has disconnected
		return
	}
	x.answer(w, r, in, got)
}

// message reads the message from a JSON body.
func (r *reader) message(body []byte) ([]byte, *httpapi.Problem) {
	if refusal := httpapi.CheckJSON(body); refusal != nil {
		return nil, refusal
	}
	b, ok := r.open(body, "", shapeOf[hl7Shape]())
	if !ok {
		return nil, r.problem()
	}
	raw, ok := b.find("message")
	b.close()
	switch {
	case !ok:
	case raw[0] != '"':
		b.fault("message", "type:string")
	default:
		return syntax.Unquote(raw), nil
	}
	return nil, r.problem()
}

// exchange decodes the messages of a body and writes their acknowledgments. Apart from its id and its time, an
// acknowledgment depends only on the message and on settings, so a repeated message gets the same code.
func (r *reader) exchange(body []byte, charset hl7.Charset, hospital string, options hl7.Options) (*exchange, *refusedBody) {
	batch, err := hl7.Split(body, charset)
	switch {
	case err != nil:
		return nil, noMessage
	case len(batch.Messages) > maxMessages:
		return nil, tooManyMessages
	}
	x := &exchange{batch: batch, several: batch.Framed || len(batch.Messages) > 1}
	for _, w := range batch.Warnings {
		r.warn(w.Code, w.Path)
	}
	a := hl7.Acknowledgment{Hospital: hospital, At: r.now.Time().In(r.zone), Sender: options.Sender}
	x.by, x.acks = a, make([][]byte, 0, len(batch.Messages))
	var m hl7.Message // reused for each message of the body
	for i, raw := range batch.Messages {
		a.ID, a.Fault, a.Message = ackID(), nil, ""
		if err := m.Scan(raw, batch.Charset); err != nil {
			refused := refusedHeader(err)
			if !x.several {
				return nil, refused
			}
			a.Fault, a.Message = &refused.fault, rules.Message(refused.fault.Name())
			r.refuseMessage(a.Fault, item("messages", i)+".", refused.controlID)
			x.addRefusal(a.Fault, item("messages", i)+".")
			r.places.controlIDs, r.places.triggers = append(r.places.controlIDs, refused.controlID), append(r.places.triggers, "")
			x.acks = append(x.acks, hl7.AppendError(nil, a, refused.controlID))
			x.add(hl7Result{AckCode: string(hl7.AE), ControlID: refused.controlID}, hl7.AE)
			continue
		}
		controlID, path := m.ControlID(), ""
		r.places.controlIDs, r.places.triggers = append(r.places.controlIDs, controlID), append(r.places.triggers, m.Type())
		if x.several {
			path = item("messages", i) + "."
		}
		var event acuity.Event
		event, a.Fault = m.Facts(options)
		for n := range event.Warnings {
			w := &event.Warnings[n]
			w.Path = path + w.Path
			r.warn(w.Code, w.Path)
		}
		if a.Fault == nil && x.several {
			event = r.prepareEvent(event, "messages", i)
		}
		if a.Fault == nil {
			x.events = append(x.events, event)
		} else {
			a.Message = rules.Message(a.Fault.Name())
			r.refuseMessage(a.Fault, path, controlID)
			x.addRefusal(a.Fault, path)
			x.message = a.Message
		}
		code, _ := m.Code(a)
		x.acks = append(x.acks, m.Ack(nil, a))
		x.add(hl7Result{AckCode: string(code), ControlID: controlID, EventType: m.Type()}, code)
	}
	x.joinAcks()
	return x, nil
}

// options returns the options for decoding the messages of one request.
func (s *server) options(caller access.Key, o *acuity.Observation) hl7.Options {
	options := hl7.Options{
		Pseudonym: func(dst []byte, kind string, value []byte) []byte {
			return s.Pseudonyms.Append(dst, o.Hospital, kind, value)
		},
		Zone: s.Zone(o.Hospital), ReceivedAt: o.ReceivedAt,
	}
	if s.Sender != nil {
		options.Sender = s.Sender(caller)
	}
	return options
}

// addRefusal adds the reason why a message was refused.
func (x *exchange) addRefusal(f *hl7.Fault, path string) {
	if len(x.details) < maxDetails {
		x.details = append(x.details, httpapi.Detail{Path: path + f.Place(), Rule: f.Name()})
	}
}

// add adds the result of one message. An error (AE) ranks above a refusal (AR), because a person must investigate
// errors.
func (x *exchange) add(result hl7Result, code hl7.AckCode) {
	x.results = append(x.results, result)
	if len(x.results) == 1 || severity(code) > severity(x.worst) { // the code of the first message also selects original or enhanced mode
		x.worst = code
	}
}

func severity(code hl7.AckCode) int {
	switch code {
	case hl7.AE, hl7.CE:
		return 2
	case hl7.AR, hl7.CR:
		return 1
	case hl7.AA, hl7.CA:
	}
	return 0
}

// answer sends the response as JSON. If no message was accepted, the response is an error that contains the
// acknowledgment.
func (x *exchange) answer(w http.ResponseWriter, r *http.Request, in *reader, got receipt) {
	if x.acceptedMessages(got) == 0 {
		refused := &httpapi.HL7{Ack: string(x.ack), AckCode: string(x.worst)}
		message := "The messages were refused; see ack."
		if !x.several {
			refused.ControlID = x.results[0].ControlID
			message = cmp.Or(x.message, "The message was refused; see ack.")
		}
		httpapi.Fail(w, r, httpapi.Problem{
			Kind: problem.Unprocessable, Message: message, HL7: refused, Details: append(x.details, in.refusedParts(&got.change)...),
		})
		return
	}
	answer := hl7Answer{common: in.answer(got), Ack: string(x.ack), AckCode: string(x.worst)}
	answer.Refused = append(x.details, answer.Refused...)
	if x.several {
		answer.Acks = x.setOutcomes(&in.places, got)
	} else {
		answer.ControlID, answer.EventType = &x.results[0].ControlID, &x.results[0].EventType
	}
	httpapi.OK(w, r, answer)
}

// acceptedMessages returns the number of messages that were refused neither by the decoder nor when the observation
// was applied.
func (x *exchange) acceptedMessages(got receipt) int {
	n := len(x.events)
	for i := range got.change.Items {
		if got.change.Items[i].Outcome == acuity.Rejected {
			n--
		}
	}
	return n
}

// setOutcomes sets the outcome of each message and returns all results.
func (x *exchange) setOutcomes(p *Places, got receipt) []hl7Result {
	for i := range x.results {
		if code := x.results[i].AckCode; code != string(hl7.AA) && code != string(hl7.CA) {
			x.results[i].Outcome = &outcomes[acuity.Rejected]
		} else if got.applied && len(got.change.Items) == 0 { // a repeat whose first change the log no longer has
			x.results[i].Outcome = &outcomes[acuity.Duplicate]
		}
	}
	for i := range got.change.Items {
		x.results[p.origins[i]].Outcome = &outcomes[got.change.Items[i].Outcome]
	}
	return x.results
}

// ackID returns a control id for an acknowledgment. It has 20 characters, the length that
// every version of HL7 allows.
func ackID() string {
	var b [10]byte
	rand.Read(b[:]) // never fails: crypto/rand crashes the program instead
	return hex.EncodeToString(b[:])
}

// refuseMessages rewrites the acknowledgments of HL7 messages whose events exceed a
// limit.
func (x *exchange) refuseMessages(p *Places, c *acuity.Change) {
	refused := false
	for i := range c.Items {
		if c.Items[i].Outcome != acuity.Rejected {
			continue
		}
		n := 0
		if x.several {
			n = p.origins[i]
		}
		x.refuseEvent(n)
		refused = true
	}
	if refused {
		x.joinAcks()
	}
}

// refuseEvent rewrites the acknowledgment of message n to report an application internal error, because the message
// itself is valid.
func (x *exchange) refuseEvent(n int) {
	var m hl7.Message
	if m.Scan(x.batch.Messages[n], x.batch.Charset) != nil {
		return // cannot happen: the message was parsed before
	}
	a := x.by
	a.ID, a.Fault = ackID(), &hl7.Fault{Code: hl7.AE, Condition: 207, Segment: "MSH"}
	a.Message = rules.Message(a.Fault.Name())
	x.message = a.Message
	code, _ := m.Code(a)
	x.acks[n] = m.Ack(nil, a)
	x.results[n].AckCode = string(code)
	if severity(code) > severity(x.worst) {
		x.worst = code
	}
}

// joinAcks joins the acknowledgments into one body.
func (x *exchange) joinAcks() {
	if !x.several {
		x.ack = x.acks[0]
		return
	}
	a := x.by
	a.ID = ackID()
	x.ack = hl7.AppendBatch(nil, x.batch, a, x.acks)
}

// MaxMessage is the maximum length of an HL7 v2 message, or of a batch of messages, in bytes.
const MaxMessage = maxBody

// ErrForbidden means that a key lacks the scope [access.IngestHL7].
var ErrForbidden = errors.New("the key lacks the scope ingest:hl7")

// Messages processes HL7 v2 messages that do not arrive over HTTP, in the same way as POST /api/ingest/hl7.
type Messages struct{ s server }

// NewMessages returns a Messages that uses the same config as the HTTP handlers.
func NewMessages(c Config) *Messages { return &Messages{server{c}} }

// IngestBody returns the acknowledgment of a message, or the batch of acknowledgments of several messages. The result
// is empty if the sender requested no acknowledgment.
//
// When IngestBody returns without an error, the accepted messages are durable in Kafka. It does not wait until they
// are applied, because their effects do not change the acknowledgment, and the sender waits for the acknowledgment
// before it sends the next message. After [ErrAway], the messages may or may not be in Kafka, and can safely be sent
// again.
func (m *Messages) IngestBody(ctx context.Context, key access.Key, body []byte) (ack []byte, err error) {
	if !key.Allows(access.IngestHL7) {
		return nil, ErrForbidden
	}
	if busy := m.s.Share.Await(ctx, key.Hospital, len(body), 0, messagePatience); busy != nil {
		return nil, busy
	}
	o := m.s.observed(key, acuity.ChannelHL7)
	in := m.s.reader(o)
	x, refused := in.exchange(body, hl7.Charset{}, o.Hospital, m.s.options(key, o))
	if refused != nil {
		return m.refuse(o, in, 1, refused), nil
	}
	if o.Events = x.events; len(o.Events) > 0 {
		if busy := m.s.Share.Await(ctx, key.Hospital, 0, factsOf(o), messagePatience); busy != nil {
			return nil, busy
		}
		at, err := m.s.append(ctx, o, messagePatience)
		switch {
		case errors.Is(err, ErrTooLarge):
			return m.refuse(o, in, len(x.results), tooManyMessages), nil // a retry would not help
		case err != nil:
			return nil, err
		}
		m.s.reportTaken(o, in, "", at)
	}
	m.s.reportRefused(o, "", len(x.results)-len(x.events), in.drainNotices()...)
	return x.ack, nil
}

func (m *Messages) refuse(o *acuity.Observation, in *reader, messages int, refused *refusedBody) []byte {
	in.refuseMessage(&refused.fault, "", refused.controlID)
	m.s.reportRefused(o, "", messages, in.drainNotices()...)
	return hl7.AppendError(nil, hl7.Acknowledgment{
		Hospital: o.Hospital, At: o.ReceivedAt.Time().In(m.s.Zone(o.Hospital)), ID: ackID(),
		Fault: &refused.fault, Message: rules.Message(refused.fault.Name()),
	}, refused.controlID)
}

type hl7Shape struct {
	Message string `json:"message" pattern:"hl7" doc:"HL7 v2 message with segments that end in CR."`
}

const sampleAdmission = "MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304093010-0600||ADT^A01^ADT_A01|M1002|P|2.5.1\r" +
	"EVN|A01|20260304092900-0600\rPID|1||MRN7001^^^STMARY^MR\rPV1|1|I|L&D^LDR 4^01|L|||||||||||||||VN9001\r" +
	"DG1|1||O14.13^Severe pre-eclampsia, third trimester^I10||20260304092500-0600|W\r"
