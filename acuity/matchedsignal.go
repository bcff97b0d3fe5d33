package acuity

import (
	"hash/maphash"
	"slices"
	"strings"

	"svc/acuity/codes"
)

// matchedSignal is a text with the factors that the rules match it to. Equal statements
// share one.
type matchedSignal struct {
	maps *mappings // the mappings that read it
	signalText
	identity  *identity // of the coding that counts; a unit shares one for each
	state     matchState
	concept   Factor // see reader.read
	weight    uint8  // see gradeStatement
	matches   []match
	takenBack []match // of a retraction: the matches of the statement that it takes back; nil: it does not say which

	// identityHash and subjectHash tell most others apart at once: subject is what
	// sameSubject compares.
	identityHash, subjectHash uint64
}

// seed is the seed of the hashes, which never leave the process.
var seed = maphash.MakeSeed()

// subject is what sameSubject compares.
type subject struct {
	medication    bool
	system        codes.System
	code, display string
}

// signalText is a statement without patient, room and time.
type signalText struct {
	Feed    Channel
	Kind    SignalKind
	Status  SignalStatus
	System  codes.System
	Code    string
	Display string
	Value   codes.Value
	also    codings
}

func signalTextOf(s *Signal, feed Channel) signalText {
	return signalText{feed, s.Kind, s.Status, s.System, s.Code, s.Display, s.Value, codingsOf(s.Also)}
}

// signal returns the text as a signal.
func (w *signalText) signal() Signal {
	return Signal{
		Kind: w.Kind, Status: w.Status, System: w.System, Code: w.Code, Display: w.Display, Value: w.Value,
		Also: w.also.list(),
	}
}

// matchText reads one text by the rules.
func matchText(c *Catalogue, w signalText, maps *mappings) *matchedSignal {
	r, s := reader{c: c, maps: maps}, w.signal()
	out := &matchedSignal{maps: maps, signalText: w, identity: newIdentity(&s)}
	out.state, out.concept = r.read(&s)
	out.matches = r.matches
	for _, other := range append(s.Also, maps.named(&s)...) {
		if out.state == matched {
			break
		}
		s.System, s.Code, s.Display = other.System, other.Code, other.Display
		r.matches = nil
		if state, concept := r.read(&s); state > out.state {
			out.state, out.concept, out.matches, out.identity = state, concept, r.matches, newIdentity(&s)
		}
	}
	out.takeBack(c)
	out.weight = gradeStatement(c, &s, out.matches)
	out.identityHash = maphash.Comparable(seed, *out.identity)
	out.subjectHash = maphash.Comparable(seed, subject{w.Kind == KindMedication, w.System, w.Code, w.Display})
	return out
}

// takeBack finds what a retraction takes back, by its value: other statements of the
// code stay. A drug that was entered in error does not run, whatever its rate.
func (r *matchedSignal) takeBack(c *Catalogue) {
	if r.Status != SignalRetracted || r.Value.Kind == codes.ValueNone || r.state != matched || r.Kind == KindMedication {
		return
	}
	w := r.signalText
	w.Status = SignalActive
	said := matchText(c, w, r.maps)
	if said.state != matched {
		return
	}
	r.takenBack, r.matches = said.matches, nil
	for _, m := range said.matches {
		if m.on {
			m.on = false
			r.matches = append(r.matches, m)
		}
	}
}

// takesBack reports whether a retraction takes back another statement.
func (r *matchedSignal) takesBack(o *matchedSignal) bool {
	if len(r.takenBack) == 0 {
		return true
	}
	return slices.EqualFunc(r.takenBack, o.matches, func(a, b match) bool { return a.factor == b.factor && a.on == b.on })
}

// is reports whether two matched signals have one identity.
func (r *matchedSignal) is(o *matchedSignal) bool {
	return r.identity == o.identity || r.identityHash == o.identityHash && *r.identity == *o.identity
}

// counts reports whether the statement counts: an unreadable one changes nothing.
func (r *matchedSignal) counts() bool { return r.Status != SignalActive || r.state == matched }

