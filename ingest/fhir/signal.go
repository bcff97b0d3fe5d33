package fhir

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"svc/acuity"
	"svc/acuity/catalogue"
)

func (p *parser) conditionField(r *resource, key []byte) bool {
	switch string(key) {
	case "clinicalStatus":
		r.clinical = readState(p)
	case "verificationStatus":
		r.verified = readState(p)
	case "code":
		r.code = p.concept()
	case "subject":
		r.subject = p.reference()
	case "encounter", "context":
		r.encounter = p.reference()
	case "onsetDateTime":
		r.at = p.text()
	case "onsetAge", "onsetRange", "onsetString":
		r.untimed = "onset"
		p.skip()
	case "onsetPeriod":
		r.during = p.period()
	case "abatementDateTime":
		r.abatedAt = p.text()
		r.abated = r.abated || !r.abatedAt.empty()
	case "abatementPeriod":
		r.abatedIn = p.period()
		r.abated = true
	case "abatementAge", "abatementRange", "abatementString", "abatementBoolean":
		c := p.space()
		p.skip()
		r.abated = r.abated || c != 'f' // not false
	case "recordedDate":
		r.issued = p.text()
	default:
		return string(key) == "bodySite" && readSite(p, r, key)
	}
	return true
}

// readState reads a state of a Condition: a CodeableConcept, a list of them, a Coding, or a single code; some of
// these forms are from other versions of FHIR.
func readState(p *parser) (c concept) {
	c.first = int32(len(p.codings)) //nolint:gosec // at most maxStored
	addStates(p, &c)
	c.last = int32(len(p.codings)) //nolint:gosec // at most maxStored
	return c
}

// addStates adds the codings of a state to a concept.
func addStates(p *parser, c *concept) {
	switch p.space() {
	case '"':
		p.addCoding(coding{code: p.text()})
		return
	case '[':
		for l := p.list(); p.next(&l); {
			addStates(p, c)
		}
		return
	}
	var own coding
	for key := range p.fields() {
		switch string(key) {
		case "coding":
			addStates(p, c)
		case "text":
			c.text = p.text()
		case "code":
			own.code = p.text()
		case "display":
			own.display = p.text()
		default:
			p.skip()
		}
	}
	if own != (coding{}) && len(p.codings)-int(c.first) < maxCodings {
		p.addCoding(own)
	}
}

// States of a Condition, by the name that stateName returns. A Condition is rejected if its verification status is
// not in verificationStates. Unless that status retracts the Condition, its clinical status must be in
// clinicalStates.
var (
	clinicalStates = map[string]acuity.SignalStatus{
		"active": acuity.SignalActive, "recurrence": acuity.SignalActive, "relapse": acuity.SignalActive,
		"inactive": acuity.SignalEnded, "remission": acuity.SignalEnded, "resolved": acuity.SignalEnded,
	}
	verificationStates = map[string]acuity.SignalStatus{
		"": acuity.SignalActive, "confirmed": acuity.SignalActive,
		"provisional": acuity.SignalActive, "unconfirmed": acuity.SignalActive,
		// A differential diagnosis is not used. If svc applied the diagnosis while it was provisional, it is
		// retracted.
		"differential": acuity.SignalRetracted,
		"refuted":      acuity.SignalRetracted, "entered-in-error": acuity.SignalRetracted,
		"ruled-out": acuity.SignalRetracted, // not a FHIR code, but often sent instead of "refuted"
	}
)

// stateName returns the state that a concept names, ignoring case and spaces. It tries the codes first, then the
// displays of the codes, and then the text. name is "" for an empty concept. known is false if the concept names a
// state that the given map does not contain.
func stateName(m *mapper, c *concept, states map[string]acuity.SignalStatus) (name string, known bool) {
	texts := make([]span, 0, 2*maxCodings+1)
	for i := range m.codings[c.first:c.last] {
		texts = append(texts, m.codings[int(c.first)+i].code)
	}
	for i := range m.codings[c.first:c.last] {
		texts = append(texts, m.codings[int(c.first)+i].display)
	}
	empty := true
	for _, p := range append(texts, c.text) {
		words := strings.FieldsFunc(strings.ToLower(m.string(p, maxCode)), func(r rune) bool { return !unicode.IsLetter(r) })
		name := strings.Join(words, "-")
		if _, known = states[name]; known && name != "" {
			return name, true
		}
		empty = empty && p.empty()
	}
	return "", empty
}

