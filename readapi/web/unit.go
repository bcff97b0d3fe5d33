package web

import (
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/help"
	"svc/acuity/score"
	"svc/internal/admin/layout"
	"svc/internal/admin/users"
	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/chart"
	"svc/readapi/web/page"
	"svc/readapi/web/text"
)

// unitPage is the page of a unit. The wall shows a part of this page.
type unitPage struct {
	page.Frame

	Head     *headline
	Unplaced string
	Floor    *floor
	Look     []tile
	More     string // text that says how many other rooms need attention
	Help     []helpRow
	NoHelp   string // text that says why no measure would help
	Axes     []axisRow
	Quality  []string
	Feeds    []feedRow
	Outlook  *outlook
	Why      string // heading of the axes
	Duty     dutyForm
	MayStaff bool
}

// newUnitPage returns the page of a unit. For a wall, it omits factors, visits and links, because passers-by must not
// learn why a patient is there.
func (p *writer) newUnitPage(frame page.Frame, u *readapi.Unit, drawn *layout.Layout, wall bool) *unitPage {
	out := &unitPage{
		Frame: frame, Head: p.newHeadline(u), Floor: p.newFloor(u, drawn, wall), Feeds: p.listFeeds(u), Outlook: p.newOutlook(u, wall),
	}
	out.Clock, out.Held = p.FormatClock(u.At), heldState(u)
	if n := u.Verdict.Unplaced; n > 0 {
		out.Unplaced = p.T("unplaced", "n", n)
	}
	if wall {
		return out
	}
	out.Axes, out.Help, out.Quality = p.listAxes(u.Verdict), p.listHelp(u), p.listQuality(u.Verdict)
	look, more := p.selectWorst(u)
	if out.Look = look; more > 0 {
		out.More = p.T("look.more", "n", more)
	}
	out.NoHelp = explainNoHelp(p.Texts, u.Verdict)
	out.Why, out.Duty = p.T("axes."+u.Verdict.Level.String()), newDutyForm(u.Verdict)
	if isUnsure(u.Verdict) {
		out.Why = p.T("axes.unsure")
	}
	return out
}

// explainNoHelp returns the text for a unit for which no option would help.
func explainNoHelp(t *text.Texts, v *score.Verdict) string {
	switch {
	case v.OnDuty < 0:
		return t.T("help.unstaffed")
	case v.Shortfall > 0:
		return t.T("help.none")
	case v.Level > acuity.LevelGreen:
		return t.T("help.level")
	}
	return t.T("help.noshort")
}

