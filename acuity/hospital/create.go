package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
)

// ReasonExists is the reason of a part of an observation that was to be created only if it
// does not exist: the hospital knows it, so nothing changed.
const ReasonExists = reasonExists

const reasonExists = "exists"

// takeCreates finds the parts of an observation whose resources are known. What is known is
// decided before anything of the observation counts, and in the order of the log, so two
// requests at once create one thing.
func (ns *names) takeCreates(in *intake) {
	for _, c := range in.o.Creates {
		if !slices.ContainsFunc(c.Names, ns.knows) {
			continue
		}
		in.existing = append(in.existing, c)
		for i := c.References.From; i < c.References.To; i++ {
			in.warn(ReasonExists, itemPath("references", int(i)))
		}
	}
}

// knows reports whether a visit, a resource or a reference has a name. Only what is kept
// counts, so a restored unit knows the same.
func (ns *names) knows(name string) bool {
	if ns.references[name] != nil {
		return true
	}
	if v := ns.visitCalled(name); v != nil && v.isCalled(name) {
		return true
	}
	if len(ns.joins.claimants(ns.joins.accounts, name)) > 0 {
		return true
	}
	if len(ns.versions[name].eventsOf(name)) > 0 {
		return true
	}
	list := ns.resources[name].resourceStatements()
	for i := range list {
		if list[i].WholeResource() == name {
			return true
		}
	}
	return false
}

// isCalled reports whether a visit that has facts has a name.
func (v *visit) isCalled(name string) bool {
	if v.isName() {
		return false
	}
	return v.ID == name || slices.ContainsFunc(v.events, func(e adt.Event) bool { return e.Encounter == name })
}

// eventExists reports whether an event creates what is known.
func (in *intake) eventExists(i int) bool {
	return slices.ContainsFunc(in.existing, func(c acuity.Create) bool { return c.Events.Has(i) })
}

// signalExists does the same for a signal.
func (in *intake) signalExists(i int) bool {
	return slices.ContainsFunc(in.existing, func(c acuity.Create) bool { return c.Signals.Has(i) })
}

// referenceExists does the same for a reference.
func (in *intake) referenceExists(i int) bool {
	return slices.ContainsFunc(in.existing, func(c acuity.Create) bool { return c.References.Has(i) })
}

// answerCreates says that nothing changed, if the whole observation is about what is known.
func (in *intake) answerCreates() {
	if len(in.existing) == 0 {
		return
	}
	n := 0
	for _, c := range in.existing {
		for _, s := range [...]acuity.Span{c.Events, c.Signals, c.References} {
			n += int(s.To - s.From)
		}
	}
	if n == len(in.o.Events)+len(in.o.Signals)+len(in.o.References) {
		in.Outcome, in.Reason = acuity.Ignored, ReasonExists
	}
}
