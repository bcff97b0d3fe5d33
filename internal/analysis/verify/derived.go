package verify

import (
	"svc/acuity/hospital"
	"svc/schemas"
)

// derivation makes a unit anew from its facts, as a processor restores it, and compares it
// with the unit that was folded step by step. That takes as long as thousands of steps. So it
// runs in a goroutine of its own, on the records of one moment, while the fold goes on.
type derivation struct {
	done  chan struct{}
	found *Difference // nil: none
}

// factRecord is a record of the state.
type factRecord struct {
	key   string
	value []byte
}

// startDerivation starts a derivation, after the one before has ended.
func (u *unitCheck) startDerivation() {
	u.waitDerivation()
	if u.Difference != nil || u.p.v.Plain {
		return
	}
	version := u.version()
	wrong := func(err error) *Difference {
		return &Difference{Fault: WrongDerived, Key: u.Hospital, Version: version, Detail: err.Error()}
	}
	u.p.v.deriving <- struct{}{}
	kept, err := viewOf(u.Hospital, u.unit)
	var facts []factRecord
	u.unit.Records(func(key []byte, s hospital.Record) {
		value, fault := schemas.EncodeState(nil, s)
		if fault != nil {
			err = fault
		}
		facts = append(facts, factRecord{string(key), value})
	})
	d := &derivation{done: make(chan struct{})}
	u.anew = d
	go func() {
		defer func() {
			<-u.p.v.deriving
			close(d.done)
		}()
		var anew *View
		if err == nil {
			anew, err = viewOfFacts(u.Hospital, facts)
		}
		if err != nil {
			d.found = wrong(err)
		} else if field, _ := firstField(kept, anew); field != "" {
			d.found = &Difference{Fault: WrongDerived, Key: "view " + field, Version: version}
		}
	}()
}

// viewOfFacts returns the view that the facts of a unit make.
func viewOfFacts(hospitalID string, facts []factRecord) (*View, error) {
	unit := hospital.New(hospitalID)
	for _, f := range facts {
		s, err := schemas.DecodeState(f.value)
		if err != nil {
			return nil, err
		}
		if err := unit.Restore(f.key, s); err != nil {
			return nil, err
		}
	}
	unit.Restored()
	return viewOf(hospitalID, unit)
}

// waitDerivation waits for the derivation. Its difference counts unless an earlier version differs
// already.
func (u *unitCheck) waitDerivation() {
	if u.anew == nil {
		return
	}
	<-u.anew.done
	if found := u.anew.found; found != nil && (u.Difference == nil || found.Version <= u.Difference.Version) {
		u.Difference = nil
		u.reportDifference(found)
	}
	u.anew = nil
}
