package fhir

import "strconv"

// origin is the position of the resource from which a fact was made.
type origin struct {
	kind             kind
	container, index int32
}

func originOf(r *resource) origin { return origin{r.kind, r.container, r.index} }

// path returns the position of the resource as FHIRPath.
func (o origin) path(containers []container) string {
	if o.index < 0 {
		return kindNames[o.kind]
	}
	c := containers[o.container]
	return c.before + "[" + strconv.Itoa(int(o.index)) + "]" + c.after
}

// PlaceOfSignal returns the path of the resource of a signal, as in an Issue; "" if there
// is no such signal.
func (f *Facts) PlaceOfSignal(i int) string {
	if i >= len(f.signalOrigins) {
		return ""
	}
	return f.signalOrigins[i].path(f.containers)
}

// RefuseEvent counts the resource of an event as rejected, because its facts exceed a
// limit of the hospital.
func (f *Facts) RefuseEvent(i int, code string) {
	if i < len(f.eventOrigins) {
		f.refuse(f.eventOrigins[i], code)
	}
}

// RefuseSignal does the same as RefuseEvent for the resource of a signal.
func (f *Facts) RefuseSignal(i int, code string) {
	if i < len(f.signalOrigins) {
		f.refuse(f.signalOrigins[i], code)
	}
}

func (f *Facts) refuse(o origin, code string) {
	if f.refused[o] {
		return
	}
	if f.refused == nil {
		f.refused = map[origin]bool{}
	}
	f.refused[o] = true
	f.addApplied(o.kind, -1)
	f.Rejected++
	if o.container == 0 && o.index >= 0 && int(o.index) < len(f.Entries) {
		f.Entries[o.index] = EntryRejected
	}
	if len(f.Issues) < maxIssues {
		f.Issues = append(f.Issues, Issue{severityError, code, o.path(f.containers)})
	}
}

// addApplied adds to the number of applied resources, in total and of their kind.
func (f *Facts) addApplied(k kind, n int) {
	f.Applied += n
	switch k { //nolint:exhaustive // the others are no facts
	case encounterKind:
		f.Encounters += n
	case conditionKind:
		f.Conditions += n
	case observationKind, administrationKind:
		f.Measurements += n
	}
}
