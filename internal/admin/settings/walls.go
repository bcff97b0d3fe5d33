package settings

import (
	"context"
	"math"

	"svc/internal/admin/layout"
	"svc/internal/admin/walls"
	"svc/schemas/administration"
)

// PutWall writes or removes a wall. No other writer changes a wall, so the write is
// unconditional.
func (s *Store) PutWall(ctx context.Context, w *walls.Wall, drop bool) error {
	if drop {
		return s.write(ctx, w.Hospital, math.MaxInt64, removed(w.Hospital, kindWall, w.ID))
	}
	return put(ctx, s, math.MaxInt64, w.Hospital, kindWall, w.ID, administration.WallCodec, w)
}

// layoutID is the id of the only layout of a hospital.
const layoutID = "unit"

// PutLayout writes the layout of a hospital. The error may be [access.ErrOvertaken].
func (s *Store) PutLayout(ctx context.Context, seen int64, l *layout.Layout) error {
	return put(ctx, s, seen, l.Hospital, kindLayout, layoutID, administration.LayoutCodec, l)
}
