// Package backtest measures the accuracy of forecasts. At every observed hour of a hospital, a model that knows only
// this hour and the earlier ones forecasts the next eight. The forecast is then compared with those hours and with
// the forecasts of simple baselines.
package backtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
	"svc/acuity/score"
)

// Options select the hours and the models to measure.
type Options struct {
	Hospital string
	Zone     *time.Location // zone of the hospital; nil: UTC
	// From and To select the forecasts that count: those made at hours in [From, To), in hours since the Unix epoch.
	// 0 means no limit. The model also learns from hours before From.
	From, To int32
	// Warmup is the number of observed hours from which the model must have learned before a forecast counts in the
	// main tables. The tables by the age of the history count every forecast after the first 24 observed hours.
	Warmup int
	Models []string // names of the methods to report; empty: all
	// Compare is an external model to compare with; nil means none.
	Compare *Foreign
	// Progress is called with the number of measured hours and their total. It may be nil.
	Progress func(done, total int64)
}

// Method is the name of svc's own model in the results.
const Method = forecast.Method

// Models returns the names of all methods that can be compared.
func Models() []string {
	list := []string{Method}
	for _, b := range baselines {
		list = append(list, b.Name)
	}
	return list
}

// origin is an observed hour, with the forecasts that the model and the baselines made in that hour.
type origin struct {
	snapshot *acuity.Snapshot
	age      int // number of observed hours that the model has learned from
	level    acuity.Level
	ahead    [forecast.Horizon]forecast.Ahead
	slots    [forecast.Horizon]int
	rivals   [][forecast.Horizon]float64 // forecasts of the nurses required, by baseline
	census   [][forecast.Horizon]float64 // forecasts of the occupied rooms, by baseline
	levels   [forecast.Horizon][3]chances
}

// ErrTooFew means that no forecast counts, because there are at most [Options.Warmup] observed hours.
var ErrTooFew = errors.New("too few observed hours")

// Run measures the forecasts over the given hours, which must be in ascending order. If an hour occurs more than
// once, the first occurrence counts. Run returns an error if an option is invalid, or if no forecast can be measured:
// [ErrTooFew] means that there are too few observed hours.
func Run(hours []*acuity.Snapshot, o Options) (*Report, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.To == 0 {
		o.To = math.MaxInt32
	}
	for _, name := range o.Models {
		if !slices.Contains(Models(), name) {
			return nil, fmt.Errorf("model %q: must be one of %q", name, Models())
		}
	}
	r := newRun(&o)
	for i, s := range hours {
		if s.Hour > r.model.Hour {
			r.addHour(s)
		}
		if o.Progress != nil {
			o.Progress(int64(i+1), int64(len(hours)))
		}
	}
	switch {
	case r.report.Forecasts > 0:
	case int(r.model.Learnt) <= o.Warmup:
		return nil, fmt.Errorf("no forecast to measure: %w: %d, but the first %d are used only to learn", ErrTooFew, r.model.Learnt, o.Warmup)
	default:
		return nil, errors.New("no forecast to measure: no recorded hour is in the requested span")
	}
	if c := r.report.Compared; c != nil {
		if c.Forecasts == 0 {
			return nil, fmt.Errorf("%s: none of its %d forecasts is for a measured hour", c.Name, c.Unused)
		}
		c.finish(o.Compare, r.report.inner.show)
	}
	r.report.Lead = r.leads.result()
	r.report.finish()
	return r.report, nil
}

type run struct {
	options *Options
	model   *forecast.Model
	rivals  []baseline // baselines for the nurses required
	census  []baseline // baselines for the occupied rooms
	levels  transitions
	past    []origin // origins of the last eight hours
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

// addHour compares an observed hour with the earlier forecasts for it. It then trains the model and the baselines on
// the hour, and records their forecasts for the hours after it. An unobserved hour is not compared, and all earlier
// forecasts are discarded.
func (r *run) addHour(s *acuity.Snapshot) {
	unit := score.SumSnapshot(s)
	required := float64(unit.Required) / float64(catalogue.Nurse)
	level := unit.Level()
	r.past = slices.DeleteFunc(r.past, func(o origin) bool { return !s.Observed || s.Hour-o.snapshot.Hour > forecast.Horizon })
	if !s.Observed {
		forecast.Learn(r.model, s, r.options.Zone)
		r.leads.gap()
		return
	}
	for i := range r.past {
		r.compare(&r.past[i], s, required, &unit, level)
	}
	r.leads.observe(level, r.past, s.Hour, r.counts)

	slot := r.slot(s.Hour)
	for _, b := range r.rivals {
		b.observe(s.Hour, slot, required)
	}
	for _, b := range r.census {
		b.observe(s.Hour, slot, float64(s.Occupied))
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

// counts reports whether the forecasts of an origin count in the main tables.
func (r *run) counts(o *origin) bool {
	return o.age >= r.options.Warmup && o.snapshot.Hour >= r.options.From && o.snapshot.Hour < r.options.To
}

// compare scores the forecast that an origin made for the hour of s. It compares the forecast level with two levels:
// the level that occurred, and the level that the hour would have had with the staff and the number of rooms of the
// origin's hour. The second level is compared because a forecast cannot know who will be called in.
func (r *run) compare(o *origin, s *acuity.Snapshot, required float64, unit *score.UnitNumbers, came acuity.Level) {
	h := int(s.Hour-o.snapshot.Hour) - 1
	held := *unit
	held.Nurses, held.Call, held.Rooms = o.snapshot.Nurses, o.snapshot.Call, o.snapshot.Rooms
	level := held.Level()
	f := &o.ahead[h]
	within := o.snapshot.Hour >= r.options.From && o.snapshot.Hour < r.options.To
	if o.age >= 24 && within {
		r.report.addAge(o, h, required)
	}
	if r.counts(o) {
		r.report.addNurses(o, h, required)
		addErrors(r.report.inner.census, float64(f.Occupied), o.census, h, float64(s.Occupied))
		if r.report.Compared != nil {
			r.report.Compared.add(r.options.Compare, o, h, required, float64(s.Occupied))
		}
		var by [1 + 3]chances
		for x := range by[0] {
			by[0][x] = float64(f.AtLeast[x])
		}
		copy(by[1:], o.levels[h][:])
		r.report.addLevels(h, &by, level, came)
		r.report.addWeek(s.Hour, f, required)
		r.report.addSample(h, s.Hour, f, required)
	}
	r.levels.observe(h, o.slots[h], o.level, level)
}
