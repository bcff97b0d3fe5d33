package config

import (
	"slices"
	"strings"
	"testing"

	"svc/internal/admin/users"
	"svc/readapi/web/signin"
)

// TestOIDCRoles: the mapping from groups to roles is parsed. The name of a group may contain an equals sign, as
// distinguished names in a directory do.
func TestOIDCRoles(t *testing.T) {
	t.Parallel()
	c := &Config{}
	if err := c.setOIDCRoles("nurses=mercy:viewer, cn=leads=mercy:charge ,it=*:admin"); err != nil {
		t.Fatal(err)
	}
	want := []signin.GroupRole{{Group: "nurses", Hospital: "mercy", Role: users.Viewer}, {Group: "cn=leads", Hospital: "mercy", Role: users.Charge}, {Group: "it", Hospital: "*", Role: users.Admin}}
	if !slices.Equal(c.OIDC.Roles, want) {
		t.Errorf("%+v", c.OIDC.Roles)
	}
	for _, text := range []string{"nurses", "nurses=mercy", "=mercy:viewer", "nurses=:viewer", "nurses=mercy:root", "nurses=mercy:"} {
		if c.setOIDCRoles(text) == nil {
			t.Errorf("%q was taken", text)
		}
	}
	for text, good := range map[string]bool{
		"": true, "https://login.example/realms/a": true, "http://127.0.0.1:9": true, "http://login.example": false, "login.example": false, "https://": false, "ftp://x": false,
		"http://[::1": false, // malformed; must not cause a panic
	} {
		if err := c.setOIDCIssuer(text); (err == nil) != good {
			t.Errorf("issuer %q: %v", text, err)
		}
	}
}

// TestOIDCFaults: the options for a provider must be given together.
func TestOIDCFaults(t *testing.T) {
	t.Parallel()
	roles := []signin.GroupRole{{Group: "a", Hospital: "b", Role: users.Viewer}}
	for name, tt := range map[string]struct {
		c    Config
		want string
	}{
		"none":        {Config{}, ""},
		"all":         {Config{OIDC: OIDC{Issuer: "https://a", ClientID: "b", Roles: roles}, PublicURL: "https://c", SecretsKey: "d"}, ""},
		"no issuer":   {Config{OIDC: OIDC{ClientID: "b"}}, "required"},
		"no roles":    {Config{OIDC: OIDC{Issuer: "https://a", ClientID: "b"}}, "requires --oidc-client-id"},
		"no way back": {Config{OIDC: OIDC{Issuer: "https://a", ClientID: "b", Roles: roles}, SecretsKey: "d"}, "requires --public-url"},
		"no key":      {Config{OIDC: OIDC{Issuer: "https://a", ClientID: "b", Roles: roles}, PublicURL: "https://c"}, "--secrets-key"},
	} {
		faults := tt.c.oidcFaults()
		if (len(faults) == 0) != (tt.want == "") || len(faults) > 0 && !strings.Contains(faults[0].Error(), tt.want) {
			t.Errorf("%s: %v", name, faults)
		}
	}
}
