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

// MappingID returns the id of a row in the terminology map. The id is derived from the code in normal form, the code
// system, the kind of statement and the condition on the value. A new row replaces the row with the same id.
func MappingID(m *acuity.Mapping) string {
	system, code := codes.Comparable(m.System, m.Code)
	return "map-" + shortDigest(string(system), code,
		strconv.Itoa(int(m.Kind)), strconv.Itoa(int(m.Op)), strconv.FormatInt(int64(m.Than), 10))
}

// Knows reports whether a row maps a code for a kind of signal; kind 0 means a diagnosis.
func (m *Mappings) Knows(system codes.System, code string, kind catalogue.SignalKind) bool {
	system, code = codes.Comparable(system, code)
	return len(m.find(system, code, kind)) > 0
}

// Mappings is the terminology map of a hospital, indexed by code. It is immutable; a nil map has no rows.
type Mappings struct {
	rows int
	// The rows for diagnoses, for medications, and for all other signals (docs/decisions.md#kind-of-signal).
	diagnoses, medications, others codes.Tables[*acuity.Mapping]
	// Medication returns the codings of the FHIR Medication to which a local code refers, or nil if the code does not
	// refer to one. The function may be nil.
	Medication func(code string) []acuity.Coding
}

// NewMappings indexes the given rows. Rows with the same code apply in the given order. A code with a trailing "*" is
// a prefix.
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

// find returns the rows for a code and a kind of signal (0: a diagnosis): the rows for the exact code or, if there are
// none, the rows for the longest matching prefix.
func (m *Mappings) find(system codes.System, code string, kind catalogue.SignalKind) []*acuity.Mapping {
	if m == nil || m.rows == 0 || code == "" {
		return nil
	}
	tables := &m.others
	switch kind { //nolint:exhaustive // all other kinds are one group
	case 0:
		tables = &m.diagnoses
	case catalogue.KindMedication:
		tables = &m.medications
	}
	return tables.Table(system).Closest(code)
}

// hasCondition reports whether a mapping has a condition on the value.
func hasCondition(m *acuity.Mapping) bool { return m.Op != codes.Equal || m.Than != 0 }

// medicationsOf returns the codings of the FHIR Medications to which the codes of a signal refer.
func (m *Mappings) medicationsOf(s *acuity.Signal) []acuity.Coding {
	if m == nil || m.Medication == nil {
		return nil
	}
	list := m.appendMedication(nil, acuity.Coding{System: s.System, Code: s.Code, Display: s.Display}, MaxInside)
	for _, c := range s.Also {
		list = m.appendMedication(list, c, MaxInside)
	}
	return list
}

// MaxInside is the maximum depth to which nested FHIR Medications are followed.
const MaxInside = 2

// appendMedication appends the codings of the FHIR Medication to which a code refers, and those of the ingredients.
// If the display name of the Medication lists several ingredients, it is prepended to the display name of each
// ingredient.
func (m *Mappings) appendMedication(dst []acuity.Coding, c acuity.Coding, inside int) []acuity.Coding {
	if c.System != codes.SystemLocal || inside == 0 {
		return dst
	}
	for _, part := range m.Medication(c.Code) {
		if strings.Contains(c.Display, mixed) {
			part.Display = codes.MaskDisplay(c.Display + mixed + part.Display)
		}
		dst = m.appendMedication(append(dst, part), part, inside-1)
	}
	return dst
}

// mixed separates the names of the ingredients of a mixture.
const mixed = " / "

// shortDigest returns an id of 24 hexadecimal digits derived from parts.
func shortDigest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p))))
		h.Write([]byte{':'})
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}
