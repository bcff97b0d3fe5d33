package web

import (
	"net/http"
	"time"

	"svc/internal/admin/users"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// unitPage is the page of a unit. The wall shows a part of it.
type unitPage struct {
	page.Frame

	Head     *headline
	Unplaced string
	Floor    *floor
	Look     []tile
	More     string // says how many further rooms want a look
	Help     []helpRow
	Axes     []axisRow
	Quality  []string
	Feeds    []feedRow
	Outlook  *outlook
	Why      string // heading of the axes
	MayStaff bool
}

// newUnitPage returns the page of a unit. The wall shows no factor, visit or link: nobody may
// read in a corridor why a patient is here.
func (p *writer) newUnitPage(frame page.Frame, u *Unit, layout *Layout, wall bool) *unitPage {
	out := &unitPage{Frame: frame, Head: p.newHeadline(u), Floor: p.newFloor(u.Verdict, layout, wall), Feeds: p.listFeeds(u), Outlook: p.newOutlook(u, wall)}
	out.Clock, out.Held = p.FormatClock(u.At), u.heldState()
	if n := u.Verdict.Unplaced; n > 0 {
		out.Unplaced = p.T("unplaced", "n", n)
	}
	if wall {
		return out
	}
	out.Axes, out.Help, out.Quality = p.listAxes(u.Verdict), p.listHelp(u), p.listQuality(u.Verdict)
	look, more := p.selectWorst(u.Verdict)
	if out.Look = look; more > 0 {
		out.More = p.T("look.more", "n", more)
	}
	out.Why = p.T("axes." + u.Verdict.Level.String())
	return out
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

// showBoard answers with the page of the wall.
func (s *site) showBoard(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	u, ok := s.readUnit(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.board"))
	followStream(&frame, u, "/board/events", false)
	if frame.Theme == "" && session.Wall != "" { // nobody is there to choose
		frame.Theme, frame.Auto = chooseWallTheme(p.Zone, u.At), true
	}
	page.WritePage(w, r, http.StatusOK, templates.Render("board", p.newUnitPage(frame, u, s.findLayout(session.Hospital), true)))
}

// A wall is dark at night, by the clock of the hospital.
const (
	morning = 6
	evening = 20
)

// chooseWallTheme returns the theme of a wall at an instant.
func chooseWallTheme(zone *time.Location, t time.Time) string {
	if hour := t.In(zone).Hour(); hour >= morning && hour < evening {
		return "light"
	}
	return "dark"
}

// findLayout returns the layout of a hospital; nil: there is none.
func (c *Config) findLayout(hospital string) *Layout {
	if c.Layouts == nil {
		return nil
	}
	return c.Layouts.Layout(hospital)
}
