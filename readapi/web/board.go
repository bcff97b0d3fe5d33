package web

import (
	"net/http"
	"time"

	"svc/internal/admin/users"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// unitPage is the page of the unit, and what the wall shows of it.
type unitPage struct {
	page.Frame

	Head     *headline
	Unplaced string
	Floor    *floor
	Look     []tile
	More     string // rooms beside those
	Help     []helpRow
	Axes     []axisRow
	Quality  []string
	Feeds    []feedRow
	Outlook  *outlook
	Why      string // heading of the axes
	MayStaff bool
}

// unitPageOf writes a unit. On the wall no factor, visit or link is shown: what is the
// matter with somebody must not be readable in a corridor.
func (p *writer) unitPageOf(frame page.Frame, u *Unit, layout *Layout, wall bool) *unitPage {
	out := &unitPage{Frame: frame, Head: p.headline(u), Floor: p.floor(u.Verdict, layout, wall), Feeds: p.feeds(u), Outlook: p.outlook(u, wall)}
	out.Clock, out.Held = p.FormatClock(u.At), u.held()
	if n := u.Verdict.Unplaced; n > 0 {
		out.Unplaced = p.T("unplaced", "n", n)
	}
	if wall {
		return out
	}
	out.Axes, out.Help, out.Quality = p.axes(u.Verdict), p.help(u), p.quality(u.Verdict)
	look, more := p.look(u.Verdict)
	if out.Look = look; more > 0 {
		out.More = p.T("look.more", "n", more)
	}
	out.Why = p.T("axes." + u.Verdict.Level.String())
	return out
}

func (s *site) unit(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	u, ok := s.unitOf(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.unit"))
	frame.Page = "unit"
	follow(&frame, u, session.Base+"/events", false)
	out := p.unitPageOf(frame, u, s.layoutOf(session.Hospital), false)
	out.MayStaff = s.Acts != nil && session.Role.Covers(users.Charge)
	page.WritePage(w, r, http.StatusOK, templates.Render("unit", out))
}

// board answers with what the wall of a hospital shows.
func (s *site) board(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	u, ok := s.unitOf(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.board"))
	follow(&frame, u, "/board/events", false)
	if frame.Theme == "" && session.Wall != "" { // nobody is there to choose
		frame.Theme, frame.Auto = themeAt(p.Zone, u.At), true
	}
	page.WritePage(w, r, http.StatusOK, templates.Render("board", p.unitPageOf(frame, u, s.layoutOf(session.Hospital), true)))
}

// A wall is dark at night, by the clock of the hospital.
const (
	morning = 6
	evening = 20
)

// themeAt is the theme of a wall at an instant.
func themeAt(zone *time.Location, t time.Time) string {
	if hour := t.In(zone).Hour(); hour >= morning && hour < evening {
		return "light"
	}
	return "dark"
}

// layoutOf returns the layout of a hospital; nil: there is none.
func (c *Config) layoutOf(hospital string) *Layout {
	if c.Layouts == nil {
		return nil
	}
	return c.Layouts.Layout(hospital)
}
