package facts

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"svc/acuity"
	"svc/acuity/location"
)

// The maximum sizes of the tables that administrators set.
const (
	// capMappings is the maximum number of rows in the terminology map.
	capMappings = 20_000
	// capPlaces is the maximum number of rows in the location table.
	capPlaces = 5000
)

// LocalSettings are the rows that administrators set, by kind and id. They define how a hospital's codes, places and
// feeds are mapped, and the rules that override the catalogue.
type LocalSettings struct {
	Table[SettingKey, Setting]
	Unit *UnitState
}

// SettingKey identifies a row by its kind and its id in the table for that kind.
type SettingKey struct{ Kind, ID string }

// Setting is a record that administrators set. It is immutable: a new version is a new record.
type Setting interface {
	Record
	RowVersion() int64
	equals(o Setting) bool // compares everything except version, key and receipt
}

// RowVersion returns the version of the change that set the mapping.
func (s *MappingState) RowVersion() int64 { return s.Version }

// RowVersion returns the version of the change that set the rule.
func (s *RuleState) RowVersion() int64 { return s.Version }

// RowVersion returns the version of the change that set the place.
func (s *PlaceState) RowVersion() int64 { return s.Version }

// RowVersion returns the version of the change that set the switches.
func (s *SwitchesState) RowVersion() int64 { return s.Version }

func (s *MappingState) equals(o Setting) bool {
	other, ok := o.(*MappingState)
	return ok && s.Mapping == other.Mapping
}

func (s *RuleState) equals(o Setting) bool {
	other, ok := o.(*RuleState)
	return ok && slices.Equal(s.Lines, other.Lines) && s.Comment == other.Comment
}

func (s *PlaceState) equals(o Setting) bool {
	other, ok := o.(*PlaceState)
	return ok && s.Place == other.Place
}

func (s *SwitchesState) equals(Setting) bool { return false } // time zone and senders, which may have changed, share the version

// The reasons for refusing an administrator's observation as a whole.
const (
	ReasonPrecondition = "precondition_failed" // the current version is not the one in [acuity.Act.Expect]
	ReasonNotThere     = "not_there"           // there is nothing to delete
	ReasonTooMany      = "too_many"            // a table would exceed its maximum size
)

// settingChange is a row that an observation sets or deletes.
type settingChange struct {
	SettingKey
	deleted bool
	row     Setting
}

// ChangesBy returns the rows that an observation sets or deletes.
func (s *LocalSettings) ChangesBy(o *acuity.Observation) (list []settingChange) {
	version, by, at := s.Unit.Version+1, o.Source, o.ReceivedAt
	for _, m := range o.Mappings {
		row := &MappingState{Mapping: m, Version: version, By: by, At: at}
		list = append(list, settingChange{SettingKey{kindMapping, m.ID}, m.Delete, row})
	}
	for _, r := range o.Rules {
		r.Lines = slices.Clone(r.Lines)
		row := &RuleState{Rule: r, Version: version, By: by, At: at}
		list = append(list, settingChange{SettingKey{kindRule, r.Factor.ID()}, r.Delete, row})
	}
	for _, p := range o.Locations {
		row := &PlaceState{Place: p, Version: version, By: by, At: at}
		list = append(list, settingChange{SettingKey{kindPlace, location.RowID(&p)}, p.Delete, row})
	}
	if o.Switches != nil {
		row := &SwitchesState{Switches: *o.Switches, Version: version, By: by, At: at}
		list = append(list, settingChange{SettingKey{Kind: kindSwitches}, false, row})
	}
	return list
}

// Apply sets or deletes a row, and reports whether the content of the table has changed. A row whose content does not
// change keeps its version, except the switches.
func (s *LocalSettings) Apply(c *settingChange) (changed bool) {
	old, there := s.Rows[c.SettingKey]
	if c.deleted {
		if there {
			s.Delete(c.SettingKey)
		}
		return there
	}
	if there && old.equals(c.row) {
		return false
	}
	before := s.SwitchesInForce()
	s.Set(c.SettingKey, c.row)
	return c.Kind != kindSwitches || s.SwitchesInForce() != before
}

// Refusal returns the reason why an administrator's observation cannot be applied, or "" if it can be applied.
func (s *LocalSettings) Refusal(o *acuity.Observation, changes []settingChange) string {
	expect := acuity.ExpectAnything
	if o.Act != nil {
		if expect = o.Act.Expect; s.isTableVersion(o, expect) {
			expect = acuity.ExpectAnything // the rows are not checked, because the version of the whole table is as expected
		}
	}
	sizes := map[string]int{}
	for k := range s.Rows {
		sizes[k.Kind]++
	}
	for _, c := range changes {
		old, there := s.Rows[c.SettingKey]
		switch {
		case expect == acuity.ExpectNone && there,
			expect == acuity.ExpectSome && !there,
			expect > 0 && (!there || old.RowVersion() != expect):
			return ReasonPrecondition
		case c.deleted && !there:
			return ReasonNotThere
		case !there:
			sizes[c.Kind]++
		}
	}
	if sizes[kindMapping] > capMappings || sizes[kindPlace] > capPlaces {
		return ReasonTooMany
	}
	return ""
}

// Locations returns the rows of the location table that name a point of care, a room or a bed.
func (s *LocalSettings) Locations() (list []*acuity.Place) {
	for _, row := range s.Rows {
		if p, ok := row.(*PlaceState); ok && (p.PointOfCare != "" || p.Room != "" || p.Bed != "") {
			list = append(list, &p.Place)
		}
	}
	return list
}

// SwitchesInForce returns the current switches.
func (s *LocalSettings) SwitchesInForce() acuity.Switches {
	if row, ok := s.Rows[SettingKey{Kind: kindSwitches}].(*SwitchesState); ok {
		return row.Switches
	}
	return acuity.Switches{}
}

// Erase removes the row of a deleted record, and reports whether the record is a setting.
func (s *LocalSettings) Erase(kind, id string) bool {
	switch kind {
	case kindMapping, kindRule, kindPlace, kindSwitches:
		delete(s.Rows, SettingKey{kind, id})
		return true
	}
	return false
}

// leastTableVersion is the lowest version of a table. It is greater than any version of a row, so the two kinds of
// versions cannot be confused. Table versions are below 2^53, so they are exact as JSON numbers.
const leastTableVersion = 1 << 52

// TableVersion returns the version of a whole table, computed from the versions of its rows by id. The table version
// changes whenever a row is set or removed. An observation that changes many rows can therefore state the table
// version in [acuity.Act.Expect].
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

// isTableVersion reports whether version is the current version of the table that the observation changes.
func (s *LocalSettings) isTableVersion(o *acuity.Observation, version int64) bool {
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
	for k, row := range s.Rows {
		if k.Kind == kind {
			rows[k.ID] = row.RowVersion()
		}
	}
	return TableVersion(rows) == version
}
