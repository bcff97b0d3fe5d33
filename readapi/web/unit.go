package web

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/help"
	"svc/readapi/web/chart"
)

// Unit is what the pages know of a hospital at an instant.
type Unit struct {
	Version  string // of its state: another one may look otherwise
	Verdict  *acuity.Verdict
	Forecast *forecast.Forecast // nil: there is none
	Missing  *forecast.InsufficientError
	Plan     []acuity.Staffing // nurses on duty from later instants on
	Feeds    []Feed
	Help     []help.Step
	At       time.Time
	// Stopped is the instant from which on input may be missing; all else is of then.
	// Zero: nothing is missing.
	Stopped time.Time
}

// Feed is the age of one kind of input.
type Feed struct {
	Channel string
	Heard   time.Time // zero: never
	Late    bool      // silent for longer than it is used to be
	Stale   bool
}

// tooOld is the age from which on nobody may act on what is shown.
const tooOld = 30 * time.Minute

// nurses writes a demand with one decimal.
func (p *writer) nurses(d acuity.Demand) string {
	return p.FormatNumber(float64(d)/float64(acuity.Nurse), 1)
}

// held is how a page is marked that does not show the present: "" if it does.
func (u *Unit) held() string {
	switch {
	case u.Stopped.IsZero():
		return ""
	case u.At.Sub(u.Stopped) >= tooOld:
		return "old"
	}
	return "stopped"
}

// headline is the level and its figures.
type headline struct {
	Class   string // green, yellow, orange, red; and unsure
	Shape   string // of the level: g, y, o, r
	Word    string
	Why     string
	Since   string // from when on it has this level, and which one it had before
	Changed string
	Band    string // what is the matter with the page; "": nothing
	Old     bool   // too old to act on
	Figures []figure
	Pips    []bool // a nurse each, true: on duty, false: short
}

type figure struct {
	Name, Value string
	Unknown     bool
}

var shapes = [...]string{"g", "y", "o", "r"}

// mostPips is how many nurses are drawn; beyond it the figures alone tell.
const mostPips = 30

func (p *writer) headline(u *Unit) *headline {
	v := u.Verdict
	h := &headline{
		Class: v.Level.String(), Shape: shapes[v.Level], Word: p.T("level." + v.Level.String()),
		Why: p.driving(v), Changed: p.T("changed", "time", p.FormatMoment(v.AsOf, u.At)),
		Figures: []figure{{p.T("needed"), p.nurses(v.Required), false}},
	}
	switch run := &v.Run; {
	case run.HasPrior:
		h.Since = p.T("since.prior", "time", p.FormatMoment(run.Since, u.At), "level", p.T("color."+run.Prior.String()))
	case run.Since != 0:
		h.Since = p.T("since", "time", p.FormatMoment(run.Since, u.At))
	}
	switch u.held() {
	case "old":
		h.Old = true
		fallthrough
	case "stopped":
		h.Band = p.T("stopped", "time", p.FormatClock(u.Stopped))
	}
	if v.OnDuty < 0 {
		if v.Level == acuity.LevelGreen && v.Required > 0 { // as far as is known
			h.Class += " unsure"
			h.Why = p.T("axis.unsure")
			h.Word += "?"
		}
		h.Figures = append(h.Figures, figure{p.T("onduty"), p.T("unknown"), true})
		return h
	}
	h.Figures = append(h.Figures, figure{p.T("onduty"), strconv.Itoa(int(v.OnDuty)), false}, figure{p.T("short"), strconv.Itoa(int(v.Shortfall)), false})
	if v.OnDuty+v.Shortfall <= mostPips {
		for i := range v.OnDuty + v.Shortfall {
			h.Pips = append(h.Pips, i < v.OnDuty)
		}
	}
	return h
}

func (p *writer) driving(v *acuity.Verdict) string {
	if v.Level == acuity.LevelGreen {
		return p.T("axis.none")
	}
	return p.T("axis." + v.Driving.String())
}

