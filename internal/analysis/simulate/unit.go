package simulate

import (
	"container/heap"
	"math"
	"strconv"
	"time"
)

// unit is the maternity unit at the current instant of the simulation.
type unit struct {
	profile

	options  *Options
	from, to clock
	now      clock
	agenda   agenda
	number   int64 // number of the next agenda entry
	muted    bool  // whether requests are suppressed, as they are before the start

	calendar calendar
	staff    staff
	faults   faults

	triage, labor, theatre, recovery, postpartum, antepartum pool
	rooms                                                    []*room

	mark     string // part of the visit, patient and event numbers that differs between simulations
	visits   int    // number of visits so far
	patients int
	events   int
	open     []*visit // in the order of their numbers
}

// warmUp is how long the unit runs before the start without sending, so that it starts with a typical number of
// patients.
const warmUp = 12 * day

func newUnit(o *Options, p profile) *unit {
	u := &unit{profile: p, options: o, from: at(o.Start)}
	u.to = u.from + clock(o.For/time.Second)
	u.now = u.from - warmUp
	u.mark = u.markOf()
	u.furnish()
	u.calendar = newCalendar(u)
	u.staff = newStaff(u)
	u.faults = newFaults(u)
	return u
}

// markOf returns a mark that depends on the options, so that simulations with different options write different
// numbers.
func (u *unit) markOf() string {
	const letters = 36 * 36 * 36 * 36 * 36
	hash := mixed(u.options.Seed)
	for _, b := range []byte(u.profile.name) {
		hash = mixed(hash ^ uint64(b))
	}
	hash = mixed(hash ^ uint64(u.from))   //nolint:gosec // any bits will do
	hash = mixed(hash ^ uint64(u.births)) //nolint:gosec // any bits will do
	return strconv.FormatUint(hash%letters, 36) + "-"
}

// run advances the time and yields the requests.
func (u *unit) run(yield func(Request) bool) {
	u.muted = true
	u.calendar.nextDay(u)
	u.schedule(u.from, u.begin)
	for len(u.agenda) > 0 {
		e, _ := heap.Pop(&u.agenda).(entry) //nolint:errcheck // the agenda contains only entries
		if e.at > u.to || e.at == u.to && e.do != nil {
			return
		}
		u.now = e.at
		if e.do != nil {
			e.do()
			continue
		}
		if !yield(Request{At: u.written(e.at), Path: e.path, Body: e.body}) {
			return
		}
	}
}

// begin starts to send requests: first the current patients and staff, as newly connected systems do.
func (u *unit) begin() {
	u.muted = false
	u.sendCensus()
	if !u.censusOnly {
		for _, v := range u.open {
			v.introduce()
		}
	}
	u.staff.begin(u)
	u.nextCensus()
	u.faults.begin(u)
}

// schedule adds a function to the agenda. If the instant t has passed, the function runs at the current instant.
func (u *unit) schedule(t clock, do func()) {
	u.number++
	heap.Push(&u.agenda, entry{at: max(t, u.now), number: u.number, do: do})
}

// post adds a request to the agenda, to be sent at the instant t.
func (u *unit) post(t clock, path string, body []byte) {
	u.number++
	heap.Push(&u.agenda, entry{at: max(t, u.now), number: u.number, path: path, body: body})
}

// entry is a function to call or, if do is nil, a request to send.
type entry struct {
	at     clock
	number int64
	do     func()
	path   string
	body   []byte
}

// agenda is a heap of entries, earliest first. Entries at the same instant are in the order in which they were added.
type agenda []entry

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].number < a[j].number
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements [heap.Interface].
func (a *agenda) Push(x any) {
	if e, ok := x.(entry); ok {
		*a = append(*a, e)
	}
}

// Pop implements [heap.Interface].
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	(*a)[len(*a)-1] = entry{}
	*a = (*a)[:len(*a)-1]
	return last
}

// room is a room of the unit.
type room struct {
	id     int
	label  string
	area   string // point of care
	pool   *pool
	visit  *visit // visit in the room; nil: the room is free
	closed bool   // closed for repair; a census reports the room as blocked
}

// pool holds the rooms of one kind, and the queue of the patients who wait for them.
type pool struct {
	free    []*room // free rooms, longest free first
	all     int
	waiting []func(*room)
}

