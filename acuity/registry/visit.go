package registry

import (
	"slices"
	"sync"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/location"
)

// Withdrawn is a room where an event had placed a visit before the event was canceled.
type Withdrawn struct {
	Room int32
	At   acuity.Instant // earliest time of such an event
}

// IsHere reports whether the visit is currently in any place.
func (v *Visit) IsHere() bool {
	n := len(v.Spans)
	return n > 0 && v.Spans[n-1].To == 0
}

// IsNeeded reports whether the patient has a current location, or is a newborn whose mother has one. The mother's chart needs
// the newborn's visit as long as she is there, because it may be the only source for the time of the birth.
func (v *Visit) IsNeeded() bool { return v.IsHere() || v.Mother != nil && v.Mother.IsHere() }

// AddStay adds a census stay, and drops the oldest stays beyond CapStays.
func (v *Visit) AddStay(s facts.CensusStay) {
	if n := len(v.Stays); n >= CapStays {
		v.Stays = slices.Delete(v.Stays, 0, n-CapStays+1)
	}
	v.Stays = append(v.Stays, s)
}

// CensusFacts returns the facts that censuses reported about a visit, including those reported about the patient as an
// occupant without a visit. It returns nil if there are none.
func (v *Visit) CensusFacts() *facts.CensusFacts {
	if v.OccupantOf == nil || v.OccupantOf.Occupant == nil {
		return v.Facts
	}
	f := v.OccupantOf.Occupant.Facts
	if old := v.Facts; old != nil {
		if f.Primary == 0 && f.Area == "" {
			f.Primary, f.PrimarySince = old.Primary, old.PrimarySince
		}
		if f.DeliveredAt == 0 {
			f.DeliveredAt = old.DeliveredAt
		}
		f.Cesarean = f.Cesarean || old.Cesarean
		if len(f.Listed) == 0 {
			f.Listed = old.Listed
		}
		if len(f.Diagnoses) == 0 {
			f.Diagnoses = old.Diagnoses
		}
		if len(f.Newborns) == 0 {
			f.Newborns = old.Newborns
		}
	}
	return &f
}

// Feed returns the feed of the event that began the visit's last stay according to ADT, or the ADT channel if the
// visit has no such stay.
func (v *Visit) Feed() acuity.Channel {
	if n := len(v.Timeline.Stays); n > 0 {
		return v.Timeline.Stays[n-1].Placing.Feed
	}
	return acuity.ChannelADT
}

// IsCalled reports whether a visit has facts and the given name.
func (v *Visit) IsCalled(name string) bool {
	if v.IsName() {
		return false
	}
	return v.ID == name || slices.ContainsFunc(v.Events, func(e adt.Event) bool { return e.Encounter == name })
}

// EventsOf returns copies of the events of a resource. It returns nil for a nil visit.
func (v *Visit) EventsOf(resource string) []adt.Event {
	if v == nil {
		return nil
	}
	var list []adt.Event
	for i := range v.Events {
		if v.Events[i].Resource == resource {
			list = append(list, v.Events[i])
		}
	}
	return list
}

// IsName reports whether only statements name the visit.
func (v *Visit) IsName() bool { return len(v.Events) == 0 && v.Facts == nil && len(v.Stays) == 0 }

// Has reports whether the visit has the event with the given id.
func (v *Visit) Has(id string) bool {
	for i := range v.Events {
		if v.Events[i].ID == id {
			return true
		}
	}
	return false
}

// Newest returns the event that was received last, or nil if there is none.
func (v *Visit) Newest() *adt.Event {
	if n := len(v.Events); n > 0 {
		return &v.Events[n-1]
	}
	return nil
}

// IsAt reports whether the visit is open and in a location of the given kind.
func (v *Visit) IsAt(kind location.Kind) bool {
	n := len(v.Spans)
	return n > 0 && v.Spans[n-1].To == 0 && v.Spans[n-1].Kind == kind
}

// OwnerOf returns the visit to which an event stored with this visit is assigned. The result none is true if the
// event is assigned to no visit, because several visits are open and the event's place does not identify one.
func (v *Visit) OwnerOf(id string) (owner *Visit, none bool) {
	if v == nil {
		return nil, false
	}
	for i, to := range v.Joined.Lent() {
		if i < len(v.Events) && v.Events[i].ID == id {
			if to.To != nil {
				return to.To, false
			}
			return v, to.None
		}
	}
	return v.Whole(), false
}

// VisitFacts is a [facts.VisitState] in the form that a unit keeps in memory.
type VisitFacts struct {
	ID      string
	Events  []adt.Event
	Folded  int32
	FoldAt  acuity.Instant
	Touched acuity.Instant

	Facts *facts.CensusFacts
	Stays []facts.CensusStay
}

// visitRecords pools memory for visit records, which are far larger than visits in memory. The pool remains small,
// because few units write at the same time.
var visitRecords = sync.Pool{New: func() any { return new(facts.VisitState) }}

