package acuity

import (
	"hash/maphash"
	"slices"
	"strings"
)

// matchedSignal is a text with the factors that the rules match it to. Equal
// statements share one.
type matchedSignal struct {
	maps *mappings // by which it was read
	signalText
	identity *identity // by the coding that counts; one for all of a unit's
	state    matchState
	concept  Factor // see reader.read
	weight   uint8  // see graver
	matches  []match
	takes    []match // of a retraction: what the statement says that it takes back; nil: it does not tell which

	// What tells most others apart at once: of the identity, and of what
	// sameSubject compares.
	identityHash, subjectHash uint64
}

// seed is that of the hashes, which never leave the process.
var seed = maphash.MakeSeed()

// subject is what sameSubject compares.
type subject struct {
	medication    bool
	system        System
	code, display string
}

// signalText is a statement without patient, room and time.
type signalText struct {
	Feed    Channel
	Kind    SignalKind
	Status  SignalStatus
	System  System
	Code    string
	Display string
	Value   Value
	also    codings
}

func signalTextOf(s *Signal, feed Channel) signalText {
	return signalText{feed, s.Kind, s.Status, s.System, s.Code, s.Display, s.Value, codingsOf(s.Also)}
}

// signal returns the words as those of a signal.
func (w *signalText) signal() Signal {
	return Signal{
		Kind: w.Kind, Status: w.Status, System: w.System, Code: w.Code, Display: w.Display, Value: w.Value,
		Also: w.also.list(),
	}
}

// matchText reads one text by the rules.
func (c *Catalogue) matchText(w signalText, maps *mappings) *matchedSignal {
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
	out.weight = c.graver(&s, out.matches)
	out.identityHash = maphash.Comparable(seed, *out.identity)
	out.subjectHash = maphash.Comparable(seed, subject{w.Kind == KindMedication, w.System, w.Code, w.Display})
	return out
}

// takeBack finds what the statement says that a retraction takes back, by its value: of
// what else was said of the code it says nothing. A drug that was entered in error does
// not run, whatever its rate.
func (r *matchedSignal) takeBack(c *Catalogue) {
	if r.Status != SignalRetracted || r.Value.Kind == ValueNone || r.state != matched || r.Kind == KindMedication {
		return
	}
	w := r.signalText
	w.Status = SignalActive
	said := c.matchText(w, r.maps)
	if said.state != matched {
		return
	}
	r.takes, r.matches = said.matches, nil
	for _, m := range said.matches {
		if m.on {
			m.on = false
			r.matches = append(r.matches, m)
		}
	}
}

// takesBack reports whether a retraction takes back what another statement says.
func (r *matchedSignal) takesBack(o *matchedSignal) bool {
	if len(r.takes) == 0 {
		return true
	}
	return slices.EqualFunc(r.takes, o.matches, func(a, b match) bool { return a.factor == b.factor && a.on == b.on })
}

// is reports whether two matched signals have one identity.
func (r *matchedSignal) is(o *matchedSignal) bool {
	return r.identity == o.identity || r.identityHash == o.identityHash && *r.identity == *o.identity
}

// counts reports whether the statement has a say: one that says nothing readable
// changes nothing.
func (r *matchedSignal) counts() bool { return r.Status != SignalActive || r.state == matched }

// known is the state of the matched signal in the worklist of unknown codes. The end of a
// medication counts as matched without its name, because its start had the name.
func (r *matchedSignal) known() matchState {
	if r.state == unmapped && r.Status != SignalActive && r.Kind == KindMedication && r.Display == "" {
		return matched
	}
	return r.state
}

// matchedSignals is a cache by the hash of the text: feeds repeat few words
// again and again.
type matchedSignals map[uint64]*matchedSignal

// capMatched bounds what is remembered; beyond it, it begins anew.
const capMatched = 512

// use has statements read by the map of the unit, if they were not. Which of
// several codings counts, and so their identity, may be another by it.
func (m *matchedSignals) use(u *Unit, l *threads) *threads {
	if l.maps == u.maps {
		return l
	}
	list := l.byArrival(func(*Heard) bool { return true })
	*l = threads{maps: u.maps}
	for i := range list {
		list[i].matchedSignal = m.of(u, list[i].signalText)
		l.add(list[i])
	}
	return l
}

// of returns the matched signal of a text. Equal texts share one.
func (m *matchedSignals) of(u *Unit, w signalText) *matchedSignal {
	at := maphash.Comparable(seed, w)
	if r := (*m)[at]; r != nil && r.signalText == w && r.maps == u.maps {
		return r
	}
	if len(u.identities) >= capMatched || len(*m) >= capMatched || *m == nil {
		*m, u.identities = matchedSignals{}, map[identity]*identity{}
	}
	w.System, w.Code, w.Display = System(u.shared.text(string(w.System))), u.shared.text(w.Code), u.shared.text(w.Display)
	w.Feed = Channel(u.shared.text(string(w.Feed)))
	w.Value.Unit, w.Value.Words = u.shared.text(w.Value.Unit), u.shared.text(w.Value.Words)
	w.also = codings(strings.Clone(string(w.also)))
	r := u.cat.matchText(w, u.maps)
	if known := u.identities[*r.identity]; known != nil {
		r.identity = known
	} else {
		u.identities[*r.identity] = r.identity
	}
	(*m)[at] = r
	return r
}

// diagnosisReadout is what a diagnosis says by its code, whenever it is made.
type diagnosisReadout struct {
	system  System // for comparison
	code    string
	matches []match
	known   bool
}

// diagnosisWording is a code as it was sent.
type diagnosisWording struct {
	system System
	code   string
}

// diagnosis returns what a diagnosis says.
func (r *reader) diagnosis(d *Diagnosis) *diagnosisReadout {
	w := diagnosisWording{d.System, d.Code}
	if known := r.diagnoses[w]; known != nil {
		return known
	}
	if r.diagnoses == nil || len(r.diagnoses) >= capMatched {
		r.diagnoses = map[diagnosisWording]*diagnosisReadout{}
	}
	out := &diagnosisReadout{}
	out.system, out.code = d.identity()
	out.matches, out.known = r.c.appendDiagnosis(nil, d, r.maps)
	r.diagnoses[w] = out
	return out
}

// codings are further codings of a text as one text, so that texts can be
// compared: system, code and display of each, each ended by a NUL.
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

// has reports whether a part of them, as a code, is one of these names.
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
		list = append(list, Coding{System(parts[0]), parts[1], parts[2]})
	}
	return list
}
