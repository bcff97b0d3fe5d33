package web

import (
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/chart"
	"svc/readapi/web/page"
)

// ahead is how far the page of a room looks ahead by known clocks.
const ahead = 8 * time.Hour

// roomPage shows one room with all that its score is made of.
type roomPage struct {
	page.Frame

	Room            tile
	Band            string
	Old             bool
	Say, Now, Next  string
	Rules, Position string
	Factors         []factorRow
	Assumed         string // says that the demand is a default
	Demand          string // says the nurses needed and their points
	Ladder          template.HTML
	Severity        string
	Sum             template.HTML
	Together        template.HTML
	Clock8          template.HTML
	Steps           []stepRow
}

// factorRow is one factor of a room.
type factorRow struct {
	Name, ID string
	Primary  bool
	Effect   string // the ratio that the factor asks for
	Severity uint8  // class, 0 … 4
	Since    string
	Next     string
	Evidence string
	Feeds    []string
	Codes    []string
}

// stepRow is the demand of a room from an instant on.
type stepRow struct{ At, Ratio, Nurses, Color string }

// The points of a score.
const (
	mostDemandPoints   = 40
	mostSeverityPoints = 60
	pointsOfNurse      = 20.0
)

// bounds are the scores at which the colours begin.
var bounds = [...]int{20, 40, 70}

func (p *writer) newRoomPage(frame page.Frame, u *Unit, r *score.RoomVerdict, details *readapi.RoomAhead) *roomPage {
	v := u.Verdict
	out := &roomPage{
		Frame: frame, Room: p.newTile(r, false),
		Rules: p.T("rules", "version", v.Rules), Position: p.T("position", "version", v.Version),
	}
	head := p.newHeadline(u)
	out.Band, out.Old, out.Held = head.Band, head.Old, u.heldState()
	out.Clock = p.FormatClock(u.At)
	if out.Room.Shape == "" {
		out.Say = out.Room.Ratio
	} else {
		out.Say = p.T("ratio."+r.Demand.Nursing(), "n", p.formatNurses(r.Demand))
		out.Now = p.T("room.score", "color", out.Room.Color, "score", r.Score)
	}
	if r.Next != 0 {
		out.Next = p.T("room.next", "time", p.FormatInstant(r.Next))
	}
	if r.Assumed {
		out.Assumed = p.T("room.assumed")
	}
	for i := range r.Factors {
		out.Factors = append(out.Factors, p.newFactorRow(u, r, &r.Factors[i]))
	}
	if details != nil && len(details.Steps) > 1 && out.Room.Shape != "" {
		if next := &details.Steps[1]; next.Verdict.Demand != r.Demand {
			out.Say = p.T("room.saythen", "now", out.Say, "time", p.FormatInstant(next.From), "ratio", next.Verdict.Demand.Nursing())
		}
	}
	if details != nil && out.Room.Shape != "" {
		p.drawFigures(out, u, r, details)
	}
	return out
}

