package acuity

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// dirty lists what is to be written since the last call of Dirty and View.
type dirty struct {
	unit     bool
	rooms    []*room
	visits   []*visit
	heard    []heardRecord // that came, or whose owner is another; in the order in which it happened
	lost     []int64       // statements, by number: they never come again
	seen     []*SeenState
	unseen   []string // identities that are forgotten
	mappings []string // by id
	rules    []Factor
	places   []string // by id
	switches bool
	codes    []string

	referents []string // by name
	gone      []string // keys
	views     []*room
}

// The key of a record of hospital h is h/<kind> or h/<kind>/<id>.
const (
	kindUnit    = "unit"
	kindRoom    = "room"
	kindVisit   = "visit"
	kindHeard   = "heard"
	kindMapping = "mapping"
	kindSeen    = "seen"
	kindCode    = "code"
	kindRule    = "rule"
	kindPlace   = "place"

	kindSwitches = "switches"
	kindReferent = "referent"
)

// key writes the key of a record; without id it is that of the one of its kind.
// It is valid until the next key.
func (u *Unit) key(kind, id string) []byte {
	u.keyed = append(append(append(u.keyed[:0], u.hospital...), '/'), kind...)
	if id != "" {
		u.keyed = append(append(u.keyed, '/'), id...)
	}
	return u.keyed
}

func (u *Unit) numbered(kind string, n int64) []byte {
	u.keyed = strconv.AppendInt(append(u.key(kind, ""), '/'), n, 10)
	return u.keyed
}

func (u *Unit) roomKey(id int32) []byte   { return u.numbered(kindRoom, int64(id)) }
func (u *Unit) visitKey(id string) []byte { return u.key(kindVisit, id) }
func (u *Unit) heardKey(n int64) []byte   { return u.numbered(kindHeard, n) }
func (u *Unit) seenKey(id string) []byte  { return u.key(kindSeen, id) } // a pseudonym of bounded length

// digest names a text of any length; texts here are pseudonyms or codes.
func digest(text string) string {
	h := fnv.New128a()
	h.Write([]byte(text))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Dirty calls write for each state record that changed since the last call; a
// nil State takes the record away. A key may come twice, the last one counts.
// Key and record are valid until write returns.
func (u *Unit) Dirty(write func(key []byte, s State)) {
	d := &u.dirty
	for _, k := range d.gone {
		u.keyed = append(u.keyed[:0], k...)
		write(u.keyed, nil)
	}
	for _, id := range d.unseen {
		write(u.seenKey(id), nil)
	}
	u.writeDirtySite(write)
	u.writeHeard(write)
	for _, s := range d.seen {
		if len(d.unseen) == 0 || u.seen[s.ID] == s {
			write(u.seenKey(s.ID), s)
		}
	}
	for _, k := range d.codes {
		if c := u.codes[k]; c != nil {
			c.dirty = false
			write(u.key(kindCode, digest(k)), c)
		}
	}
	for _, name := range d.referents {
		if s := u.referents[name]; s != nil {
			write(u.key(kindReferent, digest(name)), s)
		}
	}
	for _, v := range d.visits {
		v.marks &^= markState
	}
	u.writeVisits(d.visits, write)
	for _, r := range d.rooms {
		r.marks &^= markState
		write(u.roomKey(r.ID), &r.RoomState)
	}
	if d.unit {
		write(u.key(kindUnit, ""), &u.facts)
	}
	*d = dirty{
		rooms: emptied(d.rooms), visits: emptied(d.visits), seen: emptied(d.seen), unseen: emptied(d.unseen), heard: emptied(d.heard), lost: emptied(d.lost), views: d.views,
		mappings: emptied(d.mappings), rules: emptied(d.rules), places: emptied(d.places), codes: emptied(d.codes), referents: emptied(d.referents), gone: emptied(d.gone),
	}
}

// writeHeard writes the statements that came, or went, or whose owner is decided;
// of several changes of one the last.
func (u *Unit) writeHeard(write func(key []byte, s State)) {
	lost := u.dirty.lost
	slices.Sort(lost)
	for _, n := range lost {
		write(u.heardKey(n), nil)
	}
	list := u.dirty.heard
	order := byNumber(list, u.work.order)
	u.work.order = order
	for i, at := range order {
		r := &list[at]
		if i+1 < len(order) && list[order[i+1]].number == r.number {
			continue
		}
		if _, gone := slices.BinarySearch(lost, r.number); gone {
			continue
		}
		u.work.written = r.record()
		write(u.heardKey(r.number), &u.work.written)
	}
}

// byNumber returns the places of statements in order of their numbers, then as they
// stand, in memory that there is.
func byNumber(list []heardRecord, order []int) []int {
	order = order[:0]
	for i := range list {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(list[a].number, list[b].number), cmp.Compare(a, b)) })
	return order
}

// emptied returns an empty slice in the memory of a small one.
func emptied[T any](s []T) []T {
	clear(s)
	if cap(s) > 64 {
		return nil
	}
	return s[:0]
}

// View calls write for each room whose chart changed since the last call; a nil
// chart says that the room is not in the unit. The chart is valid until write
// returns.
func (u *Unit) View(write func(room int32, c *RoomChart)) {
	for _, r := range u.dirty.views {
		r.marks &^= markView
		if r.inUnit {
			write(r.ID, &r.chart)
		} else {
			write(r.ID, nil)
		}
	}
	u.dirty.views = emptied(u.dirty.views)
}

