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
	u.faults.snapshot(u, pathCensus, b)
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
