package main

import (
	"context"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
)

// pastHours is a house that has learnt so many quiet hours, or does not answer.
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

// TestExpected: an alert has the peak where there is a forecast, and goes without
// where there is none in time.
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
