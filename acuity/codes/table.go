package codes

import "slices"

// Table maps the codes of one code system to entries. An entry matches an exact code or all codes with a prefix.
type Table[T any] struct {
	exact    map[string][]T
	prefixes map[string][]T
	lengths  []int // distinct lengths of the prefixes, ascending
}

// Add adds entry v under pattern p.
func (t *Table[T]) Add(p Pattern, v T) {
	if t.exact == nil {
		t.exact, t.prefixes = map[string][]T{}, map[string][]T{}
	}
	if !p.Prefix {
		t.exact[p.Text] = append(t.exact[p.Text], v)
		return
	}
	t.prefixes[p.Text] = append(t.prefixes[p.Text], v)
	if i, found := slices.BinarySearch(t.lengths, len(p.Text)); !found {
		t.lengths = slices.Insert(t.lengths, i, len(p.Text))
	}
}

// Each calls the given function for every entry that matches a code: first entries for prefixes, from short to long,
// then those for the exact code.
func (t *Table[T]) Each(code string, do func(*T)) {
	for _, n := range t.lengths {
		if n > len(code) {
			break
		}
		found := t.prefixes[code[:n]]
		for i := range found {
			do(&found[i])
		}
	}
	found := t.exact[code]
	for i := range found {
		do(&found[i])
	}
}

// Closest returns the entries for the exact code or, if there are none, those for the longest matching prefix.
func (t *Table[T]) Closest(code string) []T {
	if found := t.exact[code]; len(found) > 0 {
		return found
	}
	for _, n := range slices.Backward(t.lengths) {
		if n <= len(code) {
			if found := t.prefixes[code[:n]]; len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// Tables holds one table for each code system, because a code has a meaning only within its system.
type Tables[T any] [6]Table[T]

// Table returns the table of a system. For an unknown system, it returns the empty table of SystemNone.
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
