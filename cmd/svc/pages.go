package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/help"
	"svc/internal/admin/layout"
	"svc/internal/admin/settings"
	"svc/internal/analysis/replay"
	"svc/internal/analysis/trial"
	"svc/internal/feeds"
	"svc/internal/httpapi/access"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/readapi"
	"svc/readapi/web"
	"svc/readapi/web/integrations"
	"svc/schemas"
)

// mountPages adds the pages, which show the answers of the read API.
func mountPages(ctx context.Context, h *service, reads *readapi.Reads) error {
	writeSettings(h)
	changed := view.NewChanged(h.redis)
	h.Run("changed", changed.Run)
	cfg := web.Config{
		Units:   &units{reads: reads, now: h.now, known: map[string]*known{}},
		Changes: changed, Ends: ctx,
		Hospitals: names{h.settings.Register}, Layouts: drawn{h.settings.Layouts}, Record: reads,
		Links: h.office(), Stranger: h.shell.Stranger, Directory: directory{h.office(), h.settings.Register}, Users: h.settings.Users, Walls: h.settings.Walls,
		Secure: !h.config.ServesLoopback(), Now: h.now, Log: h.log,
	}
	if h.settings.Seals != nil {
		seals, err := h.settings.Seals.For("pages")
		if err != nil {
			return err
		}
		cfg.Seals = seals
		if cfg.OIDC, err = providerOf(h); err != nil {
			return err
		}
		if api := ingestOf(h); api != nil {
			cfg.Acts = actsBy(h, api)
			cfg.Administration = administrationBy(h, api, reads)
			cfg.Administration.Past = trial.New(ctx, observations(h), h.now, h.log)
		}
	}
	web.Mount(h.router, cfg)
	return nil
}

// actsBy returns the API through which people act on the pages.
func actsBy(h *service, api http.Handler) *web.API {
	token := func(scope access.Scope) func(hospital, user string) string {
		return func(hospital, user string) string { return h.actors.token(hospital, user, scope) }
	}
	return &web.API{
		Handler: api, StaffToken: token(access.IngestStaffing), AckToken: token(access.Admin),
		Alerts: deliveries{h.redis.Lists()}.Episodes, Audit: h.audit.Record, Now: h.now,
	}
}

// administrationBy returns the API through which administrators act on the pages. This process
// answers its own routes; the process of --ingest-url answers the rest.
func administrationBy(h *service, ingest http.Handler, reads *readapi.Reads) *integrations.Administration {
	here := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.router.Match(chi.NewRouteContext(), r.Method, r.URL.Path) {
			h.router.ServeHTTP(w, r)
			return
		}
		ingest.ServeHTTP(w, r)
	})
	level := func(ctx context.Context, hospital string) acuity.Level {
		verdict, _, err := reads.Verdict(ctx, hospital)
		if err != nil {
			return 0
		}
		return verdict.Level
	}
	return &integrations.Administration{
		TestRequest: testRequest(h.settings, level),
		API:         here, Token: h.actors.adminToken, URL: h.config.PublicURL, Operations: operations(),
		Counts: func(hospital string) map[string]int { return countsOf(h.settings, hospital, h.now()) },
	}
}

// countsOf counts the settings of a hospital, by section of the page.
func countsOf(s *settings.Store, hospital string, now time.Time) map[string]int {
	counts := map[string]int{
		"webhooks": len(s.Subscribers.Webhooks(hospital)), "walls": len(s.Walls.Walls(hospital)), "users": len(s.Users.Users(hospital)),
		"alerts": len(s.Subscribers.Recipients(hospital)),
	}
	for _, key := range s.Register.Keys(hospital) {
		if key.Valid(now) {
			counts["keys"]++
		}
	}
	return counts
}

// observations returns the log of observations.
func observations(h *service) replay.Source {
	topic := h.config.Topic(schemas.Observations())
	return replay.Source{
		Spans: func(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
			return h.cluster.Spans(ctx, topic, from, to)
		},
		Read: func(ctx context.Context, s stream.Span, each func(stream.Record) error) error {
			return h.cluster.Range(ctx, topic, s, each)
		},
	}
}

// writeSettings registers this process as a writer of the settings topic.
func writeSettings(h *service) {
	settings := h.config.Topic(schemas.Settings())
	if !slices.ContainsFunc(h.writers, func(w stream.Writers) bool { return w.ID == settings }) {
		h.writers = append(h.writers, stream.Writers{ID: settings, Topics: []string{settings}})
	}
}

