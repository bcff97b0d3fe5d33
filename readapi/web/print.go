package web

import (
	"net/http"

	"svc/acuity/catalogue"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// sheet is the downtime sheet: the current state of the unit, with space for handwriting.
type sheet struct {
	page.Frame

	Head    *headline
	Printed string
	Areas   []area
	Kinds   []kindRow
	Ratios  []string
}

// kindRow is a type of patient with the ratio that applies initially.
type kindRow struct{ Name, Ratio string }

func (s *site) showSheet(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	u, ok := s.readUnit(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.print"))
	frame.Page, frame.Clock, frame.Held = "print", p.FormatClock(u.At), heldState(u)
	out := &sheet{
		Frame: frame, Head: p.newHeadline(u), Areas: p.groupByArea(u, false), Kinds: listKinds(p),
		Printed: p.T("print.at", "date", p.FormatDate(u.At), "time", p.FormatClock(u.At)),
	}
	for _, ratio := range []string{"2:1", "1:1", "1:2", "1:3", "1:4"} {
		out.Ratios = append(out.Ratios, ratio+" = "+p.T("ratio."+ratio))
	}
	page.WritePage(w, r, http.StatusOK, templates.Render("print", out))
}

// listKinds returns the types of patients in the order of the catalogue, each with the ratio that applies initially.
func listKinds(p *writer) (rows []kindRow) {
	rules := catalogue.Default()
	for f := catalogue.Factor(1); int(f) <= rules.Len(); f++ {
		spec := rules.Spec(f)
		if !spec.Primary {
			continue
		}
		need, _ := spec.Begins()
		ratio := need.Ratio()
		if ratio == "" {
			continue
		}
		rows = append(rows, kindRow{p.FactorName(f), ratio})
	}
	return rows
}
