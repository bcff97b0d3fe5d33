package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/acuity/codes"
)

// parseCatalogue reads a catalogue in the format that catalogue.txt explains. It is
// strict: an error names the line and the rule that it breaks.
func parseCatalogue(text string) (*Catalogue, error) {
	p := &parser{c: &Catalogue{specs: make([]Spec, 1), byID: map[string]Factor{}}}
	p.c.specs[0].Variants = make([]Variant, 1)
	if err := p.collect(text); err != nil {
		return nil, err
	}
	for i := range p.blocks {
		if err := p.build(&p.blocks[i], Factor(i+1)); err != nil {
			return nil, err
		}
	}
	for f, s := range p.c.specs {
		forms := make([]Requirement, len(s.Variants))
		for i := range s.Variants {
			forms[i] = s.Variants[i].Requirement
		}
		p.c.requirements[f], p.c.traits[f] = forms, findTraits(&s)
		for _, other := range p.c.specs {
			if other.ID < s.ID {
				p.c.rank[f]++
			}
		}
	}
	for f := len(p.c.specs); f < anyFactor; f++ {
		p.c.requirements[f] = p.c.requirements[0]
	}
	for f := range p.c.specs {
		if twin := p.c.requirements[f][0].Twin; twin != 0 {
			p.c.traits[f] |= traitTwin
			p.c.traits[twin] |= traitTwin
		}
	}
	return p.c, nil
}

// line is a line of a block without its comment.
type line struct {
	number    int
	key, text string
}

func (l line) fault(format string, args ...any) error {
	return &lineError{l.number, l.key, fmt.Sprintf(format, args...)}
}

// lineError is a line that breaks a rule of the format.
type lineError struct {
	number       int // negative: a line of a hospital's rule, see [Rule]
	key, message string
}

func (e *lineError) Error() string {
	return fmt.Sprintf("catalogue line %d: %s: %s", e.number, e.key, e.message)
}

type block struct {
	head  line
	lines []line
}

type parser struct {
	c      *Catalogue
	blocks []block
}

// collect splits the text into blocks and gives each its factor, so that a block can
// name a later one.
func (p *parser) collect(text string) error {
	digest := sha256.New()
	number, version := 0, ""
	for raw := range strings.Lines(text) {
		number++
		bare, _, _ := strings.Cut(raw, "#")
		words := strings.Fields(bare)
		if len(words) == 0 {
			continue
		}
		l := line{number: number, key: words[0], text: strings.Join(words[1:], " ")}
		digest.Write(fmt.Appendln(nil, l.key, l.text))
		switch {
		case l.key == "version":
			if version != "" || l.text == "" {
				return l.fault("exactly one, with a value")
			}
			version = l.text
		case l.key == "primary" || l.key == "modifier":
			if err := p.open(l); err != nil {
				return err
			}
		case len(p.blocks) == 0:
			return l.fault("outside a block")
		default:
			last := &p.blocks[len(p.blocks)-1]
			last.lines = append(last.lines, l)
		}
	}
	if version == "" {
		return fmt.Errorf("catalogue line %d: no version", number)
	}
	p.c.version = version + "-" + hex.EncodeToString(digest.Sum(nil))[:12]
	return nil
}

func (p *parser) open(l line) error {
	if l.text == "" || strings.Contains(l.text, " ") {
		return l.fault("needs one id")
	}
	if _, twice := p.c.byID[l.text]; twice {
		return l.fault("%q is there twice", l.text)
	}
	if len(p.blocks) == 255 {
		return l.fault("more than 255 factors")
	}
	p.blocks = append(p.blocks, block{head: l})
	p.c.byID[l.text] = Factor(len(p.blocks)) //nolint:gosec // at most 255, see above
	return nil
}

