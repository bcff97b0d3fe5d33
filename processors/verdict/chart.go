package verdict

import (
	"svc/acuity"
	"svc/schemas"
)

// chart encodes the whole chart of a hospital.
func (t *task) chart(h *hospital) Chart {
	chart := h.unit.Chart()
	encoded := Chart{
		Hospital: h.id, Version: chart.Unit.Version,
		Unit:  schemas.AppendUnitChart(nil, &chart.Unit),
		Rooms: make(map[int32][]byte, len(chart.Rooms)),
	}
	for i := range chart.Rooms {
		encoded.Rooms[chart.Rooms[i].ID] = schemas.AppendRoomChart(nil, &chart.Rooms[i])
	}
	h.unit.View(func(int32, *acuity.RoomChart) {}) // the whole chart holds what changed
	return encoded
}

// changed encodes what changed of the chart of a hospital since the last call.
func (t *task) changed(h *hospital) Chart {
	unit := &h.unit.Chart().Unit
	encoded := Chart{
		Hospital: h.id, Version: unit.Version,
		Unit:  schemas.AppendUnitChart(nil, unit),
		Rooms: map[int32][]byte{},
	}
	h.unit.View(func(id int32, room *acuity.RoomChart) {
		if room == nil {
			encoded.Rooms[id] = nil
			return
		}
		encoded.Rooms[id] = schemas.AppendRoomChart(nil, room)
	})
	return encoded
}
