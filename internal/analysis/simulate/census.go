package simulate

// nextCensus sends a census at the changes of shift and every four hours between them. A unit
// that sends nothing else sends one every half hour.
func (u *unit) nextCensus() {
	every := 4 * hour
	if u.censusOnly {
		every = 30 * minute
	}
	u.schedule(u.now+every, func() {
		u.census()
		u.nextCensus()
	})
}

// census lists all rooms with their patients. The census of a unit that sends nothing else
// names no visits, and of births only the times.
func (u *unit) census() {
	if u.muted {
		return
	}
	b := u.fields()
	b.time("asOf", u.now)
	b.number("totalRooms", len(u.rooms))
	b.list("rooms")
	for _, r := range u.rooms {
		b.open()
		b.number("roomId", r.id)
		b.text("roomLabel", r.label)
		b.text("area", r.area)
		v := r.visit
		switch {
		case r.closed:
			b.text("status", "blocked")
		case v == nil:
			b.text("status", "empty")
		default:
			b.text("status", "occupied")
			u.occupant(b, v)
		}
		b.close()
	}
	b.end()
	b.done()
	u.faults.snapshot(u, pathCensus)
}

func (u *unit) occupant(b *body, v *visit) {
	if !u.censusOnly {
		b.text("visitId", u.name(v.number))
	}
	b.text("patientClass", string(rune(v.class)))
	if u.censusOnly {
		if v.born != 0 {
			b.time("deliveredAt", v.born)
			b.text("deliveryMode", map[bool]string{true: "cesarean", false: "vaginal"}[v.cesarean])
		}
		b.list("newborns")
		for _, baby := range v.babies {
			if !baby.gone {
				b.open()
				b.close()
			}
		}
		b.end()
	}
	b.list("modifiers")
	for _, m := range v.marks {
		b.comma()
		b.quoted(m)
	}
	b.end()
}
