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
	"svc/readapi/web/text"
)

// ahead is how far into the future the page of a room shows known changes.
const ahead = 8 * time.Hour

// roomPage shows one room with all parts of its score.
type roomPage struct {
	page.Frame

	Room            tile
	Band            string
	Old             bool
	Say, Now, Next  string
	Rules, Position string
	Factors         []factorRow
	Doubts          []string // reasons why the verdict on the room may be unreliable
	Demand          string   // text that states the nurses needed and the points for them
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
	Fetuses  []string // the fetuses that the factor is about, if its sources name them
	Primary  bool
	Effect   string // ratio or additional nurses that the factor requires
	Severity uint8  // style class, 0 to 4
	Since    string
	Next     string
	Evidence string
	Feeds    []string
	Codes    []string
}

// stepRow is a room's demand from an instant on.
type stepRow struct{ At, Ratio, Nurses, Color string }

// The maximum points of the two parts of a score, and the points for a demand of one nurse.
const (
	mostDemandPoints   = 40
	mostSeverityPoints = 60
	pointsOfNurse      = 20.0
)

// bounds contains the lowest scores of the colors yellow, orange and red.
var bounds = [...]int{20, 40, 70}

func (p *writer) newRoomPage(frame page.Frame, u *readapi.Unit, r *score.RoomVerdict, details *readapi.RoomAhead) *roomPage {
	v := u.Verdict
	out := &roomPage{
		Frame: frame, Room: p.newTile(r, u.At, false),
		Rules: p.T("rules", "version", v.Rules), Position: p.T("position", "version", v.Version),
	}
	head := p.newHeadline(u)
	out.Band, out.Old, out.Held = head.Band, head.Old, heldState(u)
	out.Clock = p.FormatClock(u.At)
	if out.Room.Shape == "" {
		out.Say = out.Room.Ratio
	} else {
		out.Say = p.T("ratio."+r.Demand.Nursing(), "n", p.formatNurses(r.Demand))
		out.Now = p.T("room.score", "color", out.Room.Color, "score", r.Score)
	}
	if r.Next != 0 {
		out.Next = p.T("room.next", "time", p.FormatAhead(r.Next, u.At))
	}
	out.Doubts = listDoubts(p.Texts, r)
	for i := range r.Factors {
		out.Factors = append(out.Factors, p.newFactorRow(u, r, &r.Factors[i]))
	}
	if details == nil || out.Room.Shape == "" {
		return out
	}
	steps := visibleSteps(details.Steps)
	for i := range steps {
		if next := &steps[i]; next.Verdict.Demand != r.Demand {
			ratio := formatRatio(p.Texts, next.Verdict.Demand)
			out.Say = p.T("room.saythen", "now", out.Say, "time", p.FormatAhead(next.From, u.At), "ratio", ratio)
			break
		}
	}
	p.drawFigures(out, u, r, &readapi.RoomAhead{Shares: details.Shares, Steps: steps})
	return out
}

// listDoubts returns the reasons why the verdict on a room may be unreliable.
func listDoubts(p *text.Texts, r *score.RoomVerdict) (all []string) {
	for _, q := range r.Quality().List() {
		switch q.Code {
		case "primary_assumed":
			all = append(all, p.T("room.assumed"))
		case "double_occupied":
			all = append(all, p.T("room.double"))
		default:
			all = append(all, p.T("quality."+q.Code))
		}
	}
	return all
}

// visibleSteps returns the steps that change what the page shows of a step: demand, color and score. Other steps
// change only one factor, or the quality of the data.
func visibleSteps(all []readapi.RoomStep) (steps []readapi.RoomStep) {
	for i := range all {
		v := &all[i].Verdict
		if n := len(steps); n > 0 {
			if last := &steps[n-1].Verdict; v.Demand == last.Demand && v.Color == last.Color && v.Score == last.Score {
				continue
			}
		}
		steps = append(steps, all[i])
	}
	return steps
}