// WriteVisits writes the facts of visits.
func (g *Registry) WriteVisits(list []*Visit, write func(key []byte, s facts.Record)) {
	if len(list) == 0 {
		return
	}
	record := visitRecords.Get().(*facts.VisitState) //nolint:errcheck // the pool contains nothing else
	for _, v := range list {
		*record = facts.VisitState{
			ID: v.ID, Events: record.Events[:0], Folded: v.Folded, FoldAt: v.FoldAt, Touched: v.Touched,
			Facts: v.Facts, Stays: v.Stays,
		}
		for i := range v.Events {
			record.Events = v.Events[i].AppendTo(record.Events, v.ID)
		}
		write(g.Keys.Visit(v.ID), record)
	}
	*record = facts.VisitState{Events: facts.Emptied(record.Events[:cap(record.Events)])}
	visitRecords.Put(record)
}

// Size returns the approximate size of a visit's record, in bytes.
func (v *Visit) Size() int {
	n := v.Facts.Size()
	for i := range v.Events {
		e := &v.Events[i]
		n += 160 + 16*len(e.CoarseTimes) + len(e.ID) + len(e.Resource) + len(e.Encounter) + len(e.Subject) + len(e.Patient) +
			len(e.MotherVisit) + len(e.MotherPatient) + len(e.Account) + len(e.Place.Room) + len(e.Place.PointOfCare) + len(e.Place.Label) +
			len(e.Prior.Room) + len(e.Prior.PointOfCare)
		for j := range e.Diagnoses {
			n += 32 + len(e.Diagnoses[j].Code) + len(e.Diagnoses[j].Display)
		}
	}
	return n
}

// LinkMother links a newborn to its mother; nil means that the mother is unknown.
func (v *Visit) LinkMother(mother *Visit) {
	if v.Mother == mother {
		return
	}
	if old := v.Mother; old != nil {
		last := len(old.Babies) - 1
		old.Babies[v.babyIndex] = old.Babies[last]
		old.Babies[v.babyIndex].babyIndex = v.babyIndex
		old.Babies[last] = nil
		old.Babies = old.Babies[:last]
	}
	if v.Mother = mother; mother != nil {
		v.babyIndex = len(mother.Babies)
		mother.Babies = append(mother.Babies, v)
	}
}

// IsUnplaced reports whether the visit is in the unit but has no room.
func (v *Visit) IsUnplaced() bool {
	n := len(v.Spans)
	return n > 0 && v.Spans[n-1].To == 0 && (v.Spans[n-1].Kind == location.Nowhere || v.Spans[n-1].Kind == location.WithoutRoom)
}

// Visit is a visit with its derived state.
type Visit struct {
	VisitFacts
	Slot               int32               // see slots
	Statements         evidence.Statements // statements that permanently belong to this visit
	ResourceStatements evidence.ResourceStatements
	Timeline           adt.Timeline
	Spans              []LocationSpan // stays according to ADT and census together, ascending
	LastPlaced         acuity.Instant // when a place or departure was last reported; 0: a place is known now
	CandidateFor       *Room          // room whose occupant without a visit may be this visit's patient
	OccupantOf         *Room          // room whose occupant without a visit is this visit's patient
	Mother             *Visit         // visit of a newborn's mother
	Babies             []*Visit       // newborns of this mother
	Cache              *evidence.Cache
	Primary            Chosen
	Names              []string // names under which the index by patient lists the visit
	NewbornByEvents    bool     // whether the events identify the patient as a newborn
	BirthOrder         uint8    // birth order of a newborn with a separate Patient resource
	InNewborns         bool     // whether the index of newborns lists the visit
	CountedUnplaced    bool     // whether the visit is counted as unplaced
	InRecent           bool     // whether the list of recent visits contains the visit
	Forgotten          bool     // whether retention has removed the visit
	Bytes              int      // approximate size of the facts in bytes
	babyIndex          int      // index among the mother's babies
	InChecks           bool     // whether a housekeeping check is scheduled
	InCancels          bool     // whether the list of visits with waiting cancels contains the visit
	// Withdrawn lists this visit's entries in the unit's index of withdrawn rooms.
	Withdrawn []Withdrawn
	Joined    Joined
	Marks     mark
}

// Chosen is a primary factor derived from a timeline, with the inputs to the choice.
type Chosen struct {
	Known, Cesarean bool
	Birth           acuity.Instant
	Choice          adt.Primary
}

// Moves returns the moves of a visit that count toward turnover. A newborn's visit has no such moves, because
// turnover counts mothers (docs/decisions.md#turnover). This also applies if facts other than events identify the
// newborn.
func (v *Visit) Moves() []acuity.Instant {
	if v.Timeline.Newborn {
		return nil
	}
	return v.Timeline.Moves
}
