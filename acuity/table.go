package acuity

// codeTable finds what belongs to a code of one system: by the whole code, and
// by prefixes.
type codeTable[T any] struct {
	exact    map[string][]T
	prefixes map[string][]T
	lengths  []int // of the prefixes, ascending
}

// add files v under a pattern.
func (t *codeTable[T]) add(p codePattern, v T) {
	if !p.prefix {
		if t.exact == nil {
			t.exact = map[string][]T{}
		}
		t.exact[p.text] = append(t.exact[p.text], v)
		return
	}
	if t.prefixes == nil {
		t.prefixes = map[string][]T{}
	}
	t.prefixes[p.text] = append(t.prefixes[p.text], v)
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

// codeTables has a table for diagnoses and one for signals of each code system:
// a code means something within its system only.
type codeTables[T any] [2][6]codeTable[T]

// of returns the table of a system; that of SystemNone, which is empty, for one
// that is not known.
func (t *codeTables[T]) of(system System, diagnosis bool) *codeTable[T] {
	route, column := 0, 0
	if diagnosis {
		route = 1
	}
	switch system {
	case SystemNone:
	case ICD10CM:
		column = 1
	case SNOMED:
		column = 2
	case LOINC:
		column = 3
	case RxNorm:
		column = 4
	case SystemLocal:
		column = 5
	}
	return &t[route][column]
}
