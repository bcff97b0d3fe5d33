package ingest

import (
	"svc/acuity"
	"svc/internal/httpapi/rules"
)

// countUnused returns the number of facts in the body that were not used, according to the warnings.
func (r *reader) countUnused() int {
	n := r.unused
	for _, w := range r.warnings {
		if isUnused(w.Code) {
			n++
		}
	}
	return n
}

// isUnused reports whether a code means that a fact was not used.
func isUnused(code string) bool { return hasEffect(code, rules.Unused) }

// isKnown reports whether a code means that a fact is older than, or equal to, what is known.
func isKnown(code string) bool { return hasEffect(code, rules.Known) }

// hasEffect reports whether a code is known and has the given effect.
func hasEffect(code string, effect rules.Effect) bool {
	w, ok := rules.ExplainWarning(code)
	return ok && w.Effect == effect
}

// controlID returns the control id of the message at a path of the body, in the form that may be stored (see
// [showControlID]).
func (p *Places) controlID(path string) string {
	n := p.message(path, len(p.controlIDs))
	if n < 0 {
		return ""
	}
	return showControlID(p.controlIDs[n], p.pseudonym)
}

// message returns the index of the HL7 message that contains the given path of the body, or -1 if no message contains
// it. messages is the number of messages in the body.
func (p *Places) message(path string, messages int) int {
	if p.list == "" && messages == 1 {
		return 0
	}
	if n, _, ok := pathIn("messages", path); ok && n < messages {
		return n
	}
	return -1
}

// triggerEvent returns the trigger event of the message that a warning is about, if that event has no effect. The
// event's name shows administrators which events the feed need not send. Only standard event names are returned.
func (p *Places) triggerEvent(w acuity.Warning) string {
	n := p.message(w.Path, len(p.triggers))
	if n < 0 || w.Code != "event_ignored" {
		return ""
	}
	t := p.triggers[n]
	if len(t) != 3 || t[0] != 'A' || t[1] < '0' || t[1] > '9' || t[2] < '0' || t[2] > '9' {
		return ""
	}
	return t
}
