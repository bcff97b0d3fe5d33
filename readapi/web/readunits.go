package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc/acuity/forecast"
	"svc/acuity/help"
	"svc/internal/feeds"
	"svc/readapi"
)

// ReadUnits implements [Units] on the read API.
type ReadUnits struct {
	reads *readapi.Reads
	now   func() time.Time

	mu    sync.Mutex
	known map[string]*known // by hospital
}

// NewReadUnits returns units without a cached answer.
func NewReadUnits(reads *readapi.Reads, now func() time.Time) *ReadUnits {
	return &ReadUnits{reads: reads, now: now, known: map[string]*known{}}
}

// known caches the answers about a hospital, so that many open pages cost as much as one.
type known struct {
	mu       sync.Mutex
	version  string // of the state, and the minute of the forecast
	forecast *forecast.Forecast
	missing  *forecast.InsufficientError
	feeds    []Feed
	feedsAt  time.Time
	help     []help.Step
}

// feedAgesEvery is how often the ages of feeds are read.
const feedAgesEvery = 10 * time.Second

// Unit implements [Units].
func (u *ReadUnits) Unit(ctx context.Context, hospital string) (*Unit, error) {
	now := u.now()
	verdict, version, err := u.reads.Verdict(ctx, hospital)
	if err != nil {
		return u.before(ctx, hospital, now, err)
	}
	k := u.cached(hospital)
	k.mu.Lock()
	defer k.mu.Unlock()
	if at := fmt.Sprint(version, now.Unix()/60); k.version != at {
		k.version, k.missing = "", nil
		if k.forecast, err = u.reads.Forecast(ctx, hospital); err == nil || errors.As(err, &k.missing) {
			k.version = at
		} else {
			k.forecast = nil // the page shows the unit without it, and the next call asks again
		}
		if k.help, err = u.reads.Help(ctx, hospital); err != nil {
			k.help, k.version = nil, "" // likewise
		}
	}
	if now.Sub(k.feedsAt) >= feedAgesEvery {
		if all, fault := u.reads.Feeds(ctx, hospital); fault == nil {
			k.feeds, k.feedsAt = ages(all, now), now
		}
	}
	plan, err := u.reads.Plan(ctx, hospital)
	if err != nil {
		plan = nil // the page shows the unit without it
	}
	return &Unit{Version: version, Verdict: verdict, Forecast: k.forecast, Missing: k.missing, Plan: plan, Feeds: k.feeds, Help: k.help, At: now}, nil
}

// before returns a unit as it was when its input stopped. It returns an error if the unit cannot
// be read for another reason.
func (u *ReadUnits) before(ctx context.Context, hospital string, now time.Time, behind error) (*Unit, error) {
	verdict, version, at, err := u.reads.Before(ctx, hospital, behind)
	if err != nil {
		return nil, err //nolint:wrapcheck // the pages know the errors of readapi
	}
	k := u.cached(hospital)
	k.mu.Lock()
	defer k.mu.Unlock()
	return &Unit{Version: version, Verdict: verdict, Feeds: k.feeds, At: now, Stopped: at}, nil
}

// Room implements [Units].
func (u *ReadUnits) Room(ctx context.Context, hospital string, room int32, within time.Duration) (*readapi.RoomAhead, error) {
	return u.reads.Room(ctx, hospital, room, within) //nolint:wrapcheck // the pages know the errors of readapi
}

func (u *ReadUnits) cached(hospital string) *known {
	u.mu.Lock()
	defer u.mu.Unlock()
	k := u.known[hospital]
	if k == nil {
		k = &known{}
		u.known[hospital] = k
	}
	return k
}

// ages returns the age of each channel, by the source that sent last. If one of its sources is
// silent for longer than usual, the channel is stale.
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
