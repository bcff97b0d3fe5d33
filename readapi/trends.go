package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// Hours returns the hourly records of a hospital in (since, until], in any order. The result may include records that
// a later generation has replaced. Any error is or wraps [ErrAway].
type Hours func(ctx context.Context, hospital string, since, until time.Time) ([]Hour, error)

// Hour is the recorded state of a unit at one hour mark.
type Hour struct {
	At           time.Time
	Generation   int32 // generation of the record; only the highest generation of an hour counts
	Observed     bool  // whether a fact about a patient was received within the last 12 hours
	Level        acuity.Level
	Required     catalogue.Demand
	OnDuty       int32   // -1: unknown
	LevelSeconds []int32 // seconds at each level in the previous hour; the total is less than 3600 if part of that hour was not observed
}

// TrendDays is the period of trends in days. This is a default of this project; the forecast learns from the same
// number of days.
const TrendDays = 28

// Trends is the recorded state of a unit over a range of hours.
type Trends struct {
	Since, Until time.Time
	Zone         *time.Location
	Hours        []TrendHour // recorded hours, ascending
	Levels       LevelMinutes
	Unknown      int                   // minutes that were not recorded or had no facts about patients
	Week         []WeekHour            // observed hours of the week, starting on Monday
	Forecast     *forecast.Calibration // nil: there is no forecast
}

// TrendHour is the state of a unit at one hour mark, with the minutes at each level in the hour before.
type TrendHour struct {
	Hour
	Levels LevelMinutes
}

// LevelMinutes contains the minutes that a unit spent at each level, best level first. Estimated minutes were not
// recorded; they are assigned the level observed at the end of their hour.
type LevelMinutes struct {
	Minutes   [acuity.LevelRed + 1]int
	Estimated int
}

// WeekHour is one hour of the week in the hospital's time zone.
type WeekHour struct {
	Weekday  time.Weekday
	Hour     int
	Hours    int              // observed hours, at least one
	Required catalogue.Demand // mean of the observed hours
	Staffed  int              // observed hours in which the nurses on duty are known
	Short    int              // hours in Staffed that had too few nurses
}

const minutesPerHour = 60

// Shortfall returns the number of missing nurses, rounded up to a whole number, or -1 if it is unknown.
func (h *Hour) Shortfall() int32 {
	if h.OnDuty < 0 {
		return -1
	}
	return max(0, int32((h.Required+catalogue.Nurse-1)/catalogue.Nurse)-h.OnDuty)
}

// levels returns the minutes at each level in the hour. Minutes that were not recorded are assigned the level at the
// end of the hour; if that level was not observed either, they are omitted.
func (h *Hour) levels() (m LevelMinutes) {
	left, seconds := minutesPerHour, int32(0)
	for level, n := range h.LevelSeconds {
		seconds += n
		if level < len(m.Minutes) && left > 0 {
			minutes := min(left, int(n+minutesPerHour/2)/minutesPerHour) //nolint:mnd // rounded
			m.Minutes[level] += minutes
			left -= minutes
		}
	}
	unseen := min(left, max(0, minutesPerHour-int(seconds+minutesPerHour/2)/minutesPerHour)) //nolint:mnd // rounded
	if h.Observed {
		m.Estimated = unseen
	} else {
		left -= unseen
	}
	m.Minutes[h.Level] += left // rounding can leave a minute without a level
	return m
}

// span returns the hour marks between which the recorded hours are requested: since and until, each rounded down to
// the hour. If until is zero or after now, span uses now instead. If since is zero, span uses 24 hours before to. The
// result from is at most TrendDays before to, and not after to.
func span(since, until, now time.Time) (from, to time.Time) {
	to = now
	if !until.IsZero() && until.Before(now) {
		to = until
	}
	to = to.UTC().Truncate(time.Hour)
	from = since.UTC().Truncate(time.Hour)
	if since.IsZero() {
		from = to.Add(-trendsDefault)
	}
	if earliest := to.AddDate(0, 0, -TrendDays); from.Before(earliest) {
		from = earliest
	}
	if from.After(to) {
		from = to
	}
	return from, to
}

