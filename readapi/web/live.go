package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// How streams behave. Our defaults.
const (
	lookEvery    = 5 * time.Second        // the versions are compared, as a notice may be lost
	leastBetween = 250 * time.Millisecond // two states of one hospital
	feedsEvery   = 10 * time.Second
	beatEvery    = 15 * time.Second
	holdsEvery   = time.Second // that a session or a wall holds is looked at
	writeWithin  = 5 * time.Second
	streamFor    = 25 * time.Minute // and up to streamMore, so that not all come again at once
	streamMore   = 10 * time.Minute
	mostStreams  = 1000 // of a process; beyond it browsers ask for the page again
	mostOfWall   = 10   // of one wall
)

// Changes says when the state of a hospital may have changed.
type Changes interface {
	// Watch returns a channel that gets the id of a hospital after a change. It ends with
	// ctx.
	Watch(ctx context.Context, hospitals ...string) <-chan string
}

// stateID names a state of a page: another one may look otherwise. The minute is part of
// it, as forecasts begin at the full minute.
func stateID(u *Unit) string {
	return u.Version + "." + strconv.FormatInt(u.At.Unix()/60, 36) + u.held()
}

// follow has a page follow a stream. Whole: the page is fetched anew after each change.
func follow(f *page.Frame, u *Unit, events string, whole bool) {
	f.Events, f.Whole, f.State, f.Held, f.Refresh = events, whole, stateID(u), u.held(), page.RefreshSeconds
}

// look is how somebody looks at a hospital: who looks in the same way gets the same bytes.
type look struct {
	wall     bool
	language string
	base     string // of the paths
}

// elements of a page, by id: the template of each.
var (
	appElements  = map[string]string{"level": "level", "rooms": "rooms", "outlook": "outlook", "levels": "levels", "look": "look", "help": "help", "axes": "axes", "quality": "quality"}
	wallElements = map[string]string{"level": "slab", "rooms": "wallrooms", "outlook": "walloutlook", "changed": "changed"}
)

func renderElements(p *unitPage, wall bool) map[string]string {
	which := appElements
	if wall {
		which = wallElements
	}
	all := make(map[string]string, len(which))
	for id, name := range which {
		all[id] = string(templates.Render(name, p))
	}
	return all
}

// state is the data of a state event.
type state struct {
	ID    string            `json:"id"`
	From  string            `json:"from,omitempty"` // that the parts are changes of; "": they are all
	AsOf  string            `json:"asOf"`
	Level string            `json:"level"`
	Held  string            `json:"held,omitempty"`
	Say   string            `json:"say"` // level and cause, for who does not see
	Parts map[string]string `json:"parts"`
}

// frame is a state of a hospital as it looks.
type frame struct {
	state
	whole, changes string // the events
	feeds          string
}

// frameOf renders a unit. Before is the frame that was sent last; nil: there was none.
func frameOf(p *writer, u *Unit, layout *Layout, l look, before *frame) *frame {
	shown := p.unitPageOf(page.Frame{Writer: p.Writer, Hospital: p.HospitalName, Base: l.base}, u, layout, l.wall)
	f := &frame{state: state{
		ID: stateID(u), AsOf: u.Verdict.AsOf.Time().UTC().Format(time.RFC3339), Level: u.Verdict.Level.String(), Held: u.held(),
		Say: shown.Head.Word + ". " + shown.Head.Why, Parts: renderElements(shown, l.wall),
	}}
	f.whole = f.event(f.state)
	f.feeds = feedsEvent(p, u)
	if before != nil {
		less := f.state
		less.From, less.Parts = before.ID, map[string]string{}
		for id, part := range f.Parts {
			if before.Parts[id] != part {
				less.Parts[id] = part
			}
		}
		f.changes = f.event(less)
	}
	return f
}

func (f *frame) event(s state) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings alone
	}
	return fmt.Sprintf("event: state\nid: %s\ndata: %s\n\n", f.ID, data)
}

// feedsEvent tells the time of the unit and the ages of its feeds.
func feedsEvent(p *writer, u *Unit) string {
	shown := &unitPage{Frame: page.Frame{Writer: p.Writer}, Feeds: p.feeds(u)}
	data, err := json.Marshal(map[string]string{"clock": p.FormatClock(u.At), "feeds": string(templates.Render("feeds", shown)), "theme": themeAt(p.Zone, u.At)})
	if err != nil {
		panic(err) // strings alone
	}
	return "event: feeds\ndata: " + string(data) + "\n\n"
}

