package hospital

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/identity"
	"svc/acuity/registry"
	"svc/acuity/stays"
)

// Dirty calls the given function for each record that changed since the previous call to Dirty; a nil record means a
// deletion. A key may be written twice; the last record applies. Key and record are valid until the function returns.
func (u *State) Dirty(write func(key []byte, s facts.Record)) {
	u.registry.Keys.WriteDropped(write)
	u.dedup.ByID.WriteDirty(write)
	u.settings.WriteDirty(write)
	u.statements.WriteDirty(write)
	u.worklist.Codes.WriteDirty(write)
	u.names.References.WriteDirty(write)
	for _, v := range u.registry.Work.Visits.With(registry.Unsaved) {
		v.Marks &^= registry.Unsaved
	}
	u.registry.WriteVisits(u.registry.Work.Visits.With(registry.Unsaved), write)
	for _, r := range u.registry.Work.Rooms.With(registry.Unsaved) {
		r.Marks &^= registry.Unsaved
		write(u.registry.Keys.Room(r.ID), &r.RoomState)
	}
	if s := &u.hours.staffed; s.unsaved {
		write(u.registry.Keys.PastStaffing(), &s.PastStaffingState)
	}
	u.hours.staffed.unsaved = false
	if u.changed {
		write(u.registry.Keys.Unit(), &u.registry.Facts)
	}
	u.changed = false
	u.registry.Work.Visits.Reset(registry.Unsaved)
	u.registry.Work.Rooms.Reset(registry.Unsaved)
}

// View calls the given function for each room whose chart changed since the previous call to View. A nil chart means
// that the room is not in the unit. The chart is valid until the function returns.
func (u *State) View(write func(room int32, c *acuity.RoomChart)) {
	for _, r := range u.registry.Work.Rooms.With(registry.Unshown) {
		r.Marks &^= registry.Unshown
		if r.InUnit {
			write(r.ID, &r.Chart)
		} else {
			write(r.ID, nil)
		}
	}
	u.registry.Work.Rooms.Reset(registry.Unshown)
}

// Records calls the given function for every record. Together, these records form a complete changelog. Key and
// record are valid until the function returns.
func (u *State) Records(write func(key []byte, s facts.Record)) {
	u.settings.Write(write)
	u.dedup.ByID.Write(write)
	u.worklist.Codes.Write(write)
	u.names.References.Write(write)
	u.registry.WriteVisits(slices.Collect(maps.Values(u.registry.Visits)), write)
	for id, v := range u.registry.Visits {
		u.statements.WriteByCode(&v.Statements, id, write)
		u.statements.WriteResourceStatements(v.ResourceStatements, stays.HolderName{Visit: id}, write)
	}
	for _, r := range u.registry.Rooms {
		write(u.registry.Keys.Room(r.ID), &r.RoomState)
		u.statements.WriteByCode(&r.Statements, "", write)
	}
	for _, r := range u.names.BySubject {
		u.statements.WriteResourceStatements(r.Statements, stays.HolderName{Named: &r.SubjectName}, write)
	}
	if s := &u.hours.staffed; len(s.List) > 0 {
		write(u.registry.Keys.PastStaffing(), &s.PastStaffingState)
	}
	write(u.registry.Keys.Unit(), &u.registry.Facts)
}

// Restore applies a changelog record; a nil record deletes the record with the key. Records may be in any order and
// may be repeated; the last record for a key applies. Call Restored after the last record.
func (u *State) Restore(key string, s facts.Record) error {
	hospital, rest, ok := strings.Cut(key, "/")
	if !ok || hospital != u.registry.Keys.Hospital {
		return fmt.Errorf("restore %q: the key belongs to a different hospital", key)
	}
	kind, id, _ := strings.Cut(rest, "/")
	switch s := s.(type) {
	case nil:
		return u.erase(key, kind, id)
	case *facts.UnitState:
		u.registry.Facts = *s
	case *facts.PastStaffingState:
		u.hours.staffed.List = s.List
	case *facts.RoomState:
		u.registry.RestoreRoom(s)
	case *facts.VisitState:
		u.registry.RestoreVisit(s)
	case *facts.StatementState:
		u.statements.Collect(s)
	case *facts.DedupState:
		u.dedup.ByID.Rows[s.ID] = s
	case facts.Setting:
		u.settings.Rows[facts.SettingKey{Kind: kind, ID: id}] = s
	case *facts.ReferenceState:
		u.names.References.Rows[s.Name] = s
	case *facts.CodeState:
		u.worklist.Codes.Rows[identity.UnmappedKey(s.System, s.Code, s.Kind)] = s
	}
	return nil
}

// erase removes the record with the given key, which consists of kind and id.
func (u *State) erase(key, kind, id string) error {
	switch key {
	case string(u.registry.Keys.Unit()):
		u.registry.Facts = facts.UnitState{}
		return nil
	case string(u.registry.Keys.PastStaffing()):
		u.hours.staffed.List = nil
		return nil
	}
	switch kind {
	case facts.KindRoom:
		n, err := strconv.ParseInt(id, 10, 32)
		if err != nil {
			return fmt.Errorf("restore room %q: %w", id, err)
		}
		u.registry.Rooms = slices.DeleteFunc(u.registry.Rooms, func(r *registry.Room) bool { return int64(r.ID) == n })
	case facts.KindVisit:
		if v := u.registry.Visits[id]; v != nil {
			delete(u.registry.Visits, id)
			u.registry.Slots.Release(v)
		}
	case facts.KindStatement:
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return fmt.Errorf("restore statement %q: %w", id, err)
		}
		u.statements.Erase(n)
	case facts.KindDedup:
		delete(u.dedup.ByID.Rows, id)
	case facts.KindReference:
		u.names.References.Erase(key)
	case facts.KindCode:
		u.worklist.Codes.Erase(key)
	default:
		if !u.settings.Erase(kind, id) {
			return fmt.Errorf("restore: unknown kind %q", kind)
		}
	}
	return nil
}

// Restored derives all other state from the restored facts. If the verdict differs from the last published one
// because rules have changed, the unit must be advanced immediately. After Restored, the views of all rooms are
// dirty, and nothing else is.
func (u *State) Restored() {
	u.compile()
	u.statements.RestoreStatements()
	u.rebuildTable()
	u.locations.Relocate()
	u.registry.Recent = slices.Collect(maps.Values(u.registry.Visits))
	for _, v := range u.registry.Recent {
		v.InRecent = true
		u.registry.IndexKnown(v)
		u.registry.UpdateSize(v)
	}
	u.dedup.Restored()
	u.touchAll()
	u.derive()
	u.updateHead()
	u.scoring.judge()
	stampVersion(u)
	u.scoring.overdue = u.registry.Facts.Version > 0 && u.scoring.verdict.Level != u.registry.Facts.Level
	for _, r := range u.registry.Rooms {
		color := acuity.ColorGray
		if _, rv := u.scoring.verdicts(r); rv != nil {
			color = rv.Color
		}
		u.scoring.overdue = u.scoring.overdue || color != r.Color
		r.Marks &^= registry.Named
	}
	u.registry.Work.Rooms.Reset(registry.Named)
	u.Dirty(func([]byte, facts.Record) {})
}
