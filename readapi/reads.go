package readapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
	"svc/acuity/help"
	"svc/acuity/score"
	"svc/internal/feeds"
)

// Verdict returns the current verdict on a hospital's unit. The caller must not change it. Any error is or wraps
// [ErrNoUnit] or [ErrAway].
func (s *Reads) Verdict(ctx context.Context, hospital string) (*score.Verdict, error) {
	j, err := s.current(ctx, hospital)
	if err != nil {
		return nil, err
	}
	return j.verdict, nil
}

// name returns an id for the state that was judged. It is derived from the version of the chart and the instant from
// which the judgment is valid.
func (j *judgment) name() string {
	return fmt.Sprintf("%s.%d.%d", j.token.Generation, j.token.Version, j.from)
}

// Unit is the unit of a hospital at an instant, for pages. Its data is shared and must not be modified.
type Unit struct {
	Version  string // id of the state; units with the same version are displayed identically
	Verdict  *score.Verdict
	Forecast *forecast.Forecast // nil: there is no forecast; Missing may contain the reason
	Missing  *forecast.InsufficientError
	Rules    *catalogue.Catalogue // rules of the verdict, with the hospital's own values
	Plan     []acuity.Staffing    // future nurses on duty, in chronological order
	Feeds    []Feed
	// FeedsUnknown means that it is unknown which feeds have sent data, because the record of the feeds could not be
	// read or is lost.
	FeedsUnknown bool

	Help []help.Step // measures that would help now
	At   time.Time
	// Stopped is the instant from which input may be missing; the verdict is as of Stopped. Zero means that no input
	// is missing.
	Stopped time.Time
}

// Feed says how recent the input of one channel is. Stale means a longer silence than Late; see
// [feeds.History.Stale].
type Feed struct {
	Channel      string
	LastReceived time.Time // zero: never
	Late         bool      // whether the feed has been silent for longer than usual
	Stale        bool
}

// unitDetails caches the data of a unit that its verdict does not contain, so that many open pages cost no more than
// one.
type unitDetails struct {
	mu       sync.Mutex
	version  string // id of the state, and the minute of the forecast
	forecast *forecast.Forecast
	missing  *forecast.InsufficientError
	help     []help.Step
	feeds    []Feed
	feedsAt  time.Time
}

// feedAgesEvery is how often the ages of feeds are read.
const feedAgesEvery = 10 * time.Second

// Unit returns the current state of a hospital's unit. If its charts may lack facts, Unit returns the state at the
// time when the input stopped. Any error is or wraps [ErrNoUnit] or [ErrAway].
func (s *Reads) Unit(ctx context.Context, hospital string) (*Unit, error) {
	details := &s.cachedUnitOf(hospital).details
	j, err := s.current(ctx, hospital)
	if err != nil {
		return s.unitBefore(ctx, hospital, details, err)
	}
	now := s.cfg.Shell.Now()
	u := &Unit{Version: j.name(), Verdict: j.verdict, Rules: j.rules, At: now}
	for _, planned := range j.head.Staffing {
		if planned.AsOf > j.from {
			u.Plan = append(u.Plan, planned)
		}
	}
	details.mu.Lock()
	defer details.mu.Unlock()
	if version := fmt.Sprint(u.Version, now.Unix()/60); details.version != version {
		details.version, details.missing, details.help = version, nil, help.Steps(j.whole(hospital), j.from)
		if details.forecast, err = s.forecastFrom(ctx, hospital, j); err != nil && !errors.As(err, &details.missing) {
			details.version = "" // the page has no forecast, and the next call retries
		}
	}
	if now.Sub(details.feedsAt) >= feedAgesEvery {
		if all, err := s.listFeeds(ctx, hospital); err == nil {
			details.feeds, details.feedsAt = ages(all, now), now
		}
	}
	u.Forecast, u.Missing, u.Help, u.Feeds = details.forecast, details.missing, details.help, details.feeds
	u.FeedsUnknown = details.feedsAt.IsZero() || len(u.Feeds) == 0 && hasData(j.verdict)
	return u, nil
}