// furnish creates the rooms of a unit, depending on its births per year. The number of rooms of each kind is the mean
// number of patients according to Little's law, plus an assumed margin in Poisson standard deviations. The margin is
// smallest for labor rooms, so that women wait on busy days.
func (u *unit) furnish() {
	births := float64(u.births)
	sized := func(mean, deviations float64, least int) int {
		return max(least, int(math.Ceil(mean+deviations*math.Sqrt(mean))))
	}
	id := 0
	add := func(p *pool, area, label string, n, first int) {
		for i := range n {
			id++
			r := &room{id: id, label: label + strconv.Itoa(first+i), area: area, pool: p}
			p.free = append(p.free, r)
			u.rooms = append(u.rooms, r)
		}
		p.all = n
	}
	add(&u.triage, "OBTRI", "TRI ", sized(births*.0007, 2, 2), 1)
	add(&u.labor, "L&D", "LDR ", sized(births*.0018, .9, 3), 1)
	add(&u.theatre, "OBOR", "OR ", sized(births*.00008, 2.5, 1), 1)
	add(&u.recovery, "PACU", "PACU ", sized(births*.00012, 2.5, 1), 1)
	add(&u.antepartum, "ANTE", "AP ", sized(births*.0008, 1.5, 2), 1)
	add(&u.postpartum, "MBU", "MB ", sized(births*.0063, 1.3, 6), 301)
}

// requestRoom calls f with a free room of the pool. If none is free, f joins the queue, and is called when it is
// first in the queue and a room becomes free.
func (p *pool) requestRoom(f func(*room)) {
	if len(p.free) == 0 {
		p.waiting = append(p.waiting, f)
		return
	}
	r := p.free[0]
	p.free = p.free[1:]
	f(r)
}

// turnaround is the time for cleaning a room. The value is assumed.
const turnaround = 35 * minute

// vacate empties a room. After the turnaround, the room is clean and ready for the next visit.
func (u *unit) vacate(r *room) {
	r.visit = nil
	u.schedule(u.now+turnaround, func() { u.assignClean(r) })
}

// repair closes a free postpartum room for a day, if at least two are free.
func (u *unit) repair() {
	p := &u.postpartum
	if len(p.free) < 2 {
		return
	}
	r := p.free[0]
	p.free, r.closed = p.free[1:], true
	u.schedule(u.now+day, func() {
		r.closed = false
		u.assignClean(r)
	})
}

// assignClean assigns a clean room to the next patient in the queue or, if the queue is empty, adds it to the free
// rooms.
func (u *unit) assignClean(r *room) {
	p := r.pool
	if len(p.waiting) == 0 {
		p.free = append(p.free, r)
		return
	}
	next := p.waiting[0]
	p.waiting = p.waiting[1:]
	next(r)
}

// nextCensus schedules the next census: half an hour from now in a census-only unit, four hours from now in any other
// unit.
func (u *unit) nextCensus() {
	every := 4 * hour
	if u.censusOnly {
		every = 30 * minute
	}
	u.schedule(u.now+every, func() {
		u.sendCensus()
		u.nextCensus()
	})
}

// sendCensus sends a list of all rooms with their patients. The census of a census-only unit contains the newborns
// and the times and modes of births, but no visit numbers.
func (u *unit) sendCensus() {
	if u.muted {
		return
	}
	b := &censusBody{AsOf: u.text(u.now), TotalRooms: len(u.rooms)}
	for _, r := range u.rooms {
		line := roomBody{RoomID: r.id, RoomLabel: r.label, Area: r.area, Status: "empty"}
		switch {
		case r.closed:
			line.Status = "blocked"
		case r.visit != nil:
			line.Status = "occupied"
			u.addOccupant(&line, r.visit)
		}
		b.Rooms = append(b.Rooms, line)
	}
	u.faults.sendSnapshot(u, pathCensus, b)
}

func (u *unit) addOccupant(line *roomBody, v *visit) {
	line.PatientClass, line.Modifiers = string(rune(v.class)), append([]string{}, v.marks...)
	if !u.censusOnly {
		line.VisitID = u.name(v.number)
		return
	}
	if v.born != 0 {
		line.DeliveredAt, line.DeliveryMode = u.text(v.born), map[bool]string{true: "cesarean", false: "vaginal"}[v.cesarean]
	}
	line.Newborns = []struct{}{}
	for _, baby := range v.babies {
		if !baby.gone {
			line.Newborns = append(line.Newborns, struct{}{})
		}
	}
}
