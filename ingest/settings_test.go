package ingest_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
)

// tenants stores one hospital.
type tenants struct {
	hospital access.Hospital
	fail     error // error that the next write returns
}

func (s *tenants) Hospital(id string) (access.Hospital, bool) {
	return s.hospital, id == s.hospital.ID
}

func (s *tenants) Key(string) (access.Key, bool) { return access.Key{}, false }

func (s *tenants) Set(_ context.Context, id string, version int64, zone string, senders []access.Sender) error {
	if err := s.fail; err != nil {
		s.fail = nil
		return err
	}
	if id != s.hospital.ID || version <= s.hospital.Version {
		return access.ErrOvertaken
	}
	s.hospital.Version, s.hospital.Zone, s.hospital.Senders = version, zone, senders
	return nil
}

// TestSettingsThatAreSetByHalf: settings are stored in two places, and a request can fail between the two writes for
// any reason. In that case, the answer is an error, the stored settings show that the change is incomplete, and
// repeating the request completes the change.
func TestSettingsThatAreSetByHalf(t *testing.T) {
	const body = `{"timezone":"America/New_York","staffingFromRoster":true}`
	onRecord := map[int][]string{
		200: {"settings.set"}, 412: {"settings.set", "settings.set.failed"}, 503: {"settings.set", "settings.set.unclear"},
	}
	for name, c := range map[string]struct {
		fail    error // error that the second write returns
		pending bool  // whether the result of the first write is still unknown
		match   string
		status  int
		set     bool // whether the second write was stored
	}{
		"whole":                  {status: 200, set: true},
		"whole, as expected":     {match: "*", status: 200, set: true},
		"second half away":       {fail: ingest.ErrAway, status: 503},
		"a later act came first": {fail: access.ErrOvertaken, status: 503},
		"first half pending":     {pending: true, status: 503},
		"another version":        {match: `"77"`, status: 412},
		"pending, expected":      {pending: true, match: `"77"`, status: 503},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.unit()
			admin, secret := access.Mint(access.Key{Hospital: "stmary", Scopes: []access.Scope{access.Admin}}, now)
			register := access.NewRegister(func() time.Time { return now })
			register.SetKey(admin)
			kept := &tenants{hospital: access.Hospital{ID: "stmary", Zone: "America/Chicago", Name: "St. Mary"}}
			d.config.Shell.Lookup, d.config.Settings = register.Lookup, kept
			var recorded []string
			d.config.Audit = func(_ context.Context, act audit.Act) error {
				recorded = append(recorded, act.Action)
				return nil
			}
			d.Handler = mounted(d.config)
			put := func(match string) *answer {
				r := request("", strings.NewReader(body), "Authorization", "Bearer "+secret, "If-Match", match)
				r.Method, r.URL.Path = http.MethodPut, "/api/admin/settings"
				return d.do(t, r)
			}
			put("") // so that the settings have a version
			kept.hospital.Zone = "America/Chicago"
			before := kept.hospital.Version

			kept.fail, d.pending, recorded = c.fail, c.pending, nil
			a := put(c.match)
			if a.status != c.status || (a.status == 503) != (a.header.Get("Retry-After") != "") {
				t.Errorf("%d %s, want %d", a.status, a.raw, c.status)
			}
			if want := onRecord[c.status]; !slices.Equal(recorded, want) {
				t.Errorf("on record: %q, want %q", recorded, want)
			}
			if set := kept.hospital.Zone == "America/New_York"; set != c.set || set != (kept.hospital.Version > before) || kept.hospital.Name != "St. Mary" {
				t.Errorf("set: %v, version %d after %d", set, kept.hospital.Version, before)
			}
			d.pending = false
			if a := put(""); a.status != 200 || kept.hospital.Zone != "America/New_York" {
				t.Errorf("again: %d %s", a.status, a.raw)
			}
			last := d.change(&acuity.Observation{Hospital: "stmary", ReceivedAt: acuity.At(now), Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{}})
			if kept.hospital.Version == 0 || kept.hospital.Version >= last.Version {
				t.Errorf("version %d, the unit is at %d", kept.hospital.Version, last.Version)
			}
		})
	}
}
