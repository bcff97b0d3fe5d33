package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
)

// joined is what the joins of a visit are. Few visits have any.
type joined struct {
	head       *visit // of which this visit is a part; nil: none
	ties       *ties  // nil: none
	links      *links // nil: none
	byPatient  bool   // its messages name the patient alone
	hasForeign bool   // the owner of its statements is the head
}

// ties are the visits that share a timeline with a visit.
type ties struct {
	rest     []*visit // of a head: the others, ascending by id
	borrowed []*visit // the visits that lend it events
	lent     []lent   // if its messages name the patient alone: whose each event is, by index
}

// links are the names of other visits, as the own events of a visit have them.
type links struct{ accounts, wholes []string }

// tie returns the ties of a visit, to be changed.
func (j *joined) tie() *ties {
	if j.ties == nil {
		j.ties = &ties{}
	}
	return j.ties
}

func (j *joined) rest() []*visit {
	if j.ties == nil {
		return nil
	}
	return j.ties.rest
}

func (j *joined) borrowed() []*visit {
	if j.ties == nil {
		return nil
	}
	return j.ties.borrowed
}

func (j *joined) lent() []lent {
	if j.ties == nil {
		return nil
	}
	return j.ties.lent
}

func (j *joined) accounts() []string {
	if j.links == nil {
		return nil
	}
	return j.links.accounts
}

func (j *joined) wholes() []string {
	if j.links == nil {
		return nil
	}
	return j.links.wholes
}

// lent says whose an event that names the patient alone is.
type lent struct {
	to   *visit // nil: the visit that keeps it
	none bool   // several visits are open, and it names the place of none
}

// whole returns the visit that a visit is, or is a part of; nil: nil.
func (v *visit) whole() *visit {
	if v == nil || v.joined.head == nil {
		return v
	}
	return v.joined.head
}

// isJoined reports whether a visit shares a timeline with others.
func (v *visit) isJoined() bool {
	j := &v.joined
	return j.head != nil || len(j.rest())+len(j.borrowed())+len(j.lent()) > 0
}

// related returns the visits that share a timeline with a visit, itself among them.
func (v *visit) related() []*visit {
	list := []*visit{v.whole()}
	for i := 0; i < len(list); i++ {
		add := func(o *visit) {
			if o != nil && !slices.Contains(list, o) {
				list = append(list, o)
			}
		}
		of := &list[i].joined
		add(of.head)
		for _, o := range of.rest() {
			add(o)
		}
		for _, o := range of.borrowed() {
			add(o)
		}
		for _, l := range of.lent() {
			add(l.to)
		}
	}
	return list
}

// allNames returns the names of the patient of a visit and of those joined with it.
func (v *visit) allNames() []string {
	list := slices.Clone(v.names)
	for _, o := range v.joined.rest() {
		list = append(list, o.names...)
	}
	return list
}

// isCalled reports whether a name means a visit.
func (ns *names) isCalled(v *visit, name string) bool {
	return name == v.ID || ns.visitNamed(name) == v
}

// visitNamed returns the visit with a name: its identity, one of its Encounters, or its
// account number; nil: none. Of mother and newborn with one account it is the mother.
func (ns *names) visitNamed(name string) *visit {
	if v := ns.visitCalled(name); v != nil {
		return v.whole()
	}
	var best *visit
	for _, v := range ns.joins.claimants(ns.joins.accounts, name) {
		v = v.whole()
		if best == nil || best.timeline.Newborn && !v.timeline.Newborn ||
			best.timeline.Newborn == v.timeline.Newborn && later(v, best) {
			best = v
		}
	}
	return best
}

// later reports whether a visit is the newer of two: open before closed, then the one that
// opened last.
func later(a, b *visit) bool {
	if a.timeline.Open != b.timeline.Open {
		return a.timeline.Open
	}
	return cmp.Or(cmp.Compare(a.timeline.OpenedAt, b.timeline.OpenedAt), cmp.Compare(a.ID, b.ID)) > 0
}

// idOf returns the identity under which the events of a message are kept. Mother and
// newborn may have one account, so that of an account alone includes the patient.
func idOf(e *acuity.Event) string {
	if e.Account != "" && e.Account == e.Visit && e.Patient != "" {
		return e.Visit + " " + e.Patient
	}
	return e.Visit
}
