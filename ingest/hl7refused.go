package ingest

import (
	"errors"

	"svc/ingest/hl7"
	"svc/internal/httpapi"
	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/rules"
)

// refusedBody is the reason for refusing an HL7 body as a whole.
type refusedBody struct {
	fault     hl7.Fault
	controlID string // MSH-10 of a single message, if it can be read
}

var (
	noMessage       = &refusedBody{fault: hl7.Fault{Code: hl7.AE, Condition: 100, Segment: "MSH"}}
	tooManyMessages = &refusedBody{fault: hl7.Fault{Code: hl7.AE, Condition: 102, Segment: "MSH"}}
)

// refusedHeader returns why a message could not be scanned.
func refusedHeader(err error) *refusedBody {
	if header, ok := errors.AsType[*hl7.HeaderError](err); ok {
		return &refusedBody{fault: *header.Fault(), controlID: header.ControlID}
	}
	return noMessage
}

// headerRules maps the reason of a fault to the rule that MSH-2 breaks.
var headerRules = map[string]string{
	"encoding_escaped": "format:hl7", "encoding_invalid": "format:hl7", "encoding_repeated": "unique",
	"encoding_short": "minLength:3", "encoding_long": "maxLength:5",
}

// problem returns the error response.
func (b *refusedBody) problem() httpapi.Problem {
	p := httpapi.Problem{Kind: problem.Invalid, Message: "The body is not an HL7 v2 message; it must begin with MSH."}
	detail := httpapi.Detail{Path: b.fault.Place(), Rule: "required"}
	switch rule, header := headerRules[b.fault.Reason]; {
	case header:
		p.Message, detail.Rule = rules.Message(b.fault.Reason), rule
	case b == tooManyMessages:
		p.Message, detail = "The body has too many messages; send at most 1,000 at once.", httpapi.Detail{Rule: "maxItems:1000"}
	}
	p.Details = []httpapi.Detail{detail}
	return p
}
