package web

import (
	"math"

	"svc/acuity/catalogue"
	"svc/readapi/web/text"
)

// nursesOf converts a demand to a number of nurses.
func nursesOf(d catalogue.Demand) float64 { return float64(d) / float64(catalogue.Nurse) }

// formatNurses formats a demand with one decimal.
func (p *writer) formatNurses(d catalogue.Demand) string {
	return p.formatNeed(nursesOf(d))
}

// formatNeed formats the number of nurses needed, with one decimal. It never rounds a need down to a whole number
// that is too low. For example, "16.0 needed" with 15 on duty would not explain why two nurses are missing.
func (p *writer) formatNeed(nurses float64) string {
	return p.FormatNumber(roundNeed(nurses), 1)
}

// roundNeed rounds a need to one decimal, as formatNeed formats it.
func roundNeed(nurses float64) float64 {
	if whole := math.Floor(nurses); nurses-whole > 1e-9 && nurses-whole < 0.05 {
		return whole + 0.1
	}
	return math.Floor(nurses*10+0.5+1e-9) / 10 //nolint:mnd // half a tenth is rounded up
}

// formatLeft formats the number of nurses who are left, which is negative if nurses are missing. The number on duty
// minus this number is the number needed, as formatNeed formats it.
func formatLeft(t *text.Texts, nurses float64) string {
	return t.FormatNumber(-roundNeed(-nurses), 1)
}

// explainAxis returns the end of an axis's text if its numbers do not show why it has its level. rule is the condition
// that set the level.
func explainAxis(t *text.Texts, rule string) string {
	switch rule {
	case "minimum_two":
		return "; " + t.T("detail.why.two")
	case "novices_alone":
		return "; " + t.T("detail.why.novices")
	case "fatigue":
		return "; " + t.T("detail.why.fatigue")
	}
	return ""
}
