package acuity

// States calls write for every state record there is: what a changelog that
// begins here must hold. The record is valid until write returns.
func (u *Unit) States(write func(key string, s State)) {
	u.writeSite(write)
	for id, s := range u.seen {
		write(u.seenKey(id), s)
	}
	for k, c := range u.codes {
		write(u.key(kindCode, digest(k)), c)
	}
	for id, v := range u.visits {
		write(u.visitKey(id), &v.VisitState)
		u.writeAll(&v.threads, id, write)
	}
	for _, r := range u.rooms {
		write(u.roomKey(r.ID), &r.RoomState)
		u.writeAll(&r.threads, "", write)
	}
	write(u.hospital+"/"+kindUnit, &u.facts)
}

// writeAll writes the statements of a visit, or of a room.
func (u *Unit) writeAll(l *threads, visit string, write func(key string, s State)) {
	for h := range l.each {
		s := (&heardRecord{Heard: *h, visit: visit}).record()
		write(u.heardKey(s.Number), &s)
	}
}
