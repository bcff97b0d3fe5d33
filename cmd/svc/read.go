package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"svc/acuity"
	"svc/internal/board"
	"svc/readapi"
	"svc/schemas"
)

// wireRead is svc read: the view in, verdicts out.
func wireRead(_ context.Context, h *house) error {
	h.routes["/api/v1/"] = readapi.New(readapi.Config{Charts: charts{h.redis}, Shell: h.shell})
	h.checks["redis"] = h.redis.Ping
	return nil
}

// charts is the view as readapi sees it.
type charts struct{ board *board.Board }

// Chart implements [readapi.Charts].
func (c charts) Chart(ctx context.Context, hospital string, have readapi.Token) (*acuity.Chart, readapi.Token, error) {
	s, err := c.board.Read(ctx, hospital, board.Token(have))
	token := readapi.Token(s.Token)
	switch {
	case errors.Is(err, board.ErrNoUnit):
		return nil, token, readapi.ErrNoUnit
	case err != nil:
		return nil, token, fmt.Errorf("%w: %w", readapi.ErrAway, err)
	case token == have:
		return nil, token, nil
	}
	chart := &acuity.Chart{Hospital: hospital, Rooms: make([]acuity.RoomChart, len(s.Rooms))}
	if err := schemas.DecodeUnitChart(s.Chart, &chart.Unit); err != nil {
		return nil, token, fmt.Errorf("decode unit chart: %w", err)
	}
	for i, room := range s.Rooms {
		if err := schemas.DecodeRoomChart(room, &chart.Rooms[i]); err != nil {
			return nil, token, fmt.Errorf("decode room chart: %w", err)
		}
	}
	slices.SortFunc(chart.Rooms, func(a, b acuity.RoomChart) int { return int(a.ID) - int(b.ID) })
	return chart, token, nil
}
