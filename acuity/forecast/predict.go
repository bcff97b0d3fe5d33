package forecast

// Predict forecasts a unit. The only error is an [*InsufficientError].
func Predict(m *Model, u *Unit) (Forecast, error) {
	if err := sufficient(m, u); err != nil {
		return Forecast{}, err
	}
	return Forecast{At: u.At, HistoryHours: m.Learnt, Method: Method}, nil
}

// sufficient says what is missing for a forecast.
func sufficient(m *Model, u *Unit) error {
	if n := m.observed(u.At.Hour()); n < needHours {
		return &InsufficientError{Missing: MissingHistory, Hours: n}
	}
	if !u.Snapshot.Observed {
		return &InsufficientError{Missing: MissingObservation, Hours: needHours}
	}
	return nil
}
