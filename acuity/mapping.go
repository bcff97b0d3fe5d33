package acuity

import "strings"

// mappings is the terminology map of a hospital, ready for look-ups. The nil map
// has no rows. It never changes once made.
type mappings struct {
	exact    map[codeKey][]Mapping
	prefixes map[codeKey][]Mapping
	lengths  []int
}

// newMappings returns the map with the given rows; the order of rows for one code
// is the order in which they count. A code with a trailing "*" is a prefix.
func newMappings(rows []Mapping) *mappings {
	m := &mappings{exact: map[codeKey][]Mapping{}, prefixes: map[codeKey][]Mapping{}}
	for _, row := range rows {
		if row.Delete {
			continue
		}
		system := row.System
		if system == SystemNone {
			system, _ = NormalSystem("", row.Code)
		}
		for _, diagnosis := range []bool{false, true} {
			if diagnosis && row.Kind != 0 {
				continue
			}
			if text, ok := strings.CutSuffix(strings.TrimSpace(row.Code), "*"); ok {
				k := codeKey{system, diagnosis, normalCode(system, text)}
				m.prefixes[k] = append(m.prefixes[k], row)
				m.lengths = addLength(m.lengths, len(k.code))
				continue
			}
			k := codeKey{system, diagnosis, normalCode(system, row.Code)}
			m.exact[k] = append(m.exact[k], row)
		}
	}
	return m
}

// find returns the rows for a code and kind of signal (0: a diagnosis): those of
// the code itself, else those of the longest prefix.
func (m *mappings) find(k codeKey, kind SignalKind) []Mapping {
	if m == nil || len(m.exact)+len(m.prefixes) == 0 || k.code == "" {
		return nil
	}
	if rows := ofKind(m.exact[k], kind); len(rows) > 0 {
		return rows
	}
	whole := k.code
	for i := len(m.lengths) - 1; i >= 0; i-- {
		if n := m.lengths[i]; n <= len(whole) {
			k.code = whole[:n]
			if rows := ofKind(m.prefixes[k], kind); len(rows) > 0 {
				return rows
			}
		}
	}
	return nil
}

// ofKind returns the rows that speak of a kind: medication or not is all that
// counts (scoring-decisions 55).
func ofKind(rows []Mapping, kind SignalKind) []Mapping {
	fits := func(r *Mapping) bool {
		return r.Kind == 0 || kind == 0 || (r.Kind == KindMedication) == (kind == KindMedication)
	}
	n := 0
	for i := range rows {
		if fits(&rows[i]) {
			n++
		}
	}
	if n == len(rows) {
		return rows // the usual case
	}
	var some []Mapping
	for i := range rows {
		if fits(&rows[i]) {
			some = append(some, rows[i])
		}
	}
	return some
}

// conditional reports whether a mapping asks something of the value.
func (m *Mapping) conditional() bool { return m.Op != Equal || m.Than != 0 }
