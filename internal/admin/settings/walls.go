package settings

import (
	"context"
	"fmt"
	"math"

	"svc/internal/admin/layout"
	"svc/internal/admin/walls"
	"svc/internal/stream"
	"svc/schemas"
	"svc/schemas/administration"
)

// applyWall applies one record to the registers of walls and of layouts.
func (s *Store) applyWall(hospital, kind, id string, value []byte) error {
	switch {
	case kind == kindWall && value == nil:
		s.Walls.Drop(id)
	case kind == kindWall:
		w, err := administration.WallCodec.Decode(value)
		if err != nil {
			return fmt.Errorf("decode wall: %w", err)
		}
		s.Walls.Set(*w)
	case value == nil:
		s.Layouts.Drop(hospital)
	default:
		l, err := administration.LayoutCodec.Decode(value)
		if err != nil {
			return fmt.Errorf("decode layout: %w", err)
		}
		s.Layouts.Set(l)
	}
	return nil
}

// PutWall writes or removes a wall. No other writer changes a wall, so the write is
// unconditional.
func (s *Store) PutWall(ctx context.Context, w *walls.Wall, drop bool) error {
	entry := stream.Entry{Key: schemas.Key{Hospital: w.Hospital, Kind: kindWall, ID: w.ID}.String()}
	if !drop {
		var err error
		if entry.Value, err = administration.WallCodec.Encode(nil, w); err != nil {
			return fmt.Errorf("encode wall: %w", err)
		}
	}
	return s.write(ctx, w.Hospital, math.MaxInt64, entry)
}

// layoutID is the id of the only layout of a hospital.
const layoutID = "unit"

// PutLayout writes the layout of a hospital. The error may be [access.ErrOvertaken].
func (s *Store) PutLayout(ctx context.Context, seen int64, l *layout.Layout) error {
	value, err := administration.LayoutCodec.Encode(nil, l)
	if err != nil {
		return fmt.Errorf("encode layout: %w", err)
	}
	key := schemas.Key{Hospital: l.Hospital, Kind: kindLayout, ID: layoutID}
	return s.write(ctx, l.Hospital, seen, stream.Entry{Key: key.String(), Value: value})
}
