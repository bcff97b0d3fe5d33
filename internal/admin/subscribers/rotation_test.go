package subscribers_test

import (
	"strings"
	"testing"
	"time"

	"svc/internal/signature"
)

// TestRotation follows the secrets of an endpoint through several rotations. Each rotation is one write; all other
// changes to the states of the secrets happen as time passes.
func TestRotation(t *testing.T) {
	h := open(t)
	made := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200)
	path := hooks + "/" + made.Data.ID
	states := func() string {
		t.Helper()
		var all []string
		for _, s := range h.ask("admin", "GET", path, "", 200).Data.Secrets {
			all = append(all, s.State)
		}
		return strings.Join(all, " ")
	}
	began := h.now
	turned := h.ask("admin", "POST", path+"/rotate", `{}`, 200, "If-Match", `"1"`)
	if d := turned.Data; d.Version != 2 || d.Secret == made.Data.Secret || !d.PromoteAt.Equal(began.Add(12*time.Hour)) || !d.RetireAt.Equal(began.Add(24*time.Hour)) {
		t.Errorf("rotated %s", turned.raw)
	}
	if got := h.ask("admin", "POST", path+"/rotate", `{"overlapHours":1}`, 422); got.rules() != "overlapHours rotating" {
		t.Errorf("a second rotation: %s", got.raw)
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "next current"},
		{12*time.Hour - time.Millisecond, "next current"},
		{12 * time.Hour, "current previous"},
		{24*time.Hour - time.Millisecond, "current previous"},
		{24 * time.Hour, "current"},
	} {
		if h.now = began.Add(step.after); states() != step.want {
			t.Errorf("after %v: %s, want %s", step.after, states(), step.want)
		}
	}
	// A third secret is added while the first one still signs, so three secrets are listed.
	h.now = began.Add(13 * time.Hour)
	third := h.ask("admin", "POST", path+"/rotate", `{"overlapHours":1,"secret":"a secret of the partner's own"}`, 200)
	if states() != "next current previous" || third.Data.Secret != "a secret of the partner's own" {
		t.Errorf("three: %s", states())
	}
	h.now = began.Add(14 * time.Hour)
	if states() != "current previous" {
		t.Errorf("after the second: %s", states())
	}
	hook, _ := h.register.Webhook("north", made.Data.ID)
	if at := signature.At(hook.Secrets, h.now); at[0].Value != third.Data.Secret || at[1].Value != made.Data.Secret {
		t.Errorf("signs %+v", at)
	}
	// After a leak, an overlap of 0 ends all old secrets at once, even during the overlap of an earlier rotation.
	h.ask("admin", "POST", path+"/rotate", `{}`, 200)
	last := h.ask("admin", "POST", path+"/rotate", `{"overlapHours":0}`, 200)
	if states() != "current" || len(last.Data.Secrets) != 1 || !last.Data.PromoteAt.Equal(last.Data.RetireAt) {
		t.Errorf("after a leak: %s", last.raw)
	}
}
