package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"svc/internal/admin/layout"
	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// The parameters of the event streams, all of which are defaults of this project.
const (
	readEvery      = 5 * time.Second        // interval between reads if no change is announced; needed because announcements may be lost
	leastBetween   = 250 * time.Millisecond // minimum interval between two states of one hospital
	feedsEvery     = 10 * time.Second
	beatEvery      = 15 * time.Second
	holdsEvery     = 500 * time.Millisecond // interval at which a stream checks whether its session or wall has ended
	writeWithin    = 5 * time.Second
	streamFor      = 25 * time.Minute // maximum age of a stream; a random part of streamMore is added, to spread the reconnects
	streamMore     = 10 * time.Minute
	mostStreams    = 1000 // maximum per process; additional browsers reload the page periodically instead
	mostOfHospital = 200  // maximum per hospital in one process
	mostOfSession  = 20   // maximum per session
	mostOfWall     = 10   // maximum per wall
)

// Changes reports when the state of a hospital may have changed.
type Changes interface {
	// Watch returns a channel that receives the id of a hospital after a change. The watch ends when ctx does.
	Watch(ctx context.Context, hospitals ...string) <-chan string
}

// formatStateID returns the id of a state. If two states have the same id, their pages are equal, apart from the ages
// of the feeds. The id includes the minute, because forecasts start on the minute.
func formatStateID(u *readapi.Unit) string {
	return u.Version + "." + strconv.FormatInt(u.At.Unix()/60, 36) + heldState(u)
}

// followStream makes a page follow a stream of events. If whole is true, the browser reloads the whole page after
// each change.
func followStream(f *page.Frame, u *readapi.Unit, events string, whole bool) {
	f.Events, f.Whole, f.State, f.Held, f.Refresh = events, whole, formatStateID(u), heldState(u), page.RefreshSeconds
}

// variant is one rendering of a hospital. All browsers with the same variant get the same bytes.
type variant struct {
	wall     bool
	language string
	base     string // prefix of the paths
}

// The ids of the page elements that a stream updates. Each element is rendered by the template of the same name; for
// the wall, that name has a prefix.
var (
	appElements  = []string{"level", "rooms", "outlook", "levels", "look", "help", "axes", "quality", "duty"}
	wallElements = []string{"level", "rooms", "outlook", "changed"}
)

func renderElements(p *unitPage, wall bool) map[string]string {
	ids, prefix := appElements, ""
	if wall {
		ids, prefix = wallElements, "wall."
	}
	all := make(map[string]string, len(ids))
	for _, id := range ids {
		all[id] = string(templates.Render(prefix+id, p))
	}
	return all
}

// state is the data of a state event.
type state struct {
	ID    string            `json:"id"`
	From  string            `json:"from,omitempty"` // id of the previous state if only changed parts are sent; "": all parts are sent
	AsOf  string            `json:"asOf"`
	Level string            `json:"level"`
	Held  string            `json:"held,omitempty"`
	Say   string            `json:"say"` // level and cause, for a screen reader
	Parts map[string]string `json:"parts"`
}

// frame is one state of a hospital, rendered in one variant. The fields whole, changes and feeds are formatted events.
type frame struct {
	state
	whole   string // event with all parts
	before  string // id of the previous state; "": none
	changes string // event with the parts that differ from the previous state
	feeds   string
}

// renderFrame renders a unit. before is the previous frame of the variant, or nil.
func renderFrame(p *writer, u *readapi.Unit, drawn *layout.Layout, v variant, before *frame) *frame {
	shown := p.newUnitPage(page.Frame{Writer: p.Writer, Hospital: p.HospitalName, Base: v.base}, u, drawn, v.wall)
	f := &frame{state: state{
		ID: formatStateID(u), AsOf: u.Verdict.AsOf.Time().UTC().Format(time.RFC3339), Level: u.Verdict.Level.String(),
		Held: heldState(u), Say: shown.Head.Word + ". " + shown.Head.Why, Parts: renderElements(shown, v.wall),
	}}
	f.whole = formatEvent("state", f.ID, f.state)
	f.feeds = formatFeedsEvent(p, u)
	if before != nil {
		less := f.state
		f.before, less.From, less.Parts = before.ID, before.ID, map[string]string{}
		for id, part := range f.Parts {
			if before.Parts[id] != part {
				less.Parts[id] = part
			}
		}
		f.changes = formatEvent("state", f.ID, less)
	}
	return f
}

// formatEvent formats an event of a stream. An empty id is omitted.
func formatEvent(name, id string, data any) string {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return "event: " + name + "\n" + id + "data: " + string(text) + "\n\n"
}

// formatFeedsEvent returns the event with the time of the unit and the ages of its feeds.
func formatFeedsEvent(p *writer, u *readapi.Unit) string {
	shown := &unitPage{Frame: page.Frame{Writer: p.Writer}, Feeds: p.listFeeds(u)}
	return formatEvent("feeds", "", map[string]string{
		"clock": p.FormatClock(u.At), "feeds": string(templates.Render("feeds", shown)), "theme": chooseWallTheme(p.Zone, u.At),
	})
}

