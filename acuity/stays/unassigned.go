package stays

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/evidence"
	"svc/acuity/identity"
	"svc/acuity/registry"
)

// HolderOfResource returns the holder that is to store a new version of a resource. All versions of a resource have
// the same holder. If the earlier versions have a holder other than the given one, HolderOfResource moves them to the
// given holder and returns it. If the new version names no visit or patient, or is older than the earlier versions,
// HolderOfResource returns their holder and moves nothing.
func (k *Statements) HolderOfResource(h *evidence.ResourceStatement, to identity.Holder) identity.Holder {
	whole := h.WholeResource()
	if from, known := k.Names.Resources[whole]; known && from != to {
		var others []*evidence.ResourceStatement
		list := from.ResourceStatements()
		for i := range list {
			if o := &list[i]; o.WholeResource() == whole {
				others = append(others, o)
			}
		}
		switch {
		case len(others) == 0:
		case to == (identity.Holder{}) || to.IsNameless() || !from.IsNameless() && h.IsOlder(others):
			if to.Unassigned != nil && len(to.Unassigned.Statements) == 0 {
				k.Names.Drop(to.Unassigned)
			}
			return from
		default:
			k.moveResource(from, to, whole)
		}
	}
	if to != (identity.Holder{}) {
		k.Names.Resources[strings.Clone(whole)] = to
	}
	return to
}

// moveResource moves the versions of a resource to another holder. A version that moves to a holder without a visit
// loses the patient that it names: only a visit's patient is compared with it, and its record does not contain it.
func (k *Statements) moveResource(from, to identity.Holder, whole string) {
	k.Work.RecountWaiting = k.Work.RecountWaiting || from.V == nil || from.V.IsName()
	var taken, left evidence.ResourceStatements
	for _, h := range from.ResourceStatements() {
		if h.WholeResource() == whole {
			k.TouchRoomOf(k.VisitOfStatement(&h.Statement))
			taken = append(taken, h)
		} else {
			left = append(left, h)
		}
	}
	if from.V != nil {
		from.V.ResourceStatements = left
	} else if from.Unassigned.Statements = left; len(left) == 0 {
		k.Names.Drop(from.Unassigned)
	}
	for _, h := range taken {
		if to.V == nil {
			version := *h.Version
			version.Subject, h.Version = nil, &version
		}
		k.AddStatement(to, h)
	}
}

// UnassignForgotten makes the owner of a statement undecided again if the visit that owned the statement has been
// dropped.
func (k *Statements) UnassignForgotten(r *registry.Unassigned) {
	for i := range r.Statements {
		h := &r.Statements[i]
		if v := k.VisitOfStatement(&h.Statement); v != nil && v.Forgotten {
			h.Owner = registry.Undecided
			k.Work.RecountWaiting = true
			k.Work.TouchUnassigned(r)
		}
	}
}

// AssignUnassigned assigns each statement of the touched patients to the visit that [identity.Names.VisitFor] finds
// for the time of receipt, or to no visit if there is none. For a version of a resource, the receipt of the newest
// version counts.
func (k *Statements) AssignUnassigned() {
	for _, r := range k.Work.Unassigned {
		r.Marked = false
		newest := r.Newest()
		for i := range r.Statements {
			h := &r.Statements[i]
			before, after := k.BindingOf(&h.Statement), registry.Binding{Kind: registry.ToNobody}
			at := h.ReceivedAt
			if whole := h.WholeResource(); whole != "" {
				at = newest[whole]
			}
			if v := k.Names.VisitFor(r, at); v != nil {
				after = registry.Binding{V: v, Kind: registry.ToVisit}
			}
			if before == after {
				continue
			}
			k.TouchRoomOf(before.V)
			h.Owner = after.Owner()
			k.Work.RecountWaiting = true
			k.TouchRoomOf(after.V)
		}
	}
	k.Work.Unassigned = k.Work.Unassigned[:0]
}

// FinalizeUnassigned handles the statements that are 24 h old; for a version of a resource, the age of the newest
// version counts. Statements that are assigned to a visit move to that visit. All others are removed, including those
// that name an unknown visit.
func (k *Statements) FinalizeUnassigned(now acuity.Instant) {
	due := func(h *evidence.Statement) bool { return h.ReceivedAt.Add(registry.SettleAfter) <= now }
	byName := func(a, b *registry.Unassigned) int {
		return cmp.Or(cmp.Compare(a.Patient, b.Patient), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Resource, b.Resource))
	}
	for _, r := range slices.SortedFunc(maps.Values(k.Names.BySubject), byName) {
		var old, left evidence.ResourceStatements
		fresh := r.Newest()
		for _, h := range r.Statements {
			if at := fresh[h.WholeResource()]; due(&h.Statement) && (h.WholeResource() == "" || at.Add(registry.SettleAfter) <= now) {
				old = append(old, h)
			} else {
				left = append(left, h)
			}
		}
		if len(old) == 0 {
			continue
		}
		if r.Statements = left; len(left) == 0 {
			k.Names.Drop(r)
		}
		for _, h := range old {
			v := k.VisitOfStatement(&h.Statement)
			if v == nil {
				k.DropResourceStatement(&h)
				continue
			}
			k.AddStatement(identity.Holder{V: v}, h)
			k.Work.MarkVisit(v, registry.Unsaved)
		}
	}
	for v := range k.Unknown {
		if v.Joined.Head != nil {
			continue // the statements belong to a visit
		}
		for _, h := range v.Statements.ByArrival(due) {
			k.DropStatement(&h)
		}
		v.Statements.Remove(due)
		v.ResourceStatements = slices.DeleteFunc(v.ResourceStatements, func(h evidence.ResourceStatement) bool {
			if due(&h.Statement) {
				k.DropResourceStatement(&h)
			}
			return due(&h.Statement)
		})
	}
}
