package forecast

import (
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/score"
)

// UnitOf is a chart as it is forecast from an instant on, not before that of the
// chart.
func UnitOf(c *acuity.Chart, at acuity.Instant, zone *time.Location) *Unit {
	at = max(at, c.Unit.Clock)
	snapshot := score.TakeSnapshot(c, at)
	plans := len(c.Unit.Staffing)
	if n := slices.IndexFunc(c.Unit.Staffing, func(s acuity.Staffing) bool { return s.AsOf > at }); n >= 0 {
		plans = n
	}
	return &Unit{At: at, Snapshot: &snapshot, Staffing: c.Unit.Staffing[plans:], Zone: zone}
}
