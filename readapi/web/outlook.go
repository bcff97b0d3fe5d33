package web

import (
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/readapi"
	"svc/readapi/web/chart"
)

// outlook is the forecast for the next eight hours.
type outlook struct {
	Finding finding // without a figure if there is no forecast
	Rows    []outlookRow
	Known   bool // whether the nurses on duty, and so the shortfall, are known for at least one hour
	InWords string
	Levels  finding // probability of each level
}

// finding is a chart with a heading that states its main result.
type finding struct {
	Heading, About string
	Figure         template.HTML // "": none
}

type outlookRow struct{ At, Low, Likely, High, ShortLikely, ShortHigh string }

// newOutlook returns the forecast of a unit. If there is no forecast, the heading says so, and InWords says why.
func (p *writer) newOutlook(u *readapi.Unit, wall bool) *outlook {
	f := u.Forecast
	if f == nil || len(f.Hours) == 0 {
		return &outlook{Finding: finding{Heading: p.T("forecast.none")}, InWords: p.formatMissing(u.Missing)}
	}
	about := p.T("forecast.about")
	o := &outlook{Known: slices.ContainsFunc(f.Hours[:], isStaffed)}
	if f.Calibration.Status != forecast.Prior {
		about += " " + p.T("forecast.held", "share", int(f.Calibration.Coverage80*100+.5), "days", f.Calibration.WindowDays)
	}
	if f.Calibration.Status != forecast.Calibrated {
		about += " " + p.T("forecast.learning", "hours", f.HistoryHours)
	}
	if past := selectMeasured(f); len(past) > 0 {
		for _, h := range past {
			o.Rows = append(o.Rows, outlookRow{At: p.T("forecast.hour", "time", p.FormatInstant(h.At())), Likely: p.formatNurses(h.Required)})
		}
	}
	worst, highest := &f.Hours[0], &f.Hours[0]
	for i := range f.Hours {
		h := &f.Hours[i]
		row := outlookRow{
			At: p.FormatInstant(h.End), Low: p.formatNeed(h.Nurses[forecast.P10]),
			Likely: p.formatNeed(h.Nurses[forecast.P50]), High: p.formatNeed(h.Nurses[forecast.P90]),
		}
		switch {
		case isStaffed(*h):
			row.ShortLikely, row.ShortHigh = strconv.Itoa(int(h.ShortfallP50)), strconv.Itoa(int(h.ShortfallP90))
		case o.Known:
			row.ShortLikely, row.ShortHigh = p.T("unknown"), p.T("unknown")
		}
		o.Rows = append(o.Rows, row)
		if h.ShortfallP50 > worst.ShortfallP50 {
			worst = h
		}
		if h.Nurses[forecast.P90] > highest.Nurses[forecast.P90] {
			highest = h
		}
	}
	words := p.describeForecast(f, max(u.Verdict.Shortfall, 0), worst)
	first, size := utf8.DecodeRuneInString(words)
	o.InWords = string(unicode.ToUpper(first)) + words[size:]
	heading := o.InWords // if there is a current shortfall, the heading begins with it
	if !o.Known || u.Verdict.Shortfall <= 0 {
		heading = p.T("forecast.says", "words", words)
	}
	o.Finding = finding{heading, about, p.drawForecast(u, highest, wall)}
	if !wall {
		o.Levels = p.drawLevels(u)
	}
	return o
}

// isStaffed reports whether the nurses on duty in an hour of a forecast are known.
func isStaffed(h forecast.Hour) bool { return h.ShortfallP50 >= 0 }

// isStaffedAt reports whether the number of nurses on duty, current or planned, is known for an instant of a
// forecast.
func isStaffedAt(u *readapi.Unit, at acuity.Instant) bool {
	return u.Verdict.OnDuty >= 0 || slices.ContainsFunc(u.Plan, func(plan acuity.Staffing) bool { return plan.AsOf <= at })
}

// shownPast is how far into the past the figure of a forecast extends.
const shownPast = 4 * time.Hour

// selectMeasured returns the measured hours that the figure of a forecast shows.
func selectMeasured(f *forecast.Forecast) []forecast.Measured {
	first := slices.IndexFunc(f.Past, func(h forecast.Measured) bool { return h.At() > f.At.Add(-shownPast) })
	if first < 0 {
		return nil
	}
	return f.Past[first:]
}

