package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"svc/acuity"
)

const (
	mostDrivers = 5
	leastEffect = .25 // nurses
)

// drivers explains the forecast of the peak to a nurse: what changes the nurses
// required, the largest first, then why to trust the forecast less.
func drivers(m *Model, u *Unit, p *path, o *outlook, h int) []string {
	zone := u.Zone
	if zone == nil {
		zone = time.UTC
	}
	local := func(at acuity.Instant) string { return at.Time().In(zone).Format("15:04") }
	by := local(u.At + acuity.Instant(h+1)*hourLong)
	arrivals := 0.0
	for _, n := range p.arrivals[:h+1] {
		arrivals += n
	}
	type effect struct {
		nurses float64
		text   string
	}
	effects := []effect{
		{p.coming[h], fmt.Sprintf("%.1f arrivals expected by %s", arrivals, by)},
		{p.leaving[h], fmt.Sprintf("%.1f mothers likely to leave by %s", p.leavers[h], by)},
		{p.progress[h], "births and progress of labour by " + by},
		{p.clocks[h], "known clocks, such as the end of a recovery, by " + by},
		{o.mean[nurses] - o.required.raw, "usual for this hour"},
	}
	effects = slices.DeleteFunc(effects, func(e effect) bool { return math.Abs(e.nurses) < leastEffect })
	slices.SortStableFunc(effects, func(a, b effect) int { return cmp.Compare(math.Abs(b.nurses), math.Abs(a.nurses)) })

	caveats := doubts(m, u, local)
	list := make([]string, 0, mostDrivers)
	for _, e := range effects[:min(len(effects), mostDrivers-len(caveats))] {
		list = append(list, fmt.Sprintf("%s: %+.1f nurses", e.text, e.nurses))
	}
	return append(list, caveats...)
}

// doubts says why to trust a forecast less; at most three texts.
func doubts(m *Model, u *Unit, local func(acuity.Instant) string) []string {
	var list []string
	end := u.At + Horizon*hourLong
	switch {
	case len(u.Staffing) > 0 && u.Staffing[0].AsOf <= end:
		list = append(list, fmt.Sprintf("Staffing plan from %s: %d nurses.", local(u.Staffing[0].AsOf), u.Staffing[0].Nurses))
	case u.Snapshot.Nurses < 0:
		list = append(list, "The nurses on duty are not known: no shortfall, and levels by the rest alone.")
	default:
		list = append(list, fmt.Sprintf("The nurses on duty are assumed to stay %d: no plan was sent.", u.Snapshot.Nurses))
	}
	if m.Learnt < 14*24 {
		list = append(list, fmt.Sprintf("Learnt from %d hours, less than 14 days.", m.Learnt))
	}
	moves := float32(0)
	for _, n := range m.Moves {
		moves += n
	}
	if moves == 0 {
		list = append(list, "Learnt from censuses alone: no admission, transfer or discharge was received.")
	}
	return list
}
