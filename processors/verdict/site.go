package verdict

import (
	"bytes"
	"slices"

	"svc/acuity"
	"svc/schemas"
)

// site gathers the records that administrators see in lists, encoded, by their
// keys without the hospital: rows of the terminology map, rules, locations,
// switches, the codes of the worklist and the rooms that registered themselves.
type site struct {
	changed    map[string][]byte // since the last take; nil value: the record is gone
	registered map[string]bool   // rooms that are listed
}

// note takes a record that was written, if it is one of those.
func (l *site) note(hospital string, key []byte, s acuity.State, value []byte) {
	rest := key[len(hospital)+1:]
	switch s := s.(type) {
	case *acuity.MappingState, *acuity.RuleState, *acuity.PlaceState, *acuity.SwitchesState, *acuity.CodeState:
	case *acuity.RoomState:
		if s.Registered == l.registered[string(rest)] && !s.Registered {
			return
		}
		if l.registered[string(rest)] = s.Registered; !s.Registered {
			delete(l.registered, string(rest))
			value = nil
		}
	case nil:
		kind, _, _ := bytes.Cut(rest, []byte("/"))
		if !slices.Contains(siteKinds, string(kind)) {
			return
		}
	default:
		return // nearly all: so no text is made of the key before
	}
	name := string(rest)
	if l.changed == nil {
		l.changed = map[string][]byte{}
	}
	l.changed[name] = slices.Clone(value) // apart: the view keeps it
}

// siteKinds are the kinds of record that can go.
var siteKinds = []string{schemas.KindMapping, schemas.KindRule, schemas.KindPlace, schemas.KindCode}

// take returns what changed since the last call.
func (l *site) take() map[string][]byte {
	changed := l.changed
	l.changed = nil
	return changed
}

// all notes every record there is.
func (h *hospital) all() error {
	h.site = site{registered: map[string]bool{}}
	var fault error
	h.unit.Site(func(key []byte, s acuity.State) {
		value, err := schemas.EncodeState(h.scratch[:0], s)
		if err != nil {
			fault = err
			return
		}
		h.scratch = value
		h.site.note(h.id, key, s, value)
	})
	return fault
}