// drawFigures draws the parts of a room's score, and the changes that timers will cause.
func (p *writer) drawFigures(out *roomPage, u *readapi.Unit, r *score.RoomVerdict, details *readapi.RoomAhead) {
	demand := min(nursesOf(r.Demand)*pointsOfNurse, mostDemandPoints)
	out.Demand = p.T("room.demand", "n", p.formatNurses(r.Demand), "points", p.FormatNumber(demand, 1))
	out.Ladder = p.drawLadder(r, u.At)
	shares := details.Shares[:min(len(details.Shares), len(r.Factors))] // a newer state may have a different number of shares
	severity := 0.0
	for _, share := range shares {
		severity += share
	}
	out.Severity = p.T("room.severity", "points", p.FormatNumber(severity, 1))
	if severity > 0 {
		out.Sum = p.drawShares(r, shares, severity)
	}
	out.Together = p.drawScore(u, r, demand, severity, details.Steps)
	out.Clock8, out.Steps = p.drawSteps(u, details.Steps)
}

// drawLadder draws the demand of each factor. Additional demand is drawn on top of the largest demand.
func (p *writer) drawLadder(r *score.RoomVerdict, now time.Time) template.HTML {
	needed := p.formatNurses(r.Demand)
	ladder := &chart.Ladder{
		Title: p.T("room.ladder.title", "n", needed), Counts: nursesOf(r.Demand), CountsLabel: p.T("room.counts", "n", needed),
	}
	var largest catalogue.Demand
	for i := range r.Factors {
		largest = max(largest, r.Factors[i].Need)
	}
	adds := func(d catalogue.Demand) string { return p.T("room.adds", "n", p.FormatNumber(nursesOf(d), 2)) } //nolint:mnd // with decimals
	for i := range r.Factors {
		f := &r.Factors[i]
		if f.Past {
			continue
		}
		rung := chart.Rung{
			Name: p.FactorName(f.Factor), Nurses: nursesOf(f.Need), Leads: largest > 0 && f.Need == largest, Label: p.T("room.asksnothing"),
		}
		switch {
		case f.Need > 0 && f.Next != 0:
			rung.Label = p.T("room.until", "ratio", f.Need.Ratio(), "time", p.FormatAhead(f.Next, now))
		case f.Need > 0:
			rung.Label = p.T("room.asks", "ratio", f.Need.Ratio())
		case f.Demand > 0:
			rung.Label = adds(f.Demand)
		}
		ladder.Rungs = append(ladder.Rungs, rung)
	}
	if added := r.Demand - largest; added > 0 {
		ladder.Rungs = append(ladder.Rungs, chart.Rung{
			Name: p.T("room.added"), Nurses: nursesOf(added), Begins: nursesOf(largest), Leads: true, Label: adds(added),
		})
	}
	wide := ladder.SVG()
	ladder.Narrow = true
	return wide + ladder.SVG()
}

// drawShares draws the severity points that each factor of a room adds to the score, and their total. The shares are
// those that [score.ShareSeverity] returns.
func (p *writer) drawShares(r *score.RoomVerdict, shares []float64, total float64) template.HTML {
	points := p.FormatNumber(total, 1)
	sum := &chart.Sum{
		Title: p.T("room.severity.title", "points", points), Most: mostSeverityPoints, Label: p.T("room.of60", "points", points),
	}
	for i, share := range shares {
		if share > 0 {
			name := p.FactorName(r.Factors[i].Factor)
			sum.Parts = append(sum.Parts, chart.SumPart{Name: name, Points: share, Label: p.FormatNumber(share, 1)})
		}
	}
	wide := sum.SVG()
	sum.Narrow = true
	return wide + sum.SVG()
}

