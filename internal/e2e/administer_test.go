package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestKeysOverHTTP: an administrator creates, uses, rotates and revokes a key. The audit log has an entry for each
// action, including the actions on the command line.
func TestKeysOverHTTP(t *testing.T) {
	t.Parallel() // the test waits until the use of a key is recorded
	dir := t.TempDir()
	d := startDev(t, dir)
	admin := newPartner(d.BaseURL, d.HospitalID, d.AdminKey)
	ask := func(p *partner, method, path, body string, want int, v any) {
		t.Helper()
		contentType := "application/json"
		if body == "" {
			contentType = ""
		}
		a, err := p.do(method, path, contentType, body)
		if err != nil {
			t.Fatal(err)
		}
		if a.status != want {
			t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.raw, want)
		}
		if v != nil {
			into(t, a.Data, v)
		}
	}
	var made, next struct{ ID, Key string }
	ask(admin, "POST", "/api/admin/keys", `{"name":"reader","scopes":["read:unit-state","read:status"],"rate":2,"burst":5}`, 200, &made)
	ask(newPartner(d.BaseURL, d.HospitalID, d.APIKey), "POST", "/api/admin/keys", `{}`, 403, nil)
	reader := newPartner(d.BaseURL, d.HospitalID, made.Key)
	ask(reader, "GET", "/api/v1/level", "", 404, nil) // the hospital has no data yet

	limited := 0
	for range 40 {
		a, err := reader.do(http.MethodGet, "/api/v1/level", "", "")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(a.header.Get("RateLimit"), `"key";r=`) || a.header.Get("RateLimit-Policy") != `"key";q=5;w=3` {
			t.Fatalf("headers %v", a.header)
		}
		if a.status == http.StatusTooManyRequests {
			if limited++; a.Error.Code != "rate_limited" || a.header.Get("Retry-After") == "" {
				t.Errorf("limited: %s %v", a.raw, a.header)
			}
		}
	}
	if limited < 20 {
		t.Errorf("%d of 40 at once were limited, at a burst of 5", limited)
	}
	var list struct {
		Keys []struct {
			ID         string
			LastUsedAt *time.Time
		}
	}
	eventually(t, 20*time.Second, func() error {
		ask(admin, "GET", "/api/admin/keys", "", 200, &list)
		for _, k := range list.Keys {
			if k.ID == made.ID && k.LastUsedAt != nil {
				return nil
			}
		}
		return fmt.Errorf("the last use is not shown: %+v", list)
	})
	ask(admin, "POST", "/api/admin/keys/"+made.ID+"/rotate", `{"overlap":"0"}`, 200, &next)
	ask(reader, "GET", "/api/v1/level", "", 401, nil)
	cli(t, nil, "keys", "revoke", "--data", dir, next.ID)
	eventually(t, time.Second, func() error {
		a, err := newPartner(d.BaseURL, d.HospitalID, next.Key).do(http.MethodGet, "/api/v1/level", "", "")
		if err == nil && a.status != http.StatusUnauthorized {
			err = fmt.Errorf("revoked, and still %d", a.status)
		}
		return err
	})

	type page struct {
		Items      []struct{ By, Action, Subject string }
		NextCursor *string
	}
	var all []string
	for path := "/api/admin/audit?limit=2&action=key."; path != ""; {
		var p page
		ask(admin, "GET", path, "", 200, &p)
		for _, act := range p.Items {
			by := "key"
			if act.By == "command line" {
				by = act.By
			}
			all = append(all, act.Action+" "+act.Subject+" by "+by)
		}
		path = ""
		if p.NextCursor != nil {
			path = "/api/admin/audit?limit=2&action=key.&cursor=" + *p.NextCursor
		}
	}
	want := []string{
		"key.revoke " + next.ID + " by command line", "key.rotate " + made.ID + " by key",
		"key.mint " + next.ID + " by key", "key.mint " + made.ID + " by key",
	}
	if fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("audit %q\nwant %q", all, want)
	}
	ask(admin, "GET", "/api/admin/audit?limit=0&since=yesterday", "", 400, nil)
}
