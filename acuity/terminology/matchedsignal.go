package terminology

import (
	"hash/maphash"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// MatchedSignal is a text with the factors that the rules match it to. Equal statements
// share one.
type MatchedSignal struct {
	Mappings *Mappings // the mappings that read it
	SignalText
	Identity  *Identity // of the coding that counts; a unit shares one for each
	State     MatchState
	Concept   catalogue.Factor // see reader.read
	Grade     uint8            // see gradeStatement
	Matches   []Match
	TakenBack []Match // of a retraction: the matches of the statement that it takes back; nil: it does not say which

	// IdentityHash and SubjectHash tell most others apart at once. The first leaves out the
	// fetus. The second is of what sameSubject compares.
	IdentityHash, SubjectHash uint64
}

// textSeed is the seed of the hashes, which never leave the process.
var textSeed = maphash.MakeSeed()

// subject is what sameSubject compares.
type subject struct {
	medication           bool
	system               codes.System
	code, display, fetus string
}

// SignalText is a statement without patient, room and time.
type SignalText struct {
	Feed    acuity.Channel
	Kind    catalogue.SignalKind
	Status  acuity.SignalStatus
	System  codes.System
	Code    string
	Display string
	Value   codes.Value
	Also    Codings
	Fetus   string // see acuity.Signal
}

// TextOf returns the text of a signal that a feed sent.
func TextOf(s *acuity.Signal, feed acuity.Channel) SignalText {
	return SignalText{feed, s.Kind, s.Status, s.System, s.Code, s.Display, s.Value, codingsOf(s.Also), s.Fetus}
}

// Signal returns the text as a signal.
func (w *SignalText) Signal() acuity.Signal {
	return acuity.Signal{
		Kind: w.Kind, Status: w.Status, System: w.System, Code: w.Code, Display: w.Display, Value: w.Value,
		Also: w.Also.List(), Fetus: w.Fetus,
	}
}

// MatchText reads one text by the rules.
func MatchText(c *catalogue.Catalogue, w SignalText, maps *Mappings) *MatchedSignal {
	r, s := Reader{Catalogue: c, Mappings: maps}, w.Signal()
	out := &MatchedSignal{Mappings: maps, SignalText: w, Identity: newIdentity(&s)}
	out.State, out.Concept = r.read(&s)
	out.Matches = r.matches
	for _, other := range append(s.Also, maps.named(&s)...) {
		if out.State == Matched {
			break
		}
		s.System, s.Code, s.Display = other.System, other.Code, other.Display
		r.matches = nil
		if state, concept := r.read(&s); state > out.State {
			out.State, out.Concept, out.Matches, out.Identity = state, concept, r.matches, newIdentity(&s)
		}
	}
	out.takeBack(c)
	out.Grade = gradeStatement(c, &s, out.Matches)
	out.IdentityHash = maphash.Comparable(textSeed, *out.Identity)
	out.Identity.Fetus = fetusOf(&w, out.Matches)
	out.SubjectHash = maphash.Comparable(textSeed, subject{w.Kind == catalogue.KindMedication, w.System, w.Code, w.Display, w.Fetus})
	return out
}

// takeBack finds what a retraction takes back, by its value: other statements of the
// code stay. A drug that was entered in error does not run, whatever its rate.
func (r *MatchedSignal) takeBack(c *catalogue.Catalogue) {
	if r.Status != acuity.SignalRetracted || r.Value.Kind == codes.ValueNone || r.State != Matched || r.Kind == catalogue.KindMedication {
		return
	}
	w := r.SignalText
	w.Status = acuity.SignalActive
	said := MatchText(c, w, r.Mappings)
	if said.State != Matched {
		return
	}
	r.TakenBack, r.Matches = said.Matches, nil
	for _, m := range said.Matches {
		if m.On {
			m.On = false
			r.Matches = append(r.Matches, m)
		}
	}
}

// TakesBack reports whether a retraction takes back another statement.
func (r *MatchedSignal) TakesBack(o *MatchedSignal) bool {
	if len(r.TakenBack) == 0 {
		return true
	}
	return slices.EqualFunc(r.TakenBack, o.Matches, func(a, b Match) bool { return a.Factor == b.Factor && a.On == b.On })
}

// Is reports whether two matched signals have one identity.
func (r *MatchedSignal) Is(o *MatchedSignal) bool {
	return r.Identity == o.Identity || r.IdentityHash == o.IdentityHash && *r.Identity == *o.Identity
}

// HasCodeOf reports whether two matched signals have one identity but for the fetus.
func (r *MatchedSignal) HasCodeOf(o *MatchedSignal) bool {
	if r.Identity == o.Identity {
		return true
	}
	a, b := r.Identity, o.Identity
	return r.IdentityHash == o.IdentityHash && a.Medication == b.Medication && a.System == b.System && a.Code == b.Code
}

// fetusOf returns the fetus that a statement is about. A drug is the mother's. That there are
// several fetuses concerns all of them.
func fetusOf(w *SignalText, matches []Match) string {
	if w.Kind == catalogue.KindMedication || w.Kind == catalogue.KindCondition {
		return ""
	}
	for _, m := range matches {
		if m.Factor == CatalogueIndex().Multiples {
			return ""
		}
	}
	return w.Fetus
}

// Counts reports whether the statement counts: an unreadable one changes nothing.
func (r *MatchedSignal) Counts() bool { return r.Status != acuity.SignalActive || r.State == Matched }

// Known is the state of the matched signal in the worklist of unmapped codes. The end of
// a medication counts as matched without its name, because its start had the name.
func (r *MatchedSignal) Known() MatchState {
	if r.State == Unmapped && r.Status != acuity.SignalActive && r.Kind == catalogue.KindMedication && r.Display == "" {
		return Matched
	}
	return r.State
}

// Identity says which statements replace each other: of one identity the newest counts.
// FHR category, MEWS and BMI are one each over all their codes, see codeFold. Otherwise
// the code decides, whether it is a medication, and the fetus. Display and start are no part of it
// (docs/decisions.md#signal-identity).
type Identity struct {
	Medication bool
	System     codes.System
	Code       string
	Fetus      string // what is said of one fetus says nothing of another; "": none is named
}

// newIdentity returns the identity of a signal by its code alone.
func newIdentity(s *acuity.Signal) *Identity {
	return &Identity{
		Medication: s.Kind == catalogue.KindMedication,
		System:     s.System,
		Code:       codes.Normal(s.System, s.Code),
	}
}

// gradeStatement returns how grave a statement is. If two statements of one request have
// the same time, the graver wins (docs/decisions.md#same-time-signals).
func gradeStatement(c *catalogue.Catalogue, s *acuity.Signal, matches []Match) uint8 {
	switch s.Status {
	case acuity.SignalRetracted:
		return 0
	case acuity.SignalEnded:
		return 1
	case acuity.SignalOnHold:
		return 2
	case acuity.SignalActive:
	}
	weight := uint8(3)
	for _, m := range matches {
		if m.On {
			_, class, _ := c.Requirement(m.Factor, m.Variant).Need.At(0, 0)
			weight = max(weight, 4+class)
		}
	}
	return weight
}

// matchedDiagnosis is what a diagnosis says by its code.
type matchedDiagnosis struct {
	System  codes.System // for comparison
	Code    string
	Matches []Match
	Known   bool
	Fetus   string // "": it names none
}

// diagnosisText is a code as it was sent.
type diagnosisText struct {
	system        codes.System
	code, display string
}

// maxDiagnoses bounds the cache of diagnoses; beyond it, the cache starts anew.
const maxDiagnoses = 512

// Diagnosis returns what a diagnosis says.
func (r *Reader) Diagnosis(d *acuity.Diagnosis) *matchedDiagnosis {
	w := diagnosisText{d.System, d.Code, d.Display}
	if known := r.diagnoses[w]; known != nil {
		return known
	}
	if r.diagnoses == nil || len(r.diagnoses) >= maxDiagnoses {
		r.diagnoses = map[diagnosisText]*matchedDiagnosis{}
	}
	out := &matchedDiagnosis{}
	out.System, out.Code = codes.Comparable(d.System, d.Code)
	out.Matches, out.Known = matchDiagnosis(d, r.Mappings)
	out.Fetus = FetusOf(d)
	r.diagnoses[w] = out
	return out
}

// Codings are further codings of a text as one text, so that texts can be compared:
// system, code and display of each, each ended by a NUL.
type Codings string

func codingsOf(list []acuity.Coding) Codings {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	for _, c := range list {
		for _, part := range [...]string{string(c.System), c.Code, c.Display} {
			b.WriteString(strings.ReplaceAll(part, "\x00", ""))
			b.WriteByte(0)
		}
	}
	return Codings(b.String())
}

// Has reports whether one of the codes is among these names.
func (c Codings) Has(names map[string]bool) bool {
	for part := range strings.SplitSeq(string(c), "\x00") {
		if names[part] {
			return true
		}
	}
	return false
}

// List returns the codings, in the order of the sender.
func (c Codings) List() []acuity.Coding {
	var list []acuity.Coding
	for rest := string(c); rest != ""; {
		var parts [3]string
		for i := range parts {
			parts[i], rest, _ = strings.Cut(rest, "\x00")
		}
		list = append(list, acuity.Coding{System: codes.System(parts[0]), Code: parts[1], Display: parts[2]})
	}
	return list
}
