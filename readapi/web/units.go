package web

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/acuity/forecast"
	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
	"svc/readapi/web/text"
)

// unitsPage shows all hospitals that a person may view.
type unitsPage struct {
	page.Frame

	Rows   []*unitRow
	Counts string
}

// unitRow shows one hospital.
type unitRow struct {
	*text.Texts

	ID           string // id of the row's element
	Path         string
	Name         string
	Rank         string // sort key of the row; the lowest comes first
	Class, Shape string // style and shape of the level; "none" and "" if the level is unknown
	Word, Why    string
	Silent       bool // whether the unit is unknown or its input is late
	Needed       string
	OnDuty       string
	Short        string
	Peak         string
	Feeds        string
	Late         bool
	HTML         template.HTML // HTML of the whole row

	hospital string
	read     time.Time // when the hospital's state was read
}

// summary is the last state that was read for a hospital. It is used by pages that show several hospitals.
type summary struct {
	mu   sync.Mutex
	read time.Time
	unit *readapi.Unit
	err  error
	rows map[string]*unitRow // by language
}

// summaries caches the latest summary of each hospital for all pages that show several hospitals.
type summaries struct {
	cfg *Config

	mu  sync.Mutex
	all map[string]*summary
}

// The time for which a summary is cached if no change is reported, and the maximum number of concurrent reads.
const (
	summaryFor = 10 * time.Second
	readers    = 16
)

func newSummaries(cfg *Config) *summaries {
	return &summaries{cfg: cfg, all: map[string]*summary{}}
}

// readRow returns the row of a hospital. If fresh is true, it reads the hospital again unless the cached state was
// read within [leastBetween].
func (s *summaries) readRow(ctx context.Context, t *text.Texts, hospital string, fresh bool) *unitRow {
	s.mu.Lock()
	one := s.all[hospital]
	if one == nil {
		one = &summary{}
		s.all[hospital] = one
	}
	s.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	now := s.cfg.Now()
	if age := now.Sub(one.read); one.read.IsZero() || fresh && age > leastBetween || age >= summaryFor {
		// The read is not canceled with this request, because other requests also wait for the result.
		one.unit, one.err = s.cfg.Reads.Unit(context.WithoutCancel(ctx), hospital)
		one.read, one.rows = now, map[string]*unitRow{}
	}
	row := one.rows[t.Language]
	if row == nil {
		row = s.newRow(t, hospital, one.unit, one.err)
		row.hospital, row.read = hospital, one.read
		row.HTML = template.HTML(templates.Render("unitrow", row)) //nolint:gosec // output of a template
		one.rows[t.Language] = row
	}
	return row
}

// readRows returns the rows of the given hospitals, worst first.
func (s *summaries) readRows(ctx context.Context, t *text.Texts, hospitals []string, fresh bool) []*unitRow {
	rows := make([]*unitRow, len(hospitals))
	var group errgroup.Group
	group.SetLimit(readers)
	for i, hospital := range hospitals {
		group.Go(func() error {
			rows[i] = s.readRow(ctx, t, hospital, fresh)
			return nil
		})
	}
	_ = group.Wait() //nolint:errcheck // none of the functions returns an error
	slices.SortFunc(rows, func(a, b *unitRow) int { return cmp.Compare(a.Rank, b.Rank) })
	return rows
}

// rankOfLevel contains the sort rank of each level, green first; the lowest rank comes first. A hospital whose level
// is unknown precedes hospitals that are yellow or green.
var rankOfLevel = [...]string{"4", "3", "1", "0"}

const rankOfUnknown = "2"

func (s *summaries) newRow(t *text.Texts, hospital string, u *readapi.Unit, err error) *unitRow {
	p := &writer{page.NewWriter(t, s.cfg.Hospitals, hospital)}
	if p.HospitalName == "" {
		p.HospitalName = hospital
	}
	row := &unitRow{
		Texts: t, ID: "u-" + hospital, Path: "/app/u/" + url.PathEscape(hospital), Name: p.HospitalName,
		Class: "none", Needed: "?", OnDuty: "?", Short: "?", Peak: "?", Feeds: "?", Silent: true,
	}
	switch {
	case errors.Is(err, readapi.ErrNoUnit):
		row.Word, row.Why, row.Feeds = p.T("units.unknown"), p.T("none"), p.T("feed.never")
		row.Rank = "5" + row.Name
		return row
	case err != nil || u == nil:
		row.Word, row.Why = p.T("units.unknown"), p.T("fault.away")
		row.Rank = rankOfUnknown + row.Name
		return row
	}
	v, head := u.Verdict, p.newHeadline(u)
	row.Class, row.Shape, row.Word, row.Why = head.Class, head.Shape, head.Word, head.Why
	row.Rank = rankOfLevel[v.Level] + strconv.Itoa(int(9999-min(v.Shortfall, 9000))) + row.Name
	row.Silent = head.Band != ""
	if head.Band != "" {
		row.Why = head.Band
		row.Rank = min(row.Rank, rankOfUnknown+row.Name)
	}
	if head.Old {
		row.Class, row.Shape, row.Word = "none", "", p.T("units.unknown")
		row.Rank = rankOfUnknown + row.Name
	}
	row.Needed = p.formatNurses(v.Required)
	if v.OnDuty >= 0 {
		row.OnDuty, row.Short = strconv.Itoa(int(v.OnDuty)), strconv.Itoa(int(v.Shortfall))
	}
	if f := u.Forecast; f != nil {
		row.Peak = p.formatPeak(f)
	}
	row.setFeedAge(p, u)
	return row
}

