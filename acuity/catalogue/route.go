package catalogue

import (
	"fmt"
	"strconv"
	"strings"

	"svc/acuity/codes"
)

// sectionSet reads "Labor, Cesarean".
func sectionSet(text string, given bool) (Sections, error) {
	var set Sections
	if !given {
		return 0, nil
	}
	for name := range strings.SplitSeq(text, ", ") {
		s, ok := sectionByName(name)
		if !ok || s >= sectionNewborn {
			return 0, fmt.Errorf("no section %q of mothers", name)
		}
		set |= setOf(s)
	}
	return set, nil
}

// add reads "0.05 in Triage, Labor until birth".
func (f *form) add(l line) (err error) {
	e := f.requirement()
	text, until, ends := strings.Cut(l.text, " until ")
	if ends && until != "birth" {
		return l.fault("until birth, or no end")
	}
	value, where, placed := strings.Cut(text, " in ")
	e.addUntilBirth = ends
	if e.addIn, err = sectionSet(where, placed); err != nil {
		return l.fault("%v", err)
	}
	if e.add, err = nurses(value); err != nil {
		return l.fault("%v", err)
	}
	return nil
}

// window reads "240m from last except diagnosis".
func (f *form) window(l line, words []string) (err error) {
	e := f.requirement()
	if len(words) < 3 || words[1] != "from" || words[2] != "start" && words[2] != "last" {
		return l.fault("a duration, from start or from last")
	}
	if rest := strings.Join(words[3:], " "); rest != "" && rest != "except diagnosis" {
		return l.fault("except diagnosis, or nothing more")
	}
	e.fromLast, e.exceptDiagnosis = words[2] == "last", len(words) > 3
	if e.window, err = instantSpan(words[0]); err != nil {
		return l.fault("%v", err)
	}
	return nil
}

var (
	routeKinds = map[string]SignalKind{"medication": KindMedication, "observation": KindObservation, "lab": KindLab, "device": KindDevice}
	systems    = map[string]codes.System{string(codes.ICD10CM): codes.ICD10CM, string(codes.SNOMED): codes.SNOMED, string(codes.LOINC): codes.LOINC, string(codes.RxNorm): codes.RxNorm, string(codes.SystemLocal): codes.SystemLocal}
)

// route reads "observation LOINC 39156-5 needs value >= 40 kg/m2" and its like.
func (f *form) route(l line) error {
	r := Route{Variant: f.variant, Refines: l.key != "route"}
	text, note, _ := strings.Cut(l.text, " note ")
	r.Note = note
	text, needs, conditional := strings.Cut(text, " needs ")
	if conditional {
		var err error
		if r.Needs, err = condition(needs); err != nil {
			return l.fault("%v", err)
		}
	}
	if l.key == "babies" {
		number, rest, _ := strings.Cut(text, " ")
		n, err := strconv.ParseUint(number, 10, 8)
		if err != nil || n < 2 {
			return l.fault("needs a number of babies first")
		}
		r.Count, text = uint8(n), rest
	}
	kind, rest, _ := strings.Cut(text, " ")
	system, list, _ := strings.Cut(rest, " ")
	r.Kind, r.Diagnosis = routeKinds[kind], kind == "diagnosis"
	r.System = systems[system]
	if r.Kind == 0 && !r.Diagnosis || r.System == codes.SystemNone || list == "" {
		return l.fault("a kind, a system and codes")
	}
	if words, ok := strings.CutPrefix(list, "display "); ok {
		r.Words = strings.Split(words, ", ")
	} else {
		r.Codes = strings.Split(list, ", ")
	}
	if (l.key == "when") != (r.Refines && f.variant > 0) {
		return l.fault("when belongs to a variant, babies to the plain form")
	}
	for _, c := range append(r.Codes, r.Words...) {
		if c == "" || strings.Contains(c, " ") {
			return l.fault("%q is no code", c)
		}
	}
	f.spec.Routes = append(f.spec.Routes, r)
	return nil
}

func condition(text string) (Condition, error) {
	switch text {
	case "category-ii":
		return Condition{Kind: NeedsCategoryII}, nil
	case "category-iii":
		return Condition{Kind: NeedsCategoryIII}, nil
	case "positive":
		return Condition{Kind: NeedsPositive}, nil
	case "oxygen":
		return Condition{Kind: NeedsOxygen}, nil
	case "unless-no":
		return Condition{Kind: NeedsNotNo}, nil
	}
	words := strings.Fields(text)
	if len(words) < 3 || len(words) > 4 || words[0] != "value" || words[1] != ">=" {
		return Condition{}, fmt.Errorf("no condition %q", text)
	}
	n, err := strconv.ParseInt(words[2], 10, 32)
	if err != nil {
		return Condition{}, fmt.Errorf("no number %q", words[2])
	}
	c := Condition{Kind: NeedsNumber, Op: codes.GreaterOrEqual, Than: codes.Milli(n) * 1000}
	if len(words) == 4 {
		c.Unit = words[3]
	}
	return c, nil
}
