package web

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
	"svc/internal/analysis/spreadsheet"
	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/chart"
	"svc/readapi/web/page"
)

// trendsPage shows how the unit stood in the last days.
type trendsPage struct {
	page.Frame

	Spans    []spanLink
	Findings []finding
	Heads    []string // of the table
	Rows     [][]string
	CSV      string
}

// spanLink leads to the trends of another number of days.
type spanLink struct {
	Name, Path string
	Current    bool
}

// spanDays are the spans of time that a person can choose, in days.
var spanDays = []int{1, 7, readapi.TrendDays}

// readDays returns the days that a request asks for; 0: there is no such span.
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

// readTrends returns the trends that a request asks for. It returns false after it has
// answered with a fault.
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
		s.Log.ErrorContext(r.Context(), "page cannot be made", "error", err)
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
	out.Findings = []finding{p.drawNeeded(t, days), p.drawLevelMinutes(t, days)}
	if days == 1 {
		out.Heads, out.Rows = p.tabulateHours(t)
	} else {
		out.Heads, out.Rows = p.tabulateDays(t)
		if len(t.Week) > 0 {
			out.Findings = append(out.Findings, p.drawWeek(t))
		}
	}
	out.Findings = append(out.Findings, p.rateForecast(t.Forecast))
	for i := range out.Findings {
		out.Findings[i].Label = out.Findings[i].Heading
	}
	return out
}

// formatDay writes the day of an hour. The time of the hour is its end.
func (p *writer) formatDay(h *readapi.TrendHour) string { return p.FormatDate(h.At.Add(-time.Hour)) }

// drawNeeded draws the nurses needed against the nurses on duty.
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
	case len(figure.Hours) == 0:
		out.Heading, out.About = p.T("trends.none"), p.T("trends.none.do")
	case staffed == 0:
		out.Heading = p.T("trends.unstaffed")
	case short == 0:
		out.Heading = p.T("trends.covered")
	default:
		out.Heading = p.T("trends.short", "n", short, "all", staffed, "most", most)
	}
	figure.Title = out.Heading
	out.Figure = figure.SVG()
	return out
}

// listMarks returns the hours or days at the foot of a figure.
func (p *writer) listMarks(t *readapi.Trends, days int) (list []chart.Mark) {
	every := map[int]int{1: 4, 7: 24, 28: 4 * 24}[days] //nolint:mnd // hours between marks
	n := 0
	for at := t.Since; at.Before(t.Until); at = at.Add(time.Hour) {
		local := at.In(p.Zone)
		switch {
		case days == 1 && local.Hour()%every == 0:
			list = append(list, chart.Mark{At: at, Words: p.FormatClock(at)})
		case days > 1 && local.Hour() == 0:
			if n++; (n-1)%(every/24) == 0 && at.Add(12*time.Hour).Before(t.Until) { //nolint:mnd // a mark at the edge has no room
				list = append(list, chart.Mark{At: at, Words: p.FormatDate(at)})
			}
		}
	}
	return list
}

// drawLevelMinutes draws how long each level lasted, with a column each hour or each day.
func (p *writer) drawLevelMinutes(t *readapi.Trends, days int) finding {
	if t.Levels.Minutes == ([acuity.LevelRed + 1]int{}) {
		return finding{Heading: p.T("trends.none"), About: p.T("trends.none.do")}
	}
	of := func(l acuity.Level) string { return p.FormatHours(t.Levels.Minutes[l]) }
	out := finding{
		Heading: p.T("trends.levels", "green", of(acuity.LevelGreen), "yellow", of(acuity.LevelYellow),
			"orange", of(acuity.LevelOrange), "red", of(acuity.LevelRed)),
		About: p.T("trends.levels.about"),
	}
	if n := t.Levels.Estimated; n > 0 {
		out.About += " " + p.T("trends.estimated", "hours", p.FormatHours(n))
	}
	if t.Unknown > 0 {
		out.About += " " + p.T("trends.unknown", "hours", p.FormatHours(t.Unknown))
	}
	figure := &chart.Levels{Title: out.Heading}
	name, every := func(h *readapi.TrendHour) string { return p.FormatClock(h.At) }, 3 //nolint:mnd // columns between labels
	if days > 1 {
		name, every = p.formatDay, (days+6)/7 //nolint:mnd // seven labels
	}
	for i, group := range groupHours(t.Hours, name) {
		column := chart.LevelColumn{Likely: -1}
		if i%every == 0 {
			column.At = name(&group[0])
		}
		minutes := sumLevels(group)
		for level, n := range minutes {
			column.Shares[level] = float64(n) / float64(len(group)*60) //nolint:mnd // minutes
			if n > 0 {
				column.Likely = level
			}
		}
		figure.Columns = append(figure.Columns, column)
	}
	out.Figure = figure.SVG()
	return out
}

