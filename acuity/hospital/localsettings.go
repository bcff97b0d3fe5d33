package hospital

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/location"
	"svc/acuity/terminology"
)

// localSettings are how one hospital wants its codes, places and feeds to be read, and
// what it asks for beyond the catalogue.
type localSettings struct {
	unit    *UnitState
	keys    *stateKeys
	rows    map[settingKey]setting
	changed []settingKey // must be written since the last call of Dirty
}

// settingKey names a row: its kind, and its id within the table of that kind.
type settingKey struct{ kind, id string }

// setting is a record that administrators set. It never changes: another version is another
// record.
type setting interface {
	Record
	version() int64
	equals(o setting) bool // but for version, key and receipt
}

func (s *MappingState) version() int64  { return s.Version }
func (s *RuleState) version() int64     { return s.Version }
func (s *PlaceState) version() int64    { return s.Version }
func (s *SwitchesState) version() int64 { return s.Version }

func (s *MappingState) equals(o setting) bool {
	other, ok := o.(*MappingState)
	return ok && s.Mapping == other.Mapping
}

func (s *RuleState) equals(o setting) bool {
	other, ok := o.(*RuleState)
	return ok && slices.Equal(s.Lines, other.Lines) && s.Comment == other.Comment
}

func (s *PlaceState) equals(o setting) bool {
	other, ok := o.(*PlaceState)
	return ok && s.Place == other.Place
}

func (s *SwitchesState) equals(setting) bool { return false } // each is a new version of all settings

// The reasons for which an administrator's observation is refused as a whole.
const (
	ReasonPrecondition = "precondition_failed" // the version is not [acuity.Act.Expect]
	ReasonNotThere     = "not_there"           // there is nothing to delete
	ReasonTooMany      = "too_many"            // a cap of limits.go
	reasonDryRun       = "dry_run"             // it only asked what it would do
)

// isAdministration reports whether an administrator made the observation.
func isAdministration(o *acuity.Observation) bool {
	return len(o.Mappings)+len(o.Rules)+len(o.Locations)+len(o.Marks) > 0 || o.Switches != nil
}

// takeLocalSettings takes what an administrator says, all of it or nothing.
func (u *State) takeLocalSettings(in *intake) {
	o := in.o
	changes := u.settings.changesBy(o)
	if reason := u.settings.refusal(o, changes); reason != "" {
		in.Outcome, in.Reason = acuity.Ignored, reason
		return
	}
	for i := range changes {
		u.settings.take(&changes[i])
	}
	for i := range o.Locations {
		u.confirmRoom(in, &o.Locations[i])
	}
	for i := range o.Marks {
		u.worklist.takeMark(in, i, &o.Marks[i])
	}
	if len(o.Locations) > 0 || o.Switches != nil {
		u.locations.table.SetRows(u.settings.locations())
		u.work.relabel = true
		u.touchAll()
	}
	if len(o.Mappings)+len(o.Rules) > 0 {
		u.compile()
	}
	for _, r := range u.rooms {
		u.work.markRoom(r, touched|named)
		if len(o.Rules) > 0 {
			u.work.markRoom(r, rejudge)
		}
	}
}

// settingChange is a row that an observation sets or deletes.
type settingChange struct {
	settingKey
	deleted bool
	row     setting
}

// changesBy returns the rows that an observation sets or deletes.
func (s *localSettings) changesBy(o *acuity.Observation) (list []settingChange) {
	version, by, at := s.unit.Version+1, o.Source, o.ReceivedAt
	for _, m := range o.Mappings {
		row := &MappingState{Mapping: m, Version: version, By: by, At: at}
		list = append(list, settingChange{settingKey{kindMapping, m.ID}, m.Delete, row})
	}
	for _, r := range o.Rules {
		r.Lines = slices.Clone(r.Lines)
		row := &RuleState{Rule: r, Version: version, By: by, At: at}
		list = append(list, settingChange{settingKey{kindRule, r.Factor.ID()}, r.Delete, row})
	}
	for _, p := range o.Locations {
		row := &PlaceState{Place: p, Version: version, By: by, At: at}
		list = append(list, settingChange{settingKey{kindPlace, location.RowID(&p)}, p.Delete, row})
	}
	if o.Switches != nil {
		row := &SwitchesState{Switches: *o.Switches, Version: version, By: by, At: at}
		list = append(list, settingChange{settingKey{kind: kindSwitches}, false, row})
	}
	return list
}

// take sets or deletes a row.
func (s *localSettings) take(c *settingChange) {
	old, there := s.rows[c.settingKey]
	switch {
	case c.deleted && there:
		delete(s.rows, c.settingKey)
		s.keys.drop(s.keys.key(c.kind, c.id))
	case !c.deleted && (!there || !old.equals(c.row)):
		s.rows[c.settingKey] = c.row
		s.changed = append(s.changed, c.settingKey)
	}
}

// refusal returns why an administrator's observation cannot be taken; "": it can.
func (s *localSettings) refusal(o *acuity.Observation, changes []settingChange) string {
	expect := acuity.ExpectAnything
	if o.Act != nil {
		if expect = o.Act.Expect; s.isTable(o, expect) {
			expect = acuity.ExpectAnything // of each row: the table is as it was
		}
	}
	sizes := map[string]int{}
	for k := range s.rows {
		sizes[k.kind]++
	}
	for _, c := range changes {
		old, there := s.rows[c.settingKey]
		switch {
		case expect == acuity.ExpectNone && there,
			expect == acuity.ExpectSome && !there,
			expect > 0 && (!there || old.version() != expect):
			return ReasonPrecondition
		case c.deleted && !there:
			return ReasonNotThere
		case !there:
			sizes[c.kind]++
		}
	}
	if sizes[kindMapping] > capMappings || sizes[kindPlace] > capPlaces {
		return ReasonTooMany
	}
	return ""
}

