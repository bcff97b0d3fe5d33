package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// sheet is the downtime sheet: the current state of the unit, with space for handwriting.
type sheet struct {
	page.Frame

	Head     *headline
	Printed  string
	Unplaced string
	Quality  []string
	Feeds    []feedRow
	Areas    []area
	Kinds    []kindRow // factors that require nurses
	Numbered bool      // whether the ratio of a room does not tell its number of nurses
}

// kindRow is a list of factors with the same ratios.
type kindRow struct {
	Ratio, Names string
	begins       catalogue.Demand // need at the start of the factors
}

func (s *site) showSheet(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	u, ok := s.readUnit(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.print"))
	frame.Page, frame.Clock, frame.Held = "print", p.FormatClock(u.At), heldState(u)
	out := &sheet{
		Frame: frame, Head: p.newHeadline(u), Quality: p.listQuality(u.Verdict), Feeds: p.listFeeds(u),
		Printed: p.T("print.at", "date", p.FormatDate(u.At), "time", p.FormatClock(u.At)),
	}
	if n := u.Verdict.Unplaced; n > 0 {
		out.Unplaced = p.T("unplaced", "n", n)
	}
	out.Areas, out.Numbered = listSheetRooms(p, u)
	out.Kinds = listKinds(p, cmp.Or(u.Rules, catalogue.Default()))
	page.WritePage(w, r, http.StatusOK, templates.Render("print", out))
}

// listSheetRooms returns the rooms by area, each with all its factors. The number of nurses follows a ratio that
// does not tell it; numbered reports whether there is such a ratio.
func listSheetRooms(p *writer, u *readapi.Unit) (areas []area, numbered bool) {
	areas = p.groupByArea(u, false)
	verdicts := make(map[int32]*score.RoomVerdict, len(u.Verdict.Rooms))
	for i := range u.Verdict.Rooms {
		verdicts[u.Verdict.Rooms[i].ID] = &u.Verdict.Rooms[i]
	}
	for i := range areas {
		for j := range areas[i].Rooms {
			t := &areas[i].Rooms[j]
			if t.Factors == "" {
				continue
			}
			v := verdicts[t.ID]
			t.Factors = strings.Join(nameFactors(p.Texts, v), ", ")
			if v.Demand > catalogue.Nurse && v.Demand != 2*catalogue.Nurse {
				t.Ratio += " (" + p.formatNurses(v.Demand) + ")"
				numbered = true
			}
		}
	}
	return areas, numbered
}

// listKinds returns the factors that require nurses. Factors with the same ratios share a row. The rows with the
// largest need at the start come first.
func listKinds(p *writer, rules *catalogue.Catalogue) (rows []kindRow) {
	for f := catalogue.Factor(1); int(f) <= rules.Len(); f++ {
		spec, name, plain := rules.Spec(f), p.FactorName(f), ""
		for i := range spec.Variants {
			need := &spec.Variants[i].Requirement
			ratio := formatRatios(p, rules, f, need)
			if i == 0 {
				plain = ratio
			} else {
				name = p.FactorName(f) + " (" + p.T("rules.variant."+spec.Variants[i].Name) + ")"
			}
			if ratio == "" || i > 0 && ratio == plain {
				continue
			}
			if at := slices.IndexFunc(rows, func(row kindRow) bool { return row.Ratio == ratio }); at >= 0 {
				rows[at].Names += "; " + name
				continue
			}
			begins, _, _ := need.Need.At(0, 0)
			usual, _ := need.Judge(&catalogue.Situation{}, &catalogue.Asserted{}, 0)
			rows = append(rows, kindRow{ratio, name, max(begins, usual.Need)})
		}
	}
	slices.SortStableFunc(rows, func(a, b kindRow) int { return cmp.Compare(b.begins, a.begins) })
	return rows
}

// formatRatios formats the ratios that a factor requires from its start on, such as "1:1 up to 2 h, then 1:2", and
// those that differ in labor or after the birth. It returns "" if the factor requires no nurse.
func formatRatios(p *writer, rules *catalogue.Catalogue, f catalogue.Factor, need *catalogue.Requirement) string {
	labor, _ := catalogue.FactorByID("labor-standard")
	couplet, _ := catalogue.FactorByID("pp-couplet")
	usual := formatSteps(p, need, &catalogue.Situation{})
	inLabor := formatSteps(p, need, &catalogue.Situation{Sections: rules.PatientSections(labor)})
	after := formatSteps(p, need, &catalogue.Situation{Sections: rules.PatientSections(couplet), Traits: rules.Traits(couplet)})
	none := p.T("room.noneneeded")
	var ratios []string
	if usual != "" {
		ratios = append(ratios, usual)
	}
	if inLabor != usual {
		ratios = append(ratios, p.T("print.labor", "ratio", cmp.Or(inLabor, none)))
	}
	switch {
	case after == usual:
	case rules.Traits(f).IsNewborn():
		ratios = append(ratios, p.T("print.mother", "ratio", cmp.Or(after, none)))
	default:
		ratios = append(ratios, p.T("print.postpartum", "ratio", cmp.Or(after, none)))
	}
	return strings.Join(ratios, "; ")
}

// formatSteps formats the ratios that a requirement has in a situation, by the age of the factor.
func formatSteps(p *writer, need *catalogue.Requirement, s *catalogue.Situation) string {
	const start = acuity.Instant(1)
	report := &catalogue.Asserted{Start: start, Last: start}
	var steps []string
	for judged, on := need.Judge(s, report, start); on && judged.Need > 0; {
		later, goesOn := judged, on
		for goesOn && later.Next != 0 && later.Need == judged.Need { // a step may change only the severity
			judged = later
			later, goesOn = need.Judge(s, report, judged.Next)
		}
		if later.Need == judged.Need && goesOn { // the last step
			ratio := judged.Need.Ratio()
			if len(steps) > 0 {
				ratio = p.T("print.then", "ratio", ratio)
			}
			return strings.Join(append(steps, ratio), ", ")
		}
		age := judged.Next.Sub(start)
		steps = append(steps, p.T("print.until", "ratio", judged.Need.Ratio(), "age", p.FormatHours(int(age.Minutes()))))
		judged, on = later, goesOn
	}
	return strings.Join(steps, ", ")
}