// condition creates the signal for a Condition.
func (m *mapper) condition(r *resource) bool {
	verified, known := stateName(m, &r.verified, verificationStates)
	if r.deleted {
		verified, known = "entered-in-error", true
	}
	if !known {
		m.reject(r, "status_unknown", "verificationStatus")
		return false
	}
	status := verificationStates[verified]
	if status == acuity.SignalActive {
		clinical, known := stateName(m, &r.clinical, clinicalStates)
		switch {
		case !known:
			m.reject(r, "status_unknown", "clinicalStatus")
			return false
		case clinical != "":
			if status = clinicalStates[clinical]; status == acuity.SignalActive && r.abated {
				m.warn(r, "end_not_used", "abatement")
			}
		case r.abated: // docs/decisions.md#condition-without-status
			status = acuity.SignalEnded
		}
	}
	s, ok := m.signal(r, catalogue.KindCondition, status)
	if !ok || !m.addCodings(r, &s, m.codes(nil, r, &r.code, "code"), "code") {
		return false
	}
	var onset acuity.Moment
	if s.StartedAt, onset = m.moment(r, r.at, "onset"); s.StartedAt == 0 {
		s.StartedAt, onset = m.moment(r, r.during.start, "onset")
	}
	s.StartedFrom = onset.Start()
	s.ObservedAt = s.UpdatedAt
	switch {
	case status == acuity.SignalEnded:
		end, sent := m.moment(r, r.abatedAt, "abatement")
		if end == 0 {
			end, sent = m.moment(r, r.abatedIn.end, "abatement")
		}
		if end != 0 {
			s.ObservedAt, s.ObservedFrom = end, sent.Start()
		}
	case s.ObservedAt == 0:
		s.ObservedAt = m.time(r, r.issued, "recordedDate")
	}
	s.Fetus = fetusReader{m}.fetusOf(r)
	m.addSignal(r, s)
	return verified != "differential"
}

func (p *parser) observationField(r *resource, key []byte) bool {
	switch string(key) {
	case "status":
		r.status = p.text()
	case "category":
		for l := p.list(); p.next(&l); {
			code := p.codeAmong(laboratory)
			r.laboratory = r.laboratory || laboratory[string(p.bytes(code))]
		}
	case "code":
		r.code = p.concept()
	case "subject":
		r.subject = p.reference()
	case "encounter", "context":
		r.encounter = p.reference()
	case "effectiveDateTime", "effectiveInstant":
		r.at = p.text()
	case "effectiveTiming":
		r.untimed = "effective"
		p.skip()
	case "effectivePeriod":
		r.during = p.period()
	case "issued":
		r.issued = p.text()
	case "component":
		r.firstComponent, r.lastComponent = gather(p, &p.components, maxComponents, p.component)
	default:
		return r.value.read(p, key) || readSite(p, r, key)
	}
	return true
}

func (p *parser) component() (c component, ok bool) {
	ok = p.space() == '{'
	for key := range p.fields() {
		switch {
		case p.null():
		case string(key) == "code":
			c.code = p.concept()
		case !c.value.read(p, key):
			p.skip()
		}
	}
	return c, ok
}

var observationStates = map[string]acuity.SignalStatus{
	"preliminary": acuity.SignalActive, "final": acuity.SignalActive,
	"amended": acuity.SignalActive, "corrected": acuity.SignalActive,
	"cancelled": acuity.SignalRetracted, "entered-in-error": acuity.SignalRetracted,
}

// observation creates the signals for an Observation: one for each component that has a code and does not only name a
// fetus, and one for the Observation itself. An Observation that is not retracted and has components but no value only
// groups its components, so it gets no signal of its own.
func (m *mapper) observation(r *resource) bool {
	status, ok := stateIn(m, r, observationStates, "registered")
	if !ok {
		return false
	}
	k := catalogue.KindObservation
	if r.laboratory {
		k = catalogue.KindLab
	}
	s, ok := m.signal(r, k, status)
	if !ok {
		return false
	}
	s.ObservedAt, s.ObservedFrom = m.effective(r)
	fetus := fetusReader{m}
	s.Fetus = fetus.fetusOf(r)
	components := m.components[r.firstComponent:r.lastComponent]
	said := false
	fetus.labelWhole(&s, components)
	if len(components) == 0 || r.value.kind != noValue || status == acuity.SignalRetracted {
		own := s
		if !m.addCodings(r, &own, m.codes(nil, r, &r.code, "code"), "code") {
			return false
		}
		m.measure(r, &own, &r.value, "")
		said = true
	}
	for i := range components {
		c, part := &components[i], s
		if fetus.namesFetus(&c.code) {
			if label := fetus.labelOf(&c.value); label != "" {
				s.Fetus = label // label for the components that follow
				continue
			}
		}
		if label := cmp.Or(m.fetusOfConcept(&c.code), m.fetusOfValue(&c.value)); label != "" {
			part.Fetus = label
		}
		field := "component[" + strconv.Itoa(i) + "]"
		codings := m.codes(nil, r, &c.code, field+".code")
		if len(codings) == 0 {
			m.warn(r, "code_missing", field+".code")
			continue
		}
		part.Resource += "." + strconv.Itoa(i)
		m.addCodings(r, &part, codings, field)
		m.measure(r, &part, &c.value, field+".")
		said = true
	}
	if !said {
		m.reject(r, "code_missing", "component")
	}
	return said
}

