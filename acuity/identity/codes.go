package identity

import (
	"hash/maphash"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/registry"
	"svc/acuity/terminology"
)

// Matcher matches codes and texts, using the catalogue and the hospital's mappings.
type Matcher struct {
	Cat    *catalogue.Catalogue // includes the hospital's rules
	Maps   *terminology.Mappings
	Reader terminology.Reader
	// Signals caches the matched signals, keyed by the hash of their text. Feeds repeat the same texts many times.
	Signals    map[uint64]*terminology.MatchedSignal
	Identities map[terminology.Identity]*terminology.Identity // one copy of each matched identity
}

// capMatched is the maximum size of each cache of a Matcher. When one is full, both are emptied.
const capMatched = 512

// Share returns the matched signal of a text. Equal texts share one matched signal.
func (m *Matcher) Share(w terminology.SignalText) *terminology.MatchedSignal {
	at := maphash.Comparable(seed, w)
	if r := m.Signals[at]; r != nil && r.SignalText == w && r.Mappings == m.Maps {
		return r
	}
	if len(m.Identities) >= capMatched || len(m.Signals) >= capMatched || m.Signals == nil {
		m.Signals, m.Identities = map[uint64]*terminology.MatchedSignal{}, map[terminology.Identity]*terminology.Identity{}
	}
	w.System, w.Feed = codes.System(strings.Clone(string(w.System))), acuity.Channel(strings.Clone(string(w.Feed)))
	w.Code, w.Display, w.Fetus = strings.Clone(w.Code), strings.Clone(w.Display), strings.Clone(w.Fetus)
	w.Value.Unit, w.Value.Words = strings.Clone(w.Value.Unit), strings.Clone(w.Value.Words)
	w.Also = terminology.Codings(strings.Clone(string(w.Also)))
	r := terminology.MatchText(m.Cat, w, m.Maps)
	if known := m.Identities[*r.Identity]; known != nil {
		r.Identity = known
	} else {
		m.Identities[*r.Identity] = r.Identity
	}
	m.Signals[at] = r
	return r
}

// Reread matches a statement again if it was matched with mappings other than the unit's current ones.
func (m *Matcher) Reread(h *evidence.Statement) {
	if h.Mappings != m.Maps {
		h.MatchedSignal = m.Share(h.SignalText)
	}
}

// RereadAll matches the statements in a list again if they were matched with mappings other than the unit's current
// ones. It returns the list.
func (m *Matcher) RereadAll(l *evidence.Statements) *evidence.Statements {
	l.Reread(m.Maps, m.Share)
	return l
}

// seed is the seed for hashing texts. The hashes never leave the process.
var seed = maphash.MakeSeed()

// Worklist contains the codes that matched neither a rule nor a mapping.
type Worklist struct {
	*registry.Registry
	Matcher *Matcher

	Codes facts.Table[string, *facts.CodeState] // keyed by UnmappedKey
}

// codeKinds are the kinds that distinguish the rows of the worklist: diagnoses, medications, and everything else.
var codeKinds = [...]catalogue.SignalKind{0, catalogue.KindMedication, catalogue.KindObservation}

// ApplyMark marks a code as ignored, which removes it from the worklist, or deletes this mark. It warns if the
// worklist has no such code.
func (l *Worklist) ApplyMark(in *registry.Intake, i int, m *acuity.CodeMark) {
	found := false
	for _, kind := range codeKinds {
		if m.Kind != 0 && UnmappedKey("", "", m.Kind) != UnmappedKey("", "", kind) {
			continue
		}
		key := UnmappedKey(m.System, m.Code, kind)
		c := l.Codes.Rows[key]
		if c == nil {
			continue
		}
		found = true
		if c.Ignored == m.Delete {
			c.Ignored = !m.Delete
			l.Codes.Touch(key)
		}
	}
	if !found {
		in.Warn("not_in_worklist", registry.ItemPath("codes", i))
	}
}

