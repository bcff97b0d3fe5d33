package simulate

import (
	"container/heap"
	"strconv"
	"time"
)

// unit is the maternity unit at the present instant of the simulation.
type unit struct {
	profile

	options  *Options
	from, to clock
	now      clock
	agenda   agenda
	number   int64 // number of the next entry of the agenda
	muted    bool  // true before the start: no request is sent

	calendar calendar
	staff    staff
	faults   faults

	triage, labor, theatre, recovery, postpartum, antepartum pool
	rooms                                                    []*room

	mark     string // distinguishes the numbers of visits, patients and events
	visits   int    // number of visits so far
	patients int
	events   int
	open     []*visit // in the order of their numbers
}

// warmUp is how long the unit runs before the start without sending, so that it begins as full
// as usual.
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

// markOf returns a few letters that depend on the options.
func (u *unit) markOf() string {
	const letters = 36 * 36 * 36 * 36 * 36
	hash := mixed(u.options.Seed)
	for _, b := range []byte(u.profile.name) {
		hash = mixed(hash ^ uint64(b))
	}
	hash = mixed(hash ^ uint64(u.from))   //nolint:gosec // any bits will do
	hash = mixed(hash ^ uint64(u.births)) //nolint:gosec // as above
	return strconv.FormatUint(hash%letters, 36) + "-"
}

// run advances the time and yields the requests.
func (u *unit) run(yield func(Request) bool) {
	u.muted = true
	u.calendar.nextDay(u)
	u.schedule(u.from, u.begin)
	for len(u.agenda) > 0 {
		e, _ := heap.Pop(&u.agenda).(entry) //nolint:errcheck // it holds nothing else
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

// begin connects the systems at the start, which then report the present patients and staff.
func (u *unit) begin() {
	u.muted = false
	u.census()
	if !u.censusOnly {
		for _, v := range u.open {
			v.introduce()
		}
	}
	u.staff.begin(u)
	u.nextCensus()
	u.faults.begin(u)
}

// schedule schedules a function; an instant in the past becomes now.
func (u *unit) schedule(t clock, do func()) {
	u.number++
	heap.Push(&u.agenda, entry{at: max(t, u.now), number: u.number, do: do})
}

// post sends a body at an instant.
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

// agenda is a heap: the earliest entry first, and of equal instants the one that was scheduled
// first.
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
