package hl7

import "svc/acuity"

// check returns the fault of a message that its trigger event or header alone makes
// unacceptable; nil if there is none.
func (m *Message) check(trigger []byte, sender Sender) *Fault {
	kind := m.oneLine(m.at(m.header(9), 1))
	header := func(code AckCode, condition, field int) *Fault {
		return &Fault{Code: code, Condition: condition, Segment: "MSH", Sequence: 1, Field: field}
	}
	switch {
	case m.size != nil:
		return m.size
	case string(kind) != "ADT":
		return header(AR, 200, 9)
	case trigger == nil:
		return header(AR, 201, 9)
	case sender.ProductionOnly && !m.production():
		return header(AR, 202, 11)
	case blank(m.header(10)):
		return header(AE, 101, 10)
	default:
		return nil
	}
}

// production reports whether MSH-11 marks the message as production.
func (m *Message) production() bool { return string(m.at(m.header(11), 1)) == "P" }

// trigger returns MSH-9.2 if it could be an event; else nil. EVN-1 never counts, because
// senders contradict themselves there.
func (m *Message) trigger() []byte {
	b := m.oneLine(m.at(m.header(9), 2))
	if len(b) < 1 || len(b) > 8 {
		return nil
	}
	for _, c := range b {
		if !upper(c) && !digit(c) {
			return nil
		}
	}
	return b
}

// Type returns the trigger event in MSH-9.2, as in "A01"; "" if it could not be one.
func (m *Message) Type() string { return string(m.trigger()) }

// effect returns the effect of a trigger event.
func effect(trigger []byte) acuity.EventType {
	switch string(trigger) {
	case "A01":
		return acuity.A01
	case "A02":
		return acuity.A02
	case "A03":
		return acuity.A03
	case "A04":
		return acuity.A04
	case "A06":
		return acuity.A06
	case "A07":
		return acuity.A07
	case "A08":
		return acuity.A08
	case "A11":
		return acuity.A11
	case "A12":
		return acuity.A12
	case "A13":
		return acuity.A13
	default:
		return acuity.EventOther
	}
}

// unheeded returns the warning of an event that has no effect here but has one in the
// hospital; "" for any other event. From then on the patient may be in another place, or
// the visit may have another number. (HL7 v2.5.1, 3.3: A17 swap; A18, A30, A34 to A36 and
// A39 to A42 merge; A43 to A45 move; A46 to A51 change an identifier.)
func unheeded(trigger []byte) string {
	event := string(trigger)
	switch {
	case event == "A17":
		return warnSwap
	case len(event) != 3: // events are compared as text below, where A350 lies between A34 and A36
		return ""
	case event == "A18", event == "A30", event >= "A34" && event <= "A36", event >= "A39" && event <= "A51":
		return warnMerge
	default:
		return ""
	}
}
