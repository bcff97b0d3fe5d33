package catalogue

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc/acuity/codes"
)

// form parses the lines of one factor's block, one variant at a time. Each variant starts as a copy of the plain
// variant.
type form struct {
	byID    map[string]Factor
	spec    *Spec
	variant uint8
	seen    map[string]bool // keys read for this variant; other lines are inherited from the plain variant

	needs   []step[Demand]
	beside  []step[Demand] // demand for a patient with a postpartum primary factor (key with-mother)
	classes []step[uint8]
	plain   *form
}

func (f *form) requirement() *Requirement { return &f.spec.Variants[f.variant].Requirement }

// next completes the current variant and begins a new one.
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
	f.variant = uint8(len(f.spec.Variants) - 1) //nolint:gosec // a factor has few variants
	f.seen = map[string]bool{}
	f.needs, f.beside, f.classes = f.plain.needs, f.plain.beside, f.plain.classes
	return nil
}

// close completes the current variant: it merges the curves of demand and severity into one schedule.
func (f *form) close(l line) error {
	if len(f.classes) == 0 {
		return l.fault("%q has no class", f.spec.ID)
	}
	e := f.requirement()
	if f.spec.Primary && len(f.needs) == 0 {
		return l.fault("%q has no demand", f.spec.ID)
	}
	if f.spec.Primary && e.track != (f.spec.Section == sectionNewborn) {
		return l.fault("%q: a factor for newborns needs track, one for mothers needs demand", f.spec.ID)
	}
	if len(e.floors) > 0 && len(f.needs) > 1 {
		return l.fault("%q: if there are several floors, none of them may have steps", f.spec.ID)
	}
	e.Need = merge(f.needs, f.classes)
	e.withMother = nil
	if f.beside != nil {
		e.withMother = merge(f.beside, f.classes)
	}
	for _, s := range e.Need {
		if s.Class == 4 && (s.Need < Nurse || e.needIn != 0) {
			return l.fault("%q: class 4 requires at least one nurse", f.spec.ID)
		}
	}
	return nil
}