// tile is a room on the map.
type tile struct {
	ID      int32
	Label   string
	Class   string // green … red, empty, blocked, unknown; and stale
	Shape   string // "": none
	Color   string // in words, for who does not see it
	Factors string // what it is about; "" on the wall
	Ratio   string // "1:2", or what the room is
	Next    string // when time alone changes it
	Score   int32
	Place   string // classes of its place on the map
	Door    bool   // on the map, at its foot
}

// shownFactors of a room fit on the map.
const shownFactors = 3

func (p *writer) tile(r *acuity.RoomVerdict, wall bool) tile {
	t := tile{ID: r.ID, Label: cmp.Or(r.Label, strconv.Itoa(int(r.ID))), Score: r.Score}
	switch {
	case r.Status == acuity.RoomEmpty:
		t.Class, t.Ratio = "empty", p.T("room.empty")
		return t
	case r.Status == acuity.RoomBlocked:
		t.Class, t.Ratio = "blocked", p.T("room.blocked")
		return t
	case r.Color == acuity.ColorGray:
		t.Class, t.Ratio = "empty", p.T("room.unknown")
		return t
	}
	t.Class, t.Shape = r.Color.String(), shapes[r.Color-acuity.ColorGreen]
	t.Color = p.T("color." + t.Class)
	t.Ratio = r.Demand.Nursing()
	if r.Demand <= 0 {
		t.Ratio = p.T("room.noneneeded")
	}
	if r.Stale {
		t.Class += " stale"
		t.Color += ", " + p.T("room.stale")
	}
	if wall {
		return t
	}
	t.Next = p.FormatInstant(r.Next)
	for i := range r.Factors {
		if i == shownFactors {
			break
		}
		if i > 0 {
			t.Factors += ", "
		}
		t.Factors += p.FactorName(r.Factors[i].Factor)
	}
	return t
}

// factor is the name of a factor in the language of the page.
// mostLook is how many rooms want a look first; beyond it the map tells.
const mostLook = 12

// look is the rooms that want a look first: red and orange ones, the highest score first.
// More is how many there are beside.
func (p *writer) look(v *acuity.Verdict) (worst []tile, more int) {
	for i := range v.Rooms {
		if v.Rooms[i].Color >= acuity.ColorOrange {
			worst = append(worst, p.tile(&v.Rooms[i], false))
		}
	}
	slices.SortStableFunc(worst, func(a, b tile) int { return cmp.Compare(b.Score, a.Score) })
	return worst[:min(len(worst), mostLook)], max(len(worst)-mostLook, 0)
}

// helpRow is one row of what would help.
type helpRow struct {
	What, After  string
	Class, Shape string
	To           string
}

// mostHelp is how many rows of what would help are shown.
const mostHelp = 4

func (p *writer) help(u *Unit) (rows []helpRow) {
	for i := range u.Help {
		h := &u.Help[i]
		if i == mostHelp {
			break
		}
		row := helpRow{Class: h.Level.String(), Shape: shapes[h.Level], To: p.T("help.covered")}
		switch h.Kind {
		case help.Nurse:
			row.What = p.T("help.nurses", "n", 1)
		case help.Nurses:
			row.What = p.T("help.nurses", "n", 2) //nolint:mnd // two
		case help.Call:
			row.What = p.T("help.call")
		case help.Clock:
			row.What, row.After = p.T("help.clock", "time", p.FormatInstant(h.At)), p.T("help.ifnobody")
		}
		switch {
		case u.Verdict.OnDuty < 0:
			row.To = p.T("level." + row.Class)
		case h.Shortfall > 0:
			row.To = p.T("help.short", "n", h.Shortfall)
		}
		rows = append(rows, row)
	}
	return rows
}

// axisRow is one axis.
type axisRow struct {
	Name, Detail string
	Class, Shape string // of its level; "": not known
	Word         string
	Lead         bool // it drives the level
	Meter        template.HTML
}