// groupHours splits hours into runs of one name, such as a day.
func groupHours(hours []readapi.TrendHour, name func(*readapi.TrendHour) string) (groups [][]readapi.TrendHour) {
	for i := range hours {
		if i == 0 || name(&hours[i]) != name(&hours[i-1]) {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, hours[i])
	}
	return groups
}

// sumLevels returns how many minutes each level lasted in some hours.
func sumLevels(hours []readapi.TrendHour) (sum [acuity.LevelRed + 1]int) {
	for i := range hours {
		for level, n := range hours[i].Levels.Minutes {
			sum[level] += n
		}
	}
	return sum
}

// drawWeek draws the hours of the week, Monday first.
func (p *writer) drawWeek(t *readapi.Trends) finding {
	out := finding{Heading: p.T("trends.hourly"), About: p.T("trends.hourly.about"), FromStart: true}
	figure := &chart.Week{Title: out.Heading}
	for i := range figure.Days {
		figure.Days[i].Name = p.T("weekday." + strconv.Itoa(i+1))
	}
	for _, w := range t.Week {
		cell := &figure.Days[(int(w.Weekday)+6)%7].Hours[w.Hour]
		cell.Words = p.formatNurses(w.Required)
		if w.Staffed > 0 {
			cell.Short = float64(w.Short) / float64(w.Staffed)
		}
	}
	out.Figure = figure.SVG()
	return out
}

// rateForecast says how good the forecast was.
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

// tabulateHours returns a row for each hour, the newest first.
func (p *writer) tabulateHours(t *readapi.Trends) (heads []string, rows [][]string) {
	heads = append([]string{p.T("trends.hour"), p.T("needed"), p.T("onduty"), p.T("short")}, p.listLevelHeads("min")...)
	for i := range t.Hours {
		h := &t.Hours[len(t.Hours)-1-i]
		row := []string{p.FormatClock(h.At), p.T("unknown"), p.T("unknown"), p.T("unknown")}
		if h.Observed {
			row[1] = p.formatNurses(h.Required)
		}
		if h.Observed && h.OnDuty >= 0 {
			row[2], row[3] = strconv.Itoa(int(h.OnDuty)), strconv.Itoa(int(h.Shortfall()))
		}
		for _, n := range h.Levels.Minutes {
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, row)
	}
	return heads, rows
}

func (p *writer) listLevelHeads(unit string) (heads []string) {
	for l := acuity.LevelGreen; l <= acuity.LevelRed; l++ {
		heads = append(heads, p.T("level."+l.String())+", "+unit)
	}
	return heads
}

// tabulateDays returns a row for each day, the newest first.
func (p *writer) tabulateDays(t *readapi.Trends) (heads []string, rows [][]string) {
	heads = append([]string{p.T("trends.date"), p.T("trends.mean"), p.T("trends.most"), p.T("trends.hours")}, p.listLevelHeads("h")...)
	for _, group := range slices.Backward(groupHours(t.Hours, p.formatDay)) {
		var required, most catalogue.Demand
		hours, short := 0, 0
		for i := range group {
			h := &group[i]
			if !h.Observed {
				continue
			}
			hours, required, most = hours+1, required+h.Required, max(most, h.Required)
			if h.Shortfall() > 0 {
				short++
			}
		}
		row := []string{p.formatDay(&group[0]), p.T("unknown"), p.T("unknown"), strconv.Itoa(short)}
		if hours > 0 {
			row[1], row[2] = p.formatNurses(required/catalogue.Demand(hours)), p.formatNurses(most)
		}
		for _, n := range sumLevels(group) {
			row = append(row, p.FormatNumber(float64(n)/60, 1))
		}
		rows = append(rows, row)
	}
	return heads, rows
}

// downloadTrends answers with the hours as a file for a spreadsheet, in the words of the API.
func (s *site) downloadTrends(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	t, days, ok := s.readTrends(w, r, session)
	if !ok {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="trends-%s-%dd.csv"`, session.Hospital, days))
	out := csv.NewWriter(w)
	out.UseCRLF = true
	write := func(cells ...string) {
		for i := range cells {
			cells[i] = spreadsheet.Escape(cells[i])
		}
		out.Write(cells) //nolint:errcheck // the client is gone
	}
	write("at", "observed", "level", "nurses_required", "nurses_on_duty", "ratio_shortfall",
		"green_minutes", "yellow_minutes", "orange_minutes", "red_minutes", "estimated_minutes")
	known := func(n int32) string {
		if n < 0 {
			return ""
		}
		return strconv.Itoa(int(n))
	}
	for i := range t.Hours {
		h := &t.Hours[i]
		cells := []string{
			h.At.UTC().Format(time.RFC3339), strconv.FormatBool(h.Observed), h.Level.String(),
			strconv.FormatFloat(nursesOf(h.Required), 'f', 2, 64), known(h.OnDuty), known(h.Shortfall()),
		}
		for _, n := range h.Levels.Minutes {
			cells = append(cells, strconv.Itoa(n))
		}
		write(append(cells, strconv.Itoa(h.Levels.Estimated))...)
	}
	out.Flush()
}
