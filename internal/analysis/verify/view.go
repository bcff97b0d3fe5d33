package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/acuity/facts"
	"svc/acuity/hospital"
	"svc/schemas"
)

// viewOf returns the expected view of a unit.
func viewOf(hospitalID string, unit *hospital.State) (*View, error) {
	chart := unit.Chart()
	v := &View{Version: chart.Unit.Version, Rooms: map[int32]string{}, Site: map[string]string{}}
	whole, err := schemas.UnitChartCodec.Encode(nil, &chart.Unit)
	if err != nil {
		return nil, fmt.Errorf("encode a chart: %w", err)
	}
	v.Unit = string(whole)
	for i := range chart.Rooms {
		room, fault := schemas.RoomChartCodec.Encode(nil, &chart.Rooms[i])
		if fault != nil {
			return nil, fmt.Errorf("encode a chart: %w", fault)
		}
		v.Rooms[chart.Rooms[i].ID] = string(room)
	}
	unit.LocalSettings(func(key []byte, s facts.Record) {
		value, fault := schemas.EncodeState(nil, s)
		err = errors.Join(err, fault)
		v.Site[strings.TrimPrefix(string(key), hospitalID+"/")] = string(value)
	})
	return v, err
}

// firstField returns the first field in which the served view differs from the expected one, and the fault of that
// field. Both results are empty if the views are equal.
func firstField(served, ought *View) (field string, fault Fault) {
	if served.Unit != ought.Unit {
		if served.Unit == "" {
			return "unit", MissingField
		}
		return "unit", StaleField
	}
	if id, fault := firstKey(served.Rooms, ought.Rooms); fault != "" {
		return fmt.Sprintf("room/%d", id), fault
	}
	if name, fault := firstKey(served.Site, ought.Site); fault != "" {
		return name, fault
	}
	if len(served.Foreign) > 0 {
		return served.Foreign[0], ForeignField
	}
	return "", ""
}

func firstKey[K int32 | string](served, ought map[K]string) (key K, fault Fault) {
	for _, key := range slices.Sorted(maps.Keys(ought)) {
		if value, there := served[key]; !there {
			return key, MissingField
		} else if value != ought[key] {
			return key, StaleField
		}
	}
	for _, key := range slices.Sorted(maps.Keys(served)) {
		if _, there := ought[key]; !there {
			return key, ForeignField
		}
	}
	return key, ""
}

// compareView compares a served view with the view of the folded unit, which has the same version.
func (u *unitCheck) compareView(served *View) {
	u.Served = served.Version
	ought, err := viewOf(u.Hospital, u.unit)
	if err != nil {
		u.reportDifference(&Difference{Fault: WrongDerived, Key: u.Hospital, Version: served.Version, Detail: err.Error()})
		return
	}
	if field, fault := firstField(served, ought); fault != "" {
		u.reportDifference(&Difference{Fault: fault, Key: "view " + field, Version: served.Version})
	}
}

// readViews reads the views of the partition's hospitals. It immediately compares each view whose version the fold
// has already reached. The other views are compared when the fold reaches their versions.
func (p *partitionCheck) readViews(ctx context.Context) (map[string]*View, error) {
	if p.v.View == nil {
		return nil, nil
	}
	hospitals := p.only
	if hospitals == nil {
		var err error
		if hospitals, err = p.v.Shown(ctx, p.partition); err != nil {
			return nil, err //nolint:wrapcheck // the error of the caller's function
		}
	}
	views := map[string]*View{}
	for _, h := range hospitals {
		view, err := p.v.View(ctx, h)
		switch {
		case errors.Is(err, ErrNoView):
			continue
		case err != nil:
			return nil, fmt.Errorf("read the view: %w", err)
		}
		views[h] = view
		u := p.unit(h)
		if u.view = view; u.version() == view.Version { // the fold has already reached the version of the view
			u.compareView(view)
			u.view = nil
		}
	}
	return views, nil
}

// compareAll performs the last comparisons of a round for each hospital: the unit with a complete derivation from its
// facts, the state records, and the view.
func (p *partitionCheck) compareAll(ctx context.Context, views map[string]*View) error {
	for _, hospital := range slices.Sorted(maps.Keys(p.units)) {
		u := p.units[hospital]
		u.startDerivation()
		u.waitDerivation()
		u.compareState()
		if p.v.View == nil || u.Difference != nil {
			continue
		}
		if err := p.checkServed(ctx, u, views[hospital]); err != nil {
			return err
		}
		u.view = nil
	}
	return nil
}

// askAgain is the interval at which a lagging view is read again.
const askAgain = 50 * time.Millisecond

// checkServed checks that the view has the version of the last folded change, or a newer one. If the view lags,
// checkServed waits for at most Patience, because a processor writes the view after the commit.
func (p *partitionCheck) checkServed(ctx context.Context, u *unitCheck, view *View) error {
	want := u.version()
	if want == 0 {
		u.reportDifference(&Difference{Fault: ForeignField, Key: "view " + u.Hospital, Detail: "the log has no such hospital"})
		return nil
	}
	// The timeout does not interrupt a read, because a failed read would hide that the view lags.
	patience, cancel := context.WithTimeout(ctx, p.v.Patience)
	defer cancel()
	tick := time.NewTicker(askAgain) //nolint:forbidigo // measures the lag of Redis, not a time of the domain
	defer tick.Stop()
	for view == nil || view.Version < want {
		select {
		case <-patience.Done():
			if ctx.Err() != nil {
				return ctx.Err() //nolint:wrapcheck // the error of the caller's context
			}
			if view == nil {
				u.reportDifference(&Difference{Fault: MissingField, Key: "view " + u.Hospital, Version: want})
			} else {
				detail := fmt.Sprintf("version %d is in the log", want)
				u.reportDifference(&Difference{Fault: StaleView, Key: "view " + u.Hospital, Version: view.Version, Detail: detail})
			}
			return nil
		case <-tick.C:
		}
		again, err := p.v.View(ctx, u.Hospital)
		if err != nil && !errors.Is(err, ErrNoView) {
			return fmt.Errorf("read the view: %w", err)
		}
		if view = again; view != nil && view.Version == want {
			u.compareView(view)
		}
	}
	return nil
}

// derivation is a comparison that runs in a separate goroutine, because it takes as long as applying thousands of
// inputs. It rebuilds a unit from a copy of its facts, as a processor does when it starts. It then compares the view
// of this unit with the view of the unit to which the inputs were applied.
type derivation struct {
	done  chan struct{}
	found *Difference // nil: none
}

// factRecord is an encoded state record: its key and its value.
type factRecord struct {
	key   string
	value []byte
}

// startDerivation waits for the previous derivation and then starts a new one. It does not start one if the hospital
// already has a difference, or if Plain is set, because a plain unit derives everything at every step.
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
	var records []factRecord
	u.unit.Records(func(key []byte, s facts.Record) {
		value, fault := schemas.EncodeState(nil, s)
		if fault != nil {
			err = fault
		}
		records = append(records, factRecord{string(key), value})
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
			anew, err = viewOfFacts(u.Hospital, records)
		}
		if err != nil {
			d.found = wrong(err)
		} else if field, _ := firstField(kept, anew); field != "" {
			d.found = &Difference{Fault: WrongDerived, Key: "view " + field, Version: version}
		}
	}()
}

// viewOfFacts returns the view that is derived from the facts of a unit.
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

// waitDerivation waits for the running derivation, if there is one. It reports a difference that the derivation has
// found, unless an earlier version already differs.
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
