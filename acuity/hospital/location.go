package hospital

import (
	"svc/acuity/facts"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// updateTable updates the room table and touches the visits for which the table's results have changed. It runs only
// once per step because a step may add hundreds of rooms, and usually no visit depends on them.
func (u *State) updateTable() {
	w := &u.registry.Work
	for _, l := range w.DroppedPlaces {
		w.RebuildTable = w.RebuildTable || u.locations.Table.IsUnused(*l)
	}
	w.DroppedPlaces = facts.Emptied(w.DroppedPlaces)
	switch {
	case w.RebuildTable:
		u.rebuildTable()
	case w.Relabel:
		u.locations.Relabel()
	case !w.TableChanged:
		return
	}
	w.RebuildTable, w.Relabel, w.TableChanged = false, false, false
	left := u.locations.TouchChangedAnswers()
	for _, r := range u.registry.Rooms {
		if left[r.ID] {
			u.statements.MoveToVisits(r) // a visit's evidence goes with its location (docs/decisions.md#own-room-ids)
		}
		if label, own := u.locations.Table.Label(r.ID); r.IsOwn() && own && label != r.Label {
			u.registry.Work.MarkRoom(r, registry.Touched)
		}
	}
}

// rebuildTable rebuilds the room table, the indexes of names and the list of newborns in censuses from the facts.
func (u *State) rebuildTable() {
	u.locations.Table = location.Table{References: u.names.PlaceOf}
	u.locations.Table.SetRows(u.settings.Locations())
	u.locations.Relabel()
	for _, r := range u.names.References.Rows {
		u.names.JoinPersons(&r.Reference)
	}
	u.names.Index()
	for _, v := range u.registry.Visits {
		for i := range v.Events {
			u.locations.Table.AddUse(*v.Events[i].Place)
		}
		u.stays.List(v.Facts)
	}
	for _, r := range u.registry.Rooms {
		if r.Occupant != nil {
			u.stays.List(&r.Occupant.Facts)
		}
	}
}
