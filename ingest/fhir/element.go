package fhir

// The FHIR data types that the decoder uses. Each is parsed from the current position of the scanner. Unused fields
// are checked and skipped.

// concept is a CodeableConcept. The range [first, last) locates its codings in stores.codings.
type concept struct {
	first, last int32
	text        span
}

type coding struct{ system, code, display span }

// concept reads a CodeableConcept. It also accepts a single code, as some FHIR versions use for a status.
func (p *parser) concept() (c concept) {
	c.first = int32(len(p.codings)) //nolint:gosec // at most maxStored
	c.last = c.first
	if p.space() == '"' {
		p.addCoding(coding{code: p.text()})
		c.last = int32(len(p.codings)) //nolint:gosec // at most maxStored
		return c
	}
	for key := range p.fields() {
		switch string(key) {
		case "coding":
			c.first = int32(len(p.codings)) //nolint:gosec // at most maxStored
			for l := p.list(); p.next(&l); {
				p.coding(int(c.first))
			}
			c.last = int32(len(p.codings)) //nolint:gosec // at most maxStored
		case "text":
			c.text = p.text()
		default:
			p.skip()
		}
	}
	return c
}

// coding reads a Coding of a concept and adds it to the stored codings. first is the index of the concept's first
// coding.
func (p *parser) coding(first int) {
	var c coding
	isObject := p.space() == '{'
	for key := range p.fields() {
		switch string(key) {
		case "system":
			c.system = p.text()
		case "code":
			c.code = p.text()
		case "display":
			c.display = p.text()
		default:
			p.skip()
		}
	}
	switch {
	case !isObject:
	case len(p.codings)-first < maxCodings:
		p.addCoding(c)
	default:
		p.cut = true
	}
}

func (p *parser) addCoding(c coding) {
	if !p.isFull() {
		p.codings = append(p.codings, c)
	}
}

// conceptList reads a list of concepts and returns their range.
func (p *parser) conceptList(most int) (first, last int32) {
	first = int32(len(p.concepts)) //nolint:gosec // at most maxStored
	for l := p.list(); p.next(&l); {
		if len(p.concepts)-int(first) >= most || p.isFull() {
			p.skip()
			p.cut = true
			continue
		}
		p.concepts = append(p.concepts, p.concept())
	}
	return first, int32(len(p.concepts)) //nolint:gosec // at most maxStored
}

// reference is a Reference: literal, logical, or only a display.
type reference struct {
	literal, identifier, display span
}

func (r *reference) empty() bool { return r.literal.empty() && r.identifier.empty() }

func (p *parser) reference() (r reference) {
	for key := range p.fields() {
		switch string(key) {
		case "reference":
			r.literal = p.text()
		case "identifier":
			if id, said := p.identifier(); said {
				r.identifier = id.value
			}
		case "display":
			r.display = p.text()
		default:
			p.skip()
		}
	}
	return r
}

// identifier is a FHIR Identifier.
type identifier struct {
	value, kind span
	old         bool // whether use is "old"
}

var (
	// identifierKinds are the types of identifiers that have a meaning for svc (HL7 table 0203; Cerner: MRN).
	identifierKinds = words("VN MR MRN AN")
	// laboratory is the category of laboratory results.
	laboratory = words("laboratory")
)

func (p *parser) identifier() (id identifier, ok bool) {
	ok = p.space() == '{'
	for key := range p.fields() {
		switch string(key) {
		case "value":
			id.value = p.text()
		case "use":
			id.old = string(p.bytes(p.text())) == "old"
		case "type":
			id.kind = identifierKind(p)
		default:
			p.skip()
		}
	}
	return id, ok
}

// identifierKind returns the code of an identifier's type or, if that code has no meaning, the text. Epic sends only
// the text.
func identifierKind(p *parser) span {
	var text span
	if p.space() == '{' {
		p.peekFields(func(key []byte) (found bool) {
			if found = string(key) == "text"; found {
				text = p.text()
			} else {
				p.skip()
			}
			return found
		})
	}
	if kind := p.codeAmong(identifierKinds); text.empty() || identifierKinds[string(p.bytes(kind))] {
		return kind
	}
	return text
}

func (p *parser) identifierList() (first, last int32) {
	return gather(p, &p.identifiers, maxIdentifier, func() (identifier, bool) {
		id, ok := p.identifier()
		return id, ok && !id.value.empty()
	})
}

// gather reads a list into a store and returns the range of the new elements. The function read reads one element and
// reports whether to store it. Elements beyond the maximum number are left out.
func gather[T any](p *parser, store *[]T, most int, read func() (T, bool)) (first, last int32) {
	begin := len(*store)
	for l := p.list(); p.next(&l); {
		switch item, good := read(); {
		case !good:
		case len(*store)-begin >= most:
			p.cut = true
		case !p.isFull():
			*store = append(*store, item)
		}
	}
	return int32(begin), int32(len(*store)) //nolint:gosec // at most maxStored
}

