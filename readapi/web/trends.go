package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/chart"
	"svc/readapi/web/page"
)

// trendsPage shows the state of the unit over the chosen number of days.
type trendsPage struct {
	page.Frame

	Spans    []spanLink
	Findings []finding
	Heads    []string // column headings of the table
	Rows     [][]string
	CSV      string
}

// spanLink links to the trends for a different number of days.
type spanLink struct {
	Name, Path string
	Current    bool
}

// spanDays contains the periods that a person can choose, in days.
var spanDays = []int{1, 7, readapi.TrendDays}

// readDays returns the requested number of days, or 0 if the request has a number that is not in spanDays. The
// default is 1.
func readDays(r *http.Request) int {
	given := r.URL.Query().Get("days")
	if given == "" {
		return 1
	}
	for _, days := range spanDays {
		if strconv.Itoa(days) == given {
			return days
		}
	}
	return 0
}

// readTrends returns the requested trends and their number of days. If it returns false, it has sent an error
// response.
func (s *site) readTrends(w http.ResponseWriter, r *http.Request, session *auth.Session) (t *readapi.Trends, days int, ok bool) {
	if days = readDays(r); days == 0 {
		s.ShowFault(w, r, http.StatusNotFound, session, "fault.none")
		return nil, 0, false
	}
	t, err := s.Reads.Trends(r.Context(), session.Hospital, s.Now().AddDate(0, 0, -days), time.Time{})
	switch {
	case err == nil:
		return t, days, true
	case errors.Is(err, readapi.ErrAway), r.Context().Err() != nil:
		w.Header().Set("Retry-After", "5")
		s.ShowFault(w, r, http.StatusServiceUnavailable, session, "fault.away")
	default:
		s.Log.ErrorContext(r.Context(), "page not rendered", "error", err)
		s.ShowFault(w, r, http.StatusInternalServerError, session, "fault.away")
	}
	return nil, 0, false
}

