package verdict

import (
	"errors"
	"slices"

	"svc/acuity"
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
	h.unit.View(func(int32, *acuity.RoomChart) {}) // clears the changes: the full chart has them
	err = h.addAllRecords()
	encoded.LocalSettings = h.local.takeChanged()
	return encoded, err
}

// changedChart encodes the changes of a hospital's chart since the last call.
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
	encoded.LocalSettings = h.local.takeChanged()
	return encoded, err
}

func encodeUnit(h *hospitalEntry, unit *acuity.UnitChart) (Chart, error) {
	value, err := schemas.UnitChartCodec.Encode(h.scratch[:0], unit)
	h.scratch = value
	return Chart{Hospital: h.id, Version: unit.Version, Unit: slices.Clone(value), Rooms: map[int32][]byte{}}, err
}

// roomChart encodes the chart of a room into bytes of its own without spare capacity,
// because the view keeps them.
func (h *hospitalEntry) roomChart(room *acuity.RoomChart) ([]byte, error) {
	value, err := schemas.RoomChartCodec.Encode(h.scratch[:0], room)
	h.scratch = value
	return slices.Clone(value), err
}