// eventsAfter returns what to send to a browser that has the state with the given id: nothing, the changes, or all
// parts.
func (f *frame) eventsAfter(has string) string {
	switch {
	case has == f.ID:
		return ""
	case has != "" && has == f.before:
		return f.changes
	}
	return f.whole
}

// eventWriter writes a stream to one browser.
type eventWriter struct {
	w    http.ResponseWriter
	ctrl *http.ResponseController
	now  func() time.Time
}

func (o *eventWriter) sendEvents(text string) bool {
	if text == "" {
		return true
	}
	if err := o.ctrl.SetWriteDeadline(o.now().Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	if _, err := o.w.Write([]byte(text)); err != nil {
		return false
	}
	return o.ctrl.Flush() == nil
}

// beginStream starts a stream. If too many streams are open, it sends an error response and returns false. The
// returned context ends when the browser should reconnect.
func (s *site) beginStream(
	w http.ResponseWriter, r *http.Request, session *auth.Session,
) (ctx context.Context, o *eventWriter, end func(), ok bool) {
	shares := streamShares(session)
	if !s.hub.addStream(shares) {
		w.Header().Set("Retry-After", "30")
		http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
		return nil, nil, nil, false
	}
	ctx, cancel := context.WithTimeout(r.Context(), streamFor+rand.N(streamMore)) //nolint:gosec // only to spread the reconnects
	stop := func() bool { return true }
	if s.Ends != nil {
		stop = context.AfterFunc(s.Ends, cancel)
	}
	end = func() {
		stop()
		cancel()
		s.hub.removeStream(shares)
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	o = &eventWriter{w, http.NewResponseController(w), s.Now}
	// The deadline for reading the body must not end the stream.
	_ = o.ctrl.SetReadDeadline(time.Time{})                                     //nolint:errcheck // some servers do not support it
	if !o.sendEvents("retry: " + strconv.Itoa(2000+rand.IntN(1000)) + "\n\n") { //nolint:gosec,mnd // only to spread the reconnects
		end()
		return nil, nil, nil, false
	}
	return ctx, o, end, true
}

// formatBeat returns the event that keeps the stream alive. It contains the number of seconds for which the session
// remains valid; 0 means no limit.
func formatBeat(now time.Time, left time.Duration) string {
	return formatEvent("beat", "", struct {
		Now  string `json:"now"`
		Left int64  `json:"left,omitempty"`
	}{now.UTC().Format(time.RFC3339), int64(left / time.Second)})
}

// Events without data: gone means that the session has ended; lost means that the state of the unit is unknown.
var (
	gone = formatEvent("gone", "", struct{}{})
	lost = formatEvent("lost", "", struct{}{})
)

// sendStream sends events until the browser disconnects, the session ends, or the stream reaches its maximum age. It
// calls the function events at least every [holdsEvery] and whenever wake receives a value. The function left returns
// the remaining time of the session, or false if the session has ended.
func (s *site) sendStream(
	ctx context.Context, o *eventWriter, left func() (time.Duration, bool), wake <-chan struct{}, events func() string,
) {
	beats := s.Now()
	for ctx.Err() == nil {
		remains, holds := left()
		if !holds {
			o.sendEvents(gone)
			return
		}
		text := events()
		if now := s.Now(); !now.Before(beats) {
			text += formatBeat(now, remains)
			beats = now.Add(beatEvery)
		}
		if !o.sendEvents(text) {
			return
		}
		waitFor(ctx, min(beats.Sub(s.Now()), holdsEvery), wake)
	}
}

// streamUnit sends the states of a unit until the browser disconnects, the session ends, or the stream reaches its
// maximum age.
func (s *site) streamUnit(
	w http.ResponseWriter, r *http.Request, session *auth.Session, wall bool, left func() (time.Duration, bool),
) {
	ctx, o, end, ok := s.beginStream(w, r, session)
	if !ok {
		return
	}
	defer end()
	c := s.hub.follow(session.Hospital, variant{wall, s.writer(r, session).Language, session.Base})
	defer s.hub.unfollow(c)
	c.has = cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("last"))
	s.sendStream(ctx, o, left, c.wake, c.drainEvents)
}

// waitFor returns after a duration, when wake receives a value, or when the context ends, whichever comes first.
func waitFor[T any](ctx context.Context, d time.Duration, wake <-chan T) {
	pause, stop := context.WithTimeout(ctx, d)
	defer stop()
	select {
	case <-wake:
	case <-pause.Done():
	}
}

func (s *site) streamPage(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	s.streamUnit(w, r, session, false, s.watchSession(r))
}

func (s *site) streamBoard(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	left := s.watchSession(r)
	if session.Wall != "" {
		left = func() (time.Duration, bool) {
			_, ok := s.readWall(r)
			return 0, ok
		}
	}
	s.streamUnit(w, r, session, true, left)
}

// watchSession returns a function that reports the remaining time of a request's session, or false if the session has
// ended.
func (s *site) watchSession(r *http.Request) func() (time.Duration, bool) {
	return func() (time.Duration, bool) {
		session, err := s.ReadSession(r)
		if err != nil {
			return 0, false
		}
		return session.EndsAt().Sub(s.Now()), true
	}
}
