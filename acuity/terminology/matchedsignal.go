package terminology

import (
	"hash/maphash"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// MatchedSignal is the text of a signal together with the factors that it matches. Equal signals share one
// MatchedSignal.
type MatchedSignal struct {
	Mappings *Mappings // the mappings that were applied
	SignalText
	Identity  *Identity // identity of the coding that counts; a unit's signals with equal identities share one Identity
	State     MatchState
	Concept   catalogue.Factor // see Reader.read
	Grade     uint8            // see gradeStatement
	Matches   []Match
	TakenBack []Match // for a retraction with a value, the matches of that value; nil: the retraction covers all values

	// IdentityHash and SubjectHash allow most comparisons without comparing the texts. IdentityHash omits the fetus.
	// SubjectHash covers the fields that sameSubject compares.
	IdentityHash, SubjectHash uint64
}

// textSeed seeds the hashes, which are used only within the process.
var textSeed = maphash.MakeSeed()

// subject holds the fields that sameSubject compares.
type subject struct {
	medication           bool
	system               codes.System
	code, display, fetus string
}

// SignalText is a clinical statement without patient, room and time.
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

// TextOf returns the text of a signal that came from a feed.
func TextOf(s *acuity.Signal, feed acuity.Channel) SignalText {
	return SignalText{feed, s.Kind, s.Status, s.System, s.Code, s.Display, s.Value, codingsOf(s.Also), s.Fetus}
}

// Signal returns a signal with this text, without patient, room and time.
func (w *SignalText) Signal() acuity.Signal {
	return acuity.Signal{
		Kind: w.Kind, Status: w.Status, System: w.System, Code: w.Code, Display: w.Display, Value: w.Value,
		Also: w.Also.List(), Fetus: w.Fetus,
	}
}

// MatchText matches a text to factors, using the catalogue c and the hospital's mappings.
func MatchText(c *catalogue.Catalogue, w SignalText, maps *Mappings) *MatchedSignal {
	r, s := Reader{Catalogue: c, Mappings: maps}, w.Signal()
	out := &MatchedSignal{Mappings: maps, SignalText: w, Identity: newIdentity(&s)}
	out.State, out.Concept = r.read(&s)
	out.Matches = r.matches
	for _, other := range append(s.Also, maps.medicationsOf(&s)...) {
		if out.State == Matched {
			break
		}
		s.System, s.Code, s.Display = other.System, other.Code, other.Display
		r.matches = nil
		if state, concept := r.read(&s); state > out.State {
			out.State, out.Concept, out.Matches, out.Identity = state, concept, r.matches, newIdentity(&s)
		}
	}
	out.findRetracted(c)
	out.Grade = gradeStatement(c, &s, out.Matches)
	out.IdentityHash = maphash.Comparable(textSeed, *out.Identity)
	out.Identity.Fetus = fetusOf(&w, out.Matches)
	out.SubjectHash = maphash.Comparable(textSeed, subject{w.Kind == catalogue.KindMedication, w.System, w.Code, w.Display, w.Fetus})
	return out
}

// findRetracted sets TakenBack. A retraction with a value retracts only statements with that value, so TakenBack
// contains the matches of that value; other statements with the same code remain. A retraction of a medication
// applies to the medication whatever its rate, so its value is ignored.
func (r *MatchedSignal) findRetracted(c *catalogue.Catalogue) {
	if r.Status != acuity.SignalRetracted || r.Value.Kind == codes.ValueNone || r.State != Matched || r.Kind == catalogue.KindMedication {
		return
	}
	w := r.SignalText
	w.Status = acuity.SignalActive
	matched := MatchText(c, w, r.Mappings)
	if matched.State != Matched {
		return
	}
	r.TakenBack, r.Matches = matched.Matches, nil
	for _, m := range matched.Matches {
		if m.On {
			m.On = false
			r.Matches = append(r.Matches, m)
		}
	}
}

// Retracts reports whether the retraction r retracts the statement o.
func (r *MatchedSignal) Retracts(o *MatchedSignal) bool {
	if len(r.TakenBack) == 0 {
		return true
	}
	return slices.EqualFunc(r.TakenBack, o.Matches, func(a, b Match) bool { return a.Factor == b.Factor && a.On == b.On })
}

// Is reports whether two matched signals have the same identity.
func (r *MatchedSignal) Is(o *MatchedSignal) bool {
	return r.Identity == o.Identity || r.IdentityHash == o.IdentityHash && *r.Identity == *o.Identity
}

// HasCodeOf reports whether two matched signals have the same identity except for the fetus.
func (r *MatchedSignal) HasCodeOf(o *MatchedSignal) bool {
	if r.Identity == o.Identity {
		return true
	}
	a, b := r.Identity, o.Identity
	return r.IdentityHash == o.IdentityHash && a.Medication == b.Medication && a.System == b.System && a.Code == b.Code
}

// fetusOf returns the label of the fetus that a statement concerns. It returns "" for medications and conditions, and
// for a multiple gestation, which concerns all fetuses.
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

// Counts reports whether the statement can change evidence; an unreadable statement cannot.
func (r *MatchedSignal) Counts() bool { return r.Status != acuity.SignalActive || r.State == Matched }

// Known returns the match state used by the worklist of unmapped codes. A statement without a display name that ends,
// pauses or retracts a medication counts as matched, because the statement that started the medication had the name.
func (r *MatchedSignal) Known() MatchState {
	if r.State == Unmapped && r.Status != acuity.SignalActive && r.Kind == catalogue.KindMedication && r.Display == "" {
		return Matched
	}
	return r.State
}

// Identity determines which statements replace each other: the newest statement of an identity counts. For most
// codes, the identity consists of the code, the fetus and whether the code is a medication; it does not include the
// display name or the start (docs/decisions.md#signal-identity). All codes for FHR category count as one identity, as
// do all codes for MEWS and all codes for BMI; package evidence combines them by [MatchedSignal.Concept].
type Identity struct {
	Medication bool
	System     codes.System
	Code       string
	Fetus      string // a statement about one fetus does not affect other fetuses; "": no fetus is named
}

// newIdentity returns the identity of a signal by its code, without concept and fetus.
func newIdentity(s *acuity.Signal) *Identity {
	return &Identity{
		Medication: s.Kind == catalogue.KindMedication,
		System:     s.System,
		Code:       codes.Normal(s.System, s.Code),
	}
}

// gradeStatement returns the severity of a statement. If two statements in one request have the same time, the more
// severe one wins (docs/decisions.md#same-time-signals).
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

// matchedDiagnosis is a diagnosis code with the factors that it matches.
type matchedDiagnosis struct {
	System  codes.System // normalized
	Code    string
	Matches []Match
	Known   bool
	Fetus   string // label of the fetus; "": no fetus is named
}

// diagnosisText is a diagnosis code as it was sent.
type diagnosisText struct {
	system        codes.System
	code, display string
}

// maxDiagnoses is the maximum size of the diagnosis cache; when it is full, the cache is cleared.
const maxDiagnoses = 512

// Diagnosis returns the matches of a diagnosis. The result is shared and must not be modified.
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

// Codings encodes additional codings of a signal as one comparable string: for each coding its system, code and
// display, each terminated by NUL.
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

// Has reports whether the codings contain one of the given names as a code.
func (c Codings) Has(names map[string]bool) bool {
	for part := range strings.SplitSeq(string(c), "\x00") {
		if names[part] {
			return true
		}
	}
	return false
}

// List returns the codings in the order in which they were sent.
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
