package hospital

import (
	"encoding/json"

	"svc/acuity"
	"svc/acuity/facts"
)

// changelog is the store of a unit's records.
type changelog map[string]facts.Record

// write stores deep copies of the dirty records of a unit.
func (l changelog) write(u *State) {
	u.Dirty(func(k []byte, s facts.Record) {
		key := string(k)
		switch s := s.(type) {
		case nil:
			delete(l, key)
		case *facts.UnitState:
			l[key] = copied(s)
		case *facts.RoomState:
			l[key] = copied(s)
		case *facts.VisitState:
			l[key] = copied(s)
		case *facts.StatementState:
			l[key] = copied(s)
		case *facts.DedupState:
			l[key] = copied(s)
		case *facts.MappingState:
			l[key] = copied(s)
		case *facts.CodeState:
			l[key] = copied(s)
		case *facts.RuleState:
			l[key] = copied(s)
		case *facts.PlaceState:
			l[key] = copied(s)
		case *facts.SwitchesState:
			l[key] = copied(s)
		case *facts.ReferenceState:
			l[key] = copied(s)
		case *facts.PastStaffingState:
			l[key] = copied(s)
		}
	})
}

func copied[T any](s *T) *T {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	c := new(T)
	if err := json.Unmarshal(b, c); err != nil {
		panic(err)
	}
	return c
}

// restore builds a unit from a changelog.
func (l changelog) restore(t interface{ Fatal(...any) }) *State {
	u := New(testHospital)
	for key, s := range l {
		if err := u.Restore(key, s); err != nil {
			t.Fatal(err)
		}
	}
	u.Restored()
	return u
}

// view is the store of a unit's charts.
type view map[int32]string

func (w view) write(u *State) {
	u.View(func(room int32, c *acuity.RoomChart) {
		if c == nil {
			delete(w, room)
		} else {
			w[room] = rendered(c)
		}
	})
}