// followView starts the loop that follows the watermark of the view.
func followView(h *service) {
	if !h.following {
		h.following = true
		h.Run("follow", h.watermark.Run)
	}
}

// names implements [page.Hospitals] on the register of hospitals.
type names struct{ register *access.Register }

// Hospital implements [page.Hospitals].
func (n names) Hospital(id string) (name string, zone *time.Location, ok bool) {
	h, ok := n.register.Hospital(id)
	return cmp.Or(h.Name, id), n.register.Zone(id), ok
}

// drawn implements [web.Layouts] on the register of layouts.
type drawn struct{ register *layout.Register }

// Layout implements [web.Layouts].
func (d drawn) Layout(hospital string) *web.Layout {
	l := d.register.Layout(hospital)
	if l == nil {
		return nil
	}
	out := &web.Layout{Columns: int(l.Columns), Rows: int(l.Rows)}
	for _, p := range l.Rooms {
		out.Rooms = append(out.Rooms, web.Place{Room: p.Room, X: int(p.X), Y: int(p.Y), W: int(p.W), H: int(p.H)})
	}
	for _, m := range l.Landmarks {
		out.Landmarks = append(out.Landmarks, web.Landmark{Label: m.Label, X: int(m.X), Y: int(m.Y), W: int(m.W), H: int(m.H)})
	}
	return out
}

// units implements [web.Units] on the read API.
type units struct {
	reads *readapi.Reads
	now   func() time.Time

	mu    sync.Mutex
	known map[string]*known // by hospital
}

// known caches the answers about a hospital, so that many open pages cost as much as one.
type known struct {
	mu       sync.Mutex
	version  string // of the state, and the minute of the forecast
	forecast *forecast.Forecast
	missing  *forecast.InsufficientError
	feeds    []web.Feed
	feedsAt  time.Time
	help     []help.Step
}

// feedsEvery is how often the ages of feeds are read.
const feedsEvery = 10 * time.Second

// Unit implements [web.Units].
func (u *units) Unit(ctx context.Context, hospital string) (*web.Unit, error) {
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
	if now.Sub(k.feedsAt) >= feedsEvery {
		if all, fault := u.reads.Feeds(ctx, hospital); fault == nil {
			k.feeds, k.feedsAt = ages(all, now), now
		}
	}
	plan, err := u.reads.Plan(ctx, hospital)
	if err != nil {
		plan = nil // the page shows the unit without it
	}
	return &web.Unit{Version: version, Verdict: verdict, Forecast: k.forecast, Missing: k.missing, Plan: plan, Feeds: k.feeds, Help: k.help, At: now}, nil
}

// before returns a unit as it was when its input stopped. It returns an error if the unit cannot
// be read for another reason.
func (u *units) before(ctx context.Context, hospital string, now time.Time, behind error) (*web.Unit, error) {
	verdict, version, at, err := u.reads.Before(ctx, hospital, behind)
	if err != nil {
		return nil, err //nolint:wrapcheck // the pages know the errors of readapi
	}
	k := u.cached(hospital)
	k.mu.Lock()
	defer k.mu.Unlock()
	return &web.Unit{Version: version, Verdict: verdict, Feeds: k.feeds, At: now, Stopped: at}, nil
}

// Room implements [web.Units].
func (u *units) Room(ctx context.Context, hospital string, room int32, within time.Duration) (*readapi.RoomAhead, error) {
	return u.reads.Room(ctx, hospital, room, within) //nolint:wrapcheck // the pages know the errors of readapi
}

func (u *units) cached(hospital string) *known {
	u.mu.Lock()
	defer u.mu.Unlock()
	k := u.known[hospital]
	if k == nil {
		k = &known{}
		u.known[hospital] = k
	}
	return k
}

// ages returns the age of each channel: that of the source that sent last. If one of its sources
// is silent for longer than usual, the channel is stale.
func ages(all []feeds.History, now time.Time) (list []web.Feed) {
	for i := range all {
		h := &all[i]
		at, found := slices.BinarySearchFunc(list, h.Channel, func(f web.Feed, channel string) int { return cmp.Compare(f.Channel, channel) })
		if !found {
			list = slices.Insert(list, at, web.Feed{Channel: h.Channel})
		}
		if f := &list[at]; h.LastReceived.After(f.Heard) {
			f.Heard = h.LastReceived
		}
		list[at].Stale = list[at].Stale || h.Stale(now)
		expected := h.Expected(now)
		list[at].Late = list[at].Late || expected > 0 && now.Sub(h.LastReceived) > expected
	}
	return list
}
