package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/readapi"
)

// levelOf is a unit that has been at a level since an instant, or a unit that cannot be read.
type levelOf struct {
	*fakeUnits

	level acuity.Level
	since acuity.Instant // 0: unknown
}

func (l *levelOf) Unit(ctx context.Context, hospital string) (*readapi.Unit, error) {
	u, err := l.fakeUnits.Unit(ctx, hospital)
	if err == nil {
		u.Verdict.Level, u.Verdict.Run = l.level, acuity.LevelRun{Since: l.since}
	}
	return u, err
}

// TestAlertsStateWhatIsKnown compares the page of alerts with the alerts and the unit. The cases include no alerts, a
// unit that cannot be read or has another level, and complete data. The page claims that there is no active alert
// only if the alerts are known. The page says when a level began only if the unit's data includes that time.
func TestAlertsStateWhatIsKnown(t *testing.T) {
	t.Parallel()
	p, f := withAPI(t)
	unit := &levelOf{fakeUnits: p.units}
	p.config.Reads = unit
	var runs []outbound.AlertRun
	p.config.Acts.Alerts = func(context.Context, string) ([]outbound.AlertRun, error) { return runs, f.away }
	p.mount()
	cookie := p.Cookie("north", "usr_charge")
	rapid.Check(t, func(r *rapid.T) {
		runs, f.away, p.units.err = nil, nil, nil
		unit.level, unit.since = acuity.Level(rapid.IntRange(0, 3).Draw(r, "level")), 0
		if rapid.Bool().Draw(r, "since") {
			unit.since = acuity.At(noon.Add(-30 * time.Minute))
		}
		if rapid.IntRange(0, 3).Draw(r, "unit away") == 0 {
			p.units.err = errAway
		}
		active, acked, began := 0, 0, 0
		for i := range rapid.IntRange(0, 3).Draw(r, "alerts") {
			run := outbound.AlertRun{ID: fmt.Sprint("epi_", i), Level: acuity.Level(rapid.IntRange(1, 3).Draw(r, "of")).String(), OpenedAt: noon.Add(-time.Hour)}
			ended := rapid.Bool().Draw(r, "ended")
			if rapid.Bool().Draw(r, "acknowledged") {
				run.AckedAt = noon.Add(-50 * time.Minute)
			}
			if ended {
				run.ClosedAt = noon.Add(-40 * time.Minute)
			} else {
				active++
				if !run.AckedAt.IsZero() {
					acked++
				}
				if p.units.err == nil && unit.since != 0 && unit.level.String() == run.Level {
					began++
				}
			}
			runs = append(runs, run)
		}
		if rapid.IntRange(0, 9).Draw(r, "away") == 0 {
			f.away = errors.New("away")
		}
		got := p.Ask("GET", "/app/alerts", cookie)
		body := got.Body.String()
		if f.away != nil {
			if got.Code != http.StatusServiceUnavailable || strings.Contains(body, "No active alerts") || strings.Contains(body, "alert began") {
				r.Fatalf("the alerts are unknown: %d %s", got.Code, body)
			}
			return
		}
		count := func(words string) int { return strings.Count(body, words) }
		if count("No active alerts") != map[bool]int{active == 0: 1}[true] || count("alert began 11:00") != active || count("since 11:30") != began ||
			count("Acknowledged at 11:10") != acked || count("Not acknowledged yet") != active-acked || count(`<button class="go">`) != active-acked {
			r.Fatalf("%d active alerts, %d acknowledged, the level began in %d: %s", active, acked, began, body)
		}
	})
}
