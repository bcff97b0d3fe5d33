package readapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/readapi"
)

// TestAuditInTheZone: a time without an offset is in the hospital's time zone.
func TestAuditInTheZone(t *testing.T) {
	clock := func() time.Time { return noon.Time() }
	register := access.NewRegister(clock)
	register.SetHospital(access.Hospital{ID: "north", Zone: "America/Chicago"})
	register.SetKey(access.Key{ID: "key_1", Hospital: "north", Scopes: []access.Scope{access.Admin}, Hash: access.Hash("svc_north")})
	shell := &httpapi.Shell{Now: clock, Lookup: register.Lookup, DocsURL: "/docs", Log: slog.New(slog.DiscardHandler)}
	router := shell.Router()
	var asked audit.Query
	readapi.MountAudit(router, shell, func(_ context.Context, q audit.Query) (audit.Page, error) {
		asked = q
		return audit.Page{}, nil
	}, register.Zone)
	r := httptest.NewRequest(http.MethodGet, "/api/admin/audit?since=2031-01-05&until=2031-04-05T07:00", nil)
	r.Header.Set("Authorization", "Bearer svc_north")
	w := httptest.NewRecorder()
	router.ServeHTTP(w, r)
	want := audit.Query{
		Hospital: "north", Limit: 50,
		Since: time.Date(2031, 1, 5, 6, 0, 0, 0, time.UTC), Until: time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC),
	}
	if w.Code != http.StatusOK || asked != want {
		t.Errorf("%d, asked %+v, want %+v", w.Code, asked, want)
	}
}
