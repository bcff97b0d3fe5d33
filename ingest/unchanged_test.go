package ingest_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
)

// TestActsThatChangeNothing: the response to an act that sets what is already set says so. Any other act has no such
// warning, not even if it changes only a comment.
func TestActsThatChangeNothing(t *testing.T) {
	for route, c := range map[string]struct{ first, other string }{
		"POST /api/admin/terminology": {
			`{"system":"local","code":"OB_HEM_ALERT","factorId":"high-hemorrhage","kind":"observation"}`,
			`{"system":"local","code":"OB_HEM_ALERT","factorId":"high-hemorrhage","kind":"observation","comment":"new"}`,
		},
		"PUT /api/admin/rules/high-mag": {`{"values":{"floor":"1 until 90m, 1/2"}}`, `{"values":{"floor":"1 until 80m, 1/2"}}`},
		"POST /api/admin/locations": {
			`{"locations":[{"pointOfCare":"OBTRIAGE"},{"pointOfCare":"LD","room":"9","roomId":9,"roomLabel":"LDR 9"}]}`,
			`{"locations":[{"pointOfCare":"OBTRIAGE"},{"pointOfCare":"LD","room":"9","roomId":9,"roomLabel":"LDR 10"}]}`,
		},
	} {
		t.Run(route, func(t *testing.T) {
			d := open(t)
			d.administer()
			d.unit()
			d.Handler = mounted(d.config)
			method, path, _ := strings.Cut(route, " ")
			act := func(query, body string) bool {
				t.Helper()
				r := request("", strings.NewReader(body), "Authorization", "Bearer "+adminToken)
				r.Method, r.URL.Path, r.URL.RawQuery = method, path, query
				a := d.do(t, r)
				if a.status != 200 {
					t.Fatalf("%d %s", a.status, a.raw)
				}
				return strings.Contains(a.raw, `"code":"unchanged"`)
			}
			for i, step := range []struct {
				query, body string
				unchanged   bool
			}{
				{"dryRun=true", c.first, false},
				{"", c.first, false},
				{"", c.first, true},
				{"dryRun=true", c.first, true},
				{"", c.other, false},
				{"", c.other, true},
				{"", c.first, false},
			} {
				if act(step.query, step.body) != step.unchanged {
					t.Errorf("step %d: unchanged %v", i, !step.unchanged)
				}
			}
		})
	}
}

// TestSettingsThatAreTheSame: settings that are set again keep their version, and the audit log has no record of it,
// unless the last change of the settings is incomplete or the request expects a different version.
func TestSettingsThatAreTheSame(t *testing.T) {
	const body = `{"timezone":"America/Chicago","staffingFromRoster":true}`
	for name, c := range map[string]struct {
		body       string
		query      string
		match      string
		incomplete bool
		status     int
		unchanged  bool
	}{
		"same":                             {body: body, status: 200, unchanged: true},
		"same, in the expected version":    {body: body, match: "current", status: 200, unchanged: true},
		"same, in any version":             {body: body, match: "*", status: 200, unchanged: true},
		"same, but in a different version": {body: body, match: `"77"`, status: 412},
		"same, as a dry run":               {body: body, query: "dryRun=true", status: 200, unchanged: true},
		"other switches":                   {body: `{"timezone":"America/Chicago"}`, status: 200},
		"another time zone":                {body: `{"timezone":"America/Denver","staffingFromRoster":true}`, status: 200},
		"another time zone, as a dry run":  {body: `{"timezone":"America/Denver","staffingFromRoster":true}`, query: "dryRun=true", status: 200},
		"incomplete":                       {body: body, incomplete: true, status: 200},
		"incomplete, as a dry run":         {body: body, query: "dryRun=true", incomplete: true, status: 200},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.administer()
			d.unit()
			kept := &tenants{hospital: access.Hospital{ID: "stmary", Zone: "America/Chicago"}}
			d.config.Settings = kept
			var recorded []string
			d.config.Audit = func(_ context.Context, act audit.Act) error {
				recorded = append(recorded, act.Action)
				return nil
			}
			d.Handler = mounted(d.config)
			put := func(query, match, body string) *answer {
				r := request("", strings.NewReader(body), "Authorization", "Bearer "+adminToken, "If-Match", match)
				r.Method, r.URL.Path, r.URL.RawQuery = http.MethodPut, "/api/admin/settings", query
				return d.do(t, r)
			}
			for _, body := range []string{`{"timezone":"America/Denver"}`, body} {
				if a := put("", "", body); a.status != 200 || strings.Contains(a.raw, "unchanged") {
					t.Fatalf("%d %s", a.status, a.raw)
				}
			}
			before := kept.hospital.Version
			if c.incomplete { // the last change of the switches has a later version
				before--
				kept.hospital.Version = before
			}
			if c.match == "current" {
				c.match = fmt.Sprintf("%q", fmt.Sprint(before))
			}
			recorded = nil
			a := put(c.query, c.match, c.body)
			if a.status != c.status || strings.Contains(a.raw, `"code":"unchanged"`) != c.unchanged {
				t.Fatalf("%d %s", a.status, a.raw)
			}
			writes := c.query == "" && c.status == 200 && !c.unchanged
			if writes != (kept.hospital.Version > before) || writes != slices.Contains(recorded, "settings.set") && c.status == 200 {
				t.Errorf("version %d after %d, on record: %q", kept.hospital.Version, before, recorded)
			}
			if c.unchanged && c.query == "" && !strings.Contains(a.raw, fmt.Sprintf(`"version":%d`, before)) {
				t.Errorf("the response lacks version %d: %s", before, a.raw)
			}
			if again := put("", fmt.Sprintf("%q", fmt.Sprint(kept.hospital.Version)), c.body); again.status != 200 && !c.incomplete {
				t.Errorf("the version in the register is not the current one: %d %s", again.status, again.raw)
			}
		})
	}
}

// TestFirstSettingsAreAChange: settings that equal the defaults get a version if they have never been set, so neither
// the request nor its dry run says that they are unchanged.
func TestFirstSettingsAreAChange(t *testing.T) {
	d := open(t)
	d.administer()
	d.unit()
	kept := &tenants{hospital: access.Hospital{ID: "stmary", Zone: "America/Chicago"}}
	d.config.Settings = kept
	d.Handler = mounted(d.config)
	for _, query := range []string{"dryRun=true", "", "dryRun=true"} {
		set := kept.hospital.Version > 0
		r := request("", strings.NewReader(`{"timezone":"America/Chicago"}`), "Authorization", "Bearer "+adminToken)
		r.Method, r.URL.Path, r.URL.RawQuery = http.MethodPut, "/api/admin/settings", query
		a := d.do(t, r)
		dry, null := strings.Contains(a.raw, `"dryRun":true`), strings.Contains(a.raw, `"version":null`)
		if a.status != 200 || strings.Contains(a.raw, `"code":"unchanged"`) != set || dry != (query != "") || null != dry {
			t.Errorf("%q: %d %s", query, a.status, a.raw)
		}
	}
}
