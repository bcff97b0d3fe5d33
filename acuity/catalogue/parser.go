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

// parseCatalogue parses a catalogue in the format that catalogue.txt explains. Errors name the line and the rule that
// it breaks.
func parseCatalogue(text string) (*Catalogue, error) {
	c := &Catalogue{specs: []Spec{{Variants: make([]Variant, 1)}}, byID: map[string]Factor{}}
	if err := c.collectBlocks(text); err != nil {
		return nil, err
	}
	for i := range c.blocks {
		s, err := c.buildSpec(&c.blocks[i])
		if err != nil {
			return nil, err
		}
		c.specs = append(c.specs, s)
	}
	for f := range c.specs {
		s := &c.specs[f]
		c.traits[f] |= findTraits(s)
		if twin := s.Variants[0].Twin; twin != 0 {
			c.traits[f] |= traitTwin
			c.traits[twin] |= traitTwin
		}
		for i := range c.specs {
			if c.specs[i].ID < s.ID {
				c.rank[f]++
			}
		}
	}
	return c, nil
}

// line is a line in a block, without its comment.
type line struct {
	number    int
	key, text string
}

func (l line) fault(format string, args ...any) error {
	return &lineError{l.number, l.key, fmt.Sprintf(format, args...)}
}

// lineError reports a line that breaks a rule of the format. Its text names the line and the rule.
type lineError struct {
	number       int // line number in the file; negative: a line of a hospital's rule, see [Rule]
	key, message string
}

func (e *lineError) Error() string {
	return fmt.Sprintf("catalogue line %d: %s: %s", e.number, e.key, e.message)
}

// block holds the lines of one factor.
type block struct {
	head  line
	lines []line
}

// collectBlocks splits the text into blocks and numbers the factors, so that a block can refer to a later factor.
func (c *Catalogue) collectBlocks(text string) error {
	digest := sha256.New()
	number, version := 0, ""
	for raw := range strings.Lines(text) {
		number++
		bare, _, _ := strings.Cut(raw, "#")
		parts := strings.Fields(bare)
		if len(parts) == 0 {
			continue
		}
		l := line{number: number, key: parts[0], text: strings.Join(parts[1:], " ")}
		digest.Write(fmt.Appendln(nil, l.key, l.text))
		switch {
		case l.key == "version":
			if version != "" || l.text == "" {
				return l.fault("must appear once, with a value")
			}
			version = l.text
		case l.key == "primary" || l.key == "modifier":
			if err := c.openBlock(l); err != nil {
				return err
			}
		case len(c.blocks) == 0:
			return l.fault("is outside a block")
		default:
			last := &c.blocks[len(c.blocks)-1]
			last.lines = append(last.lines, l)
		}
	}
	if version == "" {
		return fmt.Errorf("catalogue line %d: no version", number)
	}
	c.version = version + "-" + hex.EncodeToString(digest.Sum(nil))[:12]
	return nil
}

// openBlock begins the block of a new factor.
func (c *Catalogue) openBlock(l line) error {
	if l.text == "" || strings.Contains(l.text, " ") {
		return l.fault("needs one id")
	}
	if _, twice := c.byID[l.text]; twice {
		return l.fault("%q is listed twice", l.text)
	}
	if len(c.blocks) == anyFactor-1 {
		return l.fault("more than %d factors", anyFactor-1)
	}
	c.blocks = append(c.blocks, block{head: l})
	c.byID[l.text] = Factor(len(c.blocks)) //nolint:gosec // below anyFactor
	return nil
}

// buildSpec parses the lines of one block.
func (c *Catalogue) buildSpec(b *block) (Spec, error) {
	s := Spec{ID: b.head.text, Primary: b.head.key == "primary", Variants: make([]Variant, 1)}
	form := &form{byID: c.byID, spec: &s, seen: map[string]bool{}}
	for _, l := range b.lines {
		read := form.read
		if l.key == "variant" {
			read = form.next
		}
		if err := read(l); err != nil {
			return Spec{}, err
		}
	}
	if err := form.close(b.head); err != nil {
		return Spec{}, err
	}
	switch {
	case s.Label == "" || s.Criteria == "" || s.Section == sectionNone:
		return Spec{}, b.head.fault("%q needs label, criteria and section", s.ID)
	case s.Primary == (s.RatioPatientType == ""):
		return Spec{}, b.head.fault("%q: a primary factor needs ratio-type, a modifier must not have it", s.ID)
	case s.Primary == (s.Section >= sectionHighRisk):
		return Spec{}, b.head.fault("%q: section %q is not valid for this kind of factor", s.ID, s.Section)
	}
	return s, nil
}

// parseSpan parses a duration in minutes or hours, such as "20m" or "6h".
func parseSpan(text string) (codes.Instant, error) {
	unit := time.Minute
	number, known := strings.CutSuffix(text, "m")
	if !known {
		unit = time.Hour
		number, known = strings.CutSuffix(text, "h")
	}
	n, err := strconv.Atoi(number)
	if !known || err != nil || n <= 0 || n > 100_000 {
		return 0, fmt.Errorf("%q is not a duration such as 20m or 6h", text)
	}
	return codes.Instant(0).Add(time.Duration(n) * unit), nil
}

// parseNurses parses a number of nurses, such as "2", "1/3" or "0.25", which must be a whole number of 60ths.
func parseNurses(text string) (Demand, error) {
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
		return 0, fmt.Errorf("%q is not a number of nurses", text)
	}
	if num*int64(Nurse)%den != 0 {
		return 0, fmt.Errorf("%q is not a whole number of 60ths of a nurse", text)
	}
	return Demand(num * int64(Nurse) / den), nil //nolint:gosec // at most 8 nurses, see above
}

// parseClass parses a severity, 0 … 4.
func parseClass(text string) (uint8, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n > 4 {
		return 0, fmt.Errorf("%q is not a class from 0 to 4", text)
	}
	return uint8(n), nil
}

// step is one step of a curve: a value that applies while the factor's age is less than the field until. If that
// field is 0, the step has no end.
type step[T comparable] struct {
	until codes.Instant
	value T
}

// parseSteps parses a list of the form "A until 20m, B until 60m, C". The last step has no end.
func parseSteps[T comparable](text string, read func(string) (T, error)) (list []step[T], err error) {
	parts := strings.Split(text, ", ")
	for i, part := range parts {
		value, until, stepped := strings.Cut(part, " until ")
		if stepped == (i == len(parts)-1) {
			return nil, fmt.Errorf("every step except the last must have an end: %q", text)
		}
		var s step[T]
		if stepped {
			if s.until, err = parseSpan(until); err != nil {
				return nil, err
			}
			if i > 0 && s.until <= list[i-1].until {
				return nil, fmt.Errorf("the ends of the steps must increase: %q", text)
			}
		}
		if s.value, err = read(value); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