// known is the state of the matched signal in the worklist of unmapped codes. The end of
// a medication counts as matched without its name, because its start had the name.
func (r *matchedSignal) known() matchState {
	if r.state == unmapped && r.Status != SignalActive && r.Kind == KindMedication && r.Display == "" {
		return matched
	}
	return r.state
}

// matcher reads codes and texts with the catalogue and the mappings of the hospital.
type matcher struct {
	shared *shared

	cat    *Catalogue // with the rules of the hospital
	maps   *mappings
	reader reader
	// signals is a cache by the hash of the text: feeds repeat few texts again and again.
	signals    map[uint64]*matchedSignal
	identities map[identity]*identity // one copy of each identity that was read
}

// capMatched bounds the cache; beyond it, the cache starts anew.
const capMatched = 512

// rereadAll reads statements with the mappings of the unit, if others read them. Mappings
// decide which of several codings counts, and so the identity.
func (m *matcher) rereadAll(l *statementsByCode) *statementsByCode {
	if l.maps == m.maps {
		return l
	}
	list := l.byArrival(func(*statement) bool { return true })
	*l = statementsByCode{maps: m.maps}
	for i := range list {
		list[i].matchedSignal = m.share(list[i].signalText)
		l.add(list[i])
	}
	return l
}

// share returns the matched signal of a text. Equal texts share one.
func (m *matcher) share(w signalText) *matchedSignal {
	at := maphash.Comparable(seed, w)
	if r := m.signals[at]; r != nil && r.signalText == w && r.maps == m.maps {
		return r
	}
	if len(m.identities) >= capMatched || len(m.signals) >= capMatched || m.signals == nil {
		m.signals, m.identities = map[uint64]*matchedSignal{}, map[identity]*identity{}
	}
	w.System, w.Code, w.Display = codes.System(m.shared.text(string(w.System))), m.shared.text(w.Code), m.shared.text(w.Display)
	w.Feed = Channel(m.shared.text(string(w.Feed)))
	w.Value.Unit, w.Value.Words = m.shared.text(w.Value.Unit), m.shared.text(w.Value.Words)
	w.also = codings(strings.Clone(string(w.also)))
	r := matchText(m.cat, w, m.maps)
	if known := m.identities[*r.identity]; known != nil {
		r.identity = known
	} else {
		m.identities[*r.identity] = r.identity
	}
	m.signals[at] = r
	return r
}

// matchedDiagnosis is what a diagnosis says by its code.
type matchedDiagnosis struct {
	system  codes.System // for comparison
	code    string
	matches []match
	known   bool
}

// diagnosisText is a code as it was sent.
type diagnosisText struct {
	system codes.System
	code   string
}

// diagnosis returns what a diagnosis says.
func (r *reader) diagnosis(d *Diagnosis) *matchedDiagnosis {
	w := diagnosisText{d.System, d.Code}
	if known := r.diagnoses[w]; known != nil {
		return known
	}
	if r.diagnoses == nil || len(r.diagnoses) >= capMatched {
		r.diagnoses = map[diagnosisText]*matchedDiagnosis{}
	}
	out := &matchedDiagnosis{}
	out.system, out.code = d.identity()
	out.matches, out.known = appendDiagnosisMatches(r.c, nil, d, r.maps)
	r.diagnoses[w] = out
	return out
}

// codings are further codings of a text as one text, so that texts can be compared:
// system, code and display of each, each ended by a NUL.
type codings string

func codingsOf(list []Coding) codings {
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
	return codings(b.String())
}

// has reports whether one of the codes is among these names.
func (c codings) has(names map[string]bool) bool {
	for part := range strings.SplitSeq(string(c), "\x00") {
		if names[part] {
			return true
		}
	}
	return false
}

func (c codings) list() []Coding {
	var list []Coding
	for rest := string(c); rest != ""; {
		var parts [3]string
		for i := range parts {
			parts[i], rest, _ = strings.Cut(rest, "\x00")
		}
		list = append(list, Coding{codes.System(parts[0]), parts[1], parts[2]})
	}
	return list
}