// hasData reports whether any feed has sent data about the unit.
func hasData(v *score.Verdict) bool { return len(v.Rooms) > 0 || v.OnDuty >= 0 || v.Roster != nil }

// oldest is the maximum age at which an outdated verdict is displayed.
const oldest = 24 * time.Hour

// unitBefore returns a unit as of the last instant at which its charts were complete. It returns the error behind if
// that instant is unknown or too long ago, or if outdated charts cannot be read.
func (s *Reads) unitBefore(ctx context.Context, hospital string, details *unitDetails, behind error) (*Unit, error) {
	known, ok := errors.AsType[*BehindError](behind)
	if s.cfg.Dated == nil || !ok || known.For <= 0 || known.For > oldest {
		return nil, behind
	}
	now := s.cfg.Shell.Now()
	stopped := now.Add(-known.For)
	read, err := s.cfg.Dated.Read(ctx, hospital, Token{})
	if err != nil {
		return nil, err //nolint:wrapcheck // the interface returns this package's errors
	}
	c, err := decode(s.cfg.Dated, &read, nil)
	if err != nil {
		return nil, err
	}
	j := judge(c, nil, acuity.At(stopped))
	details.mu.Lock()
	defer details.mu.Unlock()
	return &Unit{
		Version: j.name(), Verdict: j.verdict, Rules: j.rules, Feeds: details.feeds, FeedsUnknown: len(details.feeds) == 0,
		At: now, Stopped: stopped,
	}, nil
}

// RoomAhead is the current verdict on a room, and the changes that timers will cause.
type RoomAhead struct {
	Shares []float64 // current severity points of each factor
	Steps  []RoomStep
}

// RoomStep is a verdict on a room, with the instant from which it applies.
type RoomStep struct {
	From    acuity.Instant
	Verdict score.RoomVerdict
}

// mostSteps is the maximum number of verdicts in [RoomAhead], including the current one.
const mostSteps = 48

// Room returns the current verdict on a room, and the verdict after each timer that changes it within the given
// duration, at most mostSteps verdicts in total. It returns nil if the room does not exist.
func (s *Reads) Room(ctx context.Context, hospital string, id int32, within time.Duration) (*RoomAhead, error) {
	j, err := s.current(ctx, hospital)
	if err != nil {
		return nil, err
	}
	for _, room := range j.judgedRooms {
		if room.id != id {
			continue
		}
		ahead := &RoomAhead{Shares: score.ShareSeverity(j.rules, &room.verdict)}
		step, end := RoomStep{j.from, room.verdict}, acuity.At(s.cfg.Shell.Now().Add(within))
		for {
			ahead.Steps = append(ahead.Steps, step)
			next := step.Verdict.Until()
			if next <= step.From || next > end || len(ahead.Steps) == mostSteps {
				return ahead, nil
			}
			step = RoomStep{next, score.JudgeRoom(j.rules, &room.chart, next)}
		}
	}
	return nil, nil //nolint:nilnil // as documented
}

// ages returns when each channel last received data from any of its sources. A channel is late or stale if at least
// one of its sources is.
func ages(all []feeds.History, now time.Time) (list []Feed) {
	for i := range all {
		h := &all[i]
		at, found := slices.BinarySearchFunc(list, h.Channel, func(f Feed, channel string) int { return cmp.Compare(f.Channel, channel) })
		if !found {
			list = slices.Insert(list, at, Feed{Channel: h.Channel})
		}
		if f := &list[at]; h.LastReceived.After(f.LastReceived) {
			f.LastReceived = h.LastReceived
		}
		list[at].Stale = list[at].Stale || h.Stale(now)
		expected := h.Expected(now)
		list[at].Late = list[at].Late || expected > 0 && now.Sub(h.LastReceived) > expected
	}
	return list
}