// merge combines the curves of demand and severity, which both start at age 0, into one schedule. It joins adjacent
// equal steps, so that demand or severity changes at every step.
func merge(needs []step[Demand], classes []step[uint8]) Schedule {
	if len(needs) == 0 {
		needs = []step[Demand]{{}}
	}
	var s Schedule
	for i, j := 0, 0; ; {
		need, class := needs[i], classes[j]
		until := codes.Soonest(need.until, class.until)
		next := Step{Until: until.Sub(0), Need: need.value, Class: class.value}
		if n := len(s); n > 0 && s[n-1].Need == next.Need && s[n-1].Class == next.Class {
			s[n-1].Until = next.Until
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

// place restricts where a line may appear in a block.
type place uint8

const (
	anywhere  place = 0
	plainOnly place = 1 << iota // the line may appear only in the plain variant
	primaryOnly
	modifierOnly
	repeated // the line may appear several times
)

// word is the syntax of the lines with a given key.
type word struct {
	place place
	read  func(f *form, l line) error
}

// words defines the syntax of each line of a block, by the line's key.
var words = map[string]word{
	"label":      {plainOnly, func(f *form, l line) error { f.spec.Label = l.text; return nil }},
	"criteria":   {plainOnly, func(f *form, l line) error { f.spec.Criteria = l.text; return nil }},
	"ratio-type": {plainOnly, func(f *form, l line) error { f.spec.RatioPatientType = l.text; return nil }},
	"section":    {plainOnly, func(f *form, l line) (err error) { f.spec.Section, err = sectionByName(l.text); return err }},
	"note":       {repeated, func(f *form, l line) error { f.spec.Note = l.text; return nil }},
	"route":      {repeated, (*form).parseRoute},
	"when":       {repeated, (*form).parseRoute},
	"babies":     {repeated, (*form).parseRoute},

	"demand":      {primaryOnly, (*form).parseDemand},
	"track":       {primaryOnly, (*form).parseDemand},
	"with-mother": {primaryOnly, func(f *form, l line) (err error) { f.beside, err = parseSteps(l.text, parseNurses); return err }},
	"boarder":     {primaryOnly, func(f *form, l line) (err error) { f.requirement().Boarder, err = parseSpan(l.text); return err }},
	"class":       {anywhere, func(f *form, l line) (err error) { f.classes, err = parseSteps(l.text, parseClass); return err }},
	"stale":       {anywhere, (*form).parseStale},
	"inside":      {anywhere, (*form).parseMark},
	"mark":        {anywhere, (*form).parseMark},
	"floor":       {modifierOnly | repeated, (*form).parseFloor},
	"track-floor": {modifierOnly, func(f *form, l line) (err error) { f.requirement().trackFloor, err = parseNurses(l.text); return err }},
	"per-baby":    {modifierOnly, func(f *form, l line) (err error) { f.requirement().PerBaby, err = parseNurses(l.text); return err }},
	"add":         {modifierOnly, (*form).parseAdd},
	"window":      {modifierOnly, (*form).parseWindow},
	"ends":        {modifierOnly, (*form).parseEnds},
	"silent":      {modifierOnly, (*form).parseSilent},
	"twin":        {modifierOnly, (*form).parseTwin},
}

// read parses one line of the current variant.
func (f *form) read(l line) error {
	w, known := words[l.key]
	switch {
	case l.text == "":
		return l.fault("needs a value")
	case !known:
		return l.fault("unknown word")
	case w.place&primaryOnly != 0 && !f.spec.Primary || w.place&modifierOnly != 0 && f.spec.Primary:
		return l.fault("is not valid for this kind of factor")
	case w.place&plainOnly != 0 && f.variant != 0:
		return l.fault("is not valid in a variant")
	case w.place&repeated == 0 && f.seen[l.key]:
		return l.fault("is listed twice")
	}
	if err := w.read(f, l); err != nil {
		return l.fault("%v", err)
	}
	f.seen[l.key] = true
	return nil
}

// parseDemand parses the value of a demand line, such as "1/2 until 20m, 1/3". A track line has the same syntax and
// gives a newborn's demand.
func (f *form) parseDemand(l line) (err error) {
	f.requirement().track = l.key == "track"
	f.needs, err = parseSteps(l.text, parseNurses)
	return err
}

// parseStale parses lines such as "36h", "36h from start" or "36h from last".
func (f *form) parseStale(l line) (err error) {
	e := f.requirement()
	length, from, given := strings.Cut(l.text, " from ")
	if given && from != "start" && from != "last" {
		return errors.New("must be a duration, optionally followed by \"from start\" or \"from last\"")
	}
	e.staleFromLast = from == "last"
	e.stale, err = parseSpan(length)
	return err
}

// parseMark parses "inside baby-nurse", "mark birth" and "mark fatigue".
func (f *form) parseMark(l line) error {
	e := f.requirement()
	switch l.key + " " + l.text {
	case "inside baby-nurse":
		e.inside = true
	case "mark fatigue":
		e.fatigue = true
	case "mark birth":
		e.birth = true
	default:
		return errors.New("must be \"inside baby-nurse\", \"mark birth\" or \"mark fatigue\"")
	}
	return nil
}

// parseFloor parses a value such as "1/2 until 20m, 1/3 in Labor". A second floor in the same variant applies in
// addition to the first.
func (f *form) parseFloor(l line) error {
	e := f.requirement()
	text, where, placed := strings.Cut(l.text, " in ")
	in, err := parseSections(where, placed)
	if err != nil {
		return err
	}
	needs, err := parseSteps(text, parseNurses)
	switch {
	case err != nil:
		return err
	case !f.seen["floor"]:
		f.needs, e.needIn, e.floors = needs, in, nil
	case len(needs) > 1:
		return errors.New("a second floor must not have steps")
	default:
		e.floors = append(e.floors, floorRule{need: needs[0].value, in: in})
	}
	return nil
}

// parseAdd parses a value such as "0.05 in Triage, Labor until birth".
func (f *form) parseAdd(l line) (err error) {
	e := f.requirement()
	text, until, ends := strings.Cut(l.text, " until ")
	if ends && until != "birth" {
		return errors.New("must end with \"until birth\", or have no \"until\"")
	}
	value, where, placed := strings.Cut(text, " in ")
	e.addUntilBirth = ends
	if e.addIn, err = parseSections(where, placed); err != nil {
		return err
	}
	e.add, err = parseNurses(value)
	return err
}

// parseWindow parses a value such as "240m from last except diagnosis".
func (f *form) parseWindow(l line) (err error) {
	e := f.requirement()
	text, except := strings.CutSuffix(l.text, " except diagnosis")
	length, from, _ := strings.Cut(text, " from ")
	if from != "start" && from != "last" {
		return errors.New("must be a duration followed by \"from start\" or \"from last\", and optionally by \"except diagnosis\"")
	}
	e.fromLast, e.exceptDiagnosis = from == "last", except
	e.window, err = parseSpan(length)
	return err
}

// parseEnds parses "birth", "birth by diagnosis" and "birth of the fetus".
func (f *form) parseEnds(l line) error {
	e := f.requirement()
	e.endsBirth, e.birthDiagnosis, e.birthOfFetus = true, l.text == "birth by diagnosis", l.text == "birth of the fetus"
	if l.text != "birth" && !e.birthDiagnosis && !e.birthOfFetus {
		return errors.New("must be \"birth\", \"birth by diagnosis\" or \"birth of the fetus\"")
	}
	return nil
}

// parseSilent parses a value such as "60m becomes labor-fhr-cat-ii".
func (f *form) parseSilent(l line) (err error) {
	e := f.requirement()
	length, becomes, _ := strings.Cut(l.text, " becomes ")
	if e.Becomes = f.byID[becomes]; e.Becomes == 0 {
		return errors.New("must be a duration, the word \"becomes\" and a factor")
	}
	e.Silent, err = parseSpan(length)
	return err
}

// parseTwin parses the id of a factor's twin. The two factors together count only once.
func (f *form) parseTwin(l line) error {
	e := f.requirement()
	if e.Twin = f.byID[l.text]; e.Twin == 0 {
		return fmt.Errorf("unknown factor %q", l.text)
	}
	return nil
}

// parseSections parses a list of mothers' sections such as "Labor, Cesarean". If given is false, it returns 0, which
// means all sections.
func parseSections(text string, given bool) (set Sections, err error) {
	if !given {
		return 0, nil
	}
	for name := range strings.SplitSeq(text, ", ") {
		s, err := sectionByName(name)
		if err != nil || s >= sectionNewborn {
			return 0, fmt.Errorf("%q is not a section for mothers", name)
		}
		set |= setOf(s)
	}
	return set, nil
}

var (
	routeKinds = map[string]SignalKind{
		"medication": KindMedication, "observation": KindObservation, "lab": KindLab, "device": KindDevice,
	}
	routeSystems = []codes.System{codes.ICD10CM, codes.SNOMED, codes.LOINC, codes.RxNorm, codes.SystemLocal}
	conditions   = map[string]ConditionKind{
		"category-ii": NeedsCategoryII, "category-iii": NeedsCategoryIII, "positive": NeedsPositive,
		"oxygen": NeedsOxygen, "unless-no": NeedsNotNo,
	}
)

// parseRoute parses a route such as "observation LOINC 39156-5 needs value >= 40 kg/m2".
func (f *form) parseRoute(l line) (err error) {
	r := Route{Variant: f.variant, Refines: l.key != "route"}
	text, note, _ := strings.Cut(l.text, " note ")
	r.Note = note
	text, needs, conditional := strings.Cut(text, " needs ")
	if conditional {
		if r.Needs, err = parseCondition(needs); err != nil {
			return err
		}
	}
	if l.key == "babies" {
		number, rest, _ := strings.Cut(text, " ")
		n, fault := strconv.ParseUint(number, 10, 8)
		if fault != nil || n < 2 {
			return errors.New("must begin with the number of babies, at least 2")
		}
		r.Count, text = uint8(n), rest
	}
	kind, rest, _ := strings.Cut(text, " ")
	system, list, _ := strings.Cut(rest, " ")
	r.Kind, r.Diagnosis, r.System = routeKinds[kind], kind == "diagnosis", codes.System(system)
	if r.Kind == 0 && !r.Diagnosis || !slices.Contains(routeSystems, r.System) || list == "" {
		return errors.New("must have a kind, a system and codes")
	}
	if display, ok := strings.CutPrefix(list, "display "); ok {
		r.Words = strings.Split(display, ", ")
	} else {
		r.Codes = strings.Split(list, ", ")
	}
	if (l.key == "when") != (r.Refines && f.variant > 0) {
		return errors.New("\"when\" is valid only in a variant, \"babies\" only outside a variant")
	}
	for _, c := range append(r.Codes, r.Words...) {
		if c == "" || strings.Contains(c, " ") {
			return fmt.Errorf("%q is not a code", c)
		}
	}
	f.spec.Routes = append(f.spec.Routes, r)
	return nil
}

// parseCondition parses the text after "needs": the name of a condition, or a comparison such as "value >= 40 kg/m2".
func parseCondition(text string) (Condition, error) {
	if kind, ok := conditions[text]; ok {
		return Condition{Kind: kind}, nil
	}
	parts := strings.Fields(text)
	if len(parts) < 3 || len(parts) > 4 || parts[0] != "value" || parts[1] != ">=" {
		return Condition{}, fmt.Errorf("unknown condition %q", text)
	}
	n, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return Condition{}, fmt.Errorf("%q is not a number", parts[2])
	}
	c := Condition{Kind: NeedsNumber, Op: codes.GreaterOrEqual, Than: codes.Milli(n) * 1000}
	if len(parts) == 4 {
		c.Unit = parts[3]
	}
	return c, nil
}