// confirmRoom makes the room of a row of the location table known and confirmed. A
// census that lists the room may label it otherwise (docs/decisions.md#room-id-first).
func (g *registry) confirmRoom(in *intake, p *acuity.Place) {
	if p.Delete || !p.HasRoomID {
		return
	}
	r := g.room(p.RoomID)
	if r == nil {
		if len(g.rooms) >= g.limits.known {
			in.warn(reasonRooms, "roomId")
			return
		}
		g.addRoom(RoomState{ID: p.RoomID, Label: p.Label, Area: p.Area})
		return
	}
	before := r.RoomState
	overwrite(&r.Label, p.Label)
	overwrite(&r.Area, p.Area)
	r.Registered, r.PointOfCare, r.Room = false, "", ""
	if r.Label != before.Label || r.Area != before.Area || before.Registered {
		g.work.markRoom(r, unsaved)
	}
}

// compile makes rules, terminology map and location table ready for use. All statements
// are read anew.
func (u *State) compile() {
	var rules []catalogue.Rule
	var mappings []acuity.Mapping
	for _, row := range u.settings.rows {
		switch row := row.(type) {
		case *MappingState:
			mappings = append(mappings, row.Mapping)
		case *RuleState:
			rules = append(rules, catalogue.Rule{Factor: row.Factor, Lines: row.Lines})
		}
	}
	slices.SortFunc(rules, func(a, b catalogue.Rule) int { return cmp.Compare(a.Factor, b.Factor) })
	slices.SortFunc(mappings, func(a, b acuity.Mapping) int { return cmp.Compare(a.ID, b.ID) })
	u.matcher.cat = catalogue.Default().With(rules)
	u.chart.Unit.Rules = rules
	u.matcher.maps = terminology.NewMappings(mappings)
	u.matcher.maps.Medication = u.names.medication
	u.matcher.reader = terminology.Reader{Catalogue: u.matcher.cat, Mappings: u.matcher.maps}
	u.locations.table.SetRows(u.settings.locations())
}

// locations returns the rows that name a place, for the resolution of rooms.
func (s *localSettings) locations() (list []*acuity.Place) {
	for _, row := range s.rows {
		if p, ok := row.(*PlaceState); ok && (p.PointOfCare != "" || p.Room != "" || p.Bed != "") {
			list = append(list, &p.Place)
		}
	}
	return list
}

// switchesInForce returns the switches in force.
func (s *localSettings) switchesInForce() acuity.Switches {
	if row, ok := s.rows[settingKey{kind: kindSwitches}].(*SwitchesState); ok {
		return row.Switches
	}
	return acuity.Switches{}
}

// write writes the records of the local settings.
func (s *localSettings) write(write func(key []byte, s Record)) {
	for k, row := range s.rows {
		write(s.keys.key(k.kind, k.id), row)
	}
}

// writeDirty writes the local settings that changed.
func (s *localSettings) writeDirty(write func(key []byte, s Record)) {
	for _, k := range s.changed {
		if row, there := s.rows[k]; there {
			write(s.keys.key(k.kind, k.id), row)
		}
	}
	s.changed = emptied(s.changed)
}

// LocalSettings calls write for every record that administrators see in lists: the local
// settings, the codes of the worklist, and the rooms that are [State.Unknown]. Its keys
// are those of [State.Records].
func (u *State) LocalSettings(write func(key []byte, s Record)) {
	u.settings.write(write)
	for k, c := range u.worklist.codes {
		write(u.keys.key(kindCode, digest(k)), c)
	}
	for _, r := range u.rooms {
		if s := u.Unknown(r.ID); s != nil {
			write(u.keys.room(r.ID), s)
		}
	}
}

// Unknown returns a room of the unit that registered itself, and that neither a census
// nor an administrator has confirmed; nil: the room is not such a one.
func (u *State) Unknown(id int32) *RoomState {
	if r := u.room(id); r != nil && r.Registered && r.inUnit {
		return &r.RoomState
	}
	return nil
}

// leastTableVersion is above every version of a row, and the versions of tables that follow
// from it are exact as numbers of JSON.
const leastTableVersion = 1 << 52

// TableVersion returns the version of a whole table, given those of its rows by their ids.
// It is another one after any row was set or removed, so [acuity.Act.Expect] may name it for an
// act on many rows.
func TableVersion(rows map[string]int64) int64 {
	h := sha256.New()
	var b []byte
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		b = binary.AppendUvarint(b[:0], uint64(len(id)))
		b = append(b, id...)
		b = binary.AppendVarint(b, rows[id])
		h.Write(b)
	}
	sum := binary.BigEndian.Uint64(h.Sum(nil))
	return leastTableVersion | int64(sum&(leastTableVersion-1))
}

// isTable reports whether the table that an act changes has the version that it expects.
func (s *localSettings) isTable(o *acuity.Observation, version int64) bool {
	kind := kindMapping
	switch {
	case version < leastTableVersion:
		return false
	case len(o.Mappings) > 0:
	case len(o.Locations) > 0:
		kind = kindPlace
	default:
		return false
	}
	rows := map[string]int64{}
	for k, row := range s.rows {
		if k.kind == kind {
			rows[k.id] = row.version()
		}
	}
	return TableVersion(rows) == version
}