// formatMissing returns the reason why there is no forecast.
func (p *writer) formatMissing(m *forecast.InsufficientError) string {
	switch {
	case m == nil:
		return p.T("forecast.away")
	case m.Missing == forecast.MissingObservation:
		return p.T("forecast.silent")
	}
	return p.T("forecast.hours", "hours", m.Hours)
}

// drawForecast draws the past and future need for nurses, and the nurses on duty.
func (p *writer) drawForecast(u *readapi.Unit, highest *forecast.Hour, wall bool) template.HTML {
	f, v := u.Forecast, u.Verdict
	required := nursesOf(v.Required)
	figure := &chart.Forecast{
		Now: f.At.Time(), Clock: p.FormatClock, Wall: wall,
		Ahead: []chart.Band{{At: f.At.Time(), Low: required, Likely: required, High: required}},
		Words: chart.ForecastWords{
			Now:   p.T("chart.now", "n", p.formatNeed(required)),
			Short: [4]string{p.T("chart.covered"), p.T("chart.short1"), p.T("chart.short2"), p.T("chart.short3")},
		},
	}
	for i := range f.Hours {
		h := &f.Hours[i]
		figure.Ahead = append(figure.Ahead, chart.Band{
			At: h.End.Time(), Low: h.Nurses[forecast.P10], Likely: h.Nurses[forecast.P50], High: h.Nurses[forecast.P90],
		})
	}
	for _, h := range selectMeasured(f) {
		figure.Past = append(figure.Past, chart.Sample{At: h.At().Time(), Nurses: nursesOf(h.Required)})
	}
	duty := p.T("unknown")
	if v.OnDuty >= 0 {
		duty = strconv.Itoa(int(v.OnDuty))
	}
	p.drawDutyLine(figure, u)
	high := p.formatNeed(highest.Nurses[forecast.P90])
	figure.Words.Highest = p.T("chart.high", "n", high)
	figure.Title = p.T("chart.title", "now", p.formatNeed(required), "onduty", duty,
		"high", high, "time", p.FormatInstant(highest.End))
	wide := figure.SVG()
	figure.Narrow = true
	return wide + figure.SVG()
}

// drawDutyLine draws the past, current and planned nurses on duty. The line begins after the last time at which their
// number was unknown.
func (p *writer) drawDutyLine(figure *chart.Forecast, u *readapi.Unit) {
	line := func(at acuity.Instant, nurses int32, words string) {
		if n := len(figure.OnDuty); n > 0 && figure.OnDuty[n-1].Nurses == float64(nurses) {
			figure.Words.OnDuty[n-1] = words // the number has not changed, so the line continues
			return
		}
		figure.OnDuty = append(figure.OnDuty, chart.Sample{At: at.Time(), Nurses: float64(nurses)})
		figure.Words.OnDuty = append(figure.Words.OnDuty, words)
	}
	reset := func() { figure.OnDuty, figure.Words.OnDuty = nil, nil }
	f, hour := u.Forecast, int32(0)
	for _, h := range selectMeasured(f) {
		if h.Nurses < 0 || h.Hour != hour+1 {
			reset()
		}
		if hour = h.Hour; h.Nurses >= 0 {
			line(h.At(), h.Nurses, "")
		}
	}
	if f.At.Hour() != hour {
		reset()
	}
	if u.Verdict.OnDuty >= 0 {
		line(f.At, u.Verdict.OnDuty, p.T("chart.duty", "n", u.Verdict.OnDuty))
	} else {
		reset()
	}
	for _, plan := range u.Plan {
		if plan.AsOf > f.At {
			figure.OnDuty = append(figure.OnDuty, chart.Sample{At: plan.AsOf.Time(), Nurses: float64(plan.Nurses)})
			figure.Words.OnDuty = append(figure.Words.OnDuty, p.T("chart.plan", "n", plan.Nurses))
		}
	}
}

