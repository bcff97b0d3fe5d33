package main

import (
	"context"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/view"
	"svc/schemas"
)

// TestRoomsOfTheVersion: an alert shows the rooms at the time of the change that caused the alert, or later. The
// method rooms waits while the view is behind, and returns an error if the view does not catch up in time.
func TestRoomsOfTheVersion(t *testing.T) {
	h := built(t, "notify")
	projector := h.redis.Projector(h.generation, func(int32) {})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go projector.Run(ctx) //nolint:errcheck // it ends with the test
	view := func(version int64, status acuity.RoomStatus) view.Projection {
		chart := acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{Version: version}}
		unit, err := schemas.UnitChartCodec.Encode(nil, &chart.Unit)
		if err != nil {
			t.Fatal(err)
		}
		room, err := schemas.RoomChartCodec.Encode(nil, &acuity.RoomChart{ID: 4, Label: "LDR 4", Status: status})
		if err != nil {
			t.Fatal(err)
		}
		return view.Projection{Partition: 0, Position: version, Whole: true, Units: []view.Unit{
			{Hospital: "north", Version: version, Chart: unit, Rooms: map[int32][]byte{4: room}},
		}}
	}
	projector.Put(view(1, acuity.RoomEmpty))
	if rooms, err := h.rooms(ctx, "north", 1); err != nil || rooms.Open != 1 {
		t.Fatalf("rooms %+v, %v", rooms, err)
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if rooms, err := h.rooms(short, "north", 2); err == nil {
		t.Errorf("of a version that the view does not have it shows %+v", rooms)
	}
	go projector.Put(view(2, acuity.RoomBlocked))
	if rooms, err := h.rooms(ctx, "north", 2); err != nil || rooms.Open != 0 {
		t.Errorf("rooms %+v, %v", rooms, err)
	}
	h.generation = "another log"
	short, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if rooms, err := h.rooms(short, "north", 1); err == nil {
		t.Errorf("of another log it shows %+v", rooms)
	}
}