// formatPeak formats the peak of the forecast: the largest number of nurses that may be needed, and the time of that
// peak.
func (p *writer) formatPeak(f *forecast.Forecast) string {
	return p.T("units.peakat", "n", p.formatNeed(f.Peak.P90), "time", p.FormatInstant(f.Peak.At))
}

// setFeedAge sets the age of the feed that sent data last. If a feed is late, it sets the age of the late feed
// instead. It also sets Silent if the input of the unit is late or unknown.
func (row *unitRow) setFeedAge(p *writer, u *readapi.Unit) {
	var last time.Time
	late := ""
	for _, f := range u.Feeds {
		if f.LastReceived.After(last) {
			last = f.LastReceived
		}
		// People enter the roster and the staffing by hand, so it is normal that these channels are silent for long
		// periods.
		row.Silent = row.Silent || f.Stale && f.Channel != "roster" && f.Channel != "staffing"
		if f.Stale && late == "" {
			late = p.T("units.late", "feed", p.Or("feed."+f.Channel, f.Channel), "age", p.FormatAge(u.At.Sub(f.LastReceived)))
		}
	}
	switch {
	case late != "":
		row.Feeds, row.Late = late, true
	case last.IsZero() && u.FeedsUnknown:
		row.Feeds, row.Silent = p.T("unknown"), true
	case last.IsZero():
		row.Feeds, row.Silent = p.T("feed.never"), true
	default:
		row.Feeds = p.FormatAge(u.At.Sub(last).Truncate(time.Minute))
		if u.At.Sub(last) < time.Minute {
			row.Feeds = p.T("units.now")
		}
	}
}

// countRows returns a text with the number of all hospitals, and of the red, orange and silent ones.
func countRows(p *text.Texts, rows []*unitRow) string {
	of := map[string]int{}
	silent := 0
	for i := range rows {
		of[rows[i].Shape]++
		if rows[i].Silent {
			silent++
		}
	}
	return p.T("units.counts", "n", len(rows), "red", of["r"], "orange", of["o"], "silent", silent)
}

func (s *site) showUnits(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	p := s.writer(r, session)
	rows := s.summaries.readRows(r.Context(), p.Texts, s.Cookies.ListHospitals(session), false)
	out := unitsPage{Frame: s.NewFrame(r, p.Writer, session, p.T("title.units")), Rows: rows, Counts: countRows(p.Texts, rows)}
	out.Page, out.Events, out.Refresh, out.Clock = "units", "/app/units/events", page.RefreshSeconds, p.FormatClock(s.Now())
	page.WritePage(w, r, http.StatusOK, templates.Render("units", out))
}

// streamUnits sends the rows that have changed, at most once per [holdsEvery].
func (s *site) streamUnits(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	ctx, o, end, ok := s.beginStream(w, r, session)
	if !ok {
		return
	}
	defer end()
	changed := s.Changes.Watch(ctx, s.Cookies.ListHospitals(session)...)
	p, sent, refreshAt := s.writer(r, session), map[string]string{}, s.Now()
	noticed := map[string]time.Time{}                            // time of the latest change that no row includes yet, by hospital
	s.sendStream(ctx, o, s.watchSession(r), nil, func() string { // changes are sent together, at intervals
		hospitals, now := s.Cookies.ListHospitals(session), s.Now()
		for _, one := range drainIDs(changed) {
			noticed[one] = now
		}
		all := !now.Before(refreshAt)
		if all {
			refreshAt = now.Add(summaryFor)
		} else {
			hospitals = slices.DeleteFunc(hospitals, func(one string) bool { return noticed[one].IsZero() })
		}
		rows := s.summaries.readRows(ctx, p.Texts, hospitals, !all)
		removeShown(noticed, rows)
		return s.formatRowsEvent(p, rows, sent, all)
	})
}

// removeShown deletes from noticed each change that the rows already include. If a hospital was read before its change,
// the change remains, so that the hospital is read again.
func removeShown(noticed map[string]time.Time, rows []*unitRow) {
	for _, row := range rows {
		if row.read.After(noticed[row.hospital]) {
			delete(noticed, row.hospital)
		}
	}
}

// drainIDs returns the ids that are pending in a channel, without duplicates.
func drainIDs(from <-chan string) (list []string) {
	for {
		select {
		case hospital := <-from:
			if !slices.Contains(list, hospital) {
				list = append(list, hospital)
			}
		default:
			return list
		}
	}
}

// formatRowsEvent returns an event with the rows that have changed since they were last sent, or "" if no row has
// changed. The map sent contains the HTML of each row that was sent, by row id; formatRowsEvent updates it. If all is
// true, rows must contain all hospitals, and the event includes the counts of hospitals.
func (s *site) formatRowsEvent(p *writer, rows []*unitRow, sent map[string]string, all bool) string {
	parts := map[string]string{}
	for _, row := range rows {
		if html := string(row.HTML); sent[row.ID] != html {
			sent[row.ID], parts[row.ID] = html, html
		}
	}
	if len(parts) == 0 {
		return ""
	}
	event := map[string]any{"parts": parts, "clock": p.FormatClock(s.Now())}
	if all {
		event["counts"] = countRows(p.Texts, rows)
	}
	return formatEvent("rows", "", event)
}
