package subscribers

import (
	"context"
	"net/http"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound/subscriber"
	"svc/internal/signature"
)

const actWebhookRotate = "webhook.rotate"

const overlapUsual = 24

func rotation() []contract.Route[*webhooks] {
	return []contract.Route[*webhooks]{{Operation: contract.Operation{
		Method: http.MethodPost, Path: "/api/admin/webhooks/{id}/rotate", ID: "rotateSecret", Summary: "Rotate the secret of an endpoint",
		About: "webhook-signature has a signature for each secret until retireAt. X-Svc-Signature has one: with the old secret until " +
			"promoteAt (half the overlap), then with the new one. " +
			"An overlap of 0 ends all old secrets at once. No other rotation can begin before promoteAt.",
		Parameters: []contract.Parameter{idOf("webhook", "whk_0123456789abcdef"), ifMatch},
		Bodies:     optionalBody(rotateShape{}, contract.Example{Name: "One day of overlap", Text: `{"overlapHours":24}`}),
		Data:       rotated{}, Tagged: true, Refuses: []problem.Kind{problem.Missing, problem.Precondition, problem.Unprocessable},
	}, Serve: (*webhooks).rotate}}
}

type rotateShape struct {
	OverlapHours int     `json:"overlapHours,omitempty" enum:"0,1,24,168" doc:"Default 24."`
	Secret       *string `json:"secret,omitempty" pattern:"secret" doc:"Secret chosen by the partner. Default: a generated one."`
}

type rotated struct {
	webhookRow
	Secret    string            `json:"secret"`    // shown once
	PromoteAt httpapi.Time      `json:"promoteAt"` // when X-Svc-Signature begins to use the new secret
	RetireAt  httpapi.Time      `json:"retireAt"`  // when the old secret stops signing
	Warnings  []httpapi.Warning `json:"warnings"`
}

var secretStates = map[subscriber.SecretState]string{
	subscriber.SecretNext: "next", subscriber.SecretCurrent: "current", subscriber.SecretPrevious: "previous",
}

// Rotate adds a new secret to the secrets of an endpoint, and returns the new secret first. The current and the new
// secret both sign during the overlap; with an overlap of 0, only the new one signs. If the new secret of an earlier
// rotation is not current yet and overlap is not 0, Rotate returns false, because a partner could not know which of
// three secrets is next.
func Rotate(secrets []subscriber.Secret, fresh subscriber.Secret, now time.Time, overlap time.Duration) (all []subscriber.Secret, ok bool) {
	if overlap == 0 {
		fresh.State, fresh.Until = subscriber.SecretCurrent, time.Time{}
		return []subscriber.Secret{fresh}, true
	}
	valid := signature.At(secrets, now)
	fresh.State, fresh.Until = subscriber.SecretNext, cut(now.Add(overlap/2))
	all = []subscriber.Secret{fresh}
	for _, s := range valid {
		switch s.State {
		case subscriber.SecretNext:
			return nil, false
		case subscriber.SecretCurrent:
			s.Until = cut(now.Add(overlap))
		case subscriber.SecretPrevious: // an earlier rotation has set when this secret retires
		}
		all = append(all, s)
	}
	return all[:min(len(all), maxSecrets)], true
}

// maxSecrets is the maximum number of secrets of an endpoint: the next one, the current one, and a previous one that
// still signs.
const maxSecrets = 3

func (s *webhooks) rotate(w http.ResponseWriter, r *http.Request) {
	in := rotateShape{OverlapHours: overlapUsual}
	warnings, ok := httpapi.ReadOptionalJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	f := faultsOf(&in)
	secret := secretOf(&f, in.Secret)
	if f.answered(w, r) {
		return
	}
	seen, end := s.begin()
	defer end()
	old, ok := s.findWebhook(w, r)
	if !ok || !requireMatch(w, r, old.Version) {
		return
	}
	now, overlap := s.Shell.Now(), time.Duration(in.OverlapHours)*time.Hour
	hook := *old
	hook.Version++
	if hook.Secrets, ok = Rotate(old.Secrets, subscriber.Secret{ID: "sec_" + access.RandomHex(4), Value: secret}, now, overlap); !ok {
		unprocessable(w, r, "A rotation is in progress; rotate after promoteAt, or with overlapHours 0.", "overlapHours", "rotating")
		return
	}
	put := func(ctx context.Context) error { return s.Store.PutWebhook(ctx, seen, &hook) }
	if s.perform(w, r, actWebhookRotate, hook.ID, old.Version, hook.Version, put) {
		answer(w, r, hook.Version, rotated{
			s.changedRow(r.Context(), &hook), secret, httpapi.Time(cut(now.Add(overlap / 2))), httpapi.Time(cut(now.Add(overlap))),
			warnings,
		})
	}
}
