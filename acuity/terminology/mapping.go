package terminology

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// MappingID names a row of the terminology map by its code within its system, in any
// spelling, its kind and its condition on the value. A row with the same id replaces it.
func MappingID(m *acuity.Mapping) string {
	system, code := codes.Comparable(m.System, m.Code)
	return "map-" + shortDigest(string(system), code,
		strconv.Itoa(int(m.Kind)), strconv.Itoa(int(m.Op)), strconv.FormatInt(int64(m.Than), 10))
}

// Knows reports whether a row has a code of a kind; kind 0: a diagnosis.
func (m *Mappings) Knows(system codes.System, code string, kind catalogue.SignalKind) bool {
	system, code = codes.Comparable(system, code)
	return len(m.find(system, code, kind)) > 0
}

// Mappings is the terminology map of a hospital, ready for look-ups. The nil map has no
// rows. Its rows never change.
type Mappings struct {
	rows int
	// By the kind of statement. Signals only differ in being a medication or not
	// (docs/decisions.md#kind-of-signal).
	diagnoses, medications, others codes.Tables[*acuity.Mapping]
	// Medication returns the codings of the Medication that a local code names; nil: it
	// names none, or there are none.
	Medication func(code string) []acuity.Coding
}

// NewMappings returns the map with the given rows. Rows for one code count in their
// order. A code with a trailing "*" is a prefix.
func NewMappings(rows []acuity.Mapping) *Mappings {
	m := &Mappings{}
	for i := range rows {
		row := &rows[i]
		if row.Delete {
			continue
		}
		system, code := codes.Comparable(row.System, row.Code)
		var p codes.Pattern
		p.Text, p.Prefix = strings.CutSuffix(code, "*")
		if p.Text == "" {
			continue
		}
		m.rows++
		if row.Kind == 0 || row.Kind == catalogue.KindCondition {
			m.diagnoses.Table(system).Add(p, row)
		}
		if row.Kind == 0 || row.Kind == catalogue.KindMedication {
			m.medications.Table(system).Add(p, row)
		}
		if row.Kind != catalogue.KindCondition && row.Kind != catalogue.KindMedication {
			m.others.Table(system).Add(p, row)
		}
	}
	return m
}

// find returns the rows for a code and kind of signal; kind 0: a diagnosis. Rows of the
// code itself come first, else those of the longest prefix.
func (m *Mappings) find(system codes.System, code string, kind catalogue.SignalKind) []*acuity.Mapping {
	if m == nil || m.rows == 0 || code == "" {
		return nil
	}
	tables := &m.others
	switch kind { //nolint:exhaustive // all others are one
	case 0:
		tables = &m.diagnoses
	case catalogue.KindMedication:
		tables = &m.medications
	}
	return tables.Table(system).Closest(code)
}

// conditional reports whether a mapping has a condition on the value.
func conditional(m *acuity.Mapping) bool { return m.Op != codes.Equal || m.Than != 0 }

// named returns the codings of the Medications that the codes of a signal name.
func (m *Mappings) named(s *acuity.Signal) []acuity.Coding {
	if m == nil || m.Medication == nil {
		return nil
	}
	list := m.meant(nil, acuity.Coding{System: s.System, Code: s.Code, Display: s.Display}, MaxInside)
	for _, c := range s.Also {
		list = m.meant(list, c, MaxInside)
	}
	return list
}

// MaxInside is how many levels of Medications in one another are followed.
const MaxInside = 2

// meant appends the codings of a Medication that a code names, and of the Medications in
// it. An ingredient of a mixture keeps the names of the others beside its own.
func (m *Mappings) meant(dst []acuity.Coding, c acuity.Coding, inside int) []acuity.Coding {
	if c.System != codes.SystemLocal || inside == 0 {
		return dst
	}
	for _, part := range m.Medication(c.Code) {
		if strings.Contains(c.Display, mixed) {
			part.Display = codes.MaskDisplay(c.Display + mixed + part.Display)
		}
		dst = m.meant(append(dst, part), part, inside-1)
	}
	return dst
}

// mixed stands between the names of the ingredients of a mixture.
const mixed = " / "

// shortDigest names a text in 24 digits. It contains what distinguishes two rows, so the
// same row always has the same id.
func shortDigest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p))))
		h.Write([]byte{':'})
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}