func (s *site) showTrends(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	t, days, ok := s.readTrends(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.trends"))
	frame.Page = "trends"
	page.WritePage(w, r, http.StatusOK, templates.Render("trends", p.newTrendsPage(frame, t, days)))
}

func (p *writer) newTrendsPage(frame page.Frame, t *readapi.Trends, days int) *trendsPage {
	out := &trendsPage{Frame: frame, CSV: fmt.Sprint(frame.Base, "/trends.csv?days=", days)}
	for i, name := range []string{p.T("trends.day"), p.T("trends.week"), p.T("trends.month")} {
		out.Spans = append(out.Spans, spanLink{name, fmt.Sprint(frame.Base, "/trends?days=", spanDays[i]), spanDays[i] == days})
	}
	for _, one := range []finding{p.drawNeeded(t, days), p.drawLevelMinutes(t, days)} {
		if one.Figure != "" {
			out.Findings = append(out.Findings, one)
		}
	}
	if len(out.Findings) == 0 {
		out.Findings = []finding{{Heading: p.T("trends.none"), About: p.T("trends.none.do")}}
	}
	if days == 1 {
		out.Heads, out.Rows = p.tabulateHours(t)
	} else {
		out.Heads, out.Rows = p.tabulateDays(t)
		if len(t.Week) > 0 {
			out.Findings = append(out.Findings, p.drawWeek(t))
		}
	}
	out.Findings = append(out.Findings, p.rateForecast(t.Forecast))
	return out
}

// formatDay formats the day of an hour. It subtracts an hour from At, which is the end of the hour.
func (p *writer) formatDay(h *shownHour) string { return p.FormatDate(h.At.Add(-time.Hour)) }

// drawNeeded draws the nurses needed and the nurses on duty. If no hour was observed, there is no figure.
func (p *writer) drawNeeded(t *readapi.Trends, days int) finding {
	figure := &chart.Past{From: t.Since, To: t.Until, Marks: p.listMarks(t, days)}
	staffed, short, most := 0, 0, int32(0)
	for i := range t.Hours {
		h := &t.Hours[i]
		if !h.Observed {
			continue
		}
		figure.Hours = append(figure.Hours, chart.PastHour{At: h.At, Needed: nursesOf(h.Required), OnDuty: float64(h.OnDuty)})
		if n := h.Shortfall(); n >= 0 {
			staffed++
			if n > 0 {
				short++
				most = max(most, n)
			}
		}
	}
	out := finding{About: p.T("trends.needed.about")}
	switch {
	case staffed == 0:
		out.Heading = p.T("trends.unstaffed")
	case short == 0:
		out.Heading = p.T("trends.covered", "n", staffed)
	default:
		out.Heading = p.T("trends.short", "n", short, "all", staffed, "most", most)
	}
	if all := int(t.Until.Sub(t.Since).Hours()); staffed > 0 && staffed < all {
		out.Heading += " " + p.T("trends.partly", "unknown", all-staffed, "all", all)
	}
	figure.Title = out.Heading
	out.Figure = figure.SVG()
	figure.Narrow = true
	out.Figure += figure.SVG()
	return out
}

// markedHours is the number of hours between two labels of a day.
const markedHours = 4

// listMarks returns the hour or day labels below a figure.
func (p *writer) listMarks(t *readapi.Trends, days int) (list []chart.Mark) {
	every := map[int]int{1: markedHours, 7: 24, 28: 4 * 24}[days] //nolint:mnd // hours between marks
	n := 0
	for at := t.Since; at.Before(t.Until); at = at.Add(time.Hour) {
		local := at.In(p.Zone)
		switch {
		case days == 1 && local.Hour()%every == 0:
			list = append(list, chart.Mark{At: at, Words: p.FormatClock(at)})
		case days > 1 && local.Hour() == 0:
			if n++; (n-1)%(every/24) == 0 && at.Add(12*time.Hour).Before(t.Until) { //nolint:mnd // a label at the edge would not have enough space
				list = append(list, chart.Mark{At: at, Words: p.FormatDate(at)})
			}
		}
	}
	return list
}

// levelTime contains the known minutes at each level.
type levelTime struct {
	minutes   [acuity.LevelRed + 1]int
	estimated int // how many of the minutes are estimated
	unstaffed int // minutes at an unknown level, because the nurses on duty are unknown
}

func (l *levelTime) add(o *levelTime) {
	for level, n := range o.minutes {
		l.minutes[level] += n
	}
	l.estimated += o.estimated
	l.unstaffed += o.unstaffed
}

// shownHour is an hour with its known levels.
type shownHour struct {
	*readapi.TrendHour

	known levelTime
}

// listShown returns the hours with their known levels. While the number of nurses on duty is unknown, three of seven
// measures are unknown, so a recorded level other than red may be too low. If that number was unknown at the
// beginning or end of an hour, it is treated as unknown for the whole hour.
func listShown(hours []readapi.TrendHour) []shownHour {
	list := make([]shownHour, len(hours))
	for i := range hours {
		h, known := &hours[i], &list[i].known
		list[i].TrendHour = h
		unknownBefore := i > 0 && h.At.Sub(hours[i-1].At) == time.Hour && hours[i-1].OnDuty < 0
		if h.OnDuty >= 0 && !unknownBefore {
			known.minutes, known.estimated = h.Levels.Minutes, h.Levels.Estimated
			continue
		}
		known.minutes[acuity.LevelRed] = h.Levels.Minutes[acuity.LevelRed]
		for _, n := range h.Levels.Minutes[:acuity.LevelRed] {
			known.unstaffed += n
		}
	}
	return list
}

func sumTimes(hours []shownHour) (sum levelTime) {
	for i := range hours {
		sum.add(&hours[i].known)
	}
	return sum
}

// drawLevelMinutes draws how long each level lasted, with one column per hour or per day. If no level was recorded,
// there is no figure.
func (p *writer) drawLevelMinutes(t *readapi.Trends, days int) finding {
	if t.Levels.Minutes == ([acuity.LevelRed + 1]int{}) {
		return finding{}
	}
	hours := listShown(t.Hours)
	all := sumTimes(hours)
	of := func(l acuity.Level) string { return p.FormatHours(all.minutes[l]) }
	out := finding{
		Heading: p.T("trends.levels", "green", of(acuity.LevelGreen), "yellow", of(acuity.LevelYellow),
			"orange", of(acuity.LevelOrange), "red", of(acuity.LevelRed)),
		About: p.T("trends.levels.about"),
	}
	switch {
	case all.minutes == ([acuity.LevelRed + 1]int{}):
		out.Heading = p.T("trends.levels.unstaffed")
	case all.unstaffed > 0:
		out.Heading = p.T("trends.levels.partly", "levels", out.Heading, "hours", p.FormatHours(all.unstaffed))
	}
	if all.unstaffed > 0 {
		out.About += " " + p.T("trends.levels.striped")
	}
	if all.estimated > 0 {
		out.About += " " + p.T("trends.estimated", "hours", p.FormatHours(all.estimated))
	}
	if t.Unknown > 0 {
		out.About += " " + p.T("trends.unknown", "hours", p.FormatHours(t.Unknown))
	}
	figure := &chart.Levels{Title: out.Heading}
	name := func(h *shownHour) string { return p.FormatClock(h.At) }
	isLabeled := func(_ int, h *shownHour) bool { return h.At.In(p.Zone).Hour()%markedHours == 0 }
	if days > 1 {
		name = p.formatDay
		isLabeled = func(i int, _ *shownHour) bool { return i%(days/7) == 0 } //nolint:mnd // about seven labels
	}
	for i, group := range groupHours(fillGaps(hours, t.Since, t.Until), name) {
		column := chart.LevelColumn{Likely: -1}
		if isLabeled(i, &group[0]) {
			column.At = name(&group[0])
		}
		whole := float64(len(group) * 60) //nolint:mnd // minutes per hour
		sum := sumTimes(group)
		for level, n := range sum.minutes {
			column.Shares[level] = float64(n) / whole
			if n > 0 {
				column.Likely = level
			}
		}
		column.Unknown = float64(sum.unstaffed) / whole
		column.Unsure = sum.unstaffed > 0 && column.Likely < int(acuity.LevelRed)
		figure.Columns = append(figure.Columns, column)
	}
	out.Figure = figure.SVG()
	figure.Narrow = true
	out.Figure += figure.SVG()
	return out
}

// fillGaps adds an empty hour for each hour of a period that was not recorded. It keeps every recorded hour, even if
// the period begins within it.
func fillGaps(hours []shownHour, since, until time.Time) (all []shownHour) {
	for at := since.Add(time.Hour); !at.After(until); at = at.Add(time.Hour) {
		recorded := false
		for len(hours) > 0 && !hours[0].At.After(at) {
			all, hours, recorded = append(all, hours[0]), hours[1:], true
		}
		if !recorded {
			all = append(all, shownHour{TrendHour: &readapi.TrendHour{Hour: readapi.Hour{At: at}}})
		}
	}
	return append(all, hours...)
}

// groupHours splits hours into groups of consecutive hours with the same name, for example hours of the same day.
func groupHours(hours []shownHour, name func(*shownHour) string) (groups [][]shownHour) {
	for i := range hours {
		if i == 0 || name(&hours[i]) != name(&hours[i-1]) {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, hours[i])
	}
	return groups
}

// weekLong is the longest period that has every hour of the week only once.
const weekLong = 7 * 24 * time.Hour

// drawWeek draws the hours of the week, Monday first.
func (p *writer) drawWeek(t *readapi.Trends) finding {
	out := finding{Heading: p.T("trends.hourly"), About: p.T("trends.hourly.about")}
	if t.Until.Sub(t.Since) <= weekLong {
		out.About = p.T("trends.hourly.once") // the share of weeks is all or nothing
	}
	figure := &chart.Week{Title: out.Heading}
	for i := range figure.Days {
		figure.Days[i].Name = p.T("weekday." + strconv.Itoa(i+1))
	}
	for _, w := range t.Week {
		cell := &figure.Days[(int(w.Weekday)+6)%7].Hours[w.Hour]
		cell.Words, cell.Short = p.formatNurses(w.Required), -1
		if w.Staffed > 0 {
			cell.Short = float64(w.Short) / float64(w.Staffed)
		}
	}
	out.Figure = figure.SVG()
	figure.Narrow = true
	out.Figure += figure.SVG()
	return out
}

// rateForecast describes the accuracy of the forecast.
func (p *writer) rateForecast(c *forecast.Calibration) finding {
	if c == nil || c.Status == forecast.Prior {
		return finding{Heading: p.T("trends.score.none"), About: p.T("trends.score.prior")}
	}
	return finding{
		Heading: p.T("trends.score", "share", int(c.Coverage80*100+.5)),
		About: p.T("trends.score.about", "error", p.FormatNumber(c.MAE, 2), "same", p.FormatNumber(c.MAEPersistence, 2), "n", c.Samples,
			"days", c.WindowDays),
	}
}
