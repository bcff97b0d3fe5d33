package web

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/internal/analysis/spreadsheet"
	"svc/readapi"
	"svc/readapi/web/auth"
)

// tabulateHours returns the column headings and a row for each hour, latest first.
func (p *writer) tabulateHours(t *readapi.Trends) (heads []string, rows [][]string) {
	heads = append([]string{p.T("trends.hour"), p.T("needed"), p.T("onduty"), p.T("short")}, p.listLevelHeads("min")...)
	hours := listShown(t.Hours)
	for i := len(hours) - 1; i >= 0; i-- {
		h := &hours[i]
		row := []string{p.FormatClock(h.At), p.T("unknown"), p.T("unknown"), p.T("unknown")}
		if h.Observed {
			row[1] = p.formatNurses(h.Required)
		}
		if h.Observed && h.OnDuty >= 0 {
			row[2], row[3] = strconv.Itoa(int(h.OnDuty)), strconv.Itoa(int(h.Shortfall()))
		}
		rows = append(rows, append(row, listMinutes(h.known, strconv.Itoa)...))
	}
	return heads, rows
}

func (p *writer) listLevelHeads(unit string) (heads []string) {
	for l := acuity.LevelGreen; l <= acuity.LevelRed; l++ {
		heads = append(heads, p.T("level."+l.String())+", "+unit)
	}
	return append(heads, p.T("trends.levels.unknown")+", "+unit)
}

// listMinutes formats the time spent at each level, and the time in which the level was unknown.
func listMinutes(sum levelTime, format func(minutes int) string) (cells []string) {
	for _, n := range sum.minutes {
		cells = append(cells, format(n))
	}
	return append(cells, format(sum.unstaffed))
}

// tabulateDays returns the column headings and a row for each day, latest first.
func (p *writer) tabulateDays(t *readapi.Trends) (heads []string, rows [][]string) {
	heads = append([]string{p.T("trends.date"), p.T("trends.mean"), p.T("trends.most"), p.T("trends.hours")}, p.listLevelHeads("h")...)
	for _, group := range slices.Backward(groupHours(listShown(t.Hours), p.formatDay)) {
		var required, most catalogue.Demand
		hours, staffed, short := 0, 0, 0
		for i := range group {
			h := &group[i]
			if !h.Observed {
				continue
			}
			hours, required, most = hours+1, required+h.Required, max(most, h.Required)
			if h.OnDuty >= 0 {
				staffed++
			}
			if h.Shortfall() > 0 {
				short++
			}
		}
		row := []string{p.formatDay(&group[0]), p.T("unknown"), p.T("unknown"), p.T("unknown")}
		if staffed > 0 {
			row[3] = p.T("trends.hours.of", "n", short, "all", staffed)
		}
		if hours > 0 {
			row[1], row[2] = p.formatNurses(required/catalogue.Demand(hours)), p.formatNurses(most)
		}
		inHours := func(minutes int) string { return p.FormatNumber(float64(minutes)/60, 1) } //nolint:mnd // minutes per hour
		rows = append(rows, append(row, listMinutes(sumTimes(group), inHours)...))
	}
	return heads, rows
}

// downloadTrends responds with the hours as a CSV file. The file uses the API's field names.
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
		out.Write(cells) //nolint:errcheck // fails only if the client has disconnected
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
