package actor

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"svc/internal/admin/users"
	"svc/internal/httpapi/access"
	"svc/internal/seal"
)

// TestActors: a token represents one person, for one minute and one scope, and only while the person's role permits
// it.
func TestActors(t *testing.T) {
	t.Parallel()
	ring, err := seal.NewKeyring("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	charge := users.User{ID: "usr_1", Hospital: "north", Label: "night desk", Role: users.Charge}
	for name, tt := range map[string]struct {
		change func(*users.User)
		token  func(*Tokens) string
		after  time.Duration
		valid  bool
	}{
		"a charge nurse":   {valid: true},
		"a minute later":   {after: lifetime},
		"disabled":         {change: func(u *users.User) { u.Disabled = true }},
		"a viewer now":     {change: func(u *users.User) { u.Role = users.Viewer }},
		"over":             {change: func(u *users.User) { u.Until = noon }},
		"another hospital": {token: func(a *Tokens) string { return a.Token("south", "usr_1", access.IngestStaffing) }},
		"nobody":           {token: func(a *Tokens) string { return a.Token("north", "usr_2", access.IngestStaffing) }},
		"tampered":         {token: func(a *Tokens) string { return a.Token("north", "usr_1", access.Admin)[:60] }},
		"no base64":        {token: func(*Tokens) string { return prefix + "*" }},
		"of the future": {token: func(a *Tokens) string {
			return sealedActor(t, a, actor{User: "usr_1", Hospital: "north", Scopes: []access.Scope{access.Admin}, Until: noon.Add(time.Hour).UnixMilli()}, purpose)
		}},
		"another purpose": {token: func(a *Tokens) string {
			return sealedActor(t, a, actor{User: "usr_1", Hospital: "north", Scopes: []access.Scope{access.Admin}, Until: noon.Add(time.Second).UnixMilli()}, "svc.v1 session")
		}},
		"sealed as it is": {valid: true, token: func(a *Tokens) string {
			return sealedActor(t, a, actor{User: "usr_1", Hospital: "north", Scopes: []access.Scope{access.IngestStaffing}, Until: noon.Add(time.Second).UnixMilli()}, purpose)
		}},
		"an administrator before": {token: func(a *Tokens) string { return a.AdminToken("north", "usr_1") }},
		"an empty token":          {token: func(*Tokens) string { return prefix }},
		"a key that is none":      {token: func(*Tokens) string { return "svc_1" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := noon
			a := &Tokens{seals: ring, users: users.NewRegister(), now: func() time.Time { return now }, register: access.NewRegister(func() time.Time { return now })}
			user := charge
			a.users.SetUser(user)
			token := a.Token("north", "usr_1", access.IngestStaffing)
			if tt.token != nil {
				token = tt.token(a)
			}
			if tt.change != nil {
				tt.change(&user)
				a.users.SetUser(user)
			}
			now = now.Add(tt.after)
			key, ok := a.Lookup(token)
			if ok != tt.valid {
				t.Fatalf("valid %v", ok)
			}
			if ok && (key.ID != "usr_1" || key.Hospital != "north" || !key.Allows(access.IngestStaffing) || key.Allows(access.Admin) || key.Lineage() != access.PagesSource) {
				t.Errorf("key %+v", key)
			}
		})
	}
}

// sealedActor returns a token with the given content, sealed under the given name. Lookup must refuse the token.
func sealedActor(t *testing.T, a *Tokens, who actor, name string) string {
	t.Helper()
	clear, err := json.Marshal(who)
	if err != nil {
		t.Fatal(err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(a.seals.Seal(name, clear))
}
