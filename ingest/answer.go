package ingest

import (
	"net/http"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/hospital"
	"svc/internal/httpapi"
	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/rules"
)

// common holds the fields that the responses of all feeds share.
type common struct {
	Applied   bool             `json:"applied"`  // whether the observation was applied; if not, it is durable and will be applied later
	Outcome   *string          `json:"outcome"`  // null while pending
	Position  *string          `json:"position"` // null: the body contained nothing to append
	Activated []factorChange   `json:"activated"`
	Expired   []factorChange   `json:"expired"`
	Unmapped  []unmapped       `json:"unmapped"`
	Warnings  []warning        `json:"warnings"`
	Level     *string          `json:"level"`             // level after the observation; null while pending
	Refused   []httpapi.Detail `json:"refused,omitempty"` // parts of the body beyond a limit of the hospital; for HL7, refused messages
}

type factorChange struct {
	RoomID    int32        `json:"roomId"`
	RoomLabel string       `json:"roomLabel"`
	FactorID  string       `json:"factorId"`
	Label     string       `json:"label"`
	Ratio     *string      `json:"ratio"` // null: the factor has no ratio
	Since     httpapi.Time `json:"since"`
	Evidence  string       `json:"evidence"`
}

type unmapped struct {
	System  string `json:"system"`
	Code    string `json:"code"`
	Display string `json:"display"`
}

type warning struct {
	Code    string `json:"code"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"` // what is wrong, and what to do
}

// The names of domain values in the API.
var (
	outcomes = [...]string{
		acuity.Applied: "applied", acuity.Duplicate: "duplicate", acuity.Ignored: "ignored",
		acuity.Rejected: "rejected", acuity.Time: "applied",
	}
	levels = [...]string{
		acuity.LevelGreen: "green", acuity.LevelYellow: "yellow", acuity.LevelOrange: "orange", acuity.LevelRed: "red",
	}
	evidences = [...]string{
		acuity.BySignal: "signal", acuity.ByDiagnosis: "diagnosis", acuity.ByLocalRule: "site",
		acuity.ByManual: "manual", acuity.ByADT: "adt", acuity.ByCensus: "census",
	}
)

// answer returns the common part of a response, from the receipt of the observation and from the warnings that arose
// while the request was decoded.
func (r *reader) answer(got receipt) common {
	c := common{
		Applied: got.applied, Activated: []factorChange{}, Expired: []factorChange{},
		Unmapped: []unmapped{}, Warnings: []warning{},
	}
	if got.durable {
		position := got.position.String()
		c.Position = &position
	}
	for _, w := range r.warnings {
		c.warn(w.Code, w.Path)
	}
	if got.applied {
		outcome := outcomes[got.change.Outcome]
		c.Outcome = &outcome
		for _, w := range got.change.Warnings {
			if _, over := hospital.Exceeded(w.Code); !over && w.Code != facts.ReasonExists {
				c.warn(w.Code, r.places.locateWarning(w))
			}
		}
		c.explainItems(&r.places, got.change.Items)
		c.Refused = r.refusedParts(&got.change)
	}
	if !got.applied || !got.durable {
		return c
	}
	level := levels[got.change.Level]
	c.Level = &level
	for i := range got.change.Activated {
		c.Activated = append(c.Activated, changed(&got.change.Activated[i]))
	}
	for i := range got.change.Expired {
		c.Expired = append(c.Expired, changed(&got.change.Expired[i]))
	}
	for _, u := range got.change.Unmapped {
		c.Unmapped = append(c.Unmapped, unmapped{string(u.System), u.Code, u.Display})
	}
	return c
}

// warn adds a warning, unless the response already has one with the same code at or below this path. After
// maxWarnings warnings, it adds one warning with the code warnMore, and ignores all further warnings.
func (c *common) warn(code, path string) {
	n := len(c.Warnings)
	if n > maxWarnings || slices.ContainsFunc(c.Warnings, func(w warning) bool {
		return w.Code == code && strings.HasPrefix(w.Path, path)
	}) {
		return
	}
	if n == maxWarnings {
		code, path = warnMore, ""
	}
	c.Warnings = append(c.Warnings, warning{code, path, rules.Message(code)})
}

// explainItems adds a warning for each event that changed nothing because its facts, or newer ones, are known.
func (c *common) explainItems(p *Places, items []acuity.ItemResult) {
	for i := range items {
		w := acuity.Warning{Code: items[i].Reason}
		if len(items) > 1 {
			w.Path = item("events", i)
		}
		if isKnown(w.Code) && w.Code != facts.ReasonExists { // what exists is counted separately
			c.warn(w.Code, p.locateWarning(w))
		}
	}
}

func changed(f *acuity.FactorChange) factorChange {
	c := factorChange{
		RoomID: f.RoomID, RoomLabel: f.RoomLabel, FactorID: f.Factor.ID(), Label: f.Factor.Label(),
		Since: httpapi.Time(f.Since.Time()), Evidence: evidences[f.Kind],
	}
	if f.Ratio != "" {
		c.Ratio = &f.Ratio
	}
	return c
}

// The facts of a hospital are limited (see [hospital.Limits]). Ingest does not have all facts of the hospital, so the
// processor refuses the items beyond a limit. The response names the path of each such item and the rule, such as
// "maxRooms:1000". The rest of the body is applied.

// maxRefused is the maximum number of refused paths in one response.
const maxRefused = 1000

// refusedParts returns the parts of a body that were refused because they exceed a limit.
func (r *reader) refusedParts(c *acuity.Change) (parts []httpapi.Detail) {
	add := func(path, reason string) {
		if rule, over := hospital.Exceeded(reason); over && len(parts) < maxRefused {
			if d := (httpapi.Detail{Path: path, Rule: rule}); !slices.Contains(parts[max(len(parts)-8, 0):], d) {
				parts = append(parts, d)
			}
		}
	}
	for i := range c.Items {
		if c.Items[i].Outcome == acuity.Rejected {
			add(r.places.part(item("events", i)), c.Items[i].Reason)
		}
	}
	for _, w := range c.Warnings {
		add(r.places.part(w.Path), w.Code)
	}
	return parts
}

// refuseWhole sends an error response and returns false if nothing in a body was applied because every part exceeds a
// limit. If not, it returns true.
func refuseWhole(w http.ResponseWriter, r *http.Request, c *acuity.Change) bool {
	rule, refused := exceeded(c)
	if !refused {
		return true
	}
	httpapi.Fail(w, r, httpapi.Problem{
		Kind: problem.Unprocessable, Message: "The hospital has reached the limit listed in details, so nothing was applied; " +
			"remove entries that are no longer needed.",
		Details: []httpapi.Detail{{Path: fieldOfReason[c.Reason], Rule: rule}},
	})
	return false
}

// exceeded returns the limit that prevented every part of a body from being applied, and reports whether there is
// such a limit.
func exceeded(c *acuity.Change) (rule string, ok bool) {
	rule, over := hospital.Exceeded(c.Reason)
	return rule, over && c.Outcome == acuity.Ignored
}

// fieldOfReason maps a reason to the field of the body that it is about.
var fieldOfReason = map[string]string{
	"too_many_rooms": "roomId", "too_many_visits": "visitId", "too_many_visits_of_patient": "patientId",
}