// next is what a browser that has a state is sent: nothing, what changed, or all.
func (f *frame) next(has string) string {
	switch {
	case has == f.ID:
		return ""
	case f.changes != "" && strings.Contains(f.changes, `"from":`+strconv.Quote(has)+`,`):
		return f.changes
	}
	return f.whole
}

// out writes a stream to one browser.
type out struct {
	w    http.ResponseWriter
	ctrl *http.ResponseController
	now  func() time.Time
}

func (o *out) send(text string) bool {
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

// begin starts a stream, or has answered that there are too many. Its context ends when
// the browser is to come again.
func (s *site) begin(w http.ResponseWriter, r *http.Request, group string) (ctx context.Context, o *out, end func(), ok bool) {
	if !s.hub.enter(group) {
		w.Header().Set("Retry-After", "30")
		http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
		return nil, nil, nil, false
	}
	ctx, cancel := context.WithTimeout(r.Context(), streamFor+rand.N(streamMore)) //nolint:gosec // spread alone
	stop := func() bool { return true }
	if s.Ends != nil {
		stop = context.AfterFunc(s.Ends, cancel)
	}
	end = func() {
		stop()
		cancel()
		s.hub.leave(group)
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	o = &out{w, http.NewResponseController(w), s.Now}
	_ = o.ctrl.SetReadDeadline(time.Time{})                               //nolint:errcheck // else the server ends the request when its body is late
	if !o.send("retry: " + strconv.Itoa(2000+rand.IntN(1000)) + "\n\n") { //nolint:gosec,mnd // spread alone
		end()
		return nil, nil, nil, false
	}
	return ctx, o, end, true
}

// beat says that the stream lives, and for how many seconds the session does; "": it has
// ended. Left may be nil: there is no end.
func (s *site) beat(left func() (time.Duration, bool)) string {
	data := struct {
		Now  string `json:"now"`
		Left *int64 `json:"left,omitempty"`
	}{Now: s.Now().UTC().Format(time.RFC3339)}
	d, ok := left()
	if !ok {
		return ""
	}
	if d > 0 {
		seconds := int64(d / time.Second)
		data.Left = &seconds
	}
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // a text and a number
	}
	return "event: beat\ndata: " + string(text) + "\n\n"
}

const gone = "event: gone\ndata: {}\n\n"

// stream sends the states of a unit until the browser goes, the session ends, or the
// stream is old. A group, such as one wall, may have few streams; "": only all together are bounded.
func (s *site) stream(w http.ResponseWriter, r *http.Request, session *auth.Session, wall bool, group string, left func() (time.Duration, bool)) {
	ctx, o, end, ok := s.begin(w, r, group)
	if !ok {
		return
	}
	defer end()
	c := s.hub.follow(session.Hospital, look{wall, s.writer(r, session).Language, session.Base})
	defer s.hub.unfollow(c)
	c.has = firstOf(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("last"))
	beats := s.Now()
	for {
		if _, holds := left(); !holds {
			o.send(gone)
			return
		}
		if !o.send(c.take()) {
			return
		}
		if now := s.Now(); !now.Before(beats) {
			text := s.beat(left)
			if text == "" {
				o.send(gone)
				return
			}
			if !o.send(text) {
				return
			}
			beats = now.Add(beatEvery)
		}
		if !wait(ctx, min(beats.Sub(s.Now()), holdsEvery), c.wake) {
			return
		}
	}
}

// wait returns after a while, or when it is woken; false: the context has ended.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	pause, stop := context.WithTimeout(ctx, d)
	defer stop()
	select {
	case <-wake:
	case <-pause.Done():
	}
	return ctx.Err() == nil
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func (s *site) events(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	s.stream(w, r, session, false, "", s.sessionLeft(r))
}

func (s *site) boardEvents(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	left := s.sessionLeft(r)
	if session.Wall != "" {
		left = func() (time.Duration, bool) {
			_, ok := s.readWall(r)
			return 0, ok
		}
	}
	s.stream(w, r, session, true, session.Wall, left)
}

// sessionLeft says for how long the session of a request still lasts; false: it has ended.
func (s *site) sessionLeft(r *http.Request) func() (time.Duration, bool) {
	return func() (time.Duration, bool) {
		session, err := s.ReadSession(r)
		if err != nil {
			return 0, false
		}
		return session.EndsAt().Sub(s.Now()), true
	}
}

// isAway reports whether an error says that a unit is not known now, as others may be.
func isAway(err error) bool { return errors.Is(err, readapi.ErrAway) }