// measure sets the value of a signal and adds the signal to the facts. A missing value with a reason means that
// nothing was measured; the signal then retracts an earlier value.
func (m *mapper) measure(r *resource, s *acuity.Signal, v *value, field string) {
	if s.Status == acuity.SignalActive {
		if v.kind == noValue && v.absent {
			s.Status = acuity.SignalRetracted
		}
		s.Value = m.valueOf(r, s, v, field)
	}
	m.addSignal(r, *s)
}

// stateOf returns the status of a resource. A deleted resource is treated as entered in error
// (docs/decisions.md#resource-versions).
func (m *mapper) stateOf(r *resource) []byte {
	if r.deleted {
		return []byte("entered-in-error")
	}
	if r.status.empty() {
		m.reject(r, "required", "status")
	}
	return m.bytes(r.status)
}

// stateIn returns the value to which the given map of states maps a resource's status. It returns false for "unknown"
// and for the given silent statuses, which have no effect. For any other status that the map does not contain, it
// also rejects the resource.
func stateIn[S any](m *mapper, r *resource, states map[string]S, silent ...string) (state S, ok bool) {
	status := string(m.stateOf(r))
	if r.rejected {
		return state, false
	}
	state, ok = states[status]
	switch {
	case ok:
	case status == "unknown" || slices.Contains(silent, status):
		m.issue(r, severityInformation, "status_not_used", "status")
	default:
		m.reject(r, "status_unknown", "status")
	}
	return state, ok
}

// signal returns a new signal for a resource, with its patient, identity and version. If neither a patient nor a
// visit is known, signal rejects the resource and returns false; only a retraction may lack both.
func (m *mapper) signal(r *resource, k catalogue.SignalKind, status acuity.SignalStatus) (acuity.Signal, bool) {
	s := acuity.Signal{Kind: k, Status: status, Resource: resourceOf(m, r)}
	s.Visit = m.visitOf(&r.encounter, r)
	s.Patient, s.Subject, _ = m.patientOf(&r.subject, r)
	s.UpdatedAt, s.VersionID = m.time(r, r.updated, "meta.lastUpdated"), m.versionOf(r)
	if s.Visit == "" && s.Patient == "" && status != acuity.SignalRetracted {
		code, field := m.missingSubject(r)
		m.reject(r, code, field)
		return s, false
	}
	return s, true
}

// missingSubject returns the issue for a resource without a usable subject. field is the path of a reference that
// cannot be used or, if there is none, "subject".
func (m *mapper) missingSubject(r *resource) (code, field string) {
	if field = m.unusableReference(r); field == "" {
		return "required", "subject"
	}
	return "reference_unusable", field
}

// addCodings adds codings to a signal. If there are none, it rejects the resource and returns false; only a
// retraction may lack codings.
func (m *mapper) addCodings(r *resource, s *acuity.Signal, codings []acuity.Coding, field string) bool {
	if len(codings) == 0 {
		if s.Status == acuity.SignalRetracted {
			return true
		}
		m.reject(r, "code_missing", field)
		return false
	}
	s.System, s.Code, s.Display = codings[0].System, codings[0].Code, codings[0].Display
	if len(codings) > 1 {
		s.Also = codings[1:]
	}
	return true
}

// addSignal adds a signal to the facts.
func (m *mapper) addSignal(r *resource, s acuity.Signal) {
	m.facts.Signals = append(m.facts.Signals, s)
	m.facts.signalOrigins = append(m.facts.signalOrigins, originOf(r))
}