// axes are all axes, the worst first; those that are not known come last.
func (p *writer) axes(v *acuity.Verdict) []axisRow {
	order := make([]acuity.Axis, 0, acuity.AxisCount)
	for i := range acuity.Axis(acuity.AxisCount) {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b acuity.Axis) int {
		x, y := &v.Axes[a], &v.Axes[b]
		if x.Known != y.Known {
			if x.Known {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(y.Level, x.Level), cmp.Compare(y.Pressure, x.Pressure))
	})
	rows := make([]axisRow, 0, len(order))
	for _, id := range order {
		a := &v.Axes[id]
		row := axisRow{Name: p.T("axis." + id.String()), Detail: p.detail(v, id), Word: p.T("axis.unknown"), Meter: chart.UnknownMeter()}
		if a.Known {
			row.Class, row.Shape, row.Word = a.Level.String(), shapes[a.Level], p.T("level."+a.Level.String())
			row.Lead = id == v.Driving && v.Level > acuity.LevelGreen
			row.Meter = chart.Meter(float64(a.Pressure) / 1000) //nolint:mnd // tenths of a point of 100
		}
		rows = append(rows, row)
	}
	return rows
}

// unknownBecause are the reasons for which an axis is not known, by its codes.
var unknownBecause = map[acuity.Axis][]string{
	acuity.AxisStaffing: {"staffing_unknown"}, acuity.AxisReserve: {"staffing_unknown"}, acuity.AxisAcuity: {"staffing_unknown"},
	acuity.AxisCapacity: {"capacity_unknown"}, acuity.AxisSkill: {"roster_stale", "skill_unknown"},
}

// detail is the line of an axis with its numbers, or why there are none.
func (p *writer) detail(v *acuity.Verdict, id acuity.Axis) string {
	if !v.Axes[id].Known {
		for _, code := range unknownBecause[id] {
			if slices.ContainsFunc(v.Quality, func(q acuity.Quality) bool { return q.Code == code }) {
				return p.T("unknown." + code)
			}
		}
		return p.T("axis.unknown")
	}
	n := v.Numbers(id)
	nurses := func(sixtieths int64) string { return p.FormatNumber(float64(sixtieths)/float64(acuity.Nurse), 1) }
	switch id {
	case acuity.AxisStaffing:
		return p.T("detail.staffing", "needed", nurses(n[0]), "onduty", n[1])
	case acuity.AxisCritical:
		return p.T("detail.critical", "bound", nurses(n[0]), "stat", n[1])
	case acuity.AxisReserve:
		if n[1] != 0 {
			return p.T("detail.reserve.call", "left", nurses(n[0]))
		}
		return p.T("detail.reserve", "left", nurses(n[0]))
	case acuity.AxisCapacity:
		return p.T("detail.capacity", "busy", n[0], "rooms", n[1], "waiting", n[2])
	case acuity.AxisAcuity:
		return p.T("detail.acuity", "points", n[0], "nurses", n[1])
	case acuity.AxisFlow:
		if n[0] == 0 {
			return p.T("detail.boarders", "boarders", n[2])
		}
		return p.T("detail.flow", "moves", n[1], "boarders", n[2])
	case acuity.AxisSkill:
		return p.T("detail.skill", "novices", n[0], "experts", n[1], "nurses", n[2], "load", p.FormatNumber(float64(n[3])/100, 2)) //nolint:mnd // hundredths
	}
	return ""
}

// quality is what makes the verdict less certain, in words.
func (p *writer) quality(v *acuity.Verdict) (all []string) {
	for _, q := range v.Quality {
		all = append(all, p.T("quality."+q.Code))
	}
	return all
}

// feedRow is the age of one feed.
type feedRow struct {
	Name, Age string
	Late      bool // longer silent than usual
}

func (p *writer) feeds(u *Unit) []feedRow {
	rows := make([]feedRow, 0, len(u.Feeds))
	for _, f := range u.Feeds {
		row := feedRow{Name: p.Or("feed."+f.Channel, f.Channel), Age: p.T("feed.never"), Late: f.Late || f.Stale}
		if !f.Heard.IsZero() {
			if row.Age = p.FormatAge(u.At.Sub(f.Heard)); f.Stale {
				row.Age = p.T("feed.stale", "age", row.Age)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