// trendsOf summarizes the recorded hours of a range.
func trendsOf(hours []Hour, since, until time.Time, zone *time.Location) *Trends {
	t := &Trends{Since: since, Until: until, Zone: zone}
	newest := map[time.Time]Hour{}
	for _, h := range hours {
		if !h.At.After(since) || h.At.After(until) {
			continue
		}
		if old, known := newest[h.At]; !known || old.Generation <= h.Generation {
			if known && h.LevelSeconds == nil {
				h.LevelSeconds = old.LevelSeconds // backfilled hours have no level durations
			}
			newest[h.At] = h
		}
	}
	for _, h := range newest {
		t.Hours = append(t.Hours, TrendHour{h, h.levels()})
	}
	slices.SortFunc(t.Hours, func(a, b TrendHour) int { return a.At.Compare(b.At) })
	var week [7][24]WeekHour
	for i := range t.Hours {
		h := &t.Hours[i]
		for level, n := range h.Levels.Minutes {
			t.Levels.Minutes[level] += n
		}
		t.Levels.Estimated += h.Levels.Estimated
		if !h.Observed {
			continue
		}
		local := h.At.In(zone)
		w := &week[local.Weekday()][local.Hour()]
		w.Hours++
		w.Required += h.Required
		if short := h.Shortfall(); short >= 0 {
			w.Staffed++
			if short > 0 {
				w.Short++
			}
		}
	}
	t.Unknown = int(until.Sub(since).Hours()) * minutesPerHour
	for _, n := range t.Levels.Minutes {
		t.Unknown -= n
	}
	for day := range week {
		weekday := time.Weekday((day + 1) % len(week)) // Monday first
		for hour, w := range week[weekday] {
			if w.Hours == 0 {
				continue
			}
			w.Required /= catalogue.Demand(w.Hours) //nolint:gosec // at most 28
			w.Weekday, w.Hour = weekday, hour
			t.Week = append(t.Week, w)
		}
	}
	return t
}

// Limits on reading the recorded hours.
const (
	trendsWithin  = 10 * time.Second
	trendsAtOnce  = 2
	trendsFresh   = time.Minute     // how long a result is cached; recorded hours do not change, and one is added per hour
	trendsEarly   = 2 * time.Second // replaces trendsFresh while there are too few hours for a forecast, because more may still arrive
	trendsAtMost  = 128             // number of cached results
	trendsDefault = 24 * time.Hour
)

// trendsKey identifies a cached result.
type trendsKey struct {
	hospital     string
	since, until time.Time
}

type keptTrends struct {
	trends *Trends
	until  time.Time
}

// trendsCache caches the results of [Reads.Trends] and limits concurrent reads.
type trendsCache struct {
	busy chan struct{} // contains one element for each read in progress

	mu   sync.Mutex
	kept map[trendsKey]keptTrends
}

func newTrendsCache() *trendsCache {
	return &trendsCache{busy: make(chan struct{}, trendsAtOnce), kept: map[trendsKey]keptTrends{}}
}

// Trends returns the hourly state of a unit in (since, until]. It returns the errors of [Reads.Verdict], except
// [ErrNoUnit]. The result is cached for a minute, because the few hundred records of 28 days are scattered among
// those of other hospitals. While the hospital has too few hours for a forecast, the result is cached for two
// seconds.
func (s *Reads) Trends(ctx context.Context, hospital string, since, until time.Time) (*Trends, error) {
	now := s.cfg.Shell.Now()
	key := trendsKey{hospital: hospital}
	key.since, key.until = span(since, until, now)
	cache := s.trends
	cache.mu.Lock()
	kept, known := cache.kept[key]
	cache.mu.Unlock()
	if known && now.Before(kept.until) {
		return kept.trends, nil
	}
	ctx, cancel := context.WithTimeout(ctx, trendsWithin)
	defer cancel()
	select {
	case cache.busy <- struct{}{}:
		defer func() { <-cache.busy }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrAway, ctx.Err())
	}
	hours, err := s.cfg.Hours(ctx, hospital, key.since, key.until)
	if err != nil {
		return nil, err
	}
	t := trendsOf(hours, key.since, key.until, s.cfg.Forecasts.Zone(hospital))
	insufficient := (*forecast.InsufficientError)(nil)
	fresh := trendsFresh
	switch _, f, err := s.predictUnit(ctx, hospital); {
	case err == nil:
		t.Forecast = &f.Calibration
	case errors.As(err, &insufficient):
		fresh = trendsEarly
	default:
		return t, nil // the forecast's score is unknown, so the result is not cached
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if len(cache.kept) >= trendsAtMost {
		clear(cache.kept)
	}
	cache.kept[key] = keptTrends{t, now.Add(fresh)}
	return t, nil
}

func trendsRoutes() []contract.Route[*Reads] {
	return []contract.Route[*Reads]{{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/admin/trends", Scope: access.Admin, ID: "getTrends", Group: "Administration",
		Summary: "Get the hourly history of the unit: nurses required, nurses on duty, and the time in each level",
		About: "Hour marks after `since`, up to `until`. Default: the last 24 hours; limit: the last 28 days before " +
			"`until` (an earlier `since` gets the warning `since_cut`). " +
			"The entry for an hour mark covers the hour before it. " +
			"`estimated` minutes were not observed; they count toward the level at the end of their hour. " +
			"`unknown` minutes: nothing was recorded, or no patient data had arrived for 12 hours. " +
			"The hours of the week are in the hospital's time zone, Monday first, and include only observed hours.",
		Parameters: []contract.Parameter{contract.Since(), contract.Until()},
		Data:       trendsAnswer{}, Refuses: []problem.Kind{problem.Unprocessable}, Limits: map[string]int64{"trendsDays": TrendDays},
	}, Serve: (*Reads).serveTrends}}
}

