package hospital

import (
	"svc/acuity/registry"
)

// derive updates everything that is derived from the facts. Each step derives the complete state of the touched
// visits or rooms, and may touch other visits or rooms for the next steps. The result does not depend on the order in
// which visits and rooms were touched.
func (u *State) derive() {
	u.updateTable()
	if u.registry.Work.Plain {
		u.dropDerived()
		u.touchAll()
	}
	u.timelines.BuildTimelines()
	u.stays.ChooseOccupants()
	u.stays.PlaceVisits()
	for _, v := range u.registry.Work.Visits.With(registry.Touched) {
		v.Marks &^= registry.Touched
	}
	u.registry.Work.Visits.Reset(registry.Touched)
	u.statements.AssignUnassigned()
	for i := 0; i < len(u.registry.Work.Rooms.With(registry.Touched)); i++ { // the list may grow: a statement may touch its owner's room
		u.statements.AssignStatements(u.registry.Work.Rooms.With(registry.Touched)[i])
	}
	u.charts.RebuildAll(u.registry.Work.Rooms.With(registry.Touched))
	u.charts.Arrange(u.registry.Work.Rooms.With(registry.Touched))
	u.registry.Work.Rooms.Reset(registry.Touched)
}

// touchAll touches all visits and rooms, which is necessary after a restore, a first census, or a change to the local
// settings.
func (u *State) touchAll() {
	for _, v := range u.registry.Visits {
		u.registry.Work.MarkVisit(v, registry.Touched)
	}
	for _, r := range u.registry.Rooms {
		u.registry.Work.MarkRoom(r, registry.Touched)
	}
	for _, r := range u.names.BySubject {
		u.registry.Work.TouchUnassigned(r)
	}
}
