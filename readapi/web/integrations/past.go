package integrations

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity/catalogue"
)

// PastDays is the number of days of recorded observations on which a changed rule is tried.
const PastDays = 28

// Past tries a changed rule on recorded observations.
type Past interface {
	// Try returns what a rule would have changed in a hospital in the last [PastDays]. The trial runs in the
	// background; the caller repeats the call until the result is ready.
	Try(ctx context.Context, hospital string, rule catalogue.Rule) PastResult
}

// PastResult is the progress or the result of a trial.
type PastResult struct {
	Ready       bool
	Done, Total int64     // number of processed records, and of all records, while the trial runs
	Fault       PastFault // reason why there is no result; "": the result is ready, or the trial is still running
	Since       time.Time // time of the first compared verdict
	Until       time.Time
	Hours       int           // number of hours with a difference
	Level       time.Duration // total time at a different level
	Changes     []PastChange
	Worst       []PastHour // hours with the longest difference in level, newest first
}

// PastChange says for how long the level of the unit, or the color of rooms, would have been different.
type PastChange struct {
	Room       bool // whether the change is to the color of rooms; false: to the level of the unit
	Rooms      int  // number of rooms
	Was, Would string
	For        time.Duration
}

// PastHour is one hour in which the level would have differed.
type PastHour struct {
	At         time.Time
	Was, Would string
	For        time.Duration
}

// PastFault says why a trial has no result.
type PastFault string

// The reasons why a trial has no result.
const (
	PastNothing PastFault = "nothing" // nothing was recorded
	PastGone    PastFault = "gone"    // the oldest records have been deleted, so the state cannot be computed
	PastAway    PastFault = "away"    // the records currently cannot be read
	PastBusy    PastFault = "busy"    // the hospital is already running the maximum number of trials
)

// pastPage shows what a changed rule would have changed.
type pastPage struct {
	adminPage
	ID      string
	Fields  []field // submitted values of the rule form, repeated as hidden fields
	Say     string
	Percent string // progress of the trial; "": the trial is not running
	Rows    []pastRow
	Worst   []pastRow
	Note    string
}

type pastRow struct {
	What, For string
	Was, Is   colored
}

func showPast(d *adminRequest) {
	f, ok := readFactor(d)
	if !ok {
		return
	}
	q := d.r.URL.Query()
	rule := catalogue.Rule{Factor: f}
	for line, text := range readRuleForm(f, q) {
		rule.Lines = append(rule.Lines, catalogue.RuleLine{Name: line, Text: textOrEmpty(text)})
	}
	slices.SortFunc(rule.Lines, catalogue.RuleLine.Compare)
	if d.Administration.Past == nil || len(rule.Faults()) > 0 {
		http.Redirect(d.w, d.r, d.pathTo(f.ID()), http.StatusSeeOther)
		return
	}
	got := d.Administration.Past.Try(d.r.Context(), d.session.Hospital, rule)
	out := pastPage{adminPage: d.newPage("rules.past"), ID: f.ID()}
	out.Heading = d.T("rules.past.of", "factor", d.FactorName(f), "days", PastDays)
	for name := range q {
		out.Fields = append(out.Fields, field{Name: name, Value: q.Get(name)})
	}
	slices.SortFunc(out.Fields, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	fillPast(d, &out, &got)
	if !got.Ready && got.Fault == "" {
		out.Refresh = pollEvery
	}
	d.show("rules.past", &out)
}

func fillPast(d *adminRequest, out *pastPage, got *PastResult) {
	switch {
	case got.Fault == PastNothing:
		out.Say = d.T("rules.past.nothing")
	case got.Fault == PastGone:
		out.Say = d.T("rules.past.gone")
	case got.Fault == PastBusy:
		out.Say = d.T("rules.past.busy")
	case got.Fault != "":
		out.Say = d.T("rules.past.away")
	case !got.Ready:
		percent := int64(0)
		if got.Total > 0 {
			percent = 100 * got.Done / got.Total
		}
		out.Percent = strconv.FormatInt(percent, 10)
		out.Say = d.T("rules.past.running", "percent", percent)
	case got.Hours == 0:
		out.Say = d.T("rules.past.same", "first", d.formatTime(&got.Since), "last", d.formatTime(&got.Until),
			"n", int(got.Until.Sub(got.Since).Hours()))
	default:
		out.Say = d.T("rules.past.differs", "hours", got.Hours, "time", formatSpan(d, got.Level))
	}
	for _, c := range got.Changes {
		what := d.T("terms.unit")
		if c.Room {
			what = d.T("rules.past.rooms", "n", c.Rooms)
		}
		out.Rows = append(out.Rows, pastRow{what, formatSpan(d, c.For), newColored(d, c.Was), newColored(d, c.Would)})
	}
	for _, h := range got.Worst {
		out.Worst = append(out.Worst, pastRow{d.formatTime(&h.At), formatSpan(d, h.For), newColored(d, h.Was), newColored(d, h.Would)})
	}
}

// formatSpan formats a duration in hours and minutes, or in seconds if it is shorter than a minute.
func formatSpan(d *adminRequest, of time.Duration) string {
	if of < time.Minute {
		return d.T("span.s", "n", int(of.Seconds()))
	}
	return d.FormatHours(int(of.Minutes()))
}
