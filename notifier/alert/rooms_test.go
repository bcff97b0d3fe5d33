package alert

import (
	"context"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/score"
)

// TestSumRooms: an alert names the rooms with the highest scores. An empty room counts as open.
func TestSumRooms(t *testing.T) {
	got := SumRooms([]score.RoomVerdict{
		{ID: 1, Score: 20, Color: acuity.ColorYellow},
		{ID: 2, Status: acuity.RoomEmpty},
		{ID: 3, Score: 90, Color: acuity.ColorRed, Label: "LDR 3"},
		{ID: 4, Score: 50, Color: acuity.ColorOrange},
		{ID: 5, Score: 50, Color: acuity.ColorOrange},
	})
	var ids []int32
	for _, r := range got.Top {
		ids = append(ids, r.ID)
	}
	if got.Open != 1 || len(ids) != 3 || ids[0] != 3 || ids[1] != 4 || ids[2] != 5 || got.Top[0].Label != "LDR 3" {
		t.Errorf("open %d, top %v", got.Open, ids)
	}
}

// pastHours provides a forecast model that was learned from n quiet hours. If slow is true, Model does not return the
// model in time.
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

// TestExpectPeak: an alert contains the forecast peak if the forecast is available in time.
func TestExpectPeak(t *testing.T) {
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
		peak := ExpectPeak(tt.ctx, tt.learned, chart, at-1)
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
