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
	visit  *visit // who is in it; nil: nobody
	closed bool   // for repair: a census says blocked
}

// pool is the rooms of one kind, and who waits for one of them.
type pool struct {
	free    []*room // the one that is free for the longest first
	all     int
	waiting []func(*room)
}

// furnish makes the rooms that a unit with so many births a year has: by
// Little's law the mean number of patients of each kind, and some deviations of a
// Poisson number on top (our default): few of them for labor rooms, so that on a
// busy day women wait for one.
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

// take gives a room to f, at once or when it is f's turn.
func (p *pool) take(f func(*room)) {
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

// leave empties a room; it is clean for the next one after a while.
func (u *unit) leave(r *room) {
	r.visit = nil
	u.at(u.now+turnaround, func() { u.ready(r) })
}

// repair closes a free postpartum room for a day.
func (u *unit) repair() {
	p := &u.postpartum
	if len(p.free) < 2 {
		return
	}
	r := p.free[0]
	p.free, r.closed = p.free[1:], true
	u.at(u.now+day, func() {
		r.closed = false
		u.ready(r)
	})
}

// ready gives a room to who waits for it.
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
