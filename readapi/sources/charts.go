// Package sources implements the data sources of the read API on top of the view in Redis or the log in Kafka.
package sources

import (
	"context"
	"errors"
	"fmt"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/internal/httpapi/access"
	"svc/internal/view"
	"svc/readapi"
	"svc/schemas"
)

// Charts implements [readapi.Charts] with the view.
type Charts struct{ View *view.View }

// Token implements [readapi.Charts].
func (c Charts) Token(ctx context.Context, hospital string) (readapi.Token, error) {
	token, err := c.View.Token(ctx, hospital)
	return readapi.Token(token), convertViewError(err)
}

// Read implements [readapi.Charts].
func (c Charts) Read(ctx context.Context, hospital string, since readapi.Token) (readapi.State, error) {
	s, err := c.View.ReadSince(ctx, hospital, view.Token(since))
	if err != nil {
		return readapi.State{}, convertViewError(err)
	}
	state := readapi.State{
		Token: readapi.Token(s.Token), Unit: s.Chart, Rooms: make([]readapi.Room, len(s.Rooms)),
		Partial: s.Partial, Gone: s.Gone,
	}
	for i, r := range s.Rooms {
		state.Rooms[i] = readapi.Room(r)
	}
	return state, nil
}

// DecodeUnit implements [readapi.Charts].
func (Charts) DecodeUnit(encoded string, u *acuity.UnitChart) error {
	return convertDecodeError("unit", schemas.UnitChartCodec.DecodeInto([]byte(encoded), u))
}

// DecodeRoom implements [readapi.Charts].
func (Charts) DecodeRoom(encoded string, r *acuity.RoomChart) error {
	return convertDecodeError("room", schemas.RoomChartCodec.DecodeInto([]byte(encoded), r))
}

// LocalSettings implements [readapi.LocalSettings] with the view and the settings.
type LocalSettings struct {
	View     *view.View
	Register *access.Register
}

// LocalSettings implements [readapi.LocalSettings].
func (s LocalSettings) LocalSettings(ctx context.Context, hospital string, codes bool) (map[string]string, error) {
	all, _, err := s.View.LocalSettings(ctx, hospital, codes)
	return all, convertViewError(err)
}

// DecodeState implements [readapi.LocalSettings].
func (LocalSettings) DecodeState(encoded string) (facts.Record, error) {
	return schemas.DecodeState([]byte(encoded))
}

// Hospital implements [readapi.LocalSettings].
func (s LocalSettings) Hospital(id string) (access.Hospital, bool) { return s.Register.Hospital(id) }

// convertDecodeError converts an error from decoding a record. A record that a newer release wrote cannot be read
// until this process is upgraded.
func convertDecodeError(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, newer := errors.AsType[*schemas.UnknownSchemaError](err); newer {
		return fmt.Errorf("decode %s chart: %w: %w", what, readapi.ErrNewer, err)
	}
	return fmt.Errorf("decode %s chart: %w", what, err)
}

// convertViewError converts an error from the view to an error of package readapi.
func convertViewError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, view.ErrNoUnit):
		return readapi.ErrNoUnit
	case errors.Is(err, view.ErrNotWhole):
		return fmt.Errorf("%w: %w", readapi.ErrIncomplete, err)
	case errors.Is(err, view.ErrBehind):
		if behind, ok := errors.AsType[*view.BehindError](err); ok {
			return &readapi.BehindError{For: behind.For, Cause: err}
		}
		return fmt.Errorf("%w: %w", readapi.ErrBehind, err)
	}
	return fmt.Errorf("%w: %w", readapi.ErrAway, err)
}
