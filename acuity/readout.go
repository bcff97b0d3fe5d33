package acuity

import "slices"

// readout is what a statement says by its words, whenever it is said. Its
// statements share it, and the texts of their words.
type readout struct {
	maps *mappings // by which it was read
	wording
	identity identity
	state    matchState
	concept  Factor // see reader.read
	weight   uint8  // see graver
	matches  []match
}

// wording is all of a statement but who, where and when.
type wording struct {
	Kind    SignalKind
	Status  SignalStatus
	System  System
	Code    string
	Display string
	Value   Value
}

func wordingOf(s *Signal) wording {
	return wording{s.Kind, s.Status, s.System, s.Code, s.Display, s.Value}
}

// signal returns the words as those of a signal.
func (w *wording) signal() Signal {
	return Signal{Kind: w.Kind, Status: w.Status, System: w.System, Code: w.Code, Display: w.Display, Value: w.Value}
}

// readout reads one wording.
func (c *Catalogue) readout(w wording, maps *mappings) *readout {
	r, s := reader{c: c, maps: maps}, w.signal()
	out := &readout{maps: maps, wording: w, identity: identityOf(&s)}
	out.state, out.concept = r.read(&s)
	out.matches = r.matches
	out.weight = c.graver(&s, r.matches)
	return out
}

// known is the state of the readout for whoever is told of codes that nothing
// knows: a drug was known by its name, and who ends it need not repeat that.
func (r *readout) known() matchState {
	if r.state == unmapped && r.Status != SignalActive && r.Kind == KindMedication && r.Display == "" {
		return matched
	}
	return r.state
}

// readouts are those of a unit. Feeds repeat few words again and again.
type readouts map[wording]*readout

// capReadouts bounds what is remembered; beyond it, it begins anew.
const capReadouts = 512

// take has statements read that were read by another map.
func (m *readouts) take(u *Unit, list []Heard) {
	for i := range list {
		if h := &list[i]; h.maps != u.maps {
			h.readout = m.of(u, h.wording)
		}
	}
}

// of reads a wording; all equal ones share what it says.
func (m *readouts) of(u *Unit, w wording) *readout {
	r := (*m)[w]
	if r == nil || r.maps != u.maps {
		if len(*m) >= capReadouts || *m == nil {
			*m = readouts{}
		}
		r = u.cat.readout(w, u.maps)
		(*m)[w] = r
	}
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

// use has everything read by another map from now on.
func (r *reader) use(maps *mappings) { r.maps, r.diagnoses = maps, nil }

// diagnosis returns what a diagnosis says.
func (r *reader) diagnosis(d *Diagnosis) *diagnosisReadout {
	w := diagnosisWording{d.System, d.Code}
	if known := r.diagnoses[w]; known != nil {
		return known
	}
	if r.diagnoses == nil || len(r.diagnoses) >= capReadouts {
		r.diagnoses = map[diagnosisWording]*diagnosisReadout{}
	}
	out := &diagnosisReadout{}
	out.system, out.code = d.identity()
	out.matches, out.known = r.c.appendDiagnosis(nil, d, r.maps)
	r.diagnoses[w] = out
	return out
}

// statements are those of one episode, put in order by identity and time. The
// memory is used again by the next.
type statements struct {
	groups []group
	heard  []statement // as they came
	places []int       // the group of each
	sorted []statement

	out []Evidence
}

// group is the statements of one identity: sorted[from:to].
type group struct {
	identity identity
	concept  Factor // that one of its statements stands for
	into     int    // the group that it became part of; itself
	from, to int
	said     []statement // the winners of it
}

func (l *statements) reset() {
	clear(l.groups)
	clear(l.heard)
	l.groups, l.heard, l.places = l.groups[:0], l.heard[:0], l.places[:0]
}

// group returns the place of the group of an identity.
func (l *statements) group(id identity) int {
	for i := range l.groups {
		if l.groups[i].identity == id {
			return i
		}
	}
	l.groups = append(l.groups, group{identity: id, into: len(l.groups)})
	return len(l.groups) - 1
}

func (l *statements) add(s statement, group int) {
	l.heard = append(l.heard, s)
	l.places = append(l.places, group)
}

// sort puts the statements in order. A code is one of many of a concept if any
// statement of it is, also where another came without the display that tells.
func (l *statements) sort() {
	for i := range len(l.groups) {
		if concept := l.groups[i].concept; concept != 0 {
			to := l.group(identity{concept: concept}) // may be a new one, at the end
			l.groups[i].into = to
		}
	}
	for i, s := range l.places {
		l.places[i] = l.groups[s].into
		l.groups[l.places[i]].to++
	}
	n := 0
	for i := range l.groups {
		g := &l.groups[i]
		size := g.to
		g.from, g.to = n, n // to grows as the group is filled
		n += size
	}
	clear(l.sorted[:min(n, len(l.sorted))])
	l.sorted = slices.Grow(l.sorted[:0], n)[:n]
	for i := range l.heard {
		g := &l.groups[l.places[i]]
		s := l.heard[i]
		s.drug = g.identity.medication
		l.sorted[g.to] = s
		g.to++
	}
	for i := range l.groups {
		slices.SortFunc(l.sorted[l.groups[i].from:l.groups[i].to], compareStatements)
	}
}
