package acuity

import "slices"

// codeTable finds what belongs to a code of one system: by the whole code, and
// by prefixes.
type codeTable[T any] struct {
	exact    codeMap[T]
	prefixes codeMap[T]
	lengths  []int // of the prefixes, ascending
}

// add files v under a pattern.
func (t *codeTable[T]) add(p codePattern, v T) {
	if !p.prefix {
		t.exact.add(p.text, v)
		return
	}
	t.prefixes.add(p.text, v)
	n, i := len(p.text), 0
	for i < len(t.lengths) && t.lengths[i] < n {
		i++
	}
	if i == len(t.lengths) || t.lengths[i] != n {
		t.lengths = append(t.lengths[:i], append([]int{n}, t.lengths[i:]...)...)
	}
}

// each calls do with every entry of a code: by prefixes from short to long, then
// by the whole code.
func (t *codeTable[T]) each(code string, do func(*T)) {
	for _, n := range t.lengths {
		if n > len(code) {
			break
		}
		found := t.prefixes.of(code[:n])
		for i := range found {
			do(&found[i])
		}
	}
	found := t.exact.of(code)
	for i := range found {
		do(&found[i])
	}
}

// closest returns the entries of the code itself, else those of the longest
// prefix.
func (t *codeTable[T]) closest(code string) []T {
	if found := t.exact.of(code); len(found) > 0 {
		return found
	}
	for _, n := range slices.Backward(t.lengths) {
		if n <= len(code) {
			if found := t.prefixes.of(code[:n]); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// codeTables has a table for each code system: a code means something within its
// system only.
type codeTables[T any] [6]codeTable[T]

// of returns the table of a system; that of SystemNone, which is empty, for one
// that is not known.
func (t *codeTables[T]) of(system System) *codeTable[T] {
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

// codeMap is a map by code. A code of up to 23 bytes, as nearly all are, lies in
// the map itself: a look-up among many goes to one place in memory, not to a text
// elsewhere.
type codeMap[T any] struct {
	short map[shortCode][]T
	long  map[string][]T
}

// shortCode is a text, then its length.
type shortCode [24]byte

// short returns a text as a short code; false if it is not one.
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

func (m *codeMap[T]) of(code string) []T {
	if c, ok := short(code); ok {
		return m.short[c]
	}
	return m.long[code]
}