func (s *site) showUnit(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	u, ok := s.readUnit(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.unit"))
	frame.Page = "unit"
	followStream(&frame, u, session.Base+"/events", false)
	out := p.newUnitPage(frame, u, s.findLayout(session.Hospital), false)
	out.MayStaff = s.Acts != nil && session.Role.Covers(users.Charge)
	page.WritePage(w, r, http.StatusOK, templates.Render("unit", out))
}

// tooOld is the age of the displayed state at which a page stops accepting acts.
const tooOld = 30 * time.Minute

// heldState returns the mark for a page that does not show the current state, or "" for one that does.
func heldState(u *readapi.Unit) string {
	switch {
	case u.Stopped.IsZero():
		return ""
	case u.At.Sub(u.Stopped) >= tooOld:
		return "old"
	}
	return "stopped"
}

// headline is the level with its key figures.
type headline struct {
	Class   string // style class: the level's name, followed by "unsure" if the level is uncertain
	Shape   string // symbol for the level's shape: g, y, o or r
	Word    string
	Why     string
	Since   string // states when the unit reached this level and, if known, which level it had before
	Changed string
	Band    string // text that says why the page does not show the current state; "": it shows the current state
	Old     bool   // whether the displayed state is too old for acts
	Figures []figure
	Pips    []bool // one for each nurse who is on duty or missing; true: on duty
}

type figure struct {
	Name, Value string
	Unknown     bool
}

var shapes = [...]string{"g", "y", "o", "r"}

// mostPips is the maximum number of nurses, both on duty and missing, that are drawn individually. If there are more,
// none are drawn.
const mostPips = 30

func (p *writer) newHeadline(u *readapi.Unit) *headline {
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
	switch heldState(u) {
	case "old":
		h.Old = true
		fallthrough
	case "stopped":
		h.Band = p.T("stopped", "time", p.FormatMoment(acuity.At(u.Stopped), u.At))
	}
	if isUnsure(v) {
		h.Class += " unsure"
		h.Word += "?"
	}
	if v.OnDuty < 0 {
		h.Figures = append(h.Figures, figure{p.T("onduty"), p.T("figure.unknown"), true}, figure{p.T("short"), p.T("figure.unknown"), true})
		return h
	}
	h.Figures = append(h.Figures,
		figure{p.T("onduty"), strconv.Itoa(int(v.OnDuty)), false}, figure{p.T("short"), strconv.Itoa(int(v.Shortfall)), false})
	if v.OnDuty+v.Shortfall <= mostPips {
		for i := range v.OnDuty + v.Shortfall {
			h.Pips = append(h.Pips, i < v.OnDuty)
		}
	}
	return h
}

// isUnsure reports whether a unit is green while data is missing. Without the number of nurses on duty, three of
// seven measures are unknown. Without a census, one measure is unknown.
func isUnsure(v *score.Verdict) bool {
	return v.Level == acuity.LevelGreen && (v.OnDuty < 0 || !v.Axes[acuity.AxisCapacity].Known)
}

// describeDriver describes what drives the level, and which unknown values could raise it.
func (p *writer) describeDriver(v *score.Verdict) string {
	unknown := ""
	switch capacity := v.Axes[acuity.AxisCapacity].Known; {
	case v.Level == acuity.LevelRed: // no unknown value could raise the level
	case v.OnDuty < 0 && !capacity:
		unknown = p.T("axis.unsure.both")
	case v.OnDuty < 0:
		unknown = p.T("axis.unsure")
	case !capacity:
		unknown = p.T("axis.unsure.capacity")
	}
	if v.Level > acuity.LevelGreen {
		return strings.TrimSuffix(p.T("why."+v.Driving.String())+". "+unknown, ". ")
	}
	if unknown == "" && !v.Axes[acuity.AxisSkill].Known {
		return p.T("axis.none.skill")
	}
	return cmp.Or(unknown, p.T("axis.none"))
}

// mostLook is the maximum number of rooms in the priority list. The map shows all rooms.
const mostLook = 12

// selectWorst returns the rooms of the priority list, which are the red and orange rooms, highest score first. more
// is the number of rooms that the list omits.
func (p *writer) selectWorst(u *readapi.Unit) (worst []tile, more int) {
	v := u.Verdict
	for i := range v.Rooms {
		if v.Rooms[i].Color >= acuity.ColorOrange {
			worst = append(worst, p.newTile(&v.Rooms[i], u.At, false))
		}
	}
	slices.SortStableFunc(worst, func(a, b tile) int { return cmp.Compare(b.Score, a.Score) })
	return worst[:min(len(worst), mostLook)], max(len(worst)-mostLook, 0)
}

// helpRow is one measure that would help.
type helpRow struct {
	What, After  string
	Class, Shape string
	To           string
}

// mostHelp is the maximum number of displayed measures that would help.
const mostHelp = 4

func (p *writer) listHelp(u *readapi.Unit) (rows []helpRow) {
	for _, h := range u.Help[:min(len(u.Help), mostHelp)] {
		row := helpRow{Class: h.Level.String(), Shape: shapes[h.Level], To: p.T("help.covered")}
		switch h.Kind {
		case help.Nurse:
			row.What = p.T("help.nurses", "n", 1)
		case help.Nurses:
			row.What = p.T("help.nurses", "n", 2) //nolint:mnd // two nurses
		case help.Call:
			row.What = p.T("help.call")
		case help.Clock:
			row.What, row.After = p.T("help.clock", "time", p.FormatAhead(h.At, u.At)), p.T("help.ifnobody")
		}
		switch {
		case u.Verdict.OnDuty < 0 && h.Level == acuity.LevelGreen:
			row.Class, row.To = "none", p.T("level.green")+"?"
		case u.Verdict.OnDuty < 0:
			row.To = p.T("level." + row.Class)
		case h.Shortfall > 0:
			row.To = p.T("help.short", "n", h.Shortfall)
		}
		rows = append(rows, row)
	}
	return rows
}

// axisRow shows one axis.
type axisRow struct {
	Name, Detail string
	Class, Shape string // style and shape of the axis's level; "": the level is not certain
	Word         string
	Lead         bool // whether the axis determines the level
	Meter        template.HTML
}

// judged reports whether the level of an axis is certain. Without the number of nurses on duty, a part of the critical
// and of the flow axis is unknown, so that they could be worse than green.
func judged(v *score.Verdict, id acuity.Axis) bool {
	a := &v.Axes[id]
	partial := v.OnDuty < 0 && a.Level == acuity.LevelGreen && (id == acuity.AxisCritical || id == acuity.AxisFlow)
	return a.Known && !partial
}

// listAxes returns all axes, worst first. Axes whose level is not certain are last.
func (p *writer) listAxes(v *score.Verdict) []axisRow {
	order := make([]acuity.Axis, 0, acuity.AxisCount)
	for i := range acuity.Axis(acuity.AxisCount) {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b acuity.Axis) int {
		x, y := &v.Axes[a], &v.Axes[b]
		if certain := judged(v, a); certain != judged(v, b) {
			if certain {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(y.Level, x.Level), cmp.Compare(y.Pressure, x.Pressure))
	})
	rows := make([]axisRow, 0, len(order))
	for _, id := range order {
		a := &v.Axes[id]
		row := axisRow{Name: p.T("axis." + id.String()), Word: p.T("axis.unknown"), Meter: chart.UnknownMeter()}
		row.Detail = p.describeAxis(v, id) + explainAxis(p.Texts, a.Rule)
		if judged(v, id) {
			row.Class, row.Shape, row.Word = a.Level.String(), shapes[a.Level], p.T("level."+a.Level.String())
			row.Lead = id == v.Driving && v.Level > acuity.LevelGreen
			row.Meter = chart.Meter(float64(a.Pressure) / 1000) //nolint:mnd // the pressure is in tenths of a point, out of 100 points
		}
		rows = append(rows, row)
	}
	return rows
}

// unknownBecause maps each axis to the codes of the reasons that can make the axis unknown.
var unknownBecause = map[acuity.Axis][]string{
	acuity.AxisStaffing: {"staffing_unknown"}, acuity.AxisReserve: {"staffing_unknown"}, acuity.AxisAcuity: {"staffing_unknown"},
	acuity.AxisCapacity: {"capacity_unknown"}, acuity.AxisSkill: {"roster_stale", "skill_unknown"},
}

// describeAxis returns the text of an axis with its numbers or, if they are unknown, the reason.
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
	nurses := func(sixtieths int64) string { return p.formatNurses(catalogue.Demand(sixtieths)) } //nolint:gosec // sixtieths of a nurse
	switch id {
	case acuity.AxisStaffing:
		return p.T("detail.staffing", "needed", nurses(n[0]), "onduty", n[1])
	case acuity.AxisCritical:
		return p.T("detail.critical", "bound", nurses(n[0]), "n", n[1])
	case acuity.AxisReserve:
		left := formatLeft(p.Texts, float64(n[0])/float64(catalogue.Nurse))
		if n[1] != 0 {
			return p.T("detail.reserve.call", "left", left)
		}
		return p.T("detail.reserve", "left", left)
	case acuity.AxisCapacity:
		return p.T("detail.capacity", "busy", n[0], "rooms", n[1], "waiting", n[2])
	case acuity.AxisAcuity:
		return p.T("detail.acuity", "points", n[0], "n", n[1])
	case acuity.AxisFlow:
		if n[0] == 0 {
			return p.T("detail.boarders", "boarders", n[2])
		}
		return p.T("detail.flow", "n", n[1], "boarders", n[2])
	case acuity.AxisSkill:
		load := p.FormatNumber(float64(n[3])/100, 2) //nolint:mnd // in hundredths
		return p.T("detail.skill", "novices", n[0], "experts", n[1], "n", n[2], "load", load)
	}
	return ""
}

// listQuality returns the reasons why a verdict may be unreliable.
func (p *writer) listQuality(v *score.Verdict) (all []string) {
	for _, q := range v.Quality.List() {
		all = append(all, p.T("quality."+q.Code))
	}
	return all
}

// feedRow is a feed with the age of its last data.
type feedRow struct {
	Name, Age string
	Late      bool // whether the feed has been silent for longer than usual
}

func (p *writer) listFeeds(u *readapi.Unit) []feedRow {
	rows := make([]feedRow, 0, len(u.Feeds))
	if u.FeedsUnknown && len(u.Feeds) == 0 {
		return append(rows, feedRow{Name: p.T("feed.unknown")})
	}
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
