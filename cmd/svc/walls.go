package main

import (
	"context"
	"fmt"
	"math"

	"svc/internal/admin/layout"
	"svc/internal/admin/walls"
	"svc/internal/stream"
	"svc/readapi/web"
	"svc/schemas"
)

// takeWall applies one record to the registers of walls and of layouts.
func (s *settings) takeWall(hospital, kind, id string, value []byte) error {
	switch {
	case kind == kindWall && value == nil:
		s.walls.Drop(id)
	case kind == kindWall:
		w, err := schemas.DecodeWall(value)
		if err != nil {
			return fmt.Errorf("decode wall: %w", err)
		}
		s.walls.Set(*w)
	case value == nil:
		s.layouts.Drop(hospital)
	default:
		l, err := schemas.DecodeLayout(value)
		if err != nil {
			return fmt.Errorf("decode layout: %w", err)
		}
		s.layouts.Set(l)
	}
	return nil
}

// putWall writes or removes a wall. No other writer changes a wall, so the write is
// unconditional.
func (s *settings) putWall(ctx context.Context, w *walls.Wall, drop bool) error {
	entry := stream.Entry{Key: schemas.Key{Hospital: w.Hospital, Kind: kindWall, ID: w.ID}.String()}
	if !drop {
		var err error
		if entry.Value, err = schemas.EncodeWall(nil, w); err != nil {
			return fmt.Errorf("encode wall: %w", err)
		}
	}
	return s.write(ctx, w.Hospital, math.MaxInt64, entry)
}

// layoutID is the id of the only layout of a hospital.
const layoutID = "unit"

func (s *settings) putLayout(ctx context.Context, seen int64, l *layout.Layout) error {
	value, err := schemas.EncodeLayout(nil, l)
	if err != nil {
		return fmt.Errorf("encode layout: %w", err)
	}
	key := schemas.Key{Hospital: l.Hospital, Kind: kindLayout, ID: layoutID}
	return s.write(ctx, l.Hospital, seen, stream.Entry{Key: key.String(), Value: value})
}

// wallsConfig returns the configuration of the routes that administer walls.
func wallsConfig(h *service) walls.Config {
	office := &walls.Office{Register: h.settings.walls, Put: h.settings.putWall, Audit: h.audit.record, Now: h.now}
	return walls.Config{Shell: h.shell, Office: office, URL: func(token string) string { return h.config.PublicURL + web.WallPath + token }}
}

// layoutConfig returns the configuration of the routes that administer layouts.
func layoutConfig(h *service) layout.Config {
	s := h.settings
	return layout.Config{Shell: h.shell, Office: &layout.Office{Register: s.layouts, Seen: s.Seen, Put: s.putLayout, Audit: h.audit.record, Now: h.now}}
}