// AddUnmappedSignals adds the unmapped codes in the request to the result and the worklist, and warns about values
// that cannot be parsed. A condition counts as a diagnosis. The code of a FHIR resource is listed without a room.
func (l *Worklist) AddUnmappedSignals(in *registry.Intake) {
	for i := range in.Statements {
		h := &in.Statements[i]
		if in.SignalExists(i) {
			continue
		}
		known := h.Known()
		if known == terminology.Matched {
			continue
		}
		if known == terminology.Unreadable {
			in.Warn("value_unreadable", registry.ItemPath("signals", i))
		}
		kind, room := h.Kind, h.Room
		if in.Observation.Signals[i].Resource != "" {
			room = -1
		}
		if kind == catalogue.KindCondition {
			if adt.DescribesDelivery(&acuity.Diagnosis{System: h.System, Code: h.Code}) {
				continue
			}
			kind = 0
		}
		if h.Code != "" || h.Display != "" {
			l.countCode(in, h.System, h.Code, h.Display, kind, room)
		}
	}
}

// AddUnmappedDiagnosis adds a diagnosis from an ADT event or a census row if it is unmapped. A room of -1 means no
// room.
func (l *Worklist) AddUnmappedDiagnosis(in *registry.Intake, d *acuity.Diagnosis, room int32) {
	if !d.Delete && !l.Matcher.Reader.Diagnosis(d).Known && !adt.DescribesDelivery(d) {
		l.countCode(in, d.System, d.Code, d.Display, 0, room)
	}
}

// countCode adds one occurrence of an unmapped code to the worklist, unless the code is new and the worklist is full.
// It also adds the code to the result of the request, unless the code is marked as ignored.
func (l *Worklist) countCode(in *registry.Intake, system codes.System, code, display string, kind catalogue.SignalKind, room int32) {
	key := UnmappedKey(system, code, kind)
	c := l.Codes.Rows[key]
	if un := (acuity.Unmapped{System: system, Code: code, Display: display}); (c == nil || !c.Ignored) && in.First(un) {
		in.Unmapped = append(in.Unmapped, un)
	}
	if c == nil {
		if len(l.Codes.Rows) >= CapCodes {
			return
		}
		c = &facts.CodeState{System: system, Code: code, Kind: kind, FirstSeen: in.Observation.ReceivedAt}
		l.Codes.Rows[key] = c
	}
	if display != "" {
		c.Display = display
	}
	now := l.Facts.Clock
	c.Count++
	c.Feed, c.LastSeen = in.Observation.Channel, now
	hour := now.Hour()
	if n := len(c.Hours); n > 0 && c.Hours[n-1].Hour == hour {
		c.Hours[n-1].Count++
	} else {
		c.Hours = append(c.Hours, facts.HourCount{Hour: hour, Count: 1})
	}
	for len(c.Hours) > 0 && c.Hours[0].Hour <= hour-24 {
		c.Hours = slices.Delete(c.Hours, 0, 1)
	}
	if i, found := slices.BinarySearch(c.Rooms, room); room >= 0 && !found && len(c.Rooms) < capCodeRooms {
		c.Rooms = slices.Insert(c.Rooms, i, room)
	}
	l.Codes.Touch(key)
}

// drop removes the name of a Medication from the worklist, which lists the name as an unmapped code until the
// Medication is stored.
func (l *Worklist) drop(name string) {
	key := UnmappedKey(codes.SystemLocal, name, catalogue.KindMedication)
	if l.Codes.Rows[key] != nil {
		l.Codes.Delete(key)
	}
}

// UnmappedKey returns the key of an unmapped code within its hospital.
func UnmappedKey(system codes.System, code string, kind catalogue.SignalKind) string {
	k := byte('0')
	if kind == catalogue.KindMedication {
		k = 'm'
	} else if kind != 0 {
		k = 's'
	}
	return string(k) + string(system) + "\x00" + code
}
