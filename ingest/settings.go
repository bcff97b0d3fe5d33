package ingest

import (
	"context"
	"net/http"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/problem"
)

type settingsAnswer struct {
	acted
	Version *int64 `json:"version"` // version of all settings, for If-Match; null for a dry run
}

const settingsSet = "settings.set" // name of the act in the audit log

// setSettings sets all settings of the hospital. The switches, which change verdicts, become an observation. Time
// zone and senders, which change how later requests are parsed, are stored with the hospital.
func (a *acts) setSettings(w http.ResponseWriter, r *http.Request) {
	hospital, known := access.Hospital{}, false
	if a.Settings != nil {
		hospital, known = a.Settings.Hospital(httpapi.Caller(r.Context()).Hospital)
	}
	body, ok := readJSON(w, r, maxBody)
	if !ok {
		return
	}
	o, in := a.beginAct(w, r, acuity.ChannelSettings)
	if o == nil {
		return
	}
	if !known {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
		return
	}
	before := hospital
	o.Switches = in.settings(body, &hospital, a.Settings.Key)
	if refusal := in.problem(); refusal != nil {
		httpapi.Fail(w, r, *refusal)
		return
	}
	same := hospital.Zone == before.Zone && slices.Equal(hospital.Senders, before.Senders)
	var answer settingsAnswer
	if same && mayBeUnchanged(o.Act, before.Version) {
		if answer.acted, ok = a.findUnchanged(w, r, o, in, before.Version); !ok {
			return
		}
		if slices.ContainsFunc(answer.Warnings, isUnchanged) {
			if answer.DryRun = o.Act != nil && o.Act.DryRun; !answer.DryRun {
				answer.Version = &before.Version
			}
			httpapi.OK(w, r, answer)
			return
		}
	}
	if answer.acted, ok = a.perform(w, r, o, in, settingsSet, o.Hospital); !ok {
		return
	}
	// The settings get a new version, although the switches, which the processor compares, may be the same.
	answer.Warnings = slices.DeleteFunc(answer.Warnings, isUnchanged)
	if !answer.DryRun && !a.setHospital(w, r, &hospital, &answer) {
		a.recordNotDone(r, o, settingsSet, o.Hospital)
		return
	}
	httpapi.OK(w, r, answer)
}

// isUnchanged reports whether a warning says that an act changes nothing.
func isUnchanged(w warning) bool { return w.Code == hospital.ReasonUnchanged }

// mayBeUnchanged reports whether an act that sets all settings again, in the given version, may have no effect: the
// settings have been set before, and the act does not require a different version.
func mayBeUnchanged(act *acuity.Act, version int64) bool {
	if act == nil {
		return version > 0
	}
	return version > 0 && (act.Expect == acuity.ExpectSome || act.Expect == version || act.Expect == acuity.ExpectAnything)
}

// findUnchanged returns the effects that the switches would have. They include the warning unchanged if the switches of
// this version are the same, so that no new version of the settings is needed. If it returns false, it has already sent
// an error response.
func (a *acts) findUnchanged(w http.ResponseWriter, r *http.Request, o *acuity.Observation, in *reader, version int64) (acted, bool) {
	trial := *o
	trial.Act = &acuity.Act{DryRun: true, Expect: version}
	got, ok := a.submit(w, r, nil, &trial)
	if !ok {
		return acted{}, false
	}
	if p := got.change.Preview; got.applied && p != nil && p.Reason == "" {
		got.change.Outcome, got.change.Warnings = p.Outcome, p.Warnings
	}
	return acted{common: in.answer(got), Changes: []verdictMove{}}, true
}

// setHospital stores the time zone and the senders, which is the second half of the act that sets all settings. If it
// returns false, it has sent an error response.
//
// In the first half, the switches are appended to the log and If-Match is checked. The log orders the acts of the
// hospital, and the second half uses the version of the act in that order. Therefore, if two administrators act at
// once, the settings of the later act remain in both places. If the second half fails, reads of the settings show
// that the change is incomplete, and repeating the request completes it.
func (a *acts) setHospital(w http.ResponseWriter, r *http.Request, hospital *access.Hospital, answer *settingsAnswer) bool {
	err := error(nil)
	if answer.Applied {
		ctx, cancel := context.WithTimeout(r.Context(), appendWait)
		defer cancel()
		answer.Version = &answer.version
		err = a.Settings.Set(ctx, hospital.ID, answer.version, hospital.Zone, hospital.Senders)
	}
	if err == nil && answer.Applied {
		return true
	}
	a.Shell.Log.WarnContext(r.Context(), "settings partly written", "hospital", hospital.ID, "error", err)
	httpapi.Fail(w, r, httpapi.Problem{
		Kind: problem.Unavailable, RetryAfter: retryAfter,
		Message: "The switches were set, or will be; the time zone and senders were not. " +
			"Read the settings, then set them again without If-Match, or with the version that you read.",
	})
	return false
}

// settings parses all settings. A missing setting gets its default.
func (r *reader) settings(body []byte, h *access.Hospital, key func(id string) (access.Key, bool)) *acuity.Switches {
	b, ok := r.open(body, "", shapeOf[settingsShape]())
	if !ok {
		return nil
	}
	defer b.close()
	switches := &acuity.Switches{
		TrustA08Location:   b.boolean("trustA08Location") == acuity.Yes,
		StaffingFromRoster: b.boolean("staffingFromRoster") == acuity.Yes,
	}
	zone := b.text("timezone")
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		r.unfit("timezone", "iana")
	}
	h.Zone, h.Senders = zone, nil
	list, _ := b.list("senders")
	seen := map[string]bool{}
	for in := range b.each("senders", list) {
		sender := access.Sender{
			Key:            in.text("keyId"),
			OriginalMode:   in.boolean("originalMode") == acuity.Yes,
			ProductionOnly: in.boolean("productionOnly") == acuity.Yes,
		}
		if k, known := key(sender.Key); sender.Key != "" && (!known || k.Hospital != h.ID) {
			r.unfit(in.at("keyId"), "key")
		}
		if seen[sender.Key] {
			r.unfit(in.at("keyId"), "unique")
		}
		seen[sender.Key] = true
		h.Senders = append(h.Senders, sender)
	}
	return switches
}

type settingsShape struct {
	Timezone           string        `json:"timezone" pattern:"word" maxLength:"64" doc:"IANA name."`
	TrustA08Location   bool          `json:"trustA08Location,omitempty" doc:"true: an A08 with a different PV1-3 moves the patient."`
	StaffingFromRoster bool          `json:"staffingFromRoster,omitempty" doc:"true: without a staffing record, nurses on duty are counted from the roster."`
	Senders            []senderShape `json:"senders,omitempty" maxItems:"200"`
}

type senderShape struct {
	KeyID          string `json:"keyId" pattern:"word" maxLength:"200"`
	OriginalMode   bool   `json:"originalMode,omitempty" doc:"true: acknowledge with AA, AE or AR, whatever mode the message requests."`
	ProductionOnly bool   `json:"productionOnly,omitempty" doc:"true: refuse messages whose MSH-11 is not P."`
}
