package registry

import (
	"slices"
)

// Joined contains the relations between a visit and other visits that are the same stay. Few visits have such
// relations.
type Joined struct {
	Head       *Visit // head of the visits joined with this one; nil: this visit is the head, or is not joined
	Ties       *ties  // nil: there are none
	Links      *Links // nil: there are none
	ByPatient  bool   // whether the messages of the visit name only the patient
	HasForeign bool   // whether the head owns the statements of the visit
}

// ties are the visits that share a timeline with a visit.
type ties struct {
	Rest     []*Visit // for a head: the visits joined with it, ascending by id
	Borrowed []*Visit // visits that lend events to the visit
	Lent     []Lent   // for a visit whose messages name only the patient: the visit that gets each event, by event index
}

// Links are the references to other visits in the events of a visit.
type Links struct{ Accounts, Wholes []string }

// Tie returns the ties of a visit, and creates them if there are none.
func (j *Joined) Tie() *ties {
	if j.Ties == nil {
		j.Ties = &ties{}
	}
	return j.Ties
}

// Rest returns the visits joined with a head, in ascending order of id.
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

// Lent returns the assignment of each event, by event index, for a visit whose messages name only the patient.
func (j *Joined) Lent() []Lent {
	if j.Ties == nil {
		return nil
	}
	return j.Ties.Lent
}

// Accounts returns the account numbers in the events of a visit.
func (j *Joined) Accounts() []string {
	if j.Links == nil {
		return nil
	}
	return j.Links.Accounts
}

// Wholes returns the names of the Encounters of which a visit is a part.
func (j *Joined) Wholes() []string {
	if j.Links == nil {
		return nil
	}
	return j.Links.Wholes
}

// Lent is the assignment of an event that names only the patient.
type Lent struct {
	To   *Visit // visit that gets the event; nil: the visit that stores it
	None bool   // whether the event is assigned to no visit, because several are open and the event's place does not identify one
}

// Whole returns the head of the visits joined with a visit. If the visit is the head or is not joined, Whole returns
// the visit itself. It returns nil for a nil visit.
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

// Related returns the visits that share a timeline with a visit, including the visit itself.
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

// AllNames returns the patient names of a visit and of the visits joined with it.
func (v *Visit) AllNames() []string {
	list := slices.Clone(v.Names)
	for _, o := range v.Joined.Rest() {
		list = append(list, o.Names...)
	}
	return list
}
