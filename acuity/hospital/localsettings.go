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
	*registry
	mappings map[string]*MappingState
	rules    map[catalogue.Factor]*RuleState
	places   map[string]*PlaceState
	switches *SwitchesState

	// What must be written since the last call of Dirty.
	changedMappings []string // by id
	changedRules    []catalogue.Factor
	changedPlaces   []string // by id
	changedSwitches bool
}

func newLocalSettings(g *registry) localSettings {
	return localSettings{registry: g, mappings: map[string]*MappingState{}, rules: map[catalogue.Factor]*RuleState{}, places: map[string]*PlaceState{}}
}

// shareWith lets another unit read the same settings. It must not change them.
func (s *localSettings) shareWith(o *localSettings) {
	o.mappings, o.rules, o.places, o.switches = s.mappings, s.rules, s.places, s.switches
}

// SwitchesState is the switches of the hospital.
type SwitchesState struct {
	acuity.Switches
	Version int64          // of the change that set them
	By      string         // id of the key that set them
	At      acuity.Instant // receipt
}

func (*SwitchesState) state() {}

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
	if reason := u.settings.refusal(o); reason != "" {
		in.Outcome, in.Reason = acuity.Ignored, reason
		return
	}
	for i := range o.Mappings {
		u.settings.takeMapping(in, &o.Mappings[i])
	}
	for i := range o.Rules {
		u.settings.takeRule(in, &o.Rules[i])
	}
	for i := range o.Locations {
		u.settings.takePlace(in, &o.Locations[i])
		u.confirmRoom(in, &o.Locations[i])
	}
	if s := o.Switches; s != nil { // each is a new version of all settings
		u.settings.switches = &SwitchesState{Switches: *s, Version: u.facts.Version + 1, By: o.Source, At: o.ReceivedAt}
		u.settings.changedSwitches = true
	}
	for i := range o.Marks {
		u.worklist.takeMark(in, i, &o.Marks[i])
	}
	if len(o.Locations) > 0 || o.Switches != nil {
		u.locations.table.SetRows(u.settings.locations())
		u.work.relabel, u.work.known = true, true
		u.markAll()
	}
	if len(o.Mappings)+len(o.Rules) > 0 {
		u.compile()
	}
	for _, r := range u.rooms {
		u.work.markRoom(r, dirtyChart|markTouched)
		if len(o.Rules) > 0 {
			u.work.markRoom(r, markJudge)
		}
	}
}

// refusal returns why an administrator's observation cannot be taken; "": it can.
func (s *localSettings) refusal(o *acuity.Observation) string {
	expect := acuity.ExpectAnything
	if o.Act != nil {
		if expect = o.Act.Expect; s.isTable(o, expect) {
			expect = acuity.ExpectAnything // of each row: the table is as it was
		}
	}
	added, placed := 0, 0
	check := func(there bool, version int64, gone bool) string {
		switch {
		case expect == acuity.ExpectNone && there,
			expect == acuity.ExpectSome && !there,
			expect > 0 && (!there || version != expect):
			return ReasonPrecondition
		case gone && !there:
			return ReasonNotThere
		}
		return ""
	}
	for i := range o.Mappings {
		m, version := s.mappings[o.Mappings[i].ID], int64(0)
		if m != nil {
			version = m.Version
		} else if !o.Mappings[i].Delete {
			added++
		}
		if reason := check(m != nil, version, o.Mappings[i].Delete); reason != "" {
			return reason
		}
	}
	for i := range o.Rules {
		r, version := s.rules[o.Rules[i].Factor], int64(0)
		if r != nil {
			version = r.Version
		}
		if reason := check(r != nil, version, o.Rules[i].Delete); reason != "" {
			return reason
		}
	}
	for i := range o.Locations {
		p, version := s.places[location.RowID(&o.Locations[i])], int64(0)
		if p != nil {
			version = p.Version
		} else if !o.Locations[i].Delete {
			placed++
		}
		if reason := check(p != nil, version, o.Locations[i].Delete); reason != "" {
			return reason
		}
	}
	if o.Switches != nil {
		version := int64(0)
		if s.switches != nil {
			version = s.switches.Version
		}
		if reason := check(s.switches != nil, version, false); reason != "" {
			return reason
		}
	}
	if len(s.mappings)+added > capMappings || len(s.places)+placed > capPlaces {
		return ReasonTooMany
	}
	return ""
}

