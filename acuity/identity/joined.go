package identity

import (
	"cmp"

	"svc/acuity"
	"svc/acuity/registry"
)

// IsCalled reports whether a name refers to the given visit.
func (ns *Names) IsCalled(v *registry.Visit, name string) bool {
	return name == v.ID || ns.VisitNamed(name) == v
}

// VisitNamed returns the visit with the given name, which may be the visit's identity, the name of an Encounter or an
// account number. It returns nil if there is none. If mother and newborn share an account, it returns the mother's
// visit.
func (ns *Names) VisitNamed(name string) *registry.Visit {
	if v := ns.VisitCalled(name); v != nil {
		return v.Whole()
	}
	var best *registry.Visit
	for _, v := range ns.Joins.claimants(ns.Joins.Accounts, name) {
		v = v.Whole()
		if best == nil || best.Timeline.Newborn && !v.Timeline.Newborn ||
			best.Timeline.Newborn == v.Timeline.Newborn && precedes(v, best) {
			best = v
		}
	}
	return best
}

// precedes reports whether visit a takes precedence over b. An open visit precedes a closed one; if both are open or
// both are closed, the one that opened later precedes the other.
func precedes(a, b *registry.Visit) bool {
	if a.Timeline.Open != b.Timeline.Open {
		return a.Timeline.Open
	}
	return cmp.Or(cmp.Compare(a.Timeline.OpenedAt, b.Timeline.OpenedAt), cmp.Compare(a.ID, b.ID)) > 0
}

// IDOf returns the identity under which the events of a message are stored. Mother and newborn may share an account,
// so if a message has an account but no visit number, the identity also includes the patient.
func IDOf(e *acuity.Event) string {
	if e.Account != "" && e.Account == e.Visit && e.Patient != "" {
		return e.Visit + " " + e.Patient
	}
	return e.Visit
}
