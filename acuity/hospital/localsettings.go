package hospital

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/facts"
	"svc/acuity/registry"
	"svc/acuity/terminology"
)

// overwrite replaces the known string with a copy of the string that was sent. An empty string means that nothing was
// sent. Copying avoids retaining the memory of the census.
func overwrite(known *string, said string) {
	if said != "" && said != *known {
		*known = strings.Clone(said)
	}
}

// reasonDryRun is the reason why the observation of a dry run is not applied.
const (
	reasonDryRun = "dry_run"
)

// ReasonUnchanged is the code of the warning that an administrator's observation changes nothing, because all rows
// already have their new content.
const ReasonUnchanged = "unchanged"

// isAdministration reports whether an administrator made the observation.
func isAdministration(o *acuity.Observation) bool {
	return len(o.Mappings)+len(o.Rules)+len(o.Locations)+len(o.Marks) > 0 || o.Switches != nil
}

// applyLocalSettings applies an administrator's observation, either all of it or nothing.
func (u *State) applyLocalSettings(in *registry.Intake) {
	o := in.Observation
	changes := u.settings.ChangesBy(o)
	if reason := u.settings.Refusal(o, changes); reason != "" {
		in.Outcome, in.Reason = acuity.Ignored, reason
		return
	}
	changed := len(o.Marks) > 0
	for i := range changes {
		changed = u.settings.Apply(&changes[i]) || changed
	}
	for i := range o.Locations {
		changed = confirmRoom(&u.registry, in, &o.Locations[i]) || changed
	}
	if !changed {
		in.Warn(ReasonUnchanged, "")
	}
	for i := range o.Marks {
		u.worklist.ApplyMark(in, i, &o.Marks[i])
	}
	if len(o.Locations) > 0 || o.Switches != nil {
		u.locations.Table.SetRows(u.settings.Locations())
		u.registry.Work.Relabel = true
		u.touchAll()
	}
	if len(o.Mappings)+len(o.Rules) > 0 {
		u.compile()
	}
	for _, r := range u.registry.Rooms {
		u.registry.Work.MarkRoom(r, registry.Touched|registry.Named)
		if len(o.Rules) > 0 {
			u.registry.Work.MarkRoom(r, registry.Rejudge)
		}
	}
}

// confirmRoom adds and confirms the room in a row of the location table, and reports whether that changes the room. A
// census that lists the room may give it a different label (docs/decisions.md#room-id-first).
func confirmRoom(g *registry.Registry, in *registry.Intake, p *acuity.Place) (changed bool) {
	if p.Delete || !p.HasRoomID {
		return false
	}
	r := g.Room(p.RoomID)
	if r == nil {
		if len(g.Rooms) >= g.Limits.Known {
			in.Warn(reasonRooms, "roomId")
			return false
		}
		g.AddRoom(facts.RoomState{ID: p.RoomID, Label: p.Label, Area: p.Area})
		return true
	}
	before := r.RoomState
	overwrite(&r.Label, p.Label)
	overwrite(&r.Area, p.Area)
	r.Registered, r.PointOfCare, r.Room = false, "", ""
	if changed = r.Label != before.Label || r.Area != before.Area || before.Registered; changed {
		g.Work.MarkRoom(r, registry.Unsaved)
	}
	return changed
}

// compile prepares the rules, the terminology map and the location table for use. Each statement is matched again when
// it is next read.
func (u *State) compile() {
	var rules []catalogue.Rule
	var mappings []acuity.Mapping
	for _, row := range u.settings.Rows {
		switch row := row.(type) {
		case *facts.MappingState:
			mappings = append(mappings, row.Mapping)
		case *facts.RuleState:
			rules = append(rules, catalogue.Rule{Factor: row.Factor, Lines: row.Lines})
		}
	}
	slices.SortFunc(rules, func(a, b catalogue.Rule) int { return cmp.Compare(a.Factor, b.Factor) })
	slices.SortFunc(mappings, func(a, b acuity.Mapping) int { return cmp.Compare(a.ID, b.ID) })
	u.matcher.Cat = catalogue.Default().With(rules)
	u.registry.Chart.Unit.Rules = rules
	u.matcher.Maps = terminology.NewMappings(mappings)
	u.matcher.Maps.Medication = u.names.Medication
	u.matcher.Reader = terminology.Reader{Catalogue: u.matcher.Cat, Mappings: u.matcher.Maps}
	u.locations.Table.SetRows(u.settings.Locations())
}

// LocalSettings calls the given function for every record that administrators see in lists: the local settings, the
// codes in the worklist, and the rooms that [State.Unknown] returns. The keys are the same as for [State.Records].
func (u *State) LocalSettings(write func(key []byte, s facts.Record)) {
	u.settings.Write(write)
	u.worklist.Codes.Write(write)
	for _, r := range u.registry.Rooms {
		if s := u.Unknown(r.ID); s != nil {
			write(u.registry.Keys.Room(r.ID), s)
		}
	}
}

// Unknown returns a room of the unit that only ADT has named, and that neither a census nor an administrator has
// confirmed. For any other room it returns nil.
func (u *State) Unknown(id int32) *facts.RoomState {
	if r := u.registry.Room(id); r != nil && r.Registered && r.InUnit {
		return &r.RoomState
	}
	return nil
}
