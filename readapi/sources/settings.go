package sources

import (
	"context"

	"svc/acuity/hospital"
	"svc/internal/httpapi/access"
	"svc/internal/view"
	"svc/schemas"
)

// LocalSettings implements [readapi.LocalSettings] on the view and the settings.
type LocalSettings struct {
	View     *view.View
	Register *access.Register
}

// LocalSettings implements [readapi.LocalSettings].
func (s LocalSettings) LocalSettings(ctx context.Context, hospital string, codes bool) (map[string]string, error) {
	all, _, err := s.View.LocalSettings(ctx, hospital, codes)
	return all, away(err)
}

// DecodeState implements [readapi.LocalSettings].
func (LocalSettings) DecodeState(encoded string) (hospital.Record, error) {
	return schemas.DecodeState([]byte(encoded))
}

// Hospital implements [readapi.LocalSettings].
func (s LocalSettings) Hospital(id string) (access.Hospital, bool) { return s.Register.Hospital(id) }
