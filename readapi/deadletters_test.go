package readapi_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/readapi"
)

// TestDeadLetters: the pages of the list contain all dead letters of the hospital, newest first. Another hospital's
// key and a key without the admin scope cannot read them.
func TestDeadLetters(t *testing.T) {
	clock := func() time.Time { return noon.Time() }
	register := access.NewRegister(clock)
	for token, key := range map[string]access.Key{
		"svc_north": {ID: "key_1", Hospital: "north", Scopes: []access.Scope{access.Admin}},
		"svc_south": {ID: "key_2", Hospital: "south", Scopes: []access.Scope{access.Admin}},
		"svc_plain": {ID: "key_3", Hospital: "north", Scopes: []access.Scope{access.ReadStatus}},
	} {
		key.Hash = access.Hash(token)
		register.SetKey(key)
	}
	var letters []readapi.DeadLetter
	for n := range int64(5) {
		letters = append(letters, readapi.DeadLetter{
			ID: fmt.Sprint("3:", n), Topic: "svc.v1.observations", Partition: 3, Offset: n, Reason: "malformed_record", Version: 10 * (n + 1), At: noon.Time(),
		})
	}
	letters[4].SchemaID = 16909060
	shell := &httpapi.Shell{Now: clock, Lookup: register.Lookup, DocsURL: "/docs", Log: slog.New(slog.DiscardHandler)}
	router := shell.Router()
	readapi.MountDeadLetters(router, shell, func(hospital string) []readapi.DeadLetter {
		if hospital == "north" {
			return letters
		}
		return nil
	})
	ask := func(token, path string, want int) (raw string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/api/admin/dead-letters"+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		if w.Code != want {
			t.Fatalf("%s: %d %s, want %d", path, w.Code, w.Body, want)
		}
		return w.Body.String()
	}
	var ids []string
	for cursor := "?limit=2"; cursor != ""; {
		var page struct {
			Data struct {
				Items      []struct{ ID string }
				NextCursor *string
			}
		}
		if err := json.Unmarshal([]byte(ask("svc_north", cursor, http.StatusOK)), &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Data.Items {
			ids = append(ids, item.ID)
		}
		if cursor = ""; page.Data.NextCursor != nil {
			cursor = "?limit=2&cursor=" + *page.Data.NextCursor
		}
	}
	if got := strings.Join(ids, " "); got != "3:4 3:3 3:2 3:1 3:0" {
		t.Errorf("listed %s", got)
	}
	const want = `{"id":"3:4","topic":"svc.v1.observations","partition":3,"offset":4,"reason":"malformed_record","schemaId":16909060,"version":50,"at":"2031-04-05T12:00:00.000Z","retriedAt":null}`
	if got := ask("svc_north", "/3:4", http.StatusOK); !strings.Contains(got, want) {
		t.Errorf("shown %s", got)
	}
	if got := ask("svc_north", "/3:0", http.StatusOK); !strings.Contains(got, `"schemaId":null`) {
		t.Errorf("shown %s", got)
	}
	if got := ask("svc_south", "", http.StatusOK); !strings.Contains(got, `"items":[],"nextCursor":null`) {
		t.Errorf("of another hospital: %s", got)
	}
	for _, path := range []string{"/3%3A4", "/3%3a4", "/%33:4"} { // encodings of the same id that clients use in a path
		if got := ask("svc_north", path, http.StatusOK); !strings.Contains(got, want) {
			t.Errorf("%s: shown %s", path, got)
		}
	}
	ask("svc_north", "/3%253A4", http.StatusNotFound)
	ask("svc_south", "/3:4", http.StatusNotFound)
	ask("svc_north", "/3:5", http.StatusNotFound)
	ask("svc_plain", "", http.StatusForbidden)
	for _, query := range []string{"?limit=0", "?limit=201", "?limit=x", "?cursor=0", "?cursor=x"} {
		ask("svc_north", query, http.StatusBadRequest)
	}
}
