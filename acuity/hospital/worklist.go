package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/terminology"
)

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
// worklist.
func (l *worklist) noteUnmappedSignals(in *intake) {
	for i := range in.statements {
		h := &in.statements[i]
		switch h.Known() {
		case terminology.Matched:
		case terminology.Unreadable:
			in.warn("value_unreadable", "")
			l.noteUnmappedStatement(in, h, in.o.Signals[i].Resource != "")
		case terminology.Unmapped:
			l.noteUnmappedStatement(in, h, in.o.Signals[i].Resource != "")
		}
	}
}

// noteUnmappedStatement adds the code of a statement. A condition is a diagnosis; a
// resource has no room.
func (l *worklist) noteUnmappedStatement(in *intake, h *evidence.Statement, resource bool) {
	kind, room := h.Kind, h.Room
	if kind == catalogue.KindCondition {
		if adt.TellsDelivery(&acuity.Diagnosis{System: h.System, Code: h.Code}) {
			return
		}
		kind = 0
	}
	if resource {
		room = -1
	}
	if h.Code != "" || h.Display != "" {
		l.noteCode(in, h.System, h.Code, h.Display, kind, room)
	}
}

// noteUnmappedDiagnoses adds the unmapped diagnoses of an ADT event.
func (l *worklist) noteUnmappedDiagnoses(in *intake, list []acuity.Diagnosis) {
	for i := range list {
		d := &list[i]
		if d.Delete {
			continue
		}
		if !l.matcher.reader.Diagnosis(d).Known && !adt.TellsDelivery(d) {
			l.noteCode(in, d.System, d.Code, d.Display, 0, -1)
		}
	}
}

// noteUnmappedStanding adds the unmapped diagnoses of a census row.
func (l *worklist) noteUnmappedStanding(in *intake, list []Standing, room int32) {
	for i := range list {
		d := &list[i]
		if !l.matcher.reader.Diagnosis(&d.Diagnosis).Known && !adt.TellsDelivery(&d.Diagnosis) {
			l.noteCode(in, d.System, d.Code, d.Display, 0, room)
		}
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
