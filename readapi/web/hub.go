package web

import (
	"context"
	"sync"
	"time"

	"svc/readapi/web/page"
	"svc/readapi/web/text"
)

// hub follows the hospitals that somebody looks at: each is read and rendered once for all
// who look at it in the same way.
type hub struct {
	cfg *Config

	mu        sync.Mutex
	open      int            // streams
	groups    map[string]int // streams of each group
	hospitals map[string]*followed
}

func newHub(cfg *Config) *hub {
	return &hub{cfg: cfg, groups: map[string]int{}, hospitals: map[string]*followed{}}
}

// followed is one hospital that somebody looks at.
type followed struct {
	hospital string
	cancel   context.CancelFunc

	// The hub's mutex guards what follows.
	clients map[*client]struct{}
	unit    *Unit // as it was read last; nil: never
	frames  map[look]*frame
	lost    string // event that says since when the unit is not known; "": it is known
}

// client is one browser that looks at a hospital.
type client struct {
	of   *followed
	hub  *hub
	look look
	wake chan struct{} // there is something to take; a second notice is of no use

	has   string // state that was sent last
	feeds string // event that was sent last
	lost  bool   // it was told that the unit is not known
}

func (h *hub) enter(group string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open >= mostStreams || group != "" && h.groups[group] >= mostOfWall {
		return false
	}
	h.open++
	h.groups[group]++
	return true
}

func (h *hub) leave(group string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	if h.groups[group]--; h.groups[group] == 0 {
		delete(h.groups, group)
	}
}

// follow adds a browser to those who look at a hospital.
func (h *hub) follow(hospital string, l look) *client {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.hospitals[hospital]
	if f == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f = &followed{hospital: hospital, cancel: cancel, clients: map[*client]struct{}{}, frames: map[look]*frame{}}
		h.hospitals[hospital] = f
		go h.run(ctx, f)
	}
	c := &client{of: f, hub: h, look: l, wake: make(chan struct{}, 1)}
	f.clients[c] = struct{}{}
	if f.unit != nil && f.frames[l] == nil {
		f.frames[l] = h.frameOf(hospital, l, f.unit, nil)
	}
	return c
}

// unfollow takes a browser away; after the last one nobody follows the hospital.
func (h *hub) unfollow(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(c.of.clients, c)
	if len(c.of.clients) == 0 {
		c.of.cancel()
		delete(h.hospitals, c.of.hospital)
	}
}

// run reads a hospital after each change of it, and each few seconds.
func (h *hub) run(ctx context.Context, f *followed) {
	changed := h.cfg.Changes.Watch(ctx, f.hospital)
	for ctx.Err() == nil {
		h.refresh(ctx, f)
		if !wait(ctx, leastBetween, nil) {
			return
		}
		pause, stop := context.WithTimeout(ctx, h.untilNext(f))
		select {
		case <-changed:
		case <-pause.Done():
		}
		stop()
	}
}

// untilNext is how long a hospital may be left unread if nobody tells of a change.
func (h *hub) untilNext(f *followed) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.unit == nil || f.unit.Verdict.Next == 0 {
		return lookEvery
	}
	return min(lookEvery, max(f.unit.Verdict.Next.Time().Sub(h.cfg.Now()), 0))
}

// refresh reads a hospital, and has its browsers take what is new.
func (h *hub) refresh(ctx context.Context, f *followed) {
	u, err := h.cfg.Units.Unit(ctx, f.hospital)
	if ctx.Err() != nil {
		return
	}
	if err != nil && !isAway(err) {
		h.cfg.Log.WarnContext(ctx, "unit cannot be shown", "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		if f.lost == "" {
			f.lost = "event: lost\ndata: {}\n\n"
			f.tell()
		}
		return
	}
	same := f.lost == "" && f.unit != nil && stateID(f.unit) == stateID(u)
	if same && u.At.Sub(f.unit.At) < feedsEvery {
		return
	}
	before := f.frames
	f.frames = map[look]*frame{}
	for l := range f.looks() {
		if same && before[l] != nil {
			again := *before[l]
			again.feeds = feedsEvent(h.writer(f.hospital, l.language), u)
			f.frames[l] = &again
			continue
		}
		h.mu.Unlock() // others go on while this is rendered
		fresh := h.frameOf(f.hospital, l, u, before[l])
		h.mu.Lock()
		f.frames[l] = fresh
	}
	f.lost, f.unit = "", u
	for l := range f.looks() { // that came meanwhile
		if f.frames[l] == nil || f.frames[l].ID != stateID(u) {
			f.frames[l] = h.frameOf(f.hospital, l, u, nil)
		}
	}
	f.tell()
}

// looks are all ways in which somebody looks at the hospital.
func (f *followed) looks() map[look]bool {
	all := map[look]bool{}
	for c := range f.clients {
		all[c.look] = true
	}
	return all
}

func (h *hub) frameOf(hospital string, l look, u *Unit, before *frame) *frame {
	return frameOf(h.writer(hospital, l.language), u, h.cfg.layoutOf(hospital), l, before)
}

func (h *hub) writer(hospital, language string) *writer {
	return &writer{page.NewWriter(text.In(language), h.cfg.Hospitals, hospital)}
}

// tell wakes all who look. Who has not taken the last news yet takes the newest.
func (f *followed) tell() {
	for c := range f.clients {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// take returns the events that the browser does not have.
func (c *client) take() string {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.of.lost != "" {
		if c.lost {
			return ""
		}
		c.lost = true
		return c.of.lost
	}
	frame := c.of.frames[c.look]
	if frame == nil {
		return ""
	}
	events := frame.next(c.has)
	if c.lost && events == "" { // it is as it was, and known again
		events = frame.whole
	}
	c.lost, c.has = false, frame.ID
	if frame.feeds != c.feeds {
		events += frame.feeds
		c.feeds = frame.feeds
	}
	return events
}
