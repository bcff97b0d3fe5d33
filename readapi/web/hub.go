package web

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
	"svc/readapi/web/text"
)

// hub follows the hospitals that open pages display. It reads each hospital once for all of its pages, and renders
// the hospital once for each variant of a page.
type hub struct {
	cfg *Config

	mu        sync.Mutex
	open      int            // number of streams
	shares    map[string]int // number of streams, by session, wall or hospital
	hospitals map[string]*followedHospital
}

func newHub(cfg *Config) *hub {
	return &hub{cfg: cfg, shares: map[string]int{}, hospitals: map[string]*followedHospital{}}
}

// followedHospital is a hospital that at least one open page displays.
type followedHospital struct {
	hospital string
	cancel   context.CancelFunc

	// The hub's mutex guards the fields below.
	clients map[*client]struct{}
	unit    *readapi.Unit // last state read; nil: never read
	frames  map[variant]*frame
	lost    bool // whether the unit's current state is unknown
}

// client is one browser that displays a hospital.
type client struct {
	of      *followedHospital
	hub     *hub
	variant variant
	wake    chan struct{} // signaled when there are new events; capacity one

	has   string // id of the last state sent
	feeds string // last feeds event sent
	lost  bool   // whether the browser was informed that the unit's state is unknown
}

// streamShare is a limit on the number of streams, for a session or wall, or for a hospital.
type streamShare struct {
	name string
	most int // maximum number of streams
}

// streamShares returns the limits that apply to a stream of a session.
func streamShares(session *auth.Session) []streamShare {
	shares := []streamShare{{"hospital " + session.Hospital, mostOfHospital}}
	if session.Wall != "" {
		return append(shares, streamShare{"wall " + session.Wall, mostOfWall})
	}
	return append(shares, streamShare{"session " + session.ID, mostOfSession})
}

// addStream counts a stream. It returns false if the process or one of the given shares already has its maximum
// number of streams.
func (h *hub) addStream(shares []streamShare) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	full := func(s streamShare) bool { return h.shares[s.name] >= s.most }
	if h.open >= mostStreams || slices.ContainsFunc(shares, full) {
		return false
	}
	h.open++
	for _, s := range shares {
		h.shares[s.name]++
	}
	return true
}

func (h *hub) removeStream(shares []streamShare) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	for _, s := range shares {
		if h.shares[s.name]--; h.shares[s.name] == 0 {
			delete(h.shares, s.name)
		}
	}
}

// follow adds a browser that displays a hospital.
func (h *hub) follow(hospital string, v variant) *client {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.hospitals[hospital]
	if f == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f = &followedHospital{hospital: hospital, cancel: cancel, clients: map[*client]struct{}{}, frames: map[variant]*frame{}}
		h.hospitals[hospital] = f
		go h.followHospital(ctx, f)
	}
	c := &client{of: f, hub: h, variant: v, wake: make(chan struct{}, 1)}
	f.clients[c] = struct{}{}
	if f.unit != nil && f.frames[v] == nil {
		f.frames[v] = h.renderFrame(hospital, v, f.unit, nil)
	}
	return c
}

// unfollow removes a browser. After the last one, the hub stops following the hospital.
func (h *hub) unfollow(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(c.of.clients, c)
	if len(c.of.clients) == 0 {
		c.of.cancel()
		delete(h.hospitals, c.of.hospital)
	}
}

// followHospital reads a hospital after each announced change, when a timer changes the unit, and at least every
// readEvery. It waits at least leastBetween between two reads.
func (h *hub) followHospital(ctx context.Context, f *followedHospital) {
	changed := h.cfg.Changes.Watch(ctx, f.hospital)
	for ctx.Err() == nil {
		h.readHospital(ctx, f)
		waitFor[string](ctx, leastBetween, nil)
		waitFor(ctx, h.durationUntilNext(f), changed)
	}
}

// durationUntilNext returns how long to wait before reading a hospital again if no change is announced.
func (h *hub) durationUntilNext(f *followedHospital) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.unit == nil || f.lost {
		return readEvery
	}
	next := f.unit.Verdict.Next.Time()
	if !next.After(f.unit.At) { // no timer will change the unit, or the unit's input has stopped
		return readEvery
	}
	return min(readEvery, max(next.Sub(h.cfg.Now()), 0))
}

// readHospital reads a hospital. It wakes the hospital's browsers if the unit's state has changed, has become unknown
// or is known again. If the state is unchanged, it wakes them every feedsEvery, to send the current ages of the
// feeds.
func (h *hub) readHospital(ctx context.Context, f *followedHospital) {
	u, err := h.cfg.Reads.Unit(ctx, f.hospital)
	if ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, readapi.ErrAway) {
		h.cfg.Log.WarnContext(ctx, "unit page not rendered", "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		if !f.lost {
			f.lost = true
			f.wakeClients()
		}
		return
	}
	same := !f.lost && f.unit != nil && formatStateID(f.unit) == formatStateID(u)
	if same && u.At.Sub(f.unit.At) < feedsEvery {
		return
	}
	before := f.frames
	f.frames = map[variant]*frame{}
	for v := range f.listVariants() {
		if same && before[v] != nil {
			again := *before[v]
			again.feeds = formatFeedsEvent(h.newWriter(f.hospital, v.language), u)
			f.frames[v] = &again
			continue
		}
		h.mu.Unlock() // the mutex is unlocked while this goroutine renders
		fresh := h.renderFrame(f.hospital, v, u, before[v])
		h.mu.Lock()
		f.frames[v] = fresh
	}
	f.lost, f.unit = false, u
	for v := range f.listVariants() { // browsers may have connected during the rendering
		if f.frames[v] == nil || f.frames[v].ID != formatStateID(u) {
			f.frames[v] = h.renderFrame(f.hospital, v, u, nil)
		}
	}
	f.wakeClients()
}

// listVariants returns the variants of the pages that browsers display.
func (f *followedHospital) listVariants() map[variant]bool {
	all := map[variant]bool{}
	for c := range f.clients {
		all[c.variant] = true
	}
	return all
}

func (h *hub) renderFrame(hospital string, v variant, u *readapi.Unit, before *frame) *frame {
	return renderFrame(h.newWriter(hospital, v.language), u, h.cfg.findLayout(hospital), v, before)
}

func (h *hub) newWriter(hospital, language string) *writer {
	return &writer{page.NewWriter(text.In(language), h.cfg.Hospitals, hospital)}
}

// wakeClients wakes all browsers. A browser that has not yet received the previous events will receive only the
// latest ones.
func (f *followedHospital) wakeClients() {
	for c := range f.clients {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// drainEvents returns the events that the browser has not received yet.
func (c *client) drainEvents() string {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.of.lost {
		if c.lost {
			return ""
		}
		c.lost = true
		return lost
	}
	frame := c.of.frames[c.variant]
	if frame == nil {
		return ""
	}
	events := frame.eventsAfter(c.has)
	if c.lost && events == "" { // the unit's state is known again and has not changed
		events = frame.whole
	}
	c.lost, c.has = false, frame.ID
	if frame.feeds != c.feeds {
		events += frame.feeds
		c.feeds = frame.feeds
	}
	return events
}
