package verdict

import (
	"bytes"
	"errors"
	"slices"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/schemas"
)

// fullChart encodes the whole chart of a hospital.
func fullChart(h *hospitalEntry) (Chart, error) {
	chart := h.unit.Chart()
	encoded, err := encodeUnit(h, &chart.Unit)
	if err != nil {
		return encoded, err
	}
	for i := range chart.Rooms {
		room := &chart.Rooms[i]
		if encoded.Rooms[room.ID], err = h.roomChart(room); err != nil {
			return encoded, err
		}
	}
	h.unit.View(func(int32, *acuity.RoomChart) {}) // clears the pending changes, which the full chart includes
	err = h.addAllRecords()
	encoded.LocalSettings = h.local.changedRecords()
	return encoded, err
}

// changedChart encodes the changes to a hospital's chart since the last call to changedChart or fullChart.
func changedChart(h *hospitalEntry) (Chart, error) {
	encoded, err := encodeUnit(h, &h.unit.Chart().Unit)
	for _, id := range h.local.rooms {
		err = errors.Join(err, h.updateUnknownRoom(id))
	}
	h.local.rooms = h.local.rooms[:0]
	h.unit.View(func(id int32, room *acuity.RoomChart) {
		if err == nil {
			err = h.updateUnknownRoom(id)
		}
		if room == nil || err != nil {
			encoded.Rooms[id] = nil
			return
		}
		encoded.Rooms[id], err = h.roomChart(room)
	})
	encoded.LocalSettings = h.local.changedRecords()
	return encoded, err
}

func encodeUnit(h *hospitalEntry, unit *acuity.UnitChart) (Chart, error) {
	value, err := schemas.UnitChartCodec.Encode(h.scratch[:0], unit)
	h.scratch = value
	return Chart{Hospital: h.id, Version: unit.Version, Unit: slices.Clone(value), Rooms: map[int32][]byte{}}, err
}

// roomChart encodes the chart of a room into new bytes without spare capacity, because the view keeps the bytes.
func (h *hospitalEntry) roomChart(room *acuity.RoomChart) ([]byte, error) {
	value, err := schemas.RoomChartCodec.Encode(h.scratch[:0], room)
	h.scratch = value
	return slices.Clone(value), err
}

// localSettings collects the encoded records that administrators see in lists: rows of the terminology map, rules,
// locations, settings, codes in the worklist, and unconfirmed rooms. The keys omit the hospital.
type localSettings struct {
	changed map[string][]byte // changes since the last call to changedRecords; nil value: the record was deleted
	unknown map[int32]bool    // ids of the unconfirmed rooms in the lists
	rooms   []int32           // ids of the rooms whose records were written since the last call to changedChart
}

// addRecord adds a written or deleted record to the changes, if administrators see records of its kind. For the
// record of a room that is registered or in the list of unconfirmed rooms, it only stores the room's id for the next
// call to changedChart.
func (l *localSettings) addRecord(hospitalID string, key []byte, s facts.Record, value []byte) {
	rest := key[len(hospitalID)+1:]
	switch s := s.(type) {
	case *facts.MappingState, *facts.RuleState, *facts.PlaceState, *facts.SwitchesState, *facts.CodeState:
	case *facts.RoomState:
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
	l.changed[name] = slices.Clone(value) // the view keeps the value, so it must be a copy
}

// updateUnknownRoom adds a room to the list of unconfirmed rooms if the room is unconfirmed. If not, it removes the
// room from the list.
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
		return err //nolint:wrapcheck // the error already has its context
	}
	h.scratch = value
	h.local.unknown[id] = true
	h.local.setRecord(name, value)
	return nil
}

// removableKinds are the kinds of listed records that can be deleted.
var removableKinds = []string{schemas.KindMapping, schemas.KindRule, schemas.KindPlace, schemas.KindCode}

// changedRecords returns the changes that were collected since its last call, and starts a new collection.
func (l *localSettings) changedRecords() map[string][]byte {
	changed := l.changed
	l.changed = nil
	return changed
}

// addAllRecords replaces the collected changes with all records of the hospital.
func (h *hospitalEntry) addAllRecords() error {
	h.local = localSettings{unknown: map[int32]bool{}}
	var fault error
	h.unit.LocalSettings(func(key []byte, s facts.Record) {
		if r, ok := s.(*facts.RoomState); ok {
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
