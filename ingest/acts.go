package ingest

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/facts"
	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/problem"
)

// Settings stores the settings of each hospital, except those that directly change a verdict.
type Settings interface {
	Hospital(id string) (access.Hospital, bool)
	// Set stores the time zone and the senders of a hospital, as set by the act with this version. Once Set has
	// returned, this process uses the new values. Set returns [access.ErrOvertaken] if a later act has already set
	// them.
	Set(ctx context.Context, hospital string, version int64, zone string, senders []access.Sender) error
	// Key returns a key by its id, even if the key is no longer valid.
	Key(id string) (access.Key, bool)
}

// acted is the response to an act: its effects on the verdict. For a dry run, these are the effects that the act
// would have.
type acted struct {
	common
	DryRun  bool          `json:"dryRun"`
	Changes []verdictMove `json:"changes"` // changes of the level and of rooms, in the format of the webhooks

	version int64 // version of the change
}

// verdictMove is a change of the level or of a room's color.
type verdictMove struct {
	RoomID    *int32  `json:"roomId"` // null: the unit's level changes
	RoomLabel *string `json:"roomLabel"`
	Was       string  `json:"was"`
	Is        string  `json:"is"`
	Score     *int32  `json:"score"` // score of the room after the act
}

// acts handles administrators' requests to change the settings of their hospital or to retry dead letters. It writes an
// audit record for each request.
type acts struct{ *server }

// beginAct starts the observation of an act. If it returns nil, it has already sent an error response.
func (a *acts) beginAct(w http.ResponseWriter, r *http.Request, channel acuity.Channel) (*acuity.Observation, *reader) {
	o := a.observe(r, channel)
	o.Source = httpapi.Caller(r.Context()).ID // the acting administrator, not the owner of the data
	in := a.reader(o)
	o.Act = in.parseAct(r)
	if refusal := in.problem(); refusal != nil {
		httpapi.Fail(w, r, *refusal)
		return nil, nil
	}
	if given(r, "If-Match") != nil && given(r, "If-None-Match") != nil { // the resource cannot both exist and not exist
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Precondition})
		return nil, nil
	}
	return o, in
}

// readAct fills the observation of an act from the body or the path of a request. It returns the subjects for the
// audit record and a function that creates the response. If it returns no subjects, the resource does not exist.
type readAct func(in *reader, r *http.Request, body []byte, o *acuity.Observation) (subjects []string, answer func(acted) any)

// serveAct returns the handler of an act that changes local settings. Only a deletion has no body.
func serveAct(channel acuity.Channel, action string, read readAct) func(*acts, http.ResponseWriter, *http.Request) {
	return func(a *acts, w http.ResponseWriter, r *http.Request) {
		var body []byte
		if r.Method != http.MethodDelete {
			var ok bool
			if body, ok = readJSON(w, r, maxBody); !ok {
				return
			}
		}
		o, in := a.beginAct(w, r, channel)
		if o == nil {
			return
		}
		subjects, answer := read(in, r, body, o)
		if refusal := in.problem(); refusal != nil {
			httpapi.Fail(w, r, *refusal)
		} else if subjects == nil {
			httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
		} else if effects, ok := a.perform(w, r, o, in, action, subjects...); ok {
			httpapi.OK(w, r, answer(effects))
		}
	}
}

// onlyEffects returns the effects of an act as the whole response.
func onlyEffects(effects acted) any { return effects }

const dryRun = "dryRun"

// parseAct parses the options of an act: ?dryRun=true, If-Match, If-None-Match.
func (r *reader) parseAct(q *http.Request) *acuity.Act {
	act := &acuity.Act{}
	if values := q.URL.Query()[dryRun]; len(values) > 0 {
		if act.DryRun = values[0] == "true"; !act.DryRun && values[0] != "false" {
			r.fault(dryRun, "enum:true|false")
		}
	}
	match, none := given(q, "If-Match"), given(q, "If-None-Match")
	switch {
	case len(match) > 1 || len(none) > 1:
		r.fault("If-Match", "one")
	case len(match) == 1:
		version, ok := parseEntityTag(match[0])
		if act.Expect = version; !ok {
			r.fault("If-Match", "version")
		}
	case len(none) == 1:
		if act.Expect = acuity.ExpectNone; strings.TrimSpace(none[0]) != "*" {
			r.fault("If-None-Match", "enum:*")
		}
	}
	if *act == (acuity.Act{}) {
		return nil
	}
	return act
}

// given returns the values of a header, or nil if the header is missing or empty.
func given(r *http.Request, name string) []string {
	values := r.Header[name]
	if len(values) == 1 && values[0] == "" {
		return nil
	}
	return values
}

// parseEntityTag parses the version in If-Match: "57", or * for any version. A weak tag is invalid: an equal weak tag does
// not prove that the resource is unchanged.
func parseEntityTag(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	if text == "*" {
		return acuity.ExpectSome, true
	}
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return 0, false
	}
	version, err := strconv.ParseInt(text[1:len(text)-1], 10, 64)
	return version, err == nil && version > 0
}

