package signature

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/internal/outbound/subscriber"
)

const (
	generated = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY"
	chosen    = "a secret that the partner chose"
)

var (
	body = []byte(`{"protocol":"svc.v1"}`)
	noon = time.Unix(1772373900, 0)
)

// TestVector checks the example request in docs/webhooks.md.
func TestVector(t *testing.T) {
	if got, want := Body(generated, body), "sha256=567670cd292942a9e6f297f2820ac7a664b7399092a393fc01e05599c4a32056"; got != want {
		t.Errorf("%s: %s, want %s", HeaderBody, got, want)
	}
	if got, want := Standard(generated, "evt_00", noon.Unix(), body), "v1,IUEoMbvFG/Xh5djh11woVXNj1182VONLmvSsfkx5YqU="; got != want {
		t.Errorf("%s: %s, want %s", HeaderStandard, got, want)
	}
}

// headers returns the headers of a request signed with one secret.
func headers(secret, id string, at time.Time) http.Header {
	signed, _ := Sign([]subscriber.Secret{{Value: secret, State: subscriber.SecretCurrent}}, id, at, body)
	h := http.Header{}
	h.Set(HeaderBody, signed.Body)
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, signed.Timestamp)
	h.Set(HeaderStandard, signed.Standard)
	return h
}

func TestCheck(t *testing.T) {
	without := func(names ...string) http.Header {
		h := headers(generated, "evt_00", noon)
		for _, name := range names {
			h.Del(name)
		}
		return h
	}
	with := func(name, value string) http.Header {
		h := headers(generated, "evt_00", noon)
		h.Set(name, value)
		return h
	}
	for name, tt := range map[string]struct {
		header   http.Header
		body     string
		now      time.Time
		secrets  []string
		want     Checked
		accepted bool
	}{
		"both":                     {header: without(), want: Checked{Good, Good, 0}, accepted: true},
		"the second secret":        {header: without(), secrets: []string{chosen, generated}, want: Checked{Good, Good, 1}, accepted: true},
		"a chosen secret":          {header: headers(chosen, "evt_00", noon), secrets: []string{chosen}, want: Checked{Good, Good, 0}, accepted: true},
		"another secret":           {header: without(), secrets: []string{chosen}, want: Checked{Wrong, Wrong, -1}},
		"no secret":                {header: without(), secrets: []string{""}, want: Checked{Wrong, Wrong, -1}},
		"body changed":             {header: without(), body: `{"protocol":"svc.v2"}`, want: Checked{Wrong, Wrong, -1}},
		"id changed":               {header: with(HeaderID, "evt_01"), want: Checked{Good, Wrong, 0}},
		"time changed":             {header: with(HeaderTimestamp, "1772373901"), want: Checked{Good, Wrong, 0}},
		"time is no number":        {header: with(HeaderTimestamp, "yesterday"), want: Checked{Good, Wrong, 0}},
		"no id":                    {header: without(HeaderID), want: Checked{Good, Wrong, 0}},
		"last second of tolerance": {header: without(), now: noon.Add(Tolerance), want: Checked{Good, Good, 0}, accepted: true},
		"replayed later":           {header: without(), now: noon.Add(Tolerance + time.Second), want: Checked{Good, Stale, 0}},
		"from the future":          {header: without(), now: noon.Add(-Tolerance - time.Second), want: Checked{Good, Stale, 0}},
		"our header alone":         {header: without(HeaderStandard), want: Checked{Good, Missing, 0}, accepted: true},
		"the standard's alone":     {header: without(HeaderBody), want: Checked{Missing, Good, 0}, accepted: true},
		"nothing":                  {header: http.Header{}, want: Checked{Missing, Missing, -1}},
		"one of two signatures":    {header: with(HeaderStandard, "v1,AAAA "+Standard(generated, "evt_00", noon.Unix(), body)), want: Checked{Good, Good, 0}, accepted: true},
		"in capitals":              {header: with(HeaderBody, strings.ToUpper(Body(generated, body))), want: Checked{Wrong, Good, 0}, accepted: true},
	} {
		t.Run(name, func(t *testing.T) {
			content, now, secrets := body, noon, []string{generated}
			if tt.body != "" {
				content = []byte(tt.body)
			}
			if !tt.now.IsZero() {
				now = tt.now
			}
			if tt.secrets != nil {
				secrets = tt.secrets
			}
			got := Check(tt.header, content, now, secrets...)
			if got != tt.want || got.Accepted() != tt.accepted {
				t.Errorf("Check = %+v, accepted %v; want %+v, %v", got, got.Accepted(), tt.want, tt.accepted)
			}
		})
	}
}

