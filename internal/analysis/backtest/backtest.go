// Package backtest measures forecasts against what came: at every recorded hour
// of a hospital the model knows the hours before alone, forecasts the next eight,
// and is compared with them, as are simple rivals.
package backtest

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
)

// Options say what is measured.
type Options struct {
	Hospital string
	Zone     *time.Location // of the hospital; nil: UTC
	// From and To are the first hour from which a forecast counts, and the one
	// before which the last does; 0: all. Hours before From are learnt.
	From, To int32
	// Warmup is how many observed hours must be learnt before a forecast counts
	// in the main tables; those by age of the history count all.
	Warmup int
	Models []string // by Name of their results; empty: all
}

// Method is the name of the model's results.
const Method = forecast.Method

// Models returns the names of all that can be compared.
func Models() []string {
	list := []string{Method}
	for _, b := range baselines {
		list = append(list, b.Name)
	}
	return list
}

// origin is an hour from which was forecast.
type origin struct {
	snapshot *acuity.Snapshot
	age      int // observed hours learnt
	level    acuity.Level
	ahead    [forecast.Horizon]forecast.Ahead
	slots    [forecast.Horizon]int
	rivals   [][forecast.Horizon]float64 // as baselines: nurses required
	census   [][forecast.Horizon]float64 // likewise: occupied rooms
	levels   [forecast.Horizon][3]chances
}

// ErrTooFew says that no hour is left behind those that are learnt first.
var ErrTooFew = errors.New("too few observed hours")

// Run measures the forecasts over hours in ascending order; of an hour that
// comes twice the first counts. The error is one of the hours, or of options.
func Run(hours iter.Seq2[*acuity.Snapshot, error], o Options) (*Report, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.To == 0 {
		o.To = math.MaxInt32
	}
	for _, name := range o.Models {
		if !slices.Contains(Models(), name) {
			return nil, fmt.Errorf("model %q: one of %q", name, Models())
		}
	}
	r := newRun(&o)
	for s, err := range hours {
		if err != nil {
			return nil, err
		}
		if s.Hour > r.model.Hour {
			r.hour(s)
		}
	}
	switch {
	case r.report.Forecasts > 0:
	case int(r.model.Learnt) <= o.Warmup:
		return nil, fmt.Errorf("no forecast to measure: %w, %d, of which %d are learnt first", ErrTooFew, r.model.Learnt, o.Warmup)
	default:
		return nil, errors.New("no forecast to measure: none of these hours is between from and to")
	}
	r.report.Lead = r.leads.result()
	r.report.finish()
	return r.report, nil
}

type run struct {
	options *Options
	model   *forecast.Model
	rivals  []baseline // of the nurses required
	census  []baseline // of the occupied rooms
	levels  transitions
	past    []origin // of the last eight hours
	report  *Report
	leads   leads
}

func newRun(o *Options) *run {
	r := &run{options: o, model: forecast.NewModel(o.Hospital), report: newReport(o)}
	for _, b := range baselines {
		r.rivals, r.census = append(r.rivals, b.make()), append(r.census, b.make())
	}
	return r
}

func (r *run) slot(hour int32) int {
	t := time.Unix(int64(hour)*3600, 0).In(r.options.Zone)
	return int(t.Weekday())*24 + t.Hour()
}

// hour compares an hour with what was forecast for it, then learns it and
// forecasts from it.
func (r *run) hour(s *acuity.Snapshot) {
	gauge := s.Gauge()
	required := float64(gauge.Required) / float64(acuity.Nurse)
	level := gauge.Level()
	r.past = slices.DeleteFunc(r.past, func(o origin) bool { return !s.Observed || s.Hour-o.snapshot.Hour > forecast.Horizon })
	if !s.Observed {
		forecast.Learn(r.model, s, r.options.Zone)
		r.leads.gap()
		return
	}
	for i := range r.past {
		r.compare(&r.past[i], s, required, &gauge, level)
	}
	r.leads.see(level, r.past, s.Hour, r.counts)

	slot := r.slot(s.Hour)
	for _, b := range r.rivals {
		b.see(s.Hour, slot, required)
	}
	for _, b := range r.census {
		b.see(s.Hour, slot, float64(s.Occupied))
	}
	forecast.Learn(r.model, s, r.options.Zone)
	o := origin{snapshot: s, age: int(r.model.Learnt), level: level}
	o.ahead = r.model.Pending[len(r.model.Pending)-1].Ahead
	for h := range o.slots {
		o.slots[h] = r.slot(s.Hour + int32(h) + 1)
		o.levels[h] = r.levels.ahead(h, o.slots[h], level)
	}
	for _, b := range r.rivals {
		o.rivals = append(o.rivals, b.ahead(&o.slots))
	}
	for _, b := range r.census {
		o.census = append(o.census, b.ahead(&o.slots))
	}
	r.past = append(r.past, o)
}

// counts reports whether a forecast is part of the main tables.
func (r *run) counts(o *origin) bool {
	return o.age >= r.options.Warmup && o.snapshot.Hour >= r.options.From && o.snapshot.Hour < r.options.To
}

// compare scores one hour ahead of an origin. The levels are those with the
// nurses of the origin: who is called in is not forecast.
func (r *run) compare(o *origin, s *acuity.Snapshot, required float64, gauge *acuity.Gauge, came acuity.Level) {
	h := int(s.Hour-o.snapshot.Hour) - 1
	held := *gauge
	held.Nurses, held.Call, held.Rooms = o.snapshot.Nurses, o.snapshot.Call, o.snapshot.Rooms
	level := held.Level()
	f := &o.ahead[h]
	within := o.snapshot.Hour >= r.options.From && o.snapshot.Hour < r.options.To
	if o.age >= 24 && within {
		r.report.age(o, h, required)
	}
	if r.counts(o) {
		r.report.nurses(o, h, required)
		addErrors(r.report.inner.census, float64(f.Occupied), o.census, h, float64(s.Occupied))
		var by [1 + 3]chances
		for x := range by[0] {
			by[0][x] = float64(f.AtLeast[x])
		}
		copy(by[1:], o.levels[h][:])
		r.report.level(h, &by, level, came)
		r.report.week(s.Hour, f, required)
		r.report.show(h, s.Hour, f, required)
	}
	r.levels.see(h, o.slots[h], o.level, level)
}
