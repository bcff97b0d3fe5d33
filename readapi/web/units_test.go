package web

import (
	"context"
	"testing"

	"svc/readapi/web/text"
)

// hastyUnits fails for a caller that goes away, as a view on a network does.
type hastyUnits struct{ *fakeUnits }

func (h hastyUnits) Unit(ctx context.Context, hospital string) (*Unit, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.fakeUnits.Unit(ctx, hospital)
}

// TestLookerGoesAway: who leaves the page of all hospitals while one is read does not make it unknown
// to the others.
func TestLookerGoesAway(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	p.config.Units = hastyUnits{p.units}
	all := newSummaries(&p.config)
	gone, leave := context.WithCancel(t.Context())
	leave()
	all.readRow(gone, text.In("en"), "north", false)
	if row := all.readRow(t.Context(), text.In("en"), "north", false); row.Class != "green" {
		t.Errorf("%+v", row)
	}
}