// drawFigures draws the parts of the score of a room, and its changes by time alone.
func (p *writer) drawFigures(out *roomPage, u *Unit, r *score.RoomVerdict, details *readapi.RoomAhead) {
	required := float64(r.Demand) / float64(catalogue.Nurse)
	points := min(required*pointsOfNurse, mostDemandPoints)
	out.Demand = p.T("room.demand", "n", p.FormatNumber(required, 1), "points", p.FormatNumber(points, 1))
	ladder := &chart.Ladder{Counts: required, CountsSay: p.T("room.counts", "n", p.FormatNumber(required, 1))}
	var largest catalogue.Demand
	for i := range r.Factors {
		f := &r.Factors[i]
		rung := chart.Rung{Name: p.FactorName(f.Factor), Nurses: float64(f.Need) / float64(catalogue.Nurse), Says: p.T("room.asksnothing")}
		switch {
		case f.Need > 0 && f.Next != 0:
			rung.Says = p.T("room.until", "ratio", f.Need.Ratio(), "time", p.FormatInstant(f.Next))
		case f.Need > 0:
			rung.Says = p.T("room.asks", "ratio", f.Need.Ratio())
		case f.Demand > 0:
			rung.Says = p.T("room.adds", "n", p.FormatNumber(float64(f.Demand)/float64(catalogue.Nurse), 2))
		}
		largest = max(largest, f.Need)
		ladder.Rungs = append(ladder.Rungs, rung)
	}
	for i := range ladder.Rungs {
		if largest > 0 && r.Factors[i].Need == largest {
			ladder.Rungs[i].Leads = true
		}
	}
	if r.Demand > largest {
		ladder.Rungs = append(ladder.Rungs, chart.Rung{Name: p.T("room.added"), Nurses: float64(r.Demand-largest) / float64(catalogue.Nurse), Begins: float64(largest) / float64(catalogue.Nurse), Leads: true, Says: p.T("room.adds", "n", p.FormatNumber(float64(r.Demand-largest)/float64(catalogue.Nurse), 2))})
	}
	ladder.Title = p.T("room.ladder.title", "n", p.FormatNumber(required, 1))
	out.Ladder = ladder.SVG()

	sum := &chart.Sum{Most: mostSeverityPoints}
	total := 0.0
	for i, share := range details.Shares {
		if share > 0 && i < len(r.Factors) {
			sum.Parts = append(sum.Parts, chart.SumPart{Name: p.FactorName(r.Factors[i].Factor), Points: share, Says: p.FormatNumber(share, 1)})
			total += share
		}
	}
	out.Severity = p.T("room.severity", "points", p.FormatNumber(total, 1))
	sum.Says = p.T("room.of60", "points", p.FormatNumber(total, 1))
	sum.Title = p.T("room.severity.title", "points", p.FormatNumber(total, 1))
	if len(sum.Parts) > 0 {
		out.Sum = sum.SVG()
	}

	score := &chart.Score{
		Demand: points, Severity: total, Bounds: bounds[:],
		DemandSays: p.T("room.demandpoints", "points", p.FormatNumber(points, 1)), SeveritySays: p.T("room.severitypoints", "points", p.FormatNumber(total, 1)),
		Says:  p.T("room.score", "color", p.T("color."+r.Color.String()), "score", r.Score),
		Title: p.T("room.together.title", "score", r.Score, "demand", p.FormatNumber(points, 1), "severity", p.FormatNumber(total, 1)),
	}
	if len(details.Steps) > 1 {
		next := &details.Steps[1]
		score.Next, score.NextSays = int(next.Verdict.Score), p.T("room.then", "score", next.Verdict.Score, "time", p.FormatInstant(next.From))
	}
	out.Together = score.SVG()

	steps := &chart.Steps{From: u.At, To: u.At.Add(ahead), Clock: p.FormatClock, Title: p.T("room.clocks.title", "n", len(details.Steps)-1)}
	for i := range details.Steps {
		s := &details.Steps[i]
		at, ratio := s.From.Time(), s.Verdict.Demand.Nursing()
		if at.Before(u.At) {
			at = u.At
		}
		steps.Steps = append(steps.Steps, chart.Step{At: at, Nurses: float64(s.Verdict.Demand) / float64(catalogue.Nurse), Says: p.FormatClock(at) + " " + ratio})
		color := p.T("room.empty")
		if s.Verdict.Color != acuity.ColorGray {
			color = p.T("room.score", "color", p.T("color."+s.Verdict.Color.String()), "score", s.Verdict.Score)
		}
		out.Steps = append(out.Steps, stepRow{At: p.FormatClock(at), Ratio: ratio, Nurses: p.formatNurses(s.Verdict.Demand), Color: color})
	}
	out.Clock8 = steps.SVG()
}

func (p *writer) newFactorRow(u *Unit, r *score.RoomVerdict, f *score.FactorVerdict) factorRow {
	row := factorRow{
		Name: p.FactorName(f.Factor), ID: f.Factor.ID(), Primary: f.Factor.IsPrimary(), Effect: f.Need.Ratio(), Severity: f.Severity,
		Since: p.FormatMoment(f.Since, u.At), Next: p.T("factor.noclock"), Evidence: p.T("evidence." + f.Kind.String()),
	}
	switch {
	case row.Effect != "":
	case f.Demand > 0:
		row.Effect = "+" + p.FormatNumber(float64(f.Demand)/float64(catalogue.Nurse), 2)
	default:
		row.Effect = p.T("factor.nothing")
	}
	if f.Next != 0 {
		row.Next = p.FormatMoment(f.Next, u.At)
	}
	for _, e := range r.Evidence(f) {
		row.Feeds = appendNew(row.Feeds, p.Or("feed."+string(e.Source.Feed), string(e.Source.Feed)))
		row.Codes = appendNew(row.Codes, strings.TrimSpace(string(e.Source.System)+" "+e.Source.Written()))
	}
	return row
}

// appendNew adds a text unless it is empty or in the list.
func appendNew(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// findRoom returns the room of an id in a path; nil: there is none.
func findRoom(v *score.Verdict, id string) *score.RoomVerdict {
	n, err := strconv.ParseInt(id, 10, 32)
	if err != nil || strconv.FormatInt(n, 10) != id {
		return nil
	}
	for i := range v.Rooms {
		if int64(v.Rooms[i].ID) == n {
			return &v.Rooms[i]
		}
	}
	return nil
}

func (s *site) showRoom(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	u, ok := s.readUnit(w, r, session)
	if !ok {
		return
	}
	room := findRoom(u.Verdict, chi.URLParam(r, "id"))
	if room == nil {
		s.ShowFault(w, r, http.StatusNotFound, session, "fault.room")
		return
	}
	details, err := s.Units.Room(r.Context(), session.Hospital, room.ID, ahead)
	if err != nil {
		details = nil // the page shows the verdict alone
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.room", "room", p.newTile(room, true).Label))
	followStream(&frame, u, session.Base+"/events", true)
	frame.Page = "room"
	page.WritePage(w, r, http.StatusOK, templates.Render("room", p.newRoomPage(frame, u, room, details)))
}
