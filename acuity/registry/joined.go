package registry

import (
	"slices"
)

// Joined is what the joins of a visit are. Few visits have any.
type Joined struct {
	Head       *Visit // of which this visit is a part; nil: none
	Ties       *ties  // nil: none
	Links      *Links // nil: none
	ByPatient  bool   // its messages name the patient alone
	HasForeign bool   // the owner of its statements is the head
}

// ties are the visits that share a timeline with a visit.
type ties struct {
	Rest     []*Visit // of a head: the others, ascending by id
	Borrowed []*Visit // the visits that lend it events
	Lent     []Lent   // if its messages name the patient alone: whose each event is, by index
}

// Links are the names of other visits, as the own events of a visit have them.
type Links struct{ Accounts, Wholes []string }

// Tie returns the ties of a visit, to be changed.
func (j *Joined) Tie() *ties {
	if j.Ties == nil {
		j.Ties = &ties{}
	}
	return j.Ties
}

// Rest returns the other visits of a head, ascending by id.
func (j *Joined) Rest() []*Visit {
	if j.Ties == nil {
		return nil
	}
	return j.Ties.Rest
}

// Borrowed returns the visits that lend events to a visit.
func (j *Joined) Borrowed() []*Visit {
	if j.Ties == nil {
		return nil
	}
	return j.Ties.Borrowed
}

// Lent returns whose each event of a visit is, by index, if its messages name the patient alone.
func (j *Joined) Lent() []Lent {
	if j.Ties == nil {
		return nil
	}
	return j.Ties.Lent
}

// Accounts returns the account numbers of the events of a visit.
func (j *Joined) Accounts() []string {
	if j.Links == nil {
		return nil
	}
	return j.Links.Accounts
}

// Wholes returns the names of the visits that a visit is a part of.
func (j *Joined) Wholes() []string {
	if j.Links == nil {
		return nil
	}
	return j.Links.Wholes
}

// Lent says whose an event that names the patient alone is.
type Lent struct {
	To   *Visit // nil: the visit that keeps it
	None bool   // several visits are open, and it names the place of none
}

// Whole returns the visit that a visit is, or is a part of; nil: nil.
func (v *Visit) Whole() *Visit {
	if v == nil || v.Joined.Head == nil {
		return v
	}
	return v.Joined.Head
}

// IsJoined reports whether a visit shares a timeline with others.
func (v *Visit) IsJoined() bool {
	j := &v.Joined
	return j.Head != nil || len(j.Rest())+len(j.Borrowed())+len(j.Lent()) > 0
}

// Related returns the visits that share a timeline with a visit, itself among them.
func (v *Visit) Related() []*Visit {
	list := []*Visit{v.Whole()}
	for i := 0; i < len(list); i++ {
		add := func(o *Visit) {
			if o != nil && !slices.Contains(list, o) {
				list = append(list, o)
			}
		}
		of := &list[i].Joined
		add(of.Head)
		for _, o := range of.Rest() {
			add(o)
		}
		for _, o := range of.Borrowed() {
			add(o)
		}
		for _, l := range of.Lent() {
			add(l.To)
		}
	}
	return list
}

// AllNames returns the names of the patient of a visit and of those joined with it.
func (v *Visit) AllNames() []string {
	list := slices.Clone(v.Names)
	for _, o := range v.Joined.Rest() {
		list = append(list, o.Names...)
	}
	return list
}
