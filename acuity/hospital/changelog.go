package hospital

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
)

// The key of a record of hospital h is h/<kind> or h/<kind>/<id>.
const (
	kindUnit      = "unit"
	kindRoom      = "room"
	kindVisit     = "visit"
	kindStatement = "statement"
	kindMapping   = "mapping"
	kindDedup     = "dedup"
	kindCode      = "code"
	kindRule      = "rule"
	kindPlace     = "place"

	kindSwitches  = "switches"
	kindReference = "reference"
)

// stateKeys writes the keys of the records of a hospital, and lists those to delete.
type stateKeys struct {
	hospital string
	memory   []byte // for a key
	dropped  []string
}

// key writes the key of a record; without id it is the only one of its kind. It is valid
// until the next key.
func (k *stateKeys) key(kind, id string) []byte {
	k.memory = append(append(append(k.memory[:0], k.hospital...), '/'), kind...)
	if id != "" {
		k.memory = append(append(k.memory, '/'), id...)
	}
	return k.memory
}

// numbered writes the key of a record with a number.
func (k *stateKeys) numbered(kind string, n int64) []byte {
	k.memory = strconv.AppendInt(append(k.key(kind, ""), '/'), n, 10)
	return k.memory
}

func (k *stateKeys) room(id int32) []byte     { return k.numbered(kindRoom, int64(id)) }
func (k *stateKeys) visit(id string) []byte   { return k.key(kindVisit, id) }
func (k *stateKeys) statement(n int64) []byte { return k.numbered(kindStatement, n) }
func (k *stateKeys) dedup(id string) []byte   { return k.key(kindDedup, id) } // a pseudonym of bounded length

// digest names a text of any length. Texts here are pseudonyms or codes.
func digest(text string) string {
	h := fnv.New128a()
	h.Write([]byte(text))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// drop deletes a record with the next call of Dirty.
func (k *stateKeys) drop(key []byte) { k.dropped = append(k.dropped, string(key)) }

// writeDropped deletes the records that were dropped.
func (k *stateKeys) writeDropped(write func(key []byte, s Record)) {
	for _, key := range k.dropped {
		k.memory = append(k.memory[:0], key...)
		write(k.memory, nil)
	}
	k.dropped = emptied(k.dropped)
}

// Dirty calls write for each state record that changed since the last call; a nil State
// deletes the record. A key may come twice, the last one counts. Key and record are
// valid until write returns.
func (u *State) Dirty(write func(key []byte, s Record)) {
	u.keys.writeDropped(write)
	u.dedup.writeDirty(write)
	u.settings.writeDirty(write)
	u.statements.writeDirty(write)
	u.worklist.writeDirty(write)
	u.names.writeDirty(write)
	for _, v := range u.work.visits.with(unsaved) {
		v.marks &^= unsaved
	}
	u.writeVisits(u.work.visits.with(unsaved), write)
	for _, r := range u.work.rooms.with(unsaved) {
		r.marks &^= unsaved
		write(u.keys.room(r.ID), &r.RoomState)
	}
	if u.changed {
		write(u.keys.key(kindUnit, ""), &u.facts)
	}
	u.changed = false
	u.work.visits.reset(unsaved)
	u.work.rooms.reset(unsaved)
}

// emptied returns an empty slice in the memory of a small one.
func emptied[T any](s []T) []T {
	clear(s)
	if cap(s) > 64 {
		return nil
	}
	return s[:0]
}

// View calls write for each room whose chart changed since the last call; a nil chart:
// the room is not in the unit. The chart is valid until write returns.
func (u *State) View(write func(room int32, c *acuity.RoomChart)) {
	for _, r := range u.work.rooms.with(unshown) {
		r.marks &^= unshown
		if r.inUnit {
			write(r.ID, &r.chart)
		} else {
			write(r.ID, nil)
		}
	}
	u.work.rooms.reset(unshown)
}

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
	for name, s := range u.names.references {
		write(u.keys.key(kindReference, digest(name)), s)
	}
	u.writeVisits(slices.Collect(maps.Values(u.visits)), write)
	for id, v := range u.visits {
		u.statements.writeByCode(&v.statements, id, write)
		u.statements.writeResourceStatements(v.resourceStatements, holderName{visit: id}, write)
	}
	for _, r := range u.rooms {
		write(u.keys.room(r.ID), &r.RoomState)
		u.statements.writeByCode(&r.statements, "", write)
	}
	for _, r := range u.names.bySubject {
		u.statements.writeResourceStatements(r.statements, holderName{named: &r.subjectName}, write)
	}
	write(u.keys.key(kindUnit, ""), &u.facts)
}