// rotation is the stored form of a rotation that starts at noon and has an overlap of two hours.
var rotation = []subscriber.Secret{
	{ID: "new", Value: generated, State: subscriber.SecretNext, Until: noon.Add(time.Hour)},
	{ID: "old", Value: chosen, State: subscriber.SecretCurrent, Until: noon.Add(2 * time.Hour)},
}

func TestRotation(t *testing.T) {
	for name, tt := range map[string]struct {
		at      time.Duration
		primary string
		valid   []string
	}{
		"at its start":        {0, "old", []string{"new", "old"}},
		"before half of it":   {time.Hour - time.Nanosecond, "old", []string{"new", "old"}},
		"half of it":          {time.Hour, "new", []string{"new", "old"}},
		"just before its end": {2*time.Hour - time.Nanosecond, "new", []string{"new", "old"}},
		"at its end":          {2 * time.Hour, "new", []string{"new"}},
		"a year later":        {365 * 24 * time.Hour, "new", []string{"new"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := noon.Add(tt.at)
			var ids []string
			for _, s := range At(rotation, now) {
				ids = append(ids, s.ID)
			}
			signed, _ := Sign(rotation, "evt_1", now, body)
			primary := "new"
			if signed.Body == Body(chosen, body) {
				primary = "old"
			}
			if primary != tt.primary || !slices.Equal(ids, tt.valid) {
				t.Errorf("X-Svc-Signature by %s, valid %v; want %s, %v", primary, ids, tt.primary, tt.valid)
			}
		})
	}
}

// TestRotationIsSeamless: whatever the states of the secrets and the time, the request is signed. A receiver that has
// any of the valid secrets accepts the request, and X-Svc-Signature is made with one of the valid secrets.
func TestRotationIsSeamless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) subscriber.Secret {
			s := subscriber.Secret{
				Value: rapid.StringMatching(`[a-zA-Z0-9]{24,40}`).Draw(t, "value"),
				State: subscriber.SecretState(rapid.IntRange(1, 3).Draw(t, "state")),
			}
			if hours := rapid.IntRange(-3, 3).Draw(t, "hours"); hours != 0 {
				s.Until = noon.Add(time.Duration(hours) * time.Hour)
			}
			return s
		}), 1, 3).Draw(t, "secrets")
		now := noon.Add(time.Duration(rapid.IntRange(-200, 200).Draw(t, "minutes")) * time.Minute)
		signed, ok := Sign(secrets, "evt_1", now, body)
		if !ok {
			t.Fatal("not signed")
		}
		h := http.Header{}
		h.Set(HeaderBody, signed.Body)
		h.Set(HeaderID, "evt_1")
		h.Set(HeaderTimestamp, signed.Timestamp)
		h.Set(HeaderStandard, signed.Standard)
		valid := At(secrets, now)
		ours := false
		for _, s := range valid {
			got := Check(h, body, now, s.Value)
			if !got.Accepted() {
				t.Fatalf("a receiver with a valid secret refuses: %+v", got)
			}
			ours = ours || got.Body == Good
		}
		if !ours && len(valid) > 0 {
			t.Fatal("X-Svc-Signature is by none of the valid secrets")
		}
	})
}

func TestNothingToSignWith(t *testing.T) {
	if _, ok := Sign(nil, "evt_1", noon, body); ok {
		t.Error("signed without a secret")
	}
	for _, closed := range []int{0, 1} { // index of the secret that could not be decrypted
		secrets := []subscriber.Secret{{Value: "a secret of the endpoint", State: subscriber.SecretNext, Until: noon.Add(time.Hour)}, {Value: "another secret of the endpoint", State: subscriber.SecretCurrent}}
		secrets[closed].Value = ""
		if s, ok := Sign(secrets, "evt_1", noon, body); ok {
			t.Errorf("signed with nothing: %+v", s)
		}
	}
}
