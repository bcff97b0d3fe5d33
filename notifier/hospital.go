package notifier

import (
	"maps"
	"slices"
	"sort"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// waiting is an event in memory. All endpoints share it.
type waiting struct {
	*outbound.Event
	at int64 // ledger offset
}

// size returns the approximate memory use in bytes.
func (w *waiting) size() int { return len(w.Body) + 256 }

// unseenChange is a change of the level that [People] has not processed yet.
type unseenChange struct {
	at     int64
	change LevelChange
}

// ended is a final message, or a final alert to a webhook, whose final state [People] has not processed yet.
type ended struct {
	at    int64 // ledger offset from which a restore must read to find the message's final record
	entry outbound.Entry
}

// hospital is the state of one hospital during an ownership.
type hospital struct {
	owner *ownership
	id    string

	log   []*waiting // events from floor on, in the order of the ledger
	floor int64
	bytes int // total size of log

	version int64           // version of the last change that has events in the ledger
	whole   int64           // version up to which the ledger has all events
	ids     map[string]bool // ids of the events of the last change
	level   acuity.Level
	known   bool

	endpoints map[string]*endpoint
	folded    map[string]*foldedEndpoint // states of endpoints in the ledger; used only until resume

	messages          map[string]*message
	sent              map[string]bool // ids of final messages and of alerts before the restart; a repeated step does not send them again
	orders            map[string]*command
	commandDeliveries map[string]*recorded // webhook deliveries of commands, by id; used only until resume
	done              map[string]bool      // ids of finished commands, so that they are not executed again

	recordAt  int64     // ledger offset of the hospital's HospitalState, or of its first event; -1: none
	recordSet time.Time // when the record at recordAt was passed to the ledger

	policy    []byte  // stored state of People
	storing   []int64 // versions with a level change that the ledger has not acknowledged yet
	unseen    []unseenChange
	commands  []outbound.Command
	ended     []ended
	notices   []Notice
	handed    int64   // ledger offset of the oldest entry that the current step processes
	unsaved   []int64 // value of handed for each step whose result the ledger has not acknowledged
	stepping  bool
	askPeople bool // whether People must do a step even without new input
	wake      timer
}

// foldedEndpoint is the state of an endpoint in the ledger.
type foldedEndpoint struct {
	record outbound.EndpointQueue
	at     int64
	open   map[int64]*recorded // pending deliveries, by position of the event
	ended  int64               // greatest position of an event whose state is final
	// delivered are the deliveries after the cursor that commands have made, by position of the event.
	delivered map[int64]*recorded
}

// head returns the first pending delivery after the cursor, or nil if there is none.
func (l *foldedEndpoint) head() (first *recorded) {
	for at, p := range l.open {
		if at > l.record.Cursor && (first == nil || at < first.entry.Position) {
			first = p
		}
	}
	return first
}

func newHospital(owner *ownership, id string) *hospital {
	return &hospital{
		owner: owner, id: id, floor: owner.floor, ids: map[string]bool{}, recordAt: -1, handed: nothing,
		endpoints: map[string]*endpoint{}, folded: map[string]*foldedEndpoint{},
		messages: map[string]*message{}, sent: map[string]bool{}, orders: map[string]*command{}, done: map[string]bool{},
		commandDeliveries: map[string]*recorded{},
	}
}

// resume starts work after the state has been restored.
func (h *hospital) resume() {
	h.owner.n.memory += h.bytes
	h.unseen = slices.DeleteFunc(h.unseen, func(u unseenChange) bool { return u.change.Version <= h.whole })
	if h.owner.n.cfg.People == nil {
		h.unseen, h.ended = nil, nil
	}
	h.askPeople = h.policy != nil // the timers of People are not in the ledger
	h.reconcile()
	h.folded = map[string]*foldedEndpoint{}
	for _, l := range h.messages {
		l.resume()
	}
	for _, p := range slices.SortedFunc(maps.Values(h.commandDeliveries), byPosition) {
		if c := h.orders[p.entry.Command]; c != nil {
			c.pending[p.entry.Delivery.ID] = p
		} else { // the process died after the end of the command
			h.cancel(p, reasonStopped)
		}
	}
	h.commandDeliveries = nil
	for _, c := range slices.SortedFunc(maps.Values(h.orders), func(a, b *command) int { return int(a.at - b.at) }) {
		c.run()
	}
	h.trim()
}

// reconcile creates, updates and removes endpoints so that they match the settings.
func (h *hospital) reconcile() {
	n := h.owner.n
	hooks := n.cfg.Settings.Webhooks(h.id)
	known := make(map[string]bool, len(hooks))
	for _, hook := range hooks {
		known[hook.ID] = true
		e := h.endpoints[hook.ID]
		if e == nil {
			e = newEndpoint(h, hook, h.folded[hook.ID])
			h.endpoints[hook.ID] = e
		}
		e.updateSettings(hook)
	}
	for id, l := range h.folded {
		if !known[id] && l.record.Disabled != deleted {
			e := newEndpoint(h, &subscriber.Webhook{ID: id, Hospital: h.id}, l)
			e.remove()
		}
	}
	for id, e := range h.endpoints {
		if !known[id] {
			delete(h.endpoints, id)
			e.remove()
		}
	}
}

// addChange stores the events of a change and then sends them. A checkpoint of the verdicts topic repeats the last
// change of each hospital, whose events are already known and are not sent again.
func (h *hospital) addChange(c *acuity.Change, events []outbound.Event) {
	if c.Version < h.version || c.Version <= h.whole {
		return
	}
	if c.Version > h.version {
		h.version = c.Version
		clear(h.ids)
	}
	h.level, h.known = c.Level, true
	first := h.recordAt < 0
	for i := range events {
		e := &events[i]
		if h.ids[e.ID] {
			continue
		}
		h.ids[e.ID] = true
		var change *LevelChange
		if e.Event == outbound.LevelChanged {
			change = &LevelChange{Version: c.Version, OccurredAt: e.OccurredAt, Cause: c.Cause, Effect: c.Effects[i], Traceparent: e.Traceparent}
		}
		h.publish(e, change)
	}
	if first && len(events) > 0 {
		h.write(nil)
	}
}

// publish stores an event in the ledger and then offers it to the endpoints.
func (h *hospital) publish(e *outbound.Event, change *LevelChange) {
	e.Term = h.owner.number
	h.owner.n.cfg.Metrics.Event(e.Event)
	if h.owner.n.cfg.People == nil {
		change = nil
	}
	if change != nil {
		h.storing = append(h.storing, change.Version)
	}
	h.owner.append(e, func(at int64) {
		if h.recordAt < 0 {
			h.recordAt = at
		}
		if change != nil {
			h.storing = h.storing[1:]
			h.unseen = append(h.unseen, unseenChange{at, *change})
		}
		if e.Command == "" {
			h.add(&waiting{Event: e, at: at})
		}
	})
}

// add offers an event to the endpoints. Without endpoints, the event is dropped.
func (h *hospital) add(w *waiting) {
	if len(h.endpoints) == 0 {
		h.dropEvents(len(h.log))
		h.floor = w.at + 1
		return
	}
	h.log = append(h.log, w)
	h.bytes += w.size()
	h.owner.n.memory += w.size()
	for _, e := range h.endpoints {
		e.main.handleEvent(w)
	}
	if len(h.log)%keepBacklog == 0 {
		h.trim()
	}
	if h.owner.n.memory > h.owner.n.cfg.Limits.Memory {
		h.owner.n.relieve()
	}
}

// after returns the events in memory after a ledger offset.
func (h *hospital) after(at int64) []*waiting {
	i := sort.Search(len(h.log), func(i int) bool { return h.log[i].at > at })
	return h.log[i:]
}

// trim removes from memory the first events of the hospital if no endpoint waits for them. An endpoint that is new or
// disabled, or so far behind that its events are no longer in memory, reads them from the ledger.
func (h *hospital) trim() {
	least := nothing
	for _, e := range h.endpoints {
		if !e.paused() && e.main.queue.Cursor+1 >= h.floor {
			least = min(least, e.main.queue.Cursor)
		}
	}
	k := 0
	for k < len(h.log) && h.log[k].at <= least {
		k++
	}
	h.dropEvents(k)
}

// dropEvents drops the first k events from memory.
func (h *hospital) dropEvents(k int) {
	if k == 0 {
		return
	}
	size := 0
	for _, w := range h.log[:k] {
		size += w.size()
	}
	h.floor = h.log[k-1].at + 1
	h.bytes -= size
	h.owner.n.memory -= size
	h.log = append(make([]*waiting, 0, len(h.log)-k), h.log[k:]...)
}

// nothing is an offset greater than that of any ledger entry.
const nothing = int64(1<<63 - 1)

// low returns the oldest ledger offset that a restore needs for this hospital.
func (h *hospital) low() int64 {
	least := min(h.oldestAsked(), h.handed)
	if h.recordAt >= 0 {
		least = min(least, h.recordAt)
	}
	for _, at := range h.unsaved {
		least = min(least, at)
	}
	for _, e := range h.endpoints {
		least = min(least, e.low())
	}
	for _, l := range h.messages {
		least = min(least, l.at)
	}
	for _, c := range h.orders {
		least = min(least, c.at)
		for _, p := range c.pending {
			least = min(least, p.at)
		}
	}
	return least
}

// oldestAsked returns the ledger offset of the oldest entry that the next step of [People] will process.
func (h *hospital) oldestAsked() int64 {
	least := nothing
	if len(h.unseen) > 0 {
		least = h.unseen[0].at
	}
	for i := range h.ended {
		least = min(least, h.ended[i].at)
	}
	return least
}

// write stores the HospitalState, and then calls stored unless it is nil.
func (h *hospital) write(stored func()) {
	u := &outbound.HospitalState{Hospital: h.id, Version: h.version, Policy: h.policy, Term: h.owner.number}
	// A restore passes the changes after this version to [People], so the version must be less than that of the first
	// change that [People] has not seen.
	if len(h.unseen) > 0 {
		u.Version = min(u.Version, h.unseen[0].change.Version-1)
	}
	if len(h.storing) > 0 {
		u.Version = min(u.Version, h.storing[0]-1)
	}
	h.recordSet = h.owner.n.clock.readTime()
	h.owner.append(u, func(at int64) {
		h.recordAt = at
		if stored != nil {
			stored()
		}
	})
}

// rewrite appends records that are older than rewriteAge to the ledger again, so that a restore can start at a later
// offset.
func (h *hospital) rewrite(now time.Time) {
	if h.owner.stopping {
		return
	}
	if h.recordAt >= 0 && now.Sub(h.recordSet) >= rewriteAge {
		h.write(nil)
	}
	for _, e := range h.endpoints {
		if now.Sub(e.recordSet) >= rewriteAge {
			e.write()
		}
		if now.Sub(e.deliveriesSet) >= rewriteAge {
			e.rewriteDeliveries(now)
		}
	}
}

func (h *hospital) close() {
	n := h.owner.n
	n.memory -= h.bytes
	n.timers.stop(&h.wake)
	for _, e := range h.endpoints {
		e.close()
	}
	for _, l := range h.messages {
		n.timers.stop(&l.timer)
		n.cfg.Metrics.Waiting(l.entry.Delivery.Channel, -1)
	}
}