// Restore takes a state record of the changelog; nil deletes the one with the key.
// Records may come in any order and more than once; the last one of a key counts. Call
// Restored after the last.
func (u *State) Restore(key string, s Record) error {
	hospital, rest, ok := strings.Cut(key, "/")
	if !ok || hospital != u.keys.hospital {
		return fmt.Errorf("restore %q: another hospital", key)
	}
	kind, id, _ := strings.Cut(rest, "/")
	switch s := s.(type) {
	case nil:
		return u.erase(kind, id)
	case *UnitState:
		u.facts = *s
	case *RoomState:
		if r := u.room(s.ID); r != nil {
			r.RoomState = *s
			return nil
		}
		i, _ := slices.BinarySearchFunc(u.rooms, s.ID, byRoomID)
		u.rooms = slices.Insert(u.rooms, i, &room{RoomState: *s})
	case *VisitState:
		v := u.visits[s.ID]
		if v == nil {
			v = &visit{}
			u.slots.assign(v)
		}
		*v = visit{visitFacts: storeVisit(s), slot: v.slot}
		u.visits[v.ID] = v
	case *StatementState:
		u.statements.collect(s)
	case *DedupState:
		u.dedup.byID[s.ID] = s
	case setting:
		u.settings.rows[settingKey{kind, id}] = s
	case *ReferenceState:
		u.names.references[s.Name] = s
	case *CodeState:
		u.worklist.codes[unmappedKey(s.System, s.Code, s.Kind)] = s
	}
	return nil
}

// erase takes a record away.
func (u *State) erase(kind, id string) error {
	switch kind {
	case kindUnit:
		u.facts = UnitState{}
	case kindRoom:
		n, err := strconv.ParseInt(id, 10, 32)
		if err != nil {
			return fmt.Errorf("restore room %q: %w", id, err)
		}
		u.rooms = slices.DeleteFunc(u.rooms, func(r *room) bool { return int64(r.ID) == n })
	case kindVisit:
		if v := u.visits[id]; v != nil {
			delete(u.visits, id)
			u.slots.release(v)
		}
	case kindMapping, kindRule, kindPlace, kindSwitches:
		delete(u.settings.rows, settingKey{kind, id})
	case kindStatement:
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return fmt.Errorf("restore statement %q: %w", id, err)
		}
		u.statements.restoring = slices.DeleteFunc(u.statements.restoring, func(r statementRecord) bool { return r.Number == n })
	case kindDedup:
		delete(u.dedup.byID, id)
	case kindReference:
		maps.DeleteFunc(u.names.references, func(name string, _ *ReferenceState) bool { return digest(name) == id })
	case kindCode:
		for k := range u.worklist.codes {
			if digest(k) == id {
				delete(u.worklist.codes, k)
			}
		}
	default:
		return fmt.Errorf("restore kind %q: not known", kind)
	}
	return nil
}

// Restored derives everything from the restored facts. If the verdict differs from what
// was last told, because rules changed since, an instant is due at once. Afterwards
// nothing is dirty but the views of all rooms.
func (u *State) Restored() {
	u.compile()
	u.statements.restoreStatements()
	u.rebuildTable()
	u.locations.relocate()
	u.recent = slices.Collect(maps.Values(u.visits))
	for _, v := range u.recent {
		v.inRecent = true
		u.indexKnown(v)
		u.weigh(v)
	}
	u.dedup.byAge = slices.SortedFunc(maps.Values(u.dedup.byID), compareDedup)
	u.touchAll()
	u.derive()
	u.head()
	u.scoring.judge()
	stampVersion(u)
	u.scoring.overdue = u.facts.Version > 0 && u.scoring.verdict.Level != u.facts.Level
	for _, r := range u.rooms {
		color := acuity.ColorGray
		if _, rv := u.scoring.verdicts(r); rv != nil {
			color = rv.Color
		}
		u.scoring.overdue = u.scoring.overdue || color != r.Color
		r.marks &^= named
	}
	u.work.rooms.reset(named)
	u.Dirty(func([]byte, Record) {})
}