// Restore takes a state record of the changelog; nil takes away the one with the
// key. Records may come in any order and more than once, the last one of a key
// counts. Call Restored after the last.
func (u *Unit) Restore(key string, s State) error {
	hospital, rest, ok := strings.Cut(key, "/")
	if !ok || hospital != u.hospital {
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
			u.slots.take(v)
		}
		*v = visit{visitFacts: u.keepVisit(s), slot: v.slot}
		u.visits[v.ID] = v
	case *HeardState:
		u.save(s)
	case *SeenState:
		u.seen[s.ID] = s
	case *MappingState:
		u.mappings[s.ID] = s
	case *RuleState:
		u.rules[s.Factor] = s
	case *PlaceState:
		u.places[s.ID()] = s
	case *SwitchesState:
		u.switches = s
	case *ReferentState:
		if u.referents == nil {
			u.referents = map[string]*ReferentState{}
		}
		u.referents[s.Name] = s
	case *CodeState:
		u.codes[unmappedKey(s.System, s.Code, s.Kind)] = s
	}
	return nil
}

// erase takes a record away.
func (u *Unit) erase(kind, id string) error {
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
			u.slots.leave(v)
		}
	case kindMapping:
		delete(u.mappings, id)
	case kindRule:
		if f, ok := FactorByID(id); ok {
			delete(u.rules, f)
		}
	case kindPlace:
		delete(u.places, id)
	case kindSwitches:
		u.switches = nil
	case kindHeard:
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return fmt.Errorf("restore statement %q: %w", id, err)
		}
		u.saved = slices.DeleteFunc(u.saved, func(r heardRecord) bool { return r.number == n })
	case kindSeen:
		delete(u.seen, id)
	case kindReferent:
		maps.DeleteFunc(u.referents, func(name string, _ *ReferentState) bool { return digest(name) == id })
	case kindCode:
		for k := range u.codes {
			if digest(k) == id {
				delete(u.codes, k)
			}
		}
	default:
		return fmt.Errorf("restore kind %q: not known", kind)
	}
	return nil
}

// save takes the record of a statement until all are there.
func (u *Unit) save(s *HeardState) {
	r := heardRecord{version: versionOf(&s.Signal), owner: owner{visit: s.Visit}, Heard: Heard{
		matchedSignal: u.matchedSignals.of(u, signalTextOf(&s.Signal, s.Feed)), number: s.Number,
		ReceivedAt: s.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt, Room: s.Room, Settled: s.Settled, to: notBound,
	}}
	if name := (referralName{patient: s.Patient, subject: s.Subject}); name != (referralName{}) {
		r.owner.named = &name
	}
	if u.saved == nil {
		u.saved = *savedRecords.Get().(*[]heardRecord) //nolint:errcheck // nothing else is put there
	}
	u.saved = append(u.saved, r)
}

// savedRecords have memory for the statements that are being restored. Few units
// are restored at once.
var savedRecords = sync.Pool{New: func() any { return new([]heardRecord) }}

// hearAgain gives the statements that were restored to whom they belong, in order
// of arrival. Of several records of one the last counts.
func (u *Unit) hearAgain() {
	list := u.saved
	order := byNumber(list, u.work.order)
	for i, at := range order {
		s := &list[at]
		if i+1 < len(order) && list[order[i+1]].number == s.number {
			continue
		}
		u.reread(&s.Heard) // the map may have come after it
		if v := u.visits[s.owner.visit]; v != nil {
			u.kept++
			s.bind(binding{v, toVisit})
			if s.version != nil {
				v.filed = append(v.filed, filed{s.Heard, s.version})
			} else {
				v.threads.maps = u.maps
				v.threads.add(s.Heard)
			}
		} else if s.owner.visit != "" {
			continue
		} else if s.version != nil || s.owner.name() != (referralName{}) {
			u.referAgain(s)
		} else if r := u.room(s.Room); r != nil {
			u.kept++
			r.threads.maps = u.maps
			r.threads.add(s.Heard)
		}
	}
	if u.saved = nil; list != nil {
		clear(list)
		list = list[:0]
		savedRecords.Put(&list)
	}
}

// referAgain gives a statement that was restored to the patient whom it names.
func (u *Unit) referAgain(s *heardRecord) {
	name := s.owner.name()
	if name == (referralName{}) {
		name.resource = wholeOf(s.version.resource)
	}
	if r := u.referralOf(name); r != nil {
		u.kept++
		r.said = append(r.said, filed{s.Heard, s.version})
	}
}

// Restored makes everything derived from the facts restored. If the verdict is
// not what was last told, because the rules have changed since, an instant is
// due at once. Afterwards nothing is dirty but the views of all rooms.
func (u *Unit) Restored() {
	u.compile()
	u.hearAgain()
	u.learn()
	u.relocate()
	u.recent = slices.Collect(maps.Values(u.visits))
	for _, v := range u.recent {
		v.recent = true
		u.indexKnown(v)
		u.weigh(v)
	}
	u.aging = slices.SortedFunc(maps.Values(u.seen), compareSeen)
	u.work.layout, u.work.known = true, true
	u.markAll()
	u.derive()
	u.head()
	u.judge()
	u.chart.Unit.Version, u.chart.Unit.Since = u.facts.Version, u.facts.Since
	u.verdict.Version, u.verdict.AsOf = u.facts.Version, u.facts.Since
	u.overdue = u.facts.Version > 0 && u.verdict.Level != u.facts.Level
	for _, r := range u.rooms {
		color := ColorGray
		if _, rv := u.verdicts(r); rv != nil {
			color = rv.Color
		}
		u.overdue = u.overdue || color != r.Color
		r.marks &^= markTouched
	}
	u.work.touched = u.work.touched[:0]
	for _, r := range u.dirty.rooms {
		r.marks &^= markState
	}
	for _, v := range u.dirty.visits {
		v.marks &^= markState
	}
	u.dirty = dirty{views: u.dirty.views}
}