// build reads the lines of one block.
func (p *parser) build(b *block, f Factor) error {
	s := Spec{ID: b.head.text, Primary: b.head.key == "primary", Variants: make([]Variant, 1)}
	form := &form{p: p, spec: &s, seen: map[string]bool{}}
	for _, l := range b.lines {
		var err error
		if l.key == "variant" {
			err = form.next(l)
		} else {
			err = form.read(l)
		}
		if err != nil {
			return err
		}
	}
	if err := form.close(b.head); err != nil {
		return err
	}
	switch {
	case s.Label == "" || s.Criteria == "" || s.Section == sectionNone:
		return b.head.fault("%q needs label, criteria and section", s.ID)
	case s.Primary == (s.RatioPatientType == ""):
		return b.head.fault("%q: ratio-type belongs to a primary factor and to no modifier", s.ID)
	case s.Primary == (s.Section >= sectionHighRisk):
		return b.head.fault("%q: section %q is of the other kind of factor", s.ID, s.Section)
	}
	s.newborn = s.Primary && s.Section == sectionNewborn
	s.postpartum = s.Primary && strings.HasPrefix(s.ID, "pp-")
	if int(f) != len(p.c.specs) {
		return b.head.fault("out of order")
	}
	p.c.specs = append(p.c.specs, s)
	return nil
}

// span reads a duration in minutes or hours: "20m", "6h".
func span(text string) (time.Duration, error) {
	if len(text) < 2 {
		return 0, fmt.Errorf("%q is no duration such as 20m or 6h", text)
	}
	n, err := strconv.Atoi(text[:len(text)-1])
	if err != nil || n <= 0 || n > 100_000 {
		return 0, fmt.Errorf("%q is no duration such as 20m or 6h", text)
	}
	switch text[len(text)-1] {
	case 'm':
		return time.Duration(n) * time.Minute, nil
	case 'h':
		return time.Duration(n) * time.Hour, nil
	}
	return 0, fmt.Errorf("%q is no duration such as 20m or 6h", text)
}

func instantSpan(text string) (codes.Instant, error) {
	d, err := span(text)
	return codes.Instant(d.Milliseconds()), err
}

// nurses reads a number of nurses: "2", "1/3", "0.25". It must be a whole number of
// 60ths.
func nurses(text string) (Demand, error) {
	whole, part, decimal := strings.Cut(text, ".")
	over, under, fraction := strings.Cut(text, "/")
	var num int64
	var err error
	den := int64(1)
	switch {
	case fraction:
		if num, err = strconv.ParseInt(over, 10, 16); err == nil {
			den, err = strconv.ParseInt(under, 10, 16)
		}
	case decimal:
		num, err = strconv.ParseInt(whole+part, 10, 32)
		for range part {
			den *= 10
		}
	default:
		num, err = strconv.ParseInt(text, 10, 16)
	}
	if err != nil || den <= 0 || den > 10_000 || num < 0 || num > 8*den {
		return 0, fmt.Errorf("%q is no number of nurses", text)
	}
	if num*int64(Nurse)%den != 0 {
		return 0, fmt.Errorf("%q is no whole number of 60ths of a nurse", text)
	}
	return Demand(num * int64(Nurse) / den), nil //nolint:gosec // at most 8 nurses, see above
}

// curve splits "A until 20m, B until 60m, C" into values and ends. The last has no end.
func curve(text string) (values []string, ends []time.Duration, err error) {
	parts := strings.Split(text, ", ")
	for i, part := range parts {
		value, until, stepped := strings.Cut(part, " until ")
		if stepped == (i == len(parts)-1) {
			return nil, nil, fmt.Errorf("every step but the last has an end: %q", text)
		}
		var end time.Duration
		if stepped {
			if end, err = span(until); err != nil {
				return nil, nil, err
			}
			if i > 0 && end <= ends[i-1] {
				return nil, nil, fmt.Errorf("ends must rise: %q", text)
			}
		}
		values, ends = append(values, value), append(ends, end)
	}
	return values, ends, nil
}
