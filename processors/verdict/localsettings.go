package verdict

import (
	"bytes"
	"errors"
	"slices"

	"svc/acuity"
	"svc/schemas"
)

// localSettings gathers the records that administrators see in lists, encoded, by their
// keys without the hospital: rows of the terminology map, rules, locations,
// switches, the codes of the worklist and the rooms that nobody has confirmed.
type localSettings struct {
	changed map[string][]byte // since the last take; nil value: the record is gone
	unknown map[int32]bool    // rooms that are listed
	rooms   []int32           // whose records were written since
}

// addRecord takes a record that was written, if it is one of those.
func (l *localSettings) addRecord(hospital string, key []byte, s acuity.State, value []byte) {
	rest := key[len(hospital)+1:]
	switch s := s.(type) {
	case *acuity.MappingState, *acuity.RuleState, *acuity.PlaceState, *acuity.SwitchesState, *acuity.CodeState:
	case *acuity.RoomState:
		if s.Registered || l.unknown[s.ID] {
			l.rooms = append(l.rooms, s.ID)
		}
		return
	case nil:
		kind, _, _ := bytes.Cut(rest, []byte("/"))
		if !slices.Contains(removableKinds, string(kind)) {
			return
		}
	default:
		return // nearly all: so no text is made of the key before
	}
	l.setRecord(string(rest), value)
}

func (l *localSettings) setRecord(name string, value []byte) {
	if l.changed == nil {
		l.changed = map[string][]byte{}
	}
	l.changed[name] = slices.Clone(value) // apart: the view keeps it
}

// updateUnknownRoom brings the list of unknown rooms in line with what the unit says of one.
func (h *hospital) updateUnknownRoom(id int32) error {
	s := h.unit.Unknown(id)
	if s == nil && !h.local.unknown[id] {
		return nil // nearly all
	}
	name := schemas.RoomKey(h.id, id).String()[len(h.id)+1:]
	if s == nil {
		delete(h.local.unknown, id)
		h.local.setRecord(name, nil)
		return nil
	}
	value, err := schemas.EncodeState(h.scratch[:0], s)
	if err != nil {
		return err //nolint:wrapcheck // says what and why
	}
	h.scratch = value
	h.local.unknown[id] = true
	h.local.setRecord(name, value)
	return nil
}

// removableKinds are the kinds of record that can go.
var removableKinds = []string{schemas.KindMapping, schemas.KindRule, schemas.KindPlace, schemas.KindCode}

// takeChanged returns what changed since the last call.
func (l *localSettings) takeChanged() map[string][]byte {
	changed := l.changed
	l.changed = nil
	return changed
}

// addAllRecords notes every record there is.
func (h *hospital) addAllRecords() error {
	h.local = localSettings{unknown: map[int32]bool{}}
	var fault error
	h.unit.Site(func(key []byte, s acuity.State) {
		if r, ok := s.(*acuity.RoomState); ok {
			fault = errors.Join(fault, h.updateUnknownRoom(r.ID))
			return
		}
		value, err := schemas.EncodeState(h.scratch[:0], s)
		if err != nil {
			fault = errors.Join(fault, err)
			return
		}
		h.scratch = value
		h.local.addRecord(h.id, key, s, value)
	})
	return fault
}
