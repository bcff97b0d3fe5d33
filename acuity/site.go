package acuity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// site is how one hospital wants its codes, places and feeds to be read, and
// what it asks for beyond the catalogue.
type site struct {
	mappings map[string]*MappingState
	rules    map[Factor]*RuleState
	places   map[string]*PlaceState
	switches *SwitchesState
}

func newSite() site {
	return site{mappings: map[string]*MappingState{}, rules: map[Factor]*RuleState{}, places: map[string]*PlaceState{}}
}

// SwitchesState is the switches of the hospital.
type SwitchesState struct {
	Switches
	Version int64   // of the change that set them
	By      string  // id of the key that set them
	At      Instant // receipt
}

func (*SwitchesState) state() {}

// The reasons for which an administrator's observation is not taken, as a whole.
const (
	ReasonPrecondition = "precondition_failed" // a version is another one than [Act.Expect]
	ReasonNotThere     = "not_there"           // what is to be taken away is not there
	ReasonTooMany      = "too_many"            // a cap of caps.go
	ReasonDryRun       = "dry_run"             // it was only asked what it would do
)

// administers reports whether an observation is that of an administrator.
func (o *Observation) administers() bool {
	return len(o.Mappings)+len(o.Rules)+len(o.Locations)+len(o.Marks) > 0 || o.Switches != nil
}

// takeSite takes what an administrator says, all of it or nothing.
func (u *Unit) takeSite(in *intake) {
	o := in.o
	if reason := u.refusal(o); reason != "" {
		in.Outcome, in.Reason = Ignored, reason
		return
	}
	for i := range o.Mappings {
		u.takeMapping(in, &o.Mappings[i])
	}
	for i := range o.Rules {
		u.takeRule(in, &o.Rules[i])
	}
	for i := range o.Locations {
		u.takePlace(in, &o.Locations[i])
	}
	if s := o.Switches; s != nil { // a new version each time: it is that of all settings
		u.switches = &SwitchesState{Switches: *s, Version: u.facts.Version + 1, By: o.Source, At: o.ReceivedAt}
		u.dirty.switches = true
	}
	for i := range o.Marks {
		u.takeMark(in, i, &o.Marks[i])
	}
	if len(o.Locations) > 0 || o.Switches != nil {
		u.table.site(u.locations())
		u.work.relabel, u.work.known = true, true
		u.markAll()
	}
	if len(o.Mappings)+len(o.Rules) > 0 {
		u.compile()
	}
	for _, r := range u.rooms {
		u.markRoom(r, dirtyChart|markTouched)
		if len(o.Rules) > 0 {
			u.markRoom(r, markJudge)
		}
	}
}

// refusal returns why an administrator's observation cannot be taken; "" if it can.
func (u *Unit) refusal(o *Observation) string {
	expect := ExpectAnything
	if o.Act != nil {
		expect = o.Act.Expect
	}
	added, placed := 0, 0
	check := func(there bool, version int64, gone bool) string {
		switch {
		case expect == ExpectNone && there,
			expect == ExpectSome && !there,
			expect > 0 && (!there || version != expect):
			return ReasonPrecondition
		case gone && !there:
			return ReasonNotThere
		}
		return ""
	}
	for i := range o.Mappings {
		m, version := u.mappings[o.Mappings[i].ID], int64(0)
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
		r, version := u.rules[o.Rules[i].Factor], int64(0)
		if r != nil {
			version = r.Version
		}
		if reason := check(r != nil, version, o.Rules[i].Delete); reason != "" {
			return reason
		}
	}
	for i := range o.Locations {
		p, version := u.places[o.Locations[i].ID()], int64(0)
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
		if u.switches != nil {
			version = u.switches.Version
		}
		if reason := check(u.switches != nil, version, false); reason != "" {
			return reason
		}
	}
	if len(u.mappings)+added > capMappings || len(u.places)+placed > capPlaces {
		return ReasonTooMany
	}
	return ""
}

// compile makes rules, terminology map and location table ready for use.
// Whatever was read by the maps before is read anew.
func (u *Unit) compile() {
	rules := u.inForce()
	u.cat = Default().With(rules)
	u.chart.Unit.Rules = rules
	list := make([]Mapping, 0, len(u.mappings))
	for _, m := range u.mappings {
		list = append(list, m.Mapping)
	}
	slices.SortFunc(list, func(a, b Mapping) int { return cmp.Compare(a.ID, b.ID) })
	u.maps = newMappings(list)
	u.maps.referents = u.referents
	u.work.reader = reader{c: u.cat, maps: u.maps}
	u.table.site(u.locations())
}

// setting returns the switches in force.
func (u *Unit) setting() Switches {
	if u.switches == nil {
		return Switches{}
	}
	return u.switches.Switches
}

// writeSite writes the records of the site.
func (u *Unit) writeSite(write func(key []byte, s State)) {
	for id, m := range u.mappings {
		write(u.key(kindMapping, id), m)
	}
	for f, r := range u.rules {
		write(u.key(kindRule, f.ID()), r)
	}
	for id, p := range u.places {
		write(u.key(kindPlace, id), p)
	}
	if u.switches != nil {
		write(u.key(kindSwitches, ""), u.switches)
	}
}

// writeDirtySite writes those that changed.
func (u *Unit) writeDirtySite(write func(key []byte, s State)) {
	d := &u.dirty
	for _, m := range d.mappings {
		if s := u.mappings[m]; s != nil {
			write(u.key(kindMapping, m), s)
		}
	}
	for _, f := range d.rules {
		if s := u.rules[f]; s != nil {
			write(u.key(kindRule, f.ID()), s)
		}
	}
	for _, id := range d.places {
		if s := u.places[id]; s != nil {
			write(u.key(kindPlace, id), s)
		}
	}
	if d.switches {
		write(u.key(kindSwitches, ""), u.switches)
	}
}

// Site calls write for every record that administrators see in lists: the rows
// of the site, the codes of the worklist, and the rooms that are
// [Unit.Unknown]. Its keys are those of [Unit.States].
func (u *Unit) Site(write func(key []byte, s State)) {
	u.writeSite(write)
	for k, c := range u.codes {
		write(u.key(kindCode, digest(k)), c)
	}
	for _, r := range u.rooms {
		if s := u.Unknown(r.ID); s != nil {
			write(u.roomKey(r.ID), s)
		}
	}
}

// Unknown returns a room of the unit that registered itself and that neither a
// census nor an administrator has confirmed; nil if the room is no such one.
func (u *Unit) Unknown(id int32) *RoomState {
	if r := u.room(id); r != nil && r.Registered && r.inUnit {
		return &r.RoomState
	}
	return nil
}

// shortDigest names a text in 24 digits: what tells two rows apart is in it, so
// the same row has the same id whoever makes it.
func shortDigest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p))))
		h.Write([]byte{':'})
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}
