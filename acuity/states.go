package acuity

import (
	"maps"
	"slices"
)

// States calls write for every state record there is: what a changelog that
// begins here must hold. Key and record are valid until write returns.
func (u *Unit) States(write func(key []byte, s State)) {
	u.writeSite(write)
	for id, s := range u.seen {
		write(u.seenKey(id), s)
	}
	for k, c := range u.codes {
		write(u.key(kindCode, digest(k)), c)
	}
	for name, s := range u.referents {
		write(u.key(kindReferent, digest(name)), s)
	}
	u.writeVisits(slices.Collect(maps.Values(u.visits)), write)
	for id, v := range u.visits {
		u.writeAll(&v.threads, id, write)
		u.writeFiled(v.filed, owner{visit: id}, write)
	}
	for _, r := range u.rooms {
		write(u.roomKey(r.ID), &r.RoomState)
		u.writeAll(&r.threads, "", write)
	}
	for _, r := range u.referrals {
		u.writeFiled(r.said, owner{named: &r.referralName}, write)
	}
	write(u.key(kindUnit, ""), &u.facts)
}

// writeAll writes the statements of a visit, or of a room.
func (u *Unit) writeAll(l *threads, visit string, write func(key []byte, s State)) {
	for h := range l.each {
		s := (&heardRecord{Heard: *h, owner: owner{visit: visit}}).record()
		write(u.heardKey(s.Number), &s)
	}
}

// writeFiled writes the statements that a visit or a patient keeps apart.
func (u *Unit) writeFiled(list []filed, of owner, write func(key []byte, s State)) {
	for i := range list {
		s := (&heardRecord{Heard: list[i].Heard, version: list[i].version, owner: of}).record()
		write(u.heardKey(s.Number), &s)
	}
}
