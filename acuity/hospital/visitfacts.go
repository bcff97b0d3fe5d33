package hospital

import (
	"strings"
	"sync"

	"svc/acuity"
	"svc/acuity/adt"
)

// visitFacts is a [VisitState] as a unit keeps it.
type visitFacts struct {
	ID      string
	events  []adt.Event
	Folded  int32
	FoldAt  acuity.Instant
	Touched acuity.Instant

	Facts *CensusFacts
	Stays []CensusStay
}

// visitRecords have memory for the record of a visit, which is far larger than what a
// unit keeps. Few units write at once.
var visitRecords = sync.Pool{New: func() any { return new(VisitState) }}

// writeVisits writes the facts of visits.
func (g *registry) writeVisits(list []*visit, write func(key []byte, s Record)) {
	if len(list) == 0 {
		return
	}
	record := visitRecords.Get().(*VisitState) //nolint:errcheck // nothing else is put there
	for _, v := range list {
		*record = VisitState{ID: v.ID, Events: record.Events[:0], Folded: v.Folded, FoldAt: v.FoldAt, Touched: v.Touched, Facts: v.Facts, Stays: v.Stays}
		for i := range v.events {
			record.Events = v.events[i].AppendTo(record.Events, v.ID)
		}
		write(g.keys.visit(v.ID), record)
	}
	*record = VisitState{Events: emptied(record.Events[:cap(record.Events)])}
	visitRecords.Put(record)
}

// storeVisit returns the facts of a record as they are kept.
func storeVisit(r *VisitState) visitFacts {
	return visitFacts{
		ID: strings.Clone(r.ID), events: adt.StoreEvents(r.Events), Folded: r.Folded, FoldAt: r.FoldAt, Touched: r.Touched,
		Facts: r.Facts, Stays: r.Stays,
	}
}
