package simulate

import (
	"math"
	"strconv"
)

// room is a room of the unit.
type room struct {
	id     int
	label  string
	area   string // point of care
	pool   *pool
	visit  *visit // the visit in the room; nil: the room is free
	closed bool   // for repair: a census says blocked
}

// pool is the rooms of one kind, with the queue for them.
type pool struct {
	free    []*room // the room that is free for the longest time first
	all     int
	waiting []func(*room)
}

// furnish makes the rooms of a unit with so many births a year. Little's law gives the mean
// number of patients of each kind; some Poisson deviations are added (our default). Labor
// rooms get few deviations, so on a busy day women wait.
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

// requestRoom gives a room to f, at once or when f is first in the queue.
func (p *pool) requestRoom(f func(*room)) {
	if len(p.free) == 0 {
		p.waiting = append(p.waiting, f)
		return
	}
	r := p.free[0]
	p.free = p.free[1:]
	f(r)
}

// turnaround is how long a room is cleaned (our default).
const turnaround = 35 * minute

// leave empties a room. It is clean for the next visit after the turnaround.
func (u *unit) leave(r *room) {
	r.visit = nil
	u.schedule(u.now+turnaround, func() { u.ready(r) })
}

// repair closes a free postpartum room for a day.
func (u *unit) repair() {
	p := &u.postpartum
	if len(p.free) < 2 {
		return
	}
	r := p.free[0]
	p.free, r.closed = p.free[1:], true
	u.schedule(u.now+day, func() {
		r.closed = false
		u.ready(r)
	})
}

// ready gives a clean room to the next in the queue.
func (u *unit) ready(r *room) {
	p := r.pool
	if len(p.waiting) == 0 {
		p.free = append(p.free, r)
		return
	}
	next := p.waiting[0]
	p.waiting = p.waiting[1:]
	next(r)
}
