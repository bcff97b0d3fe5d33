package ingest

import (
	"context"
	"net/http"
	"time"

	"svc/acuity"
	"svc/internal/access"
	"svc/internal/api"
)

// maxSenders is how many keys a hospital has switches for.
const maxSenders = 200

type settingsAnswer struct {
	acted
	Version *int64 `json:"version"` // of all settings, for If-Match; null while pending, and of a dry run
}

// setSettings sets all settings of the hospital. The switches that change
// verdicts are an observation; time zone and senders change how later requests
// are read, and are kept with the hospital.
func (s *server) setSettings(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON(w, r, maxBody)
	if !ok {
		return
	}
	o, in := s.begin(w, r, acuity.ChannelSettings)
	if o == nil {
		return
	}
	hospital, known := access.Hospital{}, false
	if s.Settings != nil {
		hospital, known = s.Settings.Hospital(o.Hospital)
	}
	if !known {
		api.Fail(w, r, api.Problem{Kind: api.Missing})
		return
	}
	changed := hospital
	o.Switches = in.settings(body, &changed, s.Settings.Key)
	if problem := in.problem(); problem != nil {
		api.Fail(w, r, *problem)
		return
	}
	var answer settingsAnswer
	if answer.acted, ok = s.perform(w, r, o, in, actionSettingsSet, o.Hospital); !ok {
		return
	}
	if answer.version > 0 && !answer.DryRun {
		answer.Version = &answer.version
	}
	if !answer.DryRun && !changed.Equal(&hospital) {
		if err := s.putHospital(r.Context(), &changed); err != nil {
			s.Shell.Log.WarnContext(r.Context(), "settings not written", "hospital", o.Hospital, "error", err)
			api.Fail(w, r, api.Problem{Kind: api.Unavailable, RetryAfter: retryAfter})
			return
		}
	}
	api.OK(w, r, answer)
}

func (s *server) putHospital(ctx context.Context, h *access.Hospital) error {
	ctx, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	return s.Settings.PutHospital(ctx, h)
}

// settings reads all settings; what is left out has its default.
func (r *reader) settings(body []byte, h *access.Hospital, key func(id string) (access.Key, bool)) *acuity.Switches {
	b, ok := r.open(body, "")
	if !ok {
		return nil
	}
	defer b.close()
	switches := &acuity.Switches{
		TrustA08Location:   b.yes("trustA08Location") == acuity.Yes,
		StaffingFromRoster: b.yes("staffingFromRoster") == acuity.Yes,
	}
	zone := b.text("timezone", required, maxName)
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		r.unfit("timezone", "iana")
	}
	h.Zone, h.Senders = zone, nil
	list, _ := b.list("senders", optional, maxSenders)
	seen := map[string]bool{}
	for i, raw := range list {
		in, ok := r.open(raw, item("senders", i))
		if !ok {
			continue
		}
		sender := access.Sender{
			Key:            in.text("keyId", required, maxID),
			OriginalMode:   in.yes("originalMode") == acuity.Yes,
			ProductionOnly: in.yes("productionOnly") == acuity.Yes,
		}
		in.close()
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
