package catalogue

import (
	"strconv"
	"strings"
	"time"
)

// form reads the lines of one variant of a block. A variant starts as a copy of the
// plain one.
type form struct {
	p       *parser
	spec    *Spec
	variant uint8
	seen    map[string]bool // keys of this variant; the others are those of the plain one

	needs   []step // curve of need
	beside  []step // with-mother
	classes []step
	plain   *form
}

type step struct {
	until time.Duration
	value int
}

func (f *form) requirement() *Requirement { return &f.spec.Variants[f.variant].Requirement }

// next closes the current variant and opens another.
func (f *form) next(l line) error {
	if err := f.close(l); err != nil {
		return err
	}
	if l.text == "" || strings.Contains(l.text, " ") {
		return l.fault("needs one name")
	}
	if f.plain == nil {
		plain := *f
		f.plain = &plain
	}
	f.spec.Variants = append(f.spec.Variants, Variant{Name: l.text, Requirement: f.spec.Variants[0].Requirement})
	f.variant = uint8(len(f.spec.Variants) - 1) //nolint:gosec // a catalogue has a few
	f.seen = map[string]bool{}
	f.needs, f.beside, f.classes = f.plain.needs, f.plain.beside, f.plain.classes
	return nil
}

// close joins the curves of need and class into one schedule.
func (f *form) close(l line) error {
	if len(f.classes) == 0 {
		return l.fault("%q has no class", f.spec.ID)
	}
	e := f.requirement()
	if f.spec.Primary && len(f.needs) == 0 {
		return l.fault("%q asks for nothing", f.spec.ID)
	}
	if f.spec.Primary && e.track != (f.spec.Section == sectionNewborn) {
		return l.fault("%q: track belongs to newborns, demand to mothers", f.spec.ID)
	}
	if len(e.floors) > 0 && len(f.needs) > 1 {
		return l.fault("%q: of several floors none has steps", f.spec.ID)
	}
	e.Need = merge(f.needs, f.classes)
	e.withMother = nil
	if f.beside != nil {
		e.withMother = merge(f.beside, f.classes)
	}
	for i := range e.Need {
		low := e.Need[i].Class == 4 && e.Need[i].Need < Nurse
		if low || e.Need[i].Class == 4 && e.needIn != 0 {
			return l.fault("%q: class 4 with less than one nurse", f.spec.ID)
		}
	}
	return nil
}

// merge makes one schedule of two curves that both start at 0. It joins equal
// neighbours, so that every end is a change.
func merge(needs, classes []step) Schedule {
	if len(needs) == 0 {
		needs = []step{{}}
	}
	var s Schedule
	for i, j := 0, 0; ; {
		need, class := needs[i], classes[j]
		until := need.until
		if until == 0 || class.until != 0 && class.until < until {
			until = class.until
		}
		next := Step{Until: until, Need: Demand(need.value), Class: uint8(class.value)} //nolint:gosec // read by nurses and class, which bound them
		if n := len(s); n > 0 && s[n-1].Need == next.Need && s[n-1].Class == next.Class {
			s[n-1].Until = until
		} else {
			s = append(s, next)
		}
		if until == 0 {
			return s
		}
		if need.until == until {
			i++
		}
		if class.until == until {
			j++
		}
	}
}

// read reads one line.
func (f *form) read(l line) error {
	if l.text == "" {
		return l.fault("needs a value")
	}
	switch l.key {
	case "route", "when", "babies":
		return f.route(l)
	case "note":
		f.spec.Note = l.text
		return nil
	case "floor":
		return f.floor(l)
	}
	if f.seen[l.key] {
		return l.fault("is there twice")
	}
	f.seen[l.key] = true
	if read, ok := texts[l.key]; ok {
		if f.variant != 0 {
			return l.fault("belongs to the plain form")
		}
		return read(f.spec, l)
	}
	if err := f.number(l); err != nil {
		return err
	}
	return nil
}

var texts = map[string]func(*Spec, line) error{
	"label":      func(s *Spec, l line) error { s.Label = l.text; return nil },
	"criteria":   func(s *Spec, l line) error { s.Criteria = l.text; return nil },
	"ratio-type": func(s *Spec, l line) error { s.RatioPatientType = l.text; return nil },
	"section": func(s *Spec, l line) error {
		var ok bool
		if s.Section, ok = sectionByName(l.text); !ok {
			return l.fault("no section %q", l.text)
		}
		return nil
	},
}

