package forecast_test

import (
	"errors"
	"testing"

	"svc/acuity"
	"svc/acuity/forecast"
)

// TestInsufficient: without enough history there is no forecast, and the error names the missing data.
func TestInsufficient(t *testing.T) {
	const start = 490_000
	hours := func(n, every int) *forecast.Model {
		m := forecast.NewModel("h")
		for i := range n * every {
			forecast.Learn(m, &acuity.Snapshot{Hour: start + int32(i), Observed: i%every == 0, Nurses: -1}, nil)
		}
		return m
	}
	at := func(m *forecast.Model, later int32) acuity.Instant { return acuity.Instant(m.Hour+later) * 3_600_000 }
	for name, tt := range map[string]struct {
		model    *forecast.Model
		later    int32
		silent   bool
		missing  forecast.Missing
		text     string
		field    string
		rule     string
		observed int
	}{
		"nothing": {
			model: forecast.NewModel("h"), missing: forecast.MissingHistory, field: "history.hours",
			rule: "at least 24 observed hours in 28 days",
			text: "Not enough history to forecast: 0 of the 24 required hours were observed in the last 28 days.",
		},
		"nine hours": {
			model: hours(9, 1), missing: forecast.MissingHistory, field: "history.hours", observed: 9,
			rule: "at least 24 observed hours in 28 days",
			text: "Not enough history to forecast: 9 of the 24 required hours were observed in the last 28 days.",
		},
		"every third hour is observed": {
			model: hours(23, 3), missing: forecast.MissingHistory, field: "history.hours", observed: 23,
			rule: "at least 24 observed hours in 28 days",
			text: "Not enough history to forecast: 23 of the 24 required hours were observed in the last 28 days.",
		},
		"enough":       {model: hours(24, 1)},
		"of 40 days":   {model: hours(40*24, 1)},
		"28 days old":  {model: hours(24, 1), later: 28*24 - 24, observed: 24},
		"older by one": {model: hours(24, 1), later: 28*24 - 23, observed: 23, missing: forecast.MissingHistory, field: "history.hours", rule: "at least 24 observed hours in 28 days", text: "Not enough history to forecast: 23 of the 24 required hours were observed in the last 28 days."},
		"silent": {
			model: hours(30, 1), silent: true, missing: forecast.MissingObservation, field: "history.lastObservation",
			rule: "at most 12 hours old", text: "No forecast: nothing was observed in the last 12 hours.", observed: 30,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := forecast.Predict(tt.model, &forecast.Unit{At: at(tt.model, tt.later), Snapshot: &acuity.Snapshot{Observed: !tt.silent, Nurses: -1}})
			if tt.missing == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var short *forecast.InsufficientError
			if !errors.As(err, &short) {
				t.Fatalf("error %v", err)
			}
			if short.Missing != tt.missing || short.Hours != tt.observed || short.Error() != tt.text || short.Field() != tt.field || short.Rule() != tt.rule {
				t.Errorf("%+v %q %q %q", short, short, short.Field(), short.Rule())
			}
		})
	}
}

func TestLearnSkipsWhatIsLearnt(t *testing.T) {
	m := forecast.NewModel("h")
	for hour, want := range []bool{true, false} {
		if got := forecast.Learn(m, &acuity.Snapshot{Hour: 490_000 - int32(hour), Observed: true}, nil); got != want {
			t.Errorf("hour %d: %v", hour, got)
		}
	}
	if m.Learnt != 1 {
		t.Errorf("%d hours learnt", m.Learnt)
	}
}
