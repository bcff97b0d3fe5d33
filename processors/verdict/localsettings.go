package verdict

import (
	"bytes"
	"errors"
	"slices"

	"svc/acuity/hospital"
	"svc/schemas"
)

// localSettings collects the encoded records that administrators see in lists, by key
// without the hospital. These are rows of the terminology map, rules, locations,
// switches, codes of the worklist, and unconfirmed rooms.
type localSettings struct {
	changed map[string][]byte // since the last takeChanged; nil value: the record is gone
	unknown map[int32]bool    // unconfirmed rooms in the lists
	rooms   []int32           // rooms whose records were written since
}

// addRecord adds a written record, if administrators see its kind.
func (l *localSettings) addRecord(hospitalID string, key []byte, s hospital.Record, value []byte) {
	rest := key[len(hospitalID)+1:]
	switch s := s.(type) {
	case *hospital.MappingState, *hospital.RuleState, *hospital.PlaceState, *hospital.SwitchesState, *hospital.CodeState:
	case *hospital.RoomState:
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
		return // the common case, decided before the key is converted to a string
	}
	l.setRecord(string(rest), value)
}

func (l *localSettings) setRecord(name string, value []byte) {
	if l.changed == nil {
		l.changed = map[string][]byte{}
	}
	l.changed[name] = slices.Clone(value) // a copy: the view keeps it
}

// updateUnknownRoom lists a room that is unconfirmed, and removes any other from the list.
func (h *hospitalEntry) updateUnknownRoom(id int32) error {
	s := h.unit.Unknown(id)
	if s == nil && !h.local.unknown[id] {
		return nil // the common case
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

// removableKinds are the kinds of record that can be deleted.
var removableKinds = []string{schemas.KindMapping, schemas.KindRule, schemas.KindPlace, schemas.KindCode}

// takeChanged returns the records that changed since the last call.
func (l *localSettings) takeChanged() map[string][]byte {
	changed := l.changed
	l.changed = nil
	return changed
}

// addAllRecords collects every record of the hospital anew.
func (h *hospitalEntry) addAllRecords() error {
	h.local = localSettings{unknown: map[int32]bool{}}
	var fault error
	h.unit.LocalSettings(func(key []byte, s hospital.Record) {
		if r, ok := s.(*hospital.RoomState); ok {
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
