package hospital

import (
	"maps"
	"slices"
)

// Records calls write for every state record: what a changelog that begins here must
// hold. Key and record are valid until write returns.
func (u *State) Records(write func(key []byte, s Record)) {
	u.settings.write(write)
	for id, s := range u.dedup.byID {
		write(u.keys.dedup(id), s)
	}
	for k, c := range u.worklist.codes {
		write(u.keys.key(kindCode, digest(k)), c)
	}
	for name, s := range u.people.references {
		write(u.keys.key(kindReference, digest(name)), s)
	}
	u.registry.writeVisits(slices.Collect(maps.Values(u.registry.visits)), write)
	for id, v := range u.registry.visits {
		u.statements.writeByCode(&v.statements, id, write)
		u.statements.writeResourceStatements(v.resourceStatements, owner{visit: id}, write)
	}
	for _, r := range u.registry.rooms {
		write(u.keys.room(r.ID), &r.RoomState)
		u.statements.writeByCode(&r.statements, "", write)
	}
	for _, r := range u.unassigned.bySubject {
		u.statements.writeResourceStatements(r.statements, owner{named: &r.subjectName}, write)
	}
	write(u.keys.key(kindUnit, ""), &u.facts)
}
