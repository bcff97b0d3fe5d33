package main

import (
	"context"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/internal/view"
	"svc/schemas"
)

// pastHours is a forecast that has learnt n quiet hours, or does not answer.
type pastHours struct {
	n    int
	slow bool
}

func (h pastHours) Model(ctx context.Context, hospital string) (*forecast.Model, error) {
	if h.slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	m := forecast.NewModel(hospital)
	for i := range h.n {
		forecast.Learn(m, &acuity.Snapshot{Hour: 490_000 + int32(i), Observed: true, Nurses: -1}, nil)
	}
	return m, nil
}

func (pastHours) Zone(string) *time.Location { return time.UTC }

// TestExpected: an alert has the peak of the forecast if there is one in time, else none.
func TestExpected(t *testing.T) {
	at := acuity.Instant(490_030) * 3_600_000
	chart := &acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{Clock: at, ObservedAt: at}}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for name, tt := range map[string]struct {
		ctx     context.Context
		learned pastHours
		want    bool
	}{
		"enough":             {t.Context(), pastHours{n: 30}, true},
		"too little history": {t.Context(), pastHours{n: 23}, false},
		"slow":               {late, pastHours{n: 30, slow: true}, false},
	} {
		peak := expected(tt.ctx, tt.learned, chart, at-1)
		if (peak != nil) != tt.want {
			t.Errorf("%s: %+v", name, peak)
			continue
		}
		if peak == nil {
			continue
		}
		model, err := tt.learned.Model(tt.ctx, "north")
		if err != nil {
			t.Fatal(err)
		}
		f, err := forecast.Predict(model, forecast.UnitOf(chart, at, time.UTC))
		if err != nil || !peak.At.Equal(f.Peak.At.Time()) || peak.Nurses != f.Peak.P90 {
			t.Errorf("%s: %+v, forecast %+v, %v", name, peak, f.Peak, err)
		}
	}
}

// TestRoomsOfTheVersion: an alert shows the rooms at its change or later. It waits while the view
// is behind, and shows no rooms that the view does not get in time.
func TestRoomsOfTheVersion(t *testing.T) {
	h := built(t, "notify")
	projector := h.redis.Projector(h.generation, func(int32) {})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go projector.Run(ctx) //nolint:errcheck // ends with the test
	view := func(version int64, status acuity.RoomStatus) view.Projection {
		chart := acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{Version: version}}
		unit, err := schemas.EncodeUnitChart(nil, &chart.Unit)
		if err != nil {
			t.Fatal(err)
		}
		room, err := schemas.EncodeRoomChart(nil, &acuity.RoomChart{ID: 4, Label: "LDR 4", Status: status})
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
