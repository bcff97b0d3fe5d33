package codes

import "slices"

// Table finds the entries of a code of one system: by the whole code, and by
// prefixes.
type Table[T any] struct {
	exact    codeMap[T]
	prefixes codeMap[T]
	lengths  []int // of the prefixes, ascending
}

// Add adds v under a pattern.
func (t *Table[T]) Add(p Pattern, v T) {
	if !p.Prefix {
		t.exact.add(p.Text, v)
		return
	}
	t.prefixes.add(p.Text, v)
	n, i := len(p.Text), 0
	for i < len(t.lengths) && t.lengths[i] < n {
		i++
	}
	if i == len(t.lengths) || t.lengths[i] != n {
		t.lengths = append(t.lengths[:i], append([]int{n}, t.lengths[i:]...)...)
	}
}

// Each calls do with every entry of a code: by prefixes from short to long, then by the
// whole code.
func (t *Table[T]) Each(code string, do func(*T)) {
	for _, n := range t.lengths {
		if n > len(code) {
			break
		}
		found := t.prefixes.find(code[:n])
		for i := range found {
			do(&found[i])
		}
	}
	found := t.exact.find(code)
	for i := range found {
		do(&found[i])
	}
}

// Closest returns the entries of the code itself, else those of the longest prefix.
func (t *Table[T]) Closest(code string) []T {
	if found := t.exact.find(code); len(found) > 0 {
		return found
	}
	for _, n := range slices.Backward(t.lengths) {
		if n <= len(code) {
			if found := t.prefixes.find(code[:n]); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// Tables has a table for each code system: a code has a meaning only within its
// system.
type Tables[T any] [6]Table[T]

// Table returns the table of a system. An unknown system has the empty table of
// SystemNone.
func (t *Tables[T]) Table(system System) *Table[T] {
	switch system {
	case SystemNone:
	case ICD10CM:
		return &t[1]
	case SNOMED:
		return &t[2]
	case LOINC:
		return &t[3]
	case RxNorm:
		return &t[4]
	case SystemLocal:
		return &t[5]
	}
	return &t[0]
}

// codeMap is a map by code. Codes of up to 23 bytes, nearly all, lie in the map itself:
// a look-up goes to one place in memory, not to a text elsewhere.
type codeMap[T any] struct {
	short map[shortCode][]T
	long  map[string][]T
}

// shortCode is a text, then its length.
type shortCode [24]byte

// short returns a text as a short code; false: it is too long.
func short(text string) (c shortCode, ok bool) {
	if ok = len(text) < len(c); ok {
		copy(c[:], text)
		c[len(c)-1] = byte(len(text)) //nolint:gosec // below the length of the array
	}
	return c, ok
}

func (m *codeMap[T]) add(code string, v T) {
	if c, ok := short(code); ok {
		if m.short == nil {
			m.short = map[shortCode][]T{}
		}
		m.short[c] = append(m.short[c], v)
		return
	}
	if m.long == nil {
		m.long = map[string][]T{}
	}
	m.long[code] = append(m.long[code], v)
}

func (m *codeMap[T]) find(code string) []T {
	if c, ok := short(code); ok {
		return m.short[c]
	}
	return m.long[code]
}
