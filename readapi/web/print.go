package web

import (
	"net/http"

	"svc/acuity"
)

// sheet is the downtime sheet: what is known now, with room to write on.
type sheet struct {
	page
	Head    *headline
	Printed string
	Areas   []area
	Kinds   []kindRow
	Ratios  []string
}

// kindRow is what one kind of patient asks for at first.
type kindRow struct{ Name, Ratio string }

func (s *site) print(w http.ResponseWriter, r *http.Request, session *Session) {
	u, ok := s.unitOf(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.page(r, p, session, p.T("title.print"))
	frame.Page, frame.Clock, frame.Held = "print", p.clock(u.At), u.held()
	out := &sheet{
		page: frame, Head: p.headline(u), Areas: p.areas(u.Verdict, false), Kinds: kinds(p),
		Printed: p.T("print.at", "date", p.date(u.At), "time", p.clock(u.At)),
	}
	for _, ratio := range []string{"2:1", "1:1", "1:2", "1:3", "1:4"} {
		out.Ratios = append(out.Ratios, ratio+" = "+p.T("ratio."+ratio))
	}
	s.write(w, r, http.StatusOK, render("print", out))
}

// kinds are the kinds of patient in the order of the catalogue, each with the ratio that
// it begins with.
func kinds(p *writer) (rows []kindRow) {
	rules := acuity.Default()
	for f := acuity.Factor(1); int(f) <= rules.Len(); f++ {
		spec := rules.Spec(f)
		if !spec.Primary {
			continue
		}
		need, _ := spec.Begins()
		ratio := need.Ratio()
		if ratio == "" {
			continue
		}
		rows = append(rows, kindRow{p.factor(f), ratio})
	}
	return rows
}
