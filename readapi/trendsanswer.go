package readapi

import (
	"errors"
	"net/http"

	"svc/acuity"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
)

func trendsRoutes() []httpapi.Route[*server] {
	return []httpapi.Route[*server]{{Operation: httpapi.Operation{
		Method: http.MethodGet, Path: "/api/admin/trends", Scope: access.Admin, ID: "getTrends", Group: "Administration",
		Summary: "How the unit stood in the last days: nurses needed and on duty at each full hour, and how long each level lasted",
		About: "Full hours after `since`, up to `until`: the last 24 hours if not given, at most the last 28 days before `until`. " +
			"The hour before a full hour counts with it. `estimated` minutes were not seen: they count by the level at the end of their hour. Of `unknown` ones nothing was recorded. " +
			"The hours of the week are those of the hospital, Monday first, and only those that were observed.",
		Parameters: []httpapi.Parameter{httpapi.Since(), httpapi.Until()},
		Data:       trendsAnswer{}, Refuses: []httpapi.Kind{httpapi.Invalid}, Limits: map[string]int64{"trendsDays": TrendDays},
	}, Serve: (*server).serveTrends}}
}

type trendsAnswer struct {
	Since        httpapi.Time     `json:"since"`
	Until        httpapi.Time     `json:"until"`
	Zone         string           `json:"zone"`
	Hours        []trendHour      `json:"hours"`
	LevelMinutes spanLevelMinutes `json:"levelMinutes"`
	Week         []weekHour       `json:"week"`
	Forecast     *calibration     `json:"forecast"` // live score; null: there is no forecast
}

type trendHour struct {
	At             httpapi.Time `json:"at"`
	Observed       bool         `json:"observed"` // a fact about a patient came within the last 12 hours
	Level          string       `json:"level"`
	NursesRequired decimal      `json:"nursesRequired"`
	NursesOnDuty   *int32       `json:"nursesOnDuty"`   // null: unknown
	RatioShortfall *int32       `json:"ratioShortfall"` // null: unknown
	LevelMinutes   levelMinutes `json:"levelMinutes"`   // of the hour before
}

type levelMinutes struct {
	Green     int `json:"green"`
	Yellow    int `json:"yellow"`
	Orange    int `json:"orange"`
	Red       int `json:"red"`
	Estimated int `json:"estimated"` // of these minutes
}

type spanLevelMinutes struct {
	levelMinutes
	Unknown int `json:"unknown"`
}

type weekHour struct {
	Weekday        int     `json:"weekday"` // 1 Monday … 7 Sunday
	Hour           int     `json:"hour"`
	Hours          int     `json:"hours"`          // observed hours
	NursesRequired decimal `json:"nursesRequired"` // mean
	HoursStaffed   int     `json:"hoursStaffed"`   // observed hours in which the nurses on duty are known
	HoursShort     int     `json:"hoursShort"`     // hours of hoursStaffed with too few nurses
}

func levelMinutesOf(m LevelMinutes) levelMinutes {
	return levelMinutes{m.Minutes[acuity.LevelGreen], m.Minutes[acuity.LevelYellow], m.Minutes[acuity.LevelOrange], m.Minutes[acuity.LevelRed], m.Estimated}
}

func trendsAnswerOf(t *Trends) *trendsAnswer {
	a := &trendsAnswer{
		Since: httpapi.Time(t.Since), Until: httpapi.Time(t.Until), Zone: t.Zone.String(),
		Hours: make([]trendHour, len(t.Hours)), Week: make([]weekHour, len(t.Week)),
		LevelMinutes: spanLevelMinutes{levelMinutesOf(t.Levels), t.Unknown},
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

func (s *server) serveTrends(w http.ResponseWriter, r *http.Request) {
	given, hospital := httpapi.QueryOf(r), httpapi.Caller(r.Context()).Hospital
	zone := s.forecasts.Zone(hospital)
	since, until := given.Time("since", zone), given.Time("until", zone)
	if given.Refused(w, r) {
		return
	}
	t, err := s.trends(r.Context(), hospital, since, until)
	switch {
	case err == nil:
		httpapi.OK(w, r, trendsAnswerOf(t))
	case errors.Is(err, ErrAway), r.Context().Err() != nil:
		s.shell.Log.WarnContext(r.Context(), "trends cannot be made now", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: retryAfter})
	default:
		s.shell.Log.ErrorContext(r.Context(), "trends cannot be made", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Internal})
	}
}
