package hospital

import (
	"hash/maphash"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/terminology"
)

// matcher reads codes and texts with the catalogue and the mappings of the hospital.
type matcher struct {
	cat    *catalogue.Catalogue // with the rules of the hospital
	maps   *terminology.Mappings
	reader terminology.Reader
	// signals is a cache by the hash of the text: feeds repeat few texts again and again.
	signals    map[uint64]*terminology.MatchedSignal
	identities map[terminology.Identity]*terminology.Identity // one copy of each identity that was read
}

// capMatched bounds the cache; beyond it, the cache starts anew.
const capMatched = 512

// share returns the matched signal of a text. Equal texts share one.
func (m *matcher) share(w terminology.SignalText) *terminology.MatchedSignal {
	at := maphash.Comparable(seed, w)
	if r := m.signals[at]; r != nil && r.SignalText == w && r.Mappings == m.maps {
		return r
	}
	if len(m.identities) >= capMatched || len(m.signals) >= capMatched || m.signals == nil {
		m.signals, m.identities = map[uint64]*terminology.MatchedSignal{}, map[terminology.Identity]*terminology.Identity{}
	}
	w.System, w.Feed = codes.System(strings.Clone(string(w.System))), acuity.Channel(strings.Clone(string(w.Feed)))
	w.Code, w.Display, w.Fetus = strings.Clone(w.Code), strings.Clone(w.Display), strings.Clone(w.Fetus)
	w.Value.Unit, w.Value.Words = strings.Clone(w.Value.Unit), strings.Clone(w.Value.Words)
	w.Also = terminology.Codings(strings.Clone(string(w.Also)))
	r := terminology.MatchText(m.cat, w, m.maps)
	if known := m.identities[*r.Identity]; known != nil {
		r.Identity = known
	} else {
		m.identities[*r.Identity] = r.Identity
	}
	m.signals[at] = r
	return r
}

// reread reads a statement with the mappings of the unit, if others read it.
func (m *matcher) reread(h *evidence.Statement) {
	if h.Mappings != m.maps {
		h.MatchedSignal = m.share(h.SignalText)
	}
}

// rereadAll reads statements with the mappings of the unit, if others read them.
func (m *matcher) rereadAll(l *evidence.Statements) *evidence.Statements {
	l.Reread(m.maps, m.share)
	return l
}

// seed is the seed of the hashes of a unit, which never leave the process.
var seed = maphash.MakeSeed()

// worklist has the codes that no rule and no mapping knew.
type worklist struct {
	*registry
	matcher *matcher

	codes   map[string]*CodeState
	changed []string // must be written
}

// codeKinds are the kinds that tell the rows of the worklist apart: diagnoses,
// medications, and everything else.
var codeKinds = [...]catalogue.SignalKind{0, catalogue.KindMedication, catalogue.KindObservation}

// takeMark takes a code off the worklist, or puts it back.
func (l *worklist) takeMark(in *intake, i int, m *acuity.CodeMark) {
	found := false
	for _, kind := range codeKinds {
		if m.Kind != 0 && unmappedKey("", "", m.Kind) != unmappedKey("", "", kind) {
			continue
		}
		key := unmappedKey(m.System, m.Code, kind)
		c := l.codes[key]
		if c == nil {
			continue
		}
		found = true
		if c.Ignored == m.Delete {
			c.Ignored = !m.Delete
			l.touch(key, c)
		}
	}
	if !found {
		in.warn("not_in_worklist", itemPath("codes", i))
	}
}

// touch notes that the record of a code is to be written.
func (l *worklist) touch(key string, c *CodeState) {
	if !c.dirty {
		c.dirty = true
		l.changed = append(l.changed, key)
	}
}

// writeDirty writes the codes that changed.
func (l *worklist) writeDirty(write func(key []byte, s Record)) {
	for _, k := range l.changed {
		if c := l.codes[k]; c != nil {
			c.dirty = false
			write(l.keys.key(kindCode, digest(k)), c)
		}
	}
	l.changed = emptied(l.changed)
}

// noteUnmappedSignals adds the unmapped codes of the request to the answer and the
// worklist. A condition is a diagnosis; a resource has no room.
func (l *worklist) noteUnmappedSignals(in *intake) {
	for i := range in.statements {
		h := &in.statements[i]
		if in.signalExists(i) {
			continue
		}
		known := h.Known()
		if known == terminology.Matched {
			continue
		}
		if known == terminology.Unreadable {
			in.warn("value_unreadable", "")
		}
		kind, room := h.Kind, h.Room
		if in.o.Signals[i].Resource != "" {
			room = -1
		}
		if kind == catalogue.KindCondition {
			if adt.TellsDelivery(&acuity.Diagnosis{System: h.System, Code: h.Code}) {
				continue
			}
			kind = 0
		}
		if h.Code != "" || h.Display != "" {
			l.noteCode(in, h.System, h.Code, h.Display, kind, room)
		}
	}
}

// noteUnmappedDiagnosis adds a diagnosis of an ADT event or a census row if it is unmapped.
// Room -1: none.
func (l *worklist) noteUnmappedDiagnosis(in *intake, d *acuity.Diagnosis, room int32) {
	if !d.Delete && !l.matcher.reader.Diagnosis(d).Known && !adt.TellsDelivery(d) {
		l.noteCode(in, d.System, d.Code, d.Display, 0, room)
	}
}

// noteCode counts an unmapped code.
func (l *worklist) noteCode(in *intake, system codes.System, code, display string, kind catalogue.SignalKind, room int32) {
	key := unmappedKey(system, code, kind)
	c := l.codes[key]
	if un := (acuity.Unmapped{System: system, Code: code, Display: display}); (c == nil || !c.Ignored) && in.first(un) {
		in.Unmapped = append(in.Unmapped, un)
	}
	if c == nil {
		if len(l.codes) >= capCodes {
			return
		}
		c = &CodeState{System: system, Code: code, Kind: kind, FirstSeen: in.o.ReceivedAt}
		l.codes[key] = c
	}
	if display != "" {
		c.Display = display
	}
	now := l.facts.Clock
	c.Count++
	c.Feed, c.LastSeen = in.o.Channel, now
	hour := now.Hour()
	if n := len(c.Hours); n > 0 && c.Hours[n-1].Hour == hour {
		c.Hours[n-1].Count++
	} else {
		c.Hours = append(c.Hours, HourCount{hour, 1})
	}
	for len(c.Hours) > 0 && c.Hours[0].Hour <= hour-24 {
		c.Hours = slices.Delete(c.Hours, 0, 1)
	}
	if i, found := slices.BinarySearch(c.Rooms, room); room >= 0 && !found && len(c.Rooms) < capCodeRooms {
		c.Rooms = slices.Insert(c.Rooms, i, room)
	}
	l.touch(key, c)
}

// drop removes the name of a Medication from the worklist of unmapped codes.
func (l *worklist) drop(name string) {
	key := unmappedKey(codes.SystemLocal, name, catalogue.KindMedication)
	if l.codes[key] != nil {
		delete(l.codes, key)
		l.keys.drop(l.keys.key(kindCode, digest(key)))
	}
}

// unmappedKey names an unmapped code within a hospital.
func unmappedKey(system codes.System, code string, kind catalogue.SignalKind) string {
	k := byte('0')
	if kind == catalogue.KindMedication {
		k = 'm'
	} else if kind != 0 {
		k = 's'
	}
	return string(k) + string(system) + "\x00" + code
}