// describeForecast returns the forecast as one line of text. If there is a current shortfall, or if it is unknown
// whether there is one, the text says so first.
func (p *writer) describeForecast(f *forecast.Forecast, now int32, worst *forecast.Hour) string {
	first := slices.IndexFunc(f.Hours[:], isStaffed)
	if first < 0 {
		return p.T("forecast.unstaffed")
	}
	bad := &f.Hours[0]
	for i := range f.Hours {
		if f.Hours[i].ShortfallP90 > bad.ShortfallP90 {
			bad = &f.Hours[i]
		}
	}
	likely := p.T("forecast.covered")
	covered := slices.IndexFunc(f.Hours[:], func(h forecast.Hour) bool { return h.ShortfallP50 == 0 })
	begin := ""
	switch {
	case now > 0:
		begin = p.T("forecast.shortnow", "n", now) + "; "
	case first > 0:
		begin = p.T("forecast.unstaffed.now") + "; "
	}
	switch short := p.T("forecast.short", "n", worst.ShortfallP50, "time", p.FormatInstant(worst.End)); {
	case covered < 0, first > 0 && worst.ShortfallP50 > 0:
		likely = begin + short
	case begin != "":
		likely = begin + p.T("forecast.coveredfrom", "time", p.FormatInstant(f.Hours[covered].End))
		again, found := selectShortest(f.Hours[covered:])
		if found {
			likely += ", " + p.T("forecast.shortagain", "n", again.ShortfallP50, "time", p.FormatInstant(again.End))
		}
	case worst.ShortfallP50 > 0:
		likely = short
	}
	if bad.ShortfallP90 > max(worst.ShortfallP50, now) {
		likely += "; " + p.T("forecast.bad", "n", bad.ShortfallP90, "time", p.FormatInstant(bad.End))
	}
	return likely
}

// selectShortest returns the hour with the largest likely shortfall, and reports whether that shortfall is greater
// than 0.
func selectShortest(hours []forecast.Hour) (worst *forecast.Hour, found bool) {
	worst = &hours[0]
	for i := range hours {
		if hours[i].ShortfallP50 > worst.ShortfallP50 {
			worst = &hours[i]
		}
	}
	return worst, worst.ShortfallP50 > 0
}

// mostTurns is the maximum number of level changes in a heading.
const mostTurns = 3

// drawLevels draws the probability of each level. The heading says when the level changes. Where unknown data could
// raise the level, the column is striped and the level has a question mark.
func (p *writer) drawLevels(u *readapi.Unit) finding {
	points := u.Forecast.Points[:]
	mark := func(level string, l acuity.Level, at acuity.Instant) string {
		if l < lowestKnown(u, at) {
			level += "?"
		}
		return level
	}
	now := u.Verdict.Level
	first := mark(p.T("level."+now.String()), now, u.Forecast.At)
	heading, last, turns := p.T("levels.first", "level", first), first, 0
	l, about := &chart.Levels{}, p.T("levels.about")
	for i := range points {
		q := &points[i]
		at, level, known := p.FormatInstant(q.At), mark(p.T("color."+q.Level.String()), q.Level, q.At), lowestKnown(u, q.At)
		if !strings.EqualFold(level, last) && turns < mostTurns {
			heading += ", " + p.T("levels.then", "level", level, "time", at)
			turns++
		}
		last = level
		column := chart.LevelColumn{At: at, Likely: int(q.Level), Unsure: q.Level < known}
		for level, thousandths := range q.P {
			share := float64(thousandths) / 1000 //nolint:mnd // in thousandths
			if acuity.Level(level) < known {
				column.Unknown += share
			} else {
				column.Shares[level] = share
			}
		}
		l.Columns = append(l.Columns, column)
	}
	if turns == 0 {
		heading = p.T("levels.all", "level", first)
	}
	switch {
	case !isStaffedAt(u, points[0].At):
		about += " " + p.T("levels.unstaffed")
	case !u.Verdict.Axes[acuity.AxisCapacity].Known:
		about += " " + p.T("levels.uncounted")
	}
	l.Title = p.T("levels") + ". " + heading + "."
	wide := l.SVG()
	l.Narrow = true
	return finding{heading, about, wide + l.SVG()}
}

// lowestKnown returns the lowest level that a forecast can state for an instant; unknown data could raise any lower
// level. Three of seven measures need the number of nurses on duty. While that number is unknown, the result is red,
// as in the trends. Without a census, the result is yellow, as on the unit page.
func lowestKnown(u *readapi.Unit, at acuity.Instant) acuity.Level {
	switch {
	case !isStaffedAt(u, at):
		return acuity.LevelRed
	case !u.Verdict.Axes[acuity.AxisCapacity].Known:
		return acuity.LevelYellow
	}
	return acuity.LevelGreen
}
