package fhir

// These are the FHIR data types that are in use. Each is read at the position of the
// scanner. Unused fields are checked and skipped.

// concept is a CodeableConcept: the codings from first to last.
type concept struct {
	first, last int32
	text        span
}

type coding struct{ system, code, display span }

// concept reads a CodeableConcept. It also accepts a single code, which other versions of
// FHIR have for states.
func (d *decoder) concept() (c concept) {
	c.first = int32(len(d.codings)) //nolint:gosec // at most maxStored
	c.last = c.first
	if d.space() == '"' {
		d.addCoding(coding{code: d.text()})
		c.last = int32(len(d.codings)) //nolint:gosec // at most maxStored
		return c
	}
	for key := range d.fields() {
		switch string(key) {
		case "coding":
			c.first = int32(len(d.codings)) //nolint:gosec // at most maxStored
			for l := d.list(); d.next(&l); {
				d.coding(int(c.first))
			}
			c.last = int32(len(d.codings)) //nolint:gosec // at most maxStored
		case "text":
			c.text = d.text()
		default:
			d.skip()
		}
	}
	return c
}

// coding reads a Coding of the concept whose codings begin at first.
func (d *decoder) coding(first int) {
	var c coding
	isObject := d.space() == '{'
	for key := range d.fields() {
		switch string(key) {
		case "system":
			c.system = d.text()
		case "code":
			c.code = d.text()
		case "display":
			c.display = d.text()
		default:
			d.skip()
		}
	}
	if isObject && len(d.codings)-first < maxCodings {
		d.addCoding(c)
	}
}

func (d *decoder) addCoding(c coding) {
	if !d.full() {
		d.codings = append(d.codings, c)
	}
}

// conceptList reads a list of concepts and returns their range.
func (d *decoder) conceptList(most int) (first, last int32) {
	first = int32(len(d.concepts)) //nolint:gosec // at most maxStored
	for l := d.list(); d.next(&l); {
		if len(d.concepts)-int(first) >= most || d.full() {
			d.skip()
			continue
		}
		d.concepts = append(d.concepts, d.concept())
	}
	return first, int32(len(d.concepts)) //nolint:gosec // at most maxStored
}

// reference is a Reference: literal, logical, or only a display.
type reference struct {
	literal, identifier, display span
}

func (r *reference) empty() bool { return r.literal.empty() && r.identifier.empty() }

func (d *decoder) reference() (r reference) {
	for key := range d.fields() {
		switch string(key) {
		case "reference":
			r.literal = d.text()
		case "identifier":
			if id, said := d.identifier(); said {
				r.identifier = id.value
			}
		case "display":
			r.display = d.text()
		default:
			d.skip()
		}
	}
	return r
}

// identifier is an Identifier: its value and its type.
type identifier struct {
	value, kind span
	old         bool // use is "old"
}

func (d *decoder) identifier() (id identifier, ok bool) {
	ok = d.space() == '{'
	for key := range d.fields() {
		switch string(key) {
		case "value":
			id.value = d.text()
		case "use":
			id.old = string(d.bytes(d.text())) == "old"
		case "type":
			id.kind = d.firstCode()
		default:
			d.skip()
		}
	}
	return id, ok
}

func (d *decoder) identifierList() (first, last int32) {
	return gather(d, &d.identifiers, maxIdentifier, func() (identifier, bool) {
		id, ok := d.identifier()
		return id, ok && !id.value.empty()
	})
}

// gather reads a list into a store and returns the range of the new elements. It keeps
// those for which read returns true, at most most of them.
func gather[T any](d *decoder, store *[]T, most int, read func() (T, bool)) (first, last int32) {
	begin := len(*store)
	for l := d.list(); d.next(&l); {
		if item, good := read(); good && len(*store)-begin < most && !d.full() {
			*store = append(*store, item)
		}
	}
	return int32(begin), int32(len(*store)) //nolint:gosec // at most maxStored
}

// firstCode reads a concept and returns its first code.
func (d *decoder) firstCode() span { return d.firstCoding().code }

// firstCoding reads a concept, or a list of them, and returns the first coding with a
// code. Without one it returns what there is. It also accepts a Coding or a single code.
func (d *decoder) firstCoding() (c coding) {
	first := func(one coding) {
		if c.code.empty() && one != (coding{}) {
			c = one
		}
	}
	switch d.space() {
	case '"':
		return coding{code: d.text()}
	case '[':
		for l := d.list(); d.next(&l); {
			first(d.firstCoding())
		}
		return c
	}
	for key := range d.fields() {
		switch string(key) {
		case "coding":
			first(d.firstCoding())
		case "code":
			c.code = d.text()
		case "display":
			c.display = d.text()
		default:
			d.skip()
		}
	}
	return c
}

// period is a Period.
type period struct{ start, end span }

func (d *decoder) period() (p period) {
	for key := range d.fields() {
		switch string(key) {
		case "start":
			p.start = d.text()
		case "end":
			p.end = d.text()
		default:
			d.skip()
		}
	}
	return p
}

// quantity is a Quantity. The value stays text until a rule uses it.
type quantity struct{ value, comparator, unit, code span }

func (d *decoder) quantity() (q quantity) {
	for key := range d.fields() {
		switch string(key) {
		case "value":
			q.value = d.number()
		case "comparator":
			q.comparator = d.text()
		case "unit":
			q.unit = d.text()
		case "code":
			q.code = d.text()
		default:
			d.skip()
		}
	}
	return q
}

// valueKind says which value[x] a value is.
type valueKind uint8

const (
	noValue valueKind = iota
	aQuantity
	aConcept
	aText // also a number or a boolean, as written
	aRange
	aValue // a type that no rule reads
)

// value is a value[x].
type value struct {
	kind      valueKind
	quantity  quantity // for a range, its lower end
	high      quantity
	concept   concept
	text      span
	absent    bool    // a reason for the absence is given
	interpret concept // interpretation[0]
}

// read reads a field if it belongs to a value; otherwise it leaves the field and returns
// false.
func (v *value) read(d *decoder, key []byte) bool {
	switch string(key) {
	case "valueQuantity":
		v.kind, v.quantity = aQuantity, d.quantity()
	case "valueCodeableConcept":
		v.kind, v.concept = aConcept, d.concept()
	case "valueString":
		v.kind, v.text = aText, d.text()
	case "valueInteger":
		v.kind, v.text = aText, d.number()
	case "valueBoolean":
		v.text = d.literal()
		v.kind = aText
	case "valueRange":
		v.kind = aRange
		v.span(d)
	case "valueRatio", "valueSampledData", "valueTime", "valueDateTime", "valuePeriod":
		v.kind = aValue
		d.skip()
	case "dataAbsentReason":
		v.absent = d.space() != 'n'
		d.skip()
	case "interpretation":
		for l := d.list(); d.next(&l); {
			if c := d.concept(); v.interpret == (concept{}) {
				v.interpret = c
			}
		}
	default:
		return false
	}
	if v.kind == aText && v.text.empty() {
		v.kind = noValue // null, or of a wrong type
	}
	return true
}

// span reads a Range.
func (v *value) span(d *decoder) {
	for key := range d.fields() {
		switch string(key) {
		case "low":
			v.quantity = d.quantity()
		case "high":
			v.high = d.quantity()
		default:
			d.skip()
		}
	}
}

// literal reads true or false as written.
func (d *decoder) literal() span {
	d.space()
	from := d.i
	if _, said := d.flag(); !said {
		return span{}
	}
	return span{uint32(from), uint32(d.i)} //nolint:gosec // Decode bounds the body
}
