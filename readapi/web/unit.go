package web

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
	"svc/acuity/help"
	"svc/acuity/score"
	"svc/readapi/web/chart"
)

// Unit is the unit of a hospital at an instant, as the pages show it.
type Unit struct {
	Version  string // of the state: a unit of another version may look otherwise
	Verdict  *score.Verdict
	Forecast *forecast.Forecast // nil: there is none
	Missing  *forecast.InsufficientError
	Plan     []acuity.Staffing // nurses on duty from later instants on
	Feeds    []Feed
	Help     []help.Step
	At       time.Time
	// Stopped is the instant from which on input may be missing. The verdict is as it was then.
	// Zero: nothing is missing.
	Stopped time.Time
}

// Feed is the age of one kind of input.
type Feed struct {
	Channel      string
	LastReceived time.Time // zero: never
	Late         bool      // silent for longer than usual
	Stale        bool
}

// tooOld is the age from which on nobody may act on a page.
const tooOld = 30 * time.Minute

// formatNurses writes a demand with one decimal.
func (p *writer) formatNurses(d catalogue.Demand) string {
	return p.FormatNumber(float64(d)/float64(catalogue.Nurse), 1)
}

// heldState returns the mark of a page that does not show the present; "": it does.
func (u *Unit) heldState() string {
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
	Since   string // says since when the unit has this level, and the level before
	Changed string
	Band    string // says why the page does not show the present; "": it does
	Old     bool   // too old to act on
	Figures []figure
	Pips    []bool // one for each nurse; true: on duty, false: short
}

type figure struct {
	Name, Value string
	Unknown     bool
}

var shapes = [...]string{"g", "y", "o", "r"}

// mostPips is how many nurses are drawn. The figures tell a larger number.
const mostPips = 30

func (p *writer) newHeadline(u *Unit) *headline {
	v := u.Verdict
	h := &headline{
		Class: v.Level.String(), Shape: shapes[v.Level], Word: p.T("level." + v.Level.String()),
		Why: p.describeDriver(v), Changed: p.T("changed", "time", p.FormatMoment(v.AsOf, u.At)),
		Figures: []figure{{p.T("needed"), p.formatNurses(v.Required), false}},
	}
	switch run := &v.Run; {
	case run.HasPrior:
		h.Since = p.T("since.prior", "time", p.FormatMoment(run.Since, u.At), "level", p.T("color."+run.Prior.String()))
	case run.Since != 0:
		h.Since = p.T("since", "time", p.FormatMoment(run.Since, u.At))
	}
	switch u.heldState() {
	case "old":
		h.Old = true
		fallthrough
	case "stopped":
		h.Band = p.T("stopped", "time", p.FormatClock(u.Stopped))
	}
	if v.OnDuty < 0 {
		if v.Level == acuity.LevelGreen && v.Required > 0 { // the shortfall is not known
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

func (p *writer) describeDriver(v *score.Verdict) string {
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
	Color   string // in words, for a screen reader
	Factors string // names of the factors; "" on the wall
	Ratio   string // "1:2", or the state of the room
	Next    string // time of the next change by time alone
	Score   int32
	Place   string // classes of its place on the map
	Door    bool   // drawn at the foot of the room
}

// shownFactors is how many factors of a room fit on the map.
const shownFactors = 3

func (p *writer) newTile(r *score.RoomVerdict, wall bool) tile {
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

// mostLook is how many rooms are listed to look at first. The map shows all.
const mostLook = 12

// selectWorst returns the rooms to look at first: red and orange rooms, the highest score
// first. More is the number of further ones.
func (p *writer) selectWorst(v *score.Verdict) (worst []tile, more int) {
	for i := range v.Rooms {
		if v.Rooms[i].Color >= acuity.ColorOrange {
			worst = append(worst, p.newTile(&v.Rooms[i], false))
		}
	}
	slices.SortStableFunc(worst, func(a, b tile) int { return cmp.Compare(b.Score, a.Score) })
	return worst[:min(len(worst), mostLook)], max(len(worst)-mostLook, 0)
}

// helpRow is one step that would help.
type helpRow struct {
	What, After  string
	Class, Shape string
	To           string
}

// mostHelp is how many steps that would help are shown.
const mostHelp = 4

func (p *writer) listHelp(u *Unit) (rows []helpRow) {
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
	Class, Shape string // of its level; "": the level is not known
	Word         string
	Lead         bool // the axis drives the level
	Meter        template.HTML
}

// listAxes returns all axes, the worst first and the unknown ones last.
func (p *writer) listAxes(v *score.Verdict) []axisRow {
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
		row := axisRow{Name: p.T("axis." + id.String()), Detail: p.describeAxis(v, id), Word: p.T("axis.unknown"), Meter: chart.UnknownMeter()}
		if a.Known {
			row.Class, row.Shape, row.Word = a.Level.String(), shapes[a.Level], p.T("level."+a.Level.String())
			row.Lead = id == v.Driving && v.Level > acuity.LevelGreen
			row.Meter = chart.Meter(float64(a.Pressure) / 1000) //nolint:mnd // tenths of a point of 100
		}
		rows = append(rows, row)
	}
	return rows
}

// unknownBecause are the codes of the reasons that make an axis unknown.
var unknownBecause = map[acuity.Axis][]string{
	acuity.AxisStaffing: {"staffing_unknown"}, acuity.AxisReserve: {"staffing_unknown"}, acuity.AxisAcuity: {"staffing_unknown"},
	acuity.AxisCapacity: {"capacity_unknown"}, acuity.AxisSkill: {"roster_stale", "skill_unknown"},
}

// describeAxis returns the line of an axis with its numbers, or why there are none.
func (p *writer) describeAxis(v *score.Verdict, id acuity.Axis) string {
	if !v.Axes[id].Known {
		for _, code := range unknownBecause[id] {
			if v.Quality.Has(code) {
				return p.T("unknown." + code)
			}
		}
		return p.T("axis.unknown")
	}
	n := v.Numbers(id)
	nurses := func(sixtieths int64) string { return p.FormatNumber(float64(sixtieths)/float64(catalogue.Nurse), 1) }
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

// listQuality returns what makes the verdict less certain.
func (p *writer) listQuality(v *score.Verdict) (all []string) {
	for _, q := range v.Quality.List() {
		all = append(all, p.T("quality."+q.Code))
	}
	return all
}

// feedRow is the age of one feed.
type feedRow struct {
	Name, Age string
	Late      bool // silent for longer than usual
}

func (p *writer) listFeeds(u *Unit) []feedRow {
	rows := make([]feedRow, 0, len(u.Feeds))
	for _, f := range u.Feeds {
		row := feedRow{Name: p.Or("feed."+f.Channel, f.Channel), Age: p.T("feed.never"), Late: f.Late || f.Stale}
		if !f.LastReceived.IsZero() {
			if row.Age = p.FormatAge(u.At.Sub(f.LastReceived)); f.Stale {
				row.Age = p.T("feed.stale", "age", row.Age)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