// number reads a line of numbers.
func (f *form) number(l line) (err error) {
	e := f.requirement()
	if forPrimary, known := numbers[l.key]; !known {
		return l.fault("unknown word")
	} else if forPrimary != either && (forPrimary == primaryOnly) != f.spec.Primary {
		return l.fault("is of the other kind of factor")
	}
	words := strings.Fields(l.text)
	switch l.key {
	case "demand", "track":
		e.track = l.key == "track"
		f.needs, err = needSteps(l.text)
	case "with-mother":
		f.beside, err = needSteps(l.text)
	case "class":
		f.classes, err = classSteps(l.text)
	case "track-floor":
		e.trackFloor, err = nurses(l.text)
	case "per-baby":
		e.PerBaby, err = nurses(l.text)
	case "add":
		return f.add(l)
	case "window":
		return f.window(l, words)
	case "ends":
		e.endsBirth, e.birthDiagnosis = true, l.text == "birth by diagnosis"
		if l.text != "birth" && !e.birthDiagnosis {
			return l.fault("birth, or birth by diagnosis")
		}
	case "stale":
		e.staleFromLast = strings.HasSuffix(l.text, " from last")
		if len(words) != 1 && !e.staleFromLast && !strings.HasSuffix(l.text, " from start") {
			return l.fault("a duration, from start or from last")
		}
		e.stale, err = instantSpan(words[0])
	case "silent":
		if len(words) != 3 || words[1] != "becomes" || f.p.c.byID[words[2]] == 0 {
			return l.fault("a duration, becomes and a factor")
		}
		e.Becomes = f.p.c.byID[words[2]]
		e.Silent, err = instantSpan(words[0])
	case "boarder":
		e.Boarder, err = instantSpan(l.text)
	case "inside", "mark":
		switch l.key + " " + l.text {
		case "inside baby-nurse":
			e.inside = true
		case "mark fatigue":
			e.fatigue = true
		case "mark birth":
			e.birth = true
		default:
			return l.fault("inside baby-nurse, mark birth or mark fatigue")
		}
	case "twin":
		if e.Twin = f.p.c.byID[l.text]; e.Twin == 0 {
			return l.fault("no factor %q", l.text)
		}
	}
	if err != nil {
		return l.fault("%v", err)
	}
	return nil
}

type ownership uint8

const (
	either ownership = iota
	primaryOnly
	modifierOnly
)

var numbers = map[string]ownership{
	"demand": primaryOnly, "track": primaryOnly, "with-mother": primaryOnly, "boarder": primaryOnly,
	"class": either, "stale": either, "inside": either,
	"track-floor": modifierOnly, "per-baby": modifierOnly, "add": modifierOnly, "window": modifierOnly,
	"ends": modifierOnly, "silent": modifierOnly, "mark": either, "twin": modifierOnly,
}

func needSteps(text string) ([]step, error) {
	values, ends, err := curve(text)
	if err != nil {
		return nil, err
	}
	steps := make([]step, len(values))
	for i, v := range values {
		need, err := nurses(v)
		if err != nil {
			return nil, err
		}
		steps[i] = step{until: ends[i], value: int(need)}
	}
	return steps, nil
}

func classSteps(text string) ([]step, error) {
	values, ends, err := curve(text)
	if err != nil {
		return nil, err
	}
	steps := make([]step, len(values))
	for i, v := range values {
		class, err := strconv.ParseUint(v, 10, 8)
		if err != nil || class > 4 {
			return nil, strconv.ErrRange
		}
		steps[i] = step{until: ends[i], value: int(class)}
	}
	return steps, nil
}

// floor reads a floor; a second one in the same variant adds to the first.
func (f *form) floor(l line) error {
	if f.spec.Primary {
		return l.fault("is of the other kind of factor")
	}
	e := f.requirement()
	text, where, placed := strings.Cut(l.text, " in ")
	in, err := sectionSet(where, placed)
	if err != nil {
		return l.fault("%v", err)
	}
	steps, err := needSteps(text)
	if err != nil {
		return l.fault("%v", err)
	}
	if !f.seen["floor"] {
		f.seen["floor"] = true
		f.needs, e.needIn, e.floors = steps, in, nil
		return nil
	}
	if len(steps) > 1 {
		return l.fault("a further floor has no steps")
	}
	e.floors = append(e.floors, floorRule{need: Demand(steps[0].value), in: in}) //nolint:gosec // read by nurses, at most 8 nurses
	return nil
}
