package alert

import (
	"cmp"
	"context"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/score"
	"svc/notifier/event"
)

// Rooms is the state of the unit's rooms.
type Rooms struct {
	Open int // number of empty rooms that can receive a patient
	Top  []Room
	Peak *Peak // nil: no forecast
}

// Room is one of the rooms with the highest scores.
type Room struct {
	ID      int32
	Label   string // label as feeds send it
	Color   acuity.Color
	Nursing string // "1:2"
}

// Peak is the instant at which the need for nurses is expected to be greatest, with that need.
type Peak struct {
	At     time.Time
	Nurses float64 // 90th percentile of the nurses needed
}

// MaxTop is the maximum number of rooms that an alert names.
const MaxTop = 3

// Forecasts provides the learned forecast of a hospital.
type Forecasts interface {
	Model(ctx context.Context, hospital string) (*forecast.Model, error)
	Zone(hospital string) *time.Location
}

// ExpectPeak returns the peak of the forecast that GET /api/v1/predict returns. It returns nil if there is too little
// history or the model is not available in time.
func ExpectPeak(ctx context.Context, learned Forecasts, chart *acuity.Chart, at acuity.Instant) *Peak {
	model, err := learned.Model(ctx, chart.Hospital)
	if err != nil {
		return nil
	}
	f, err := forecast.Predict(model, forecast.UnitOf(chart, at, learned.Zone(chart.Hospital)))
	if err != nil {
		return nil
	}
	return &Peak{At: f.Peak.At.Time(), Nurses: f.Peak.P90}
}

// SumRooms counts the open rooms and selects the rooms with the highest scores, at most MaxTop. It selects no gray
// rooms.
func SumRooms(rooms []score.RoomVerdict) *Rooms {
	s := &Rooms{}
	slices.SortStableFunc(rooms, func(a, b score.RoomVerdict) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	for i := range rooms {
		r := &rooms[i]
		if r.Status == acuity.RoomEmpty {
			s.Open++
		}
		if r.Color != acuity.ColorGray && len(s.Top) < MaxTop {
			s.Top = append(s.Top, Room{ID: r.ID, Label: r.Label, Color: r.Color, Nursing: r.Demand.Nursing()})
		}
	}
	return s
}

// Name returns the room's name in alerts.
func (r *Room) Name() string { return event.NameRoom(r.ID, r.Label) }
