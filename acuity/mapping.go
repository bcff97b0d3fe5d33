package acuity

import (
	"strconv"
	"strings"

	"svc/acuity/codes"
)

// MappingID names a row of the terminology map by its code within its system, in any
// spelling, its kind and its condition on the value. A row with the same id replaces it.
func MappingID(m *Mapping) string {
	system := m.System
	if system == codes.SystemNone {
		system, _ = codes.NormalSystem("", m.Code)
	}
	return "map-" + shortDigest(string(system), codes.Normal(system, m.Code),
		strconv.Itoa(int(m.Kind)), strconv.Itoa(int(m.Op)), strconv.FormatInt(int64(m.Than), 10))
}

// Terminology is the terminology map of a hospital, for callers that only ask what it
// knows.
type Terminology struct{ maps *mappings }

// NewTerminology returns the map with the given rows.
func NewTerminology(rows []Mapping) Terminology { return Terminology{newMappings(rows)} }

// Knows reports whether a row has a code of a kind; kind 0: a diagnosis.
func (t Terminology) Knows(system codes.System, code string, kind SignalKind) bool {
	d := Diagnosis{System: system, Code: code}
	of, normal := d.identity()
	return len(t.maps.find(of, normal, kind)) > 0
}

// takeMapping takes a row of the terminology map, or deletes it.
func (s *localSettings) takeMapping(in *intake, m *Mapping) {
	if m.Delete {
		if s.mappings[m.ID] != nil {
			delete(s.mappings, m.ID)
			s.keys.drop(s.keys.key(kindMapping, m.ID))
		}
		return
	}
	if old := s.mappings[m.ID]; old != nil && old.Mapping == *m {
		return
	}
	s.mappings[m.ID] = &MappingState{Mapping: *m, Version: s.facts.Version + 1, By: in.o.Source, At: in.o.ReceivedAt}
	s.changedMappings = append(s.changedMappings, m.ID)
}

// mappings is the terminology map of a hospital, ready for look-ups. The nil map has no
// rows. Its rows never change.
type mappings struct {
	rows int
	// By the kind of statement. Signals only differ in being a medication or not
	// (scoring-decisions 55).
	diagnoses, medications, others codes.Tables[*Mapping]
	// references are those of the unit, which local codes may name. A reference that
	// no statement names may be added.
	references map[string]*ReferenceState
}

// newMappings returns the map with the given rows. Rows for one code count in their
// order. A code with a trailing "*" is a prefix.
func newMappings(rows []Mapping) *mappings {
	m := &mappings{}
	for i := range rows {
		row := &rows[i]
		if row.Delete {
			continue
		}
		system := row.System
		if system == codes.SystemNone {
			system, _ = codes.NormalSystem("", row.Code)
		}
		p := codes.Pattern{Text: codes.Normal(system, row.Code)}
		if text, ok := strings.CutSuffix(p.Text, "*"); ok {
			p = codes.Pattern{Text: text, Prefix: true}
		}
		if p.Text == "" {
			continue
		}
		m.rows++
		if row.Kind == 0 || row.Kind == KindCondition {
			m.diagnoses.Table(system).Add(p, row)
		}
		if row.Kind == 0 || row.Kind == KindMedication {
			m.medications.Table(system).Add(p, row)
		}
		if row.Kind != KindCondition && row.Kind != KindMedication {
			m.others.Table(system).Add(p, row)
		}
	}
	return m
}

// find returns the rows for a code and kind of signal; kind 0: a diagnosis. Rows of the
// code itself come first, else those of the longest prefix.
func (m *mappings) find(system codes.System, code string, kind SignalKind) []*Mapping {
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
	return tables.Table(system).Closest(code)
}

// conditional reports whether a mapping has a condition on the value.
func (m *Mapping) conditional() bool { return m.Op != codes.Equal || m.Than != 0 }