// codeAmong reads a concept and returns its first code that has a meaning or, if none has, its first code. Many senders
// put their own code first.
func (p *parser) codeAmong(meanings map[string]bool) span { return p.firstCoding(meanings).code }

// firstCoding parses a concept, or a list of concepts, and returns the first coding whose code is among the meanings. If
// there is none, it returns the first coding with a code, or any coding if none has a code. The text of the concept
// replaces a missing display. It also accepts a Coding or a single code.
func (p *parser) firstCoding(meanings map[string]bool) (c coding) {
	first := func(one coding) {
		switch {
		case one == (coding{}):
		case c.code.empty(), meanings[string(p.bytes(one.code))] && !meanings[string(p.bytes(c.code))]:
			c = one
		}
	}
	switch p.space() {
	case '"':
		return coding{code: p.text()}
	case '[':
		for l := p.list(); p.next(&l); {
			first(p.firstCoding(meanings))
		}
		return c
	}
	var text span
	for key := range p.fields() {
		switch string(key) {
		case "coding":
			first(p.firstCoding(meanings))
		case "code":
			c.code = p.text()
		case "display":
			c.display = p.text()
		case "text":
			text = p.text()
		default:
			p.skip()
		}
	}
	if c.display.empty() {
		c.display = text
	}
	return c
}

// period is a FHIR Period.
type period struct{ start, end span }

func (p *parser) period() period {
	times := p.texts("start", "end")
	return period{times[0], times[1]}
}

// texts returns the text values of the named fields of an object. At most two names are allowed.
func (p *parser) texts(names ...string) (found [2]span) {
fields:
	for key := range p.fields() {
		for i, name := range names {
			if string(key) == name {
				found[i] = p.text()
				continue fields
			}
		}
		p.skip()
	}
	return found
}

// quantity is a FHIR Quantity. The value remains text until a rule uses it.
type quantity struct{ value, comparator, unit, code span }

func (p *parser) quantity() (q quantity) {
	for key := range p.fields() {
		switch string(key) {
		case "value":
			q.value = p.number()
		case "comparator":
			q.comparator = p.text()
		case "unit":
			q.unit = p.text()
		case "code":
			q.code = p.text()
		default:
			p.skip()
		}
	}
	return q
}

// valueKind is the type of a value[x].
type valueKind uint8

const (
	noValue valueKind = iota
	aQuantity
	aConcept
	aText // a string, number or boolean, as sent
	aRange
	aValue // a type that no rule uses
)

// value is a value[x].
type value struct {
	kind      valueKind
	quantity  quantity // for a Range, its low value
	high      quantity
	concept   concept
	text      span
	absent    bool    // whether the value has a dataAbsentReason
	interpret concept // codings of all interpretations
}

// read parses a field if it belongs to a value, and reports whether it does. The value of the field is not null.
func (v *value) read(p *parser, key []byte) bool {
	switch string(key) {
	case "valueQuantity":
		v.kind, v.quantity = aQuantity, p.quantity()
	case "valueCodeableConcept":
		v.kind, v.concept = aConcept, p.concept()
	case "valueString":
		v.kind, v.text = aText, p.text()
	case "valueInteger":
		v.kind, v.text = aText, p.number()
	case "valueBoolean":
		v.text = p.literal()
		v.kind = aText
	case "valueRange":
		v.kind = aRange
		v.span(p)
	case "valueRatio", "valueSampledData", "valueTime", "valueDateTime", "valuePeriod":
		v.kind = aValue
		p.skip()
	case "dataAbsentReason":
		v.absent = true
		p.skip()
	case "interpretation":
		for l := p.list(); p.next(&l); {
			if c := p.concept(); v.interpret == (concept{}) {
				v.interpret = c
			} else {
				v.interpret.last = c.last // the codings of a list are stored one after the other
			}
		}
	default:
		return false
	}
	if v.kind == aText && v.text.empty() {
		v.kind = noValue // empty, or of the wrong type
	}
	return true
}

// span reads a Range.
func (v *value) span(p *parser) {
	for key := range p.fields() {
		switch string(key) {
		case "low":
			v.quantity = p.quantity()
		case "high":
			v.high = p.quantity()
		default:
			p.skip()
		}
	}
}

// literal reads true or false as sent.
func (p *parser) literal() span {
	p.space()
	from := p.i
	if _, said := p.flag(); !said {
		return span{}
	}
	return span{uint32(from), uint32(p.i)} //nolint:gosec // Decode bounds the body
}