type trendsAnswer struct {
	Since        httpapi.Time     `json:"since"`
	Until        httpapi.Time     `json:"until"`
	Zone         string           `json:"zone"`
	Hours        []trendHour      `json:"hours"`
	LevelMinutes spanLevelMinutes `json:"levelMinutes"`
	Week         []weekHour       `json:"week"`
	Forecast     *calibration     `json:"forecast"` // current score; null: there is no forecast

	Warnings []httpapi.Warning `json:"warnings"` // since_cut: since was more than 28 days before until
}

type trendHour struct {
	At             httpapi.Time `json:"at"`
	Observed       bool         `json:"observed"` // whether a fact about a patient was received within the last 12 hours
	Level          string       `json:"level"`
	NursesRequired decimal      `json:"nursesRequired"`
	NursesOnDuty   *int32       `json:"nursesOnDuty"`   // null: unknown
	RatioShortfall *int32       `json:"ratioShortfall"` // null: unknown
	LevelMinutes   levelMinutes `json:"levelMinutes"`   // minutes at each level in the previous hour
}

type levelMinutes struct {
	Green     int `json:"green"`
	Yellow    int `json:"yellow"`
	Orange    int `json:"orange"`
	Red       int `json:"red"`
	Estimated int `json:"estimated"` // how many of the minutes above are estimated
}

type spanLevelMinutes struct {
	levelMinutes
	Unknown int `json:"unknown"`
}

type weekHour struct {
	Weekday        int     `json:"weekday"` // 1 Monday … 7 Sunday
	Hour           int     `json:"hour"`
	Hours          int     `json:"hours"`          // observed hours
	NursesRequired decimal `json:"nursesRequired"` // mean of the observed hours
	HoursStaffed   int     `json:"hoursStaffed"`   // observed hours in which the nurses on duty are known
	HoursShort     int     `json:"hoursShort"`     // hours in hoursStaffed that had too few nurses
}

func levelMinutesOf(m LevelMinutes) levelMinutes {
	of := m.Minutes
	return levelMinutes{of[acuity.LevelGreen], of[acuity.LevelYellow], of[acuity.LevelOrange], of[acuity.LevelRed], m.Estimated}
}

func trendsAnswerOf(t *Trends) *trendsAnswer {
	a := &trendsAnswer{
		Since: httpapi.Time(t.Since), Until: httpapi.Time(t.Until), Zone: t.Zone.String(),
		Hours: make([]trendHour, len(t.Hours)), Week: make([]weekHour, len(t.Week)),
		LevelMinutes: spanLevelMinutes{levelMinutesOf(t.Levels), t.Unknown}, Warnings: []httpapi.Warning{},
	}
	for i := range t.Hours {
		h := &t.Hours[i]
		a.Hours[i] = trendHour{
			At: httpapi.Time(h.At), Observed: h.Observed, Level: h.Level.String(), NursesRequired: nurses(h.Required),
			NursesOnDuty: known(h.OnDuty), RatioShortfall: known(h.Shortfall()), LevelMinutes: levelMinutesOf(h.Levels),
		}
	}
	for i, w := range t.Week {
		a.Week[i] = weekHour{
			Weekday: (int(w.Weekday)+6)%7 + 1, Hour: w.Hour, //nolint:mnd // Monday first
			Hours: w.Hours, NursesRequired: nurses(w.Required), HoursStaffed: w.Staffed, HoursShort: w.Short,
		}
	}
	if t.Forecast != nil {
		c := calibrationOf(t.Forecast)
		a.Forecast = &c
	}
	return a
}

func (s *Reads) serveTrends(w http.ResponseWriter, r *http.Request) {
	given, hospital := httpapi.QueryOf(r), httpapi.Caller(r.Context()).Hospital
	zone := s.cfg.Forecasts.Zone(hospital)
	since, until := given.Period(zone)
	if given.Refused(w, r) {
		return
	}
	t, err := s.Trends(r.Context(), hospital, since, until)
	switch {
	case err == nil:
		answer := trendsAnswerOf(t)
		if !since.IsZero() && since.UTC().Truncate(time.Hour).Before(t.Since) {
			answer.Warnings = append(answer.Warnings, httpapi.Warning{Code: "since_cut", Path: "since"})
		}
		httpapi.OK(w, r, answer)
	case errors.Is(err, ErrAway), r.Context().Err() != nil:
		s.cfg.Shell.Log.WarnContext(r.Context(), "trends not available yet", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: retryAfter})
	default:
		s.cfg.Shell.Log.ErrorContext(r.Context(), "trends not computed", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Internal})
	}
}
