package main

import (
	"context"
	"errors"
	"fmt"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
	"svc/internal/view"
	"svc/readapi"
	"svc/schemas"
)

// wireRead is svc read. It answers requests from the view.
func wireRead(ctx context.Context, h *service) error {
	letters := h.deadLetters()
	reads := readapi.Mount(h.router, readapi.Config{
		Charts: charts{h.redis}, Dated: charts{h.redis.Dated()}, Health: pipeline{h, letters}, Shell: h.shell,
		LocalSettings: site{h.redis, h.settings.Register}, Forecasts: forecasts{h.models(), h.settings.Register.Zone},
		Hours: recordedHours(h),
	})
	keys.MountReads(h.router, h.keys())
	walls.MountReads(h.router, wallsConfig(h))
	layout.MountReads(h.router, layoutConfig(h))
	users.MountReads(h.router, users.Config{Shell: h.shell, Office: h.office()})
	subscribers.MountReads(h.router, h.subscribers())
	readapi.MountAudit(h.router, h.shell, h.audit.List, h.settings.Register.Zone)
	readapi.MountDeadLetters(h.router, h.shell, listed(letters))
	h.Health.Add("redis", h.redis.Ping)
	h.Health.Add("view", h.shows)
	h.Health.Add("lists", func(ctx context.Context) error { return partitionsRead(ctx, h, h.redis.Lists().Faults) })
	h.Health.Add("forecast", func(ctx context.Context) error { return partitionsRead(ctx, h, h.models().Faults) })
	if err := mountPages(ctx, h, reads); err != nil {
		return err
	}
	return h.mountAlerts()
}

// charts implements [readapi.Charts] on the view.
type charts struct{ view *view.View }

// Token implements [readapi.Charts].
func (c charts) Token(ctx context.Context, hospital string) (readapi.Token, error) {
	token, err := c.view.Token(ctx, hospital)
	return readapi.Token(token), away(err)
}

// Read implements [readapi.Charts].
func (c charts) Read(ctx context.Context, hospital string, since readapi.Token) (readapi.State, error) {
	s, err := c.view.ReadSince(ctx, hospital, view.Token(since))
	if err != nil {
		return readapi.State{}, away(err)
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
func (charts) DecodeUnit(encoded string, u *acuity.UnitChart) error {
	if err := schemas.DecodeUnitChart([]byte(encoded), u); err != nil {
		return fmt.Errorf("decode unit chart: %w", err)
	}
	return nil
}

// DecodeRoom implements [readapi.Charts].
func (charts) DecodeRoom(encoded string, r *acuity.RoomChart) error {
	if err := schemas.DecodeRoomChart([]byte(encoded), r); err != nil {
		return fmt.Errorf("decode room chart: %w", err)
	}
	return nil
}

// away translates an error of the view into that of readapi.
func away(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, view.ErrNoUnit):
		return readapi.ErrNoUnit
	case errors.Is(err, view.ErrNotWhole):
		return fmt.Errorf("%w: %w", readapi.ErrIncomplete, err)
	case errors.Is(err, view.ErrBehind):
		behind := (*view.BehindError)(nil)
		if errors.As(err, &behind) {
			return &readapi.BehindError{For: behind.For, Cause: err}
		}
		return fmt.Errorf("%w: %w", readapi.ErrBehind, err)
	}
	return fmt.Errorf("%w: %w", readapi.ErrAway, err)
}

// site implements [readapi.LocalSettings] on the view and the settings.
type site struct {
	view     *view.View
	register *access.Register
}

// LocalSettings implements [readapi.LocalSettings].
func (s site) LocalSettings(ctx context.Context, hospital string, codes bool) (map[string]string, error) {
	all, _, err := s.view.Site(ctx, hospital, codes)
	return all, away(err)
}

// DecodeState implements [readapi.LocalSettings].
func (site) DecodeState(encoded string) (hospital.Record, error) {
	return schemas.DecodeState([]byte(encoded))
}

// Hospital implements [readapi.LocalSettings].
func (s site) Hospital(id string) (access.Hospital, bool) { return s.register.Hospital(id) }