// drawScore draws the two parts of the score and their sum on a color scale.
func (p *writer) drawScore(u *readapi.Unit, r *score.RoomVerdict, demand, severity float64, steps []readapi.RoomStep) template.HTML {
	demandPoints, severityPoints := p.FormatNumber(demand, 1), p.FormatNumber(severity, 1)
	figure := &chart.Score{
		Title:  p.T("room.together.title", "score", r.Score, "demand", demandPoints, "severity", severityPoints),
		Demand: demand, Severity: severity, Bounds: bounds[:],
		DemandLabel: p.T("room.demandpoints", "points", demandPoints), SeverityLabel: p.T("room.severitypoints", "points", severityPoints),
		Label: p.formatScore(r),
	}
	if len(steps) > 1 && steps[1].Verdict.Score != r.Score {
		next := &steps[1]
		figure.Next = int(next.Verdict.Score)
		figure.NextLabel = p.T("room.then", "score", next.Verdict.Score, "time", p.FormatAhead(next.From, u.At))
	}
	wide := figure.SVG()
	figure.Narrow = true
	return wide + figure.SVG()
}

// formatScore formats the color and the score of a room.
func (p *writer) formatScore(r *score.RoomVerdict) string {
	return p.T("room.score", "color", p.T("color."+r.Color.String()), "score", r.Score)
}

// drawSteps draws the current demand and the changes that known timers will cause. It also returns the same data as
// table rows.
func (p *writer) drawSteps(u *readapi.Unit, steps []readapi.RoomStep) (svg template.HTML, rows []stepRow) {
	figure := &chart.Steps{
		Title: p.T("room.clocks.title", "n", len(steps)-1), From: u.At, To: u.At.Add(ahead), Clock: p.FormatClock,
	}
	for i := range steps {
		v, at := &steps[i].Verdict, steps[i].From.Time()
		if at.Before(u.At) {
			at = u.At
		}
		row := stepRow{At: p.FormatClock(at), Ratio: formatRatio(p.Texts, v.Demand), Nurses: p.formatNurses(v.Demand), Color: p.T("room.empty")}
		if v.Color != acuity.ColorGray {
			row.Color = p.formatScore(v)
		}
		figure.Steps = append(figure.Steps, chart.Step{At: at, Nurses: nursesOf(v.Demand), Label: row.At + " " + row.Ratio})
		rows = append(rows, row)
	}
	svg = figure.SVG()
	figure.Narrow = true
	return svg + figure.SVG(), rows
}

func (p *writer) newFactorRow(u *readapi.Unit, r *score.RoomVerdict, f *score.FactorVerdict) factorRow {
	row := factorRow{
		Name: p.FactorName(f.Factor), ID: f.Factor.ID(), Primary: f.Factor.IsPrimary(), Effect: f.Need.Ratio(), Severity: f.Severity,
		Since: p.FormatMoment(f.Since, u.At), Next: p.T("factor.noclock"), Evidence: p.T("evidence." + f.Kind.String()),
	}
	switch {
	case f.Past:
		row.Effect = p.T("factor.past")
	case row.Effect != "":
	case f.Demand > 0:
		row.Effect = "+" + p.FormatNumber(nursesOf(f.Demand), 2)
	default:
		row.Effect = p.T("factor.nothing")
	}
	if f.Next != 0 {
		row.Next = p.FormatMoment(f.Next, u.At)
	}
	for _, e := range r.Evidence(f) {
		row.Feeds = appendNew(row.Feeds, p.Or("feed."+string(e.Source.Feed), string(e.Source.Feed)))
		if len(e.Fetus) == 1 { // other values are references
			row.Fetuses = appendNew(row.Fetuses, p.T("factor.fetus", "name", e.Fetus))
		}
		row.Codes = appendNew(row.Codes, strings.TrimSpace(string(e.Source.System)+" "+e.Source.Written()))
	}
	return row
}

// appendNew appends a text to a list unless the text is empty or already in the list.
func appendNew(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// findRoom returns the room with the id from a path, or nil if there is none.
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
	details, err := s.Reads.Room(r.Context(), session.Hospital, room.ID, ahead)
	if err != nil {
		details = nil // without the details, the page shows only the verdict
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.room", "room", p.newTile(room, u.At, true).Label))
	followStream(&frame, u, session.Base+"/events", true)
	frame.Page = "room"
	page.WritePage(w, r, http.StatusOK, templates.Render("room", p.newRoomPage(frame, u, room, details)))
}
