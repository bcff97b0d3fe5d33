package verdict

import (
	"svc/acuity"
	"svc/schemas"
)

// whole encodes the whole chart of a hospital.
func whole(h *hospital) (Chart, error) {
	chart := h.unit.Chart()
	encoded, err := encodeUnit(h, &chart.Unit)
	if err != nil {
		return encoded, err
	}
	for i := range chart.Rooms {
		room := &chart.Rooms[i]
		if encoded.Rooms[room.ID], err = schemas.EncodeRoomChart(nil, room); err != nil {
			return encoded, err
		}
	}
	h.unit.View(func(int32, *acuity.RoomChart) {}) // the whole holds what changed
	return encoded, nil
}

// changed encodes what changed of the chart of a hospital since the last call.
func changed(h *hospital) (Chart, error) {
	encoded, err := encodeUnit(h, &h.unit.Chart().Unit)
	h.unit.View(func(id int32, room *acuity.RoomChart) {
		if room == nil || err != nil {
			encoded.Rooms[id] = nil
			return
		}
		encoded.Rooms[id], err = schemas.EncodeRoomChart(nil, room)
	})
	return encoded, err
}

func encodeUnit(h *hospital, unit *acuity.UnitChart) (Chart, error) {
	value, err := schemas.EncodeUnitChart(nil, unit)
	return Chart{Hospital: h.id, Version: unit.Version, Unit: value, Rooms: map[int32][]byte{}}, err
}
