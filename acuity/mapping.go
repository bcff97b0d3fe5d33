package acuity

import (
	"strconv"
	"strings"
)

// MappingID names a row of the terminology map by what it is about: the code of
// its system in whatever spelling, its kind and what it asks of the value. A row
// about the same replaces it.
func MappingID(m *Mapping) string {
	system := m.System
	if system == SystemNone {
		system, _ = NormalSystem("", m.Code)
	}
	return "map-" + shortDigest(string(system), normalCode(system, m.Code),
		strconv.Itoa(int(m.Kind)), strconv.Itoa(int(m.Op)), strconv.FormatInt(int64(m.Than), 10))
}

// Terminology is the terminology map of a hospital, for whoever only asks what it
// knows.
type Terminology struct{ maps *mappings }

// NewTerminology returns the map with the given rows.
func NewTerminology(rows []Mapping) Terminology { return Terminology{newMappings(rows)} }

// Knows reports whether a row is about a code of a kind (0: a diagnosis).
func (t Terminology) Knows(system System, code string, kind SignalKind) bool {
	d := Diagnosis{System: system, Code: code}
	of, normal := d.identity()
	return len(t.maps.find(of, normal, kind)) > 0
}

// takeMapping takes a row of the terminology map, or takes it back.
func (u *Unit) takeMapping(in *intake, m *Mapping) {
	if m.Delete {
		if u.mappings[m.ID] != nil {
			delete(u.mappings, m.ID)
			u.dirty.gone = append(u.dirty.gone, string(u.key(kindMapping, m.ID)))
		}
		return
	}
	if old := u.mappings[m.ID]; old != nil && old.Mapping == *m {
		return
	}
	u.mappings[m.ID] = &MappingState{Mapping: *m, Version: u.facts.Version + 1, By: in.o.Source, At: in.o.ReceivedAt}
	u.dirty.mappings = append(u.dirty.mappings, m.ID)
}

// mappings is the terminology map of a hospital, ready for look-ups. The nil map
// has no rows. It never changes once made.
type mappings struct {
	rows int
	// By what a code was sent as: of a signal, medication or not is all that counts
	// (scoring-decisions 55).
	diagnoses, medications, others codeTables[*Mapping]
	// referents are what local codes may be the names of: those of the unit. One
	// that no statement names may be added.
	referents map[string]*ReferentState
}

// newMappings returns the map with the given rows; the order of rows for one code
// is the order in which they count. A code with a trailing "*" is a prefix.
func newMappings(rows []Mapping) *mappings {
	m := &mappings{}
	for i := range rows {
		row := &rows[i]
		if row.Delete {
			continue
		}
		system := row.System
		if system == SystemNone {
			system, _ = NormalSystem("", row.Code)
		}
		p := codePattern{text: normalCode(system, row.Code)}
		if text, ok := strings.CutSuffix(p.text, "*"); ok {
			p = codePattern{text, true}
		}
		if p.text == "" {
			continue
		}
		m.rows++
		if row.Kind == 0 || row.Kind == KindCondition {
			m.diagnoses.of(system).add(p, row)
		}
		if row.Kind == 0 || row.Kind == KindMedication {
			m.medications.of(system).add(p, row)
		}
		if row.Kind != KindCondition && row.Kind != KindMedication {
			m.others.of(system).add(p, row)
		}
	}
	return m
}

// find returns the rows for a code and kind of signal (0: a diagnosis): those of
// the code itself, else those of the longest prefix.
func (m *mappings) find(system System, code string, kind SignalKind) []*Mapping {
	if m == nil || m.rows == 0 || code == "" {
		return nil
	}
	tables := &m.others
	switch kind { //nolint:exhaustive // all others are one
	case 0:
		tables = &m.diagnoses
	case KindMedication:
		tables = &m.medications
	}
	return tables.of(system).closest(code)
}

// conditional reports whether a mapping asks something of the value.
func (m *Mapping) conditional() bool { return m.Op != Equal || m.Than != 0 }