// perform writes the audit record of an act, submits the act and returns its effects. If it returns false, it has
// already sent an error response.
func (a *acts) perform(
	w http.ResponseWriter, r *http.Request, o *acuity.Observation, in *reader, action string, subjects ...string,
) (acted, bool) {
	dry := o.Act != nil && o.Act.DryRun
	if !dry && !a.recordAct(w, r, o, action, subjects...) {
		return acted{}, false
	}
	got, ok := a.submit(w, r, nil, o)
	if !ok {
		if !dry {
			a.recordNotDone(r, o, action, subjects...)
		}
		return acted{}, false
	}
	reason := ""
	if got.applied && got.change.Outcome == acuity.Ignored {
		reason = got.change.Reason
	}
	if p := got.change.Preview; got.applied && p != nil {
		// A dry run responds with the effects that the act would have.
		got.change.Outcome, got.change.Level, got.change.Effects = p.Outcome, p.Level, p.Effects
		got.change.Activated, got.change.Expired, got.change.Warnings = p.Activated, p.Expired, p.Warnings
		reason = p.Reason
	}
	if refusal := refusedAct(reason, o); refusal != nil {
		httpapi.Fail(w, r, *refusal)
		if !dry {
			a.recordNotDone(r, o, action, subjects...)
		}
		return acted{}, false
	}
	answer := acted{common: in.answer(got), DryRun: dry, Changes: []verdictMove{}, version: got.change.Version}
	for i := range got.change.Effects {
		answer.Changes = append(answer.Changes, verdictMoveFrom(&got.change.Effects[i]))
	}
	return answer, true
}

// refusedAct returns why an act was refused, or nil if it was not.
func refusedAct(reason string, o *acuity.Observation) *httpapi.Problem {
	switch reason {
	case facts.ReasonPrecondition:
		return &httpapi.Problem{Kind: problem.Precondition}
	case facts.ReasonNotThere:
		return &httpapi.Problem{Kind: problem.Missing}
	case facts.ReasonTooMany:
		message := "The hospital has reached the limit of 5,000 locations; remove one first."
		if len(o.Mappings) > 0 {
			message = "The hospital has reached the limit of 20,000 code mappings; remove one first."
		}
		return &httpapi.Problem{
			Kind: problem.Unprocessable, Message: message, Details: []httpapi.Detail{{Path: "", Rule: "maxItems"}},
		}
	default:
		return nil
	}
}

func verdictMoveFrom(e *acuity.Effect) verdictMove {
	if e.Kind == acuity.LevelChanged {
		return verdictMove{Was: e.Prior.String(), Is: e.Level.String()}
	}
	return verdictMove{
		RoomID: &e.RoomID, RoomLabel: &e.RoomLabel, Was: e.PriorColor.String(), Is: e.Color.String(), Score: &e.Score,
	}
}

// maxSubjects is the maximum number of ids in one audit record.
const maxSubjects = 50

// recordAct writes the audit record of an act. If that fails, it sends an error response and returns false, and the
// act must not be executed.
func (a *acts) recordAct(w http.ResponseWriter, r *http.Request, o *acuity.Observation, action string, subjects ...string) bool {
	if a.Audit == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(r.Context(), appendWait)
	defer cancel()
	err := a.Audit(ctx, actOf(o, action, subjects))
	if err != nil {
		a.Shell.Log.WarnContext(r.Context(), "audit record not written", "hospital", o.Hospital, "action", action, "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: retryAfter})
	}
	return err == nil
}

// recordNotDone writes an audit record for an act that is already recorded but was refused, or whose result is
// unknown.
func (a *acts) recordNotDone(r *http.Request, o *acuity.Observation, action string, subjects ...string) {
	if a.Audit == nil {
		return
	}
	how := audit.Failed
	if kind := httpapi.Refusal(r.Context()).Kind; kind == problem.Unavailable || kind == problem.Internal {
		how = audit.Unclear
	}
	if err := a.Audit.RecordNotDone(r.Context(), actOf(o, action, subjects), how); err != nil {
		a.Shell.Log.WarnContext(r.Context(), "audit record of a failure not written", "hospital", o.Hospital, "action", action, "error", err)
	}
}

// actOf returns the audit record of an administrator's act.
func actOf(o *acuity.Observation, action string, subjects []string) audit.Act {
	before := ""
	if o.Act != nil && o.Act.Expect > 0 {
		before = strconv.FormatInt(o.Act.Expect, 10)
	}
	subject := strings.Join(subjects[:min(len(subjects), maxSubjects)], ",")
	if more := len(subjects) - maxSubjects; more > 0 {
		subject += ",+" + strconv.Itoa(more)
	}
	return audit.Act{
		Hospital: o.Hospital, At: o.ReceivedAt.Time(), By: o.Source, Action: action, Subject: subject, Before: before,
	}
}

// remark parses an administrator's comment. It masks long runs of digits, which could identify a person.
func (o object) remark() string { return codes.MaskDisplay(o.text("comment")) }