// compile makes rules, terminology map and location table ready for use. All statements
// are read anew.
func (u *State) compile() {
	rules := u.settings.inForce()
	u.matcher.cat = catalogue.Default().With(rules)
	u.chart.Unit.Rules = rules
	list := make([]acuity.Mapping, 0, len(u.settings.mappings))
	for _, m := range u.settings.mappings {
		list = append(list, m.Mapping)
	}
	slices.SortFunc(list, func(a, b acuity.Mapping) int { return cmp.Compare(a.ID, b.ID) })
	u.matcher.maps = terminology.NewMappings(list)
	u.matcher.maps.Medication = u.names.medication
	u.matcher.reader = terminology.Reader{Catalogue: u.matcher.cat, Mappings: u.matcher.maps}
	u.locations.table.SetRows(u.settings.locations())
}

// switchesInForce returns the switches in force.
func (s *localSettings) switchesInForce() acuity.Switches {
	if s.switches == nil {
		return acuity.Switches{}
	}
	return s.switches.Switches
}

// write writes the records of the local settings.
func (s *localSettings) write(write func(key []byte, s Record)) {
	for id, m := range s.mappings {
		write(s.keys.key(kindMapping, id), m)
	}
	for f, r := range s.rules {
		write(s.keys.key(kindRule, f.ID()), r)
	}
	for id, p := range s.places {
		write(s.keys.key(kindPlace, id), p)
	}
	if s.switches != nil {
		write(s.keys.key(kindSwitches, ""), s.switches)
	}
}

// writeDirty writes the local settings that changed.
func (s *localSettings) writeDirty(write func(key []byte, s Record)) {
	for _, m := range s.changedMappings {
		if row := s.mappings[m]; row != nil {
			write(s.keys.key(kindMapping, m), row)
		}
	}
	for _, f := range s.changedRules {
		if row := s.rules[f]; row != nil {
			write(s.keys.key(kindRule, f.ID()), row)
		}
	}
	for _, id := range s.changedPlaces {
		if row := s.places[id]; row != nil {
			write(s.keys.key(kindPlace, id), row)
		}
	}
	if s.changedSwitches {
		write(s.keys.key(kindSwitches, ""), s.switches)
	}
	s.changedMappings, s.changedRules, s.changedPlaces, s.changedSwitches = emptied(s.changedMappings), emptied(s.changedRules), emptied(s.changedPlaces), false
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

// takeRule puts a rule in force, or deletes it.
func (s *localSettings) takeRule(in *intake, r *catalogue.Rule) {
	if r.Delete {
		if s.rules[r.Factor] != nil {
			delete(s.rules, r.Factor)
			s.keys.drop(s.keys.key(kindRule, r.Factor.ID()))
		}
		return
	}
	if old := s.rules[r.Factor]; old != nil && slices.Equal(old.Lines, r.Lines) && old.Comment == r.Comment {
		return
	}
	state := &RuleState{Rule: *r, Version: s.facts.Version + 1, By: in.o.Source, At: in.o.ReceivedAt}
	state.Lines = slices.Clone(r.Lines)
	s.rules[r.Factor] = state
	s.changedRules = append(s.changedRules, r.Factor)
}

// inForce returns the rules in force, by factor.
func (s *localSettings) inForce() []catalogue.Rule {
	var list []catalogue.Rule
	for _, r := range s.rules {
		list = append(list, catalogue.Rule{Factor: r.Factor, Lines: r.Lines})
	}
	slices.SortFunc(list, func(a, b catalogue.Rule) int { return cmp.Compare(a.Factor, b.Factor) })
	return list
}

// takeMapping takes a row of the terminology map, or deletes it.
func (s *localSettings) takeMapping(in *intake, m *acuity.Mapping) {
	if m.Delete {
		if s.mappings[m.ID] != nil {
			delete(s.mappings, m.ID)
			s.keys.drop(s.keys.key(kindMapping, m.ID))
		}
		return
	}
	if old := s.mappings[m.ID]; old != nil && old.Mapping == *m {
		return
	}
	s.mappings[m.ID] = &MappingState{Mapping: *m, Version: s.facts.Version + 1, By: in.o.Source, At: in.o.ReceivedAt}
	s.changedMappings = append(s.changedMappings, m.ID)
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
	rows := map[string]int64{}
	switch {
	case version < leastTableVersion:
		return false
	case len(o.Mappings) > 0:
		for id, m := range s.mappings {
			rows[id] = m.Version
		}
	case len(o.Locations) > 0:
		for id, p := range s.places {
			rows[id] = p.Version
		}
	default:
		return false
	}
	return TableVersion(rows) == version
}
