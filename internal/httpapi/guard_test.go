package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
)

func TestRateOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := limit.New(limit.NewMemory(time.Now), time.Now)
		keys := map[string]access.Key{
			"usual": {ID: "key_1", Hospital: "north", Scopes: []access.Scope{access.ReadUnitState}, Rate: 50, Burst: 200},
			"free":  {ID: "key_2", Hospital: "north", Scopes: []access.Scope{access.ReadUnitState}},
			"other": {ID: "key_3", Hospital: "north", Scopes: nil, Rate: 0.5, Burst: 1},
		}
		shell := &httpapi.Shell{
			Now: time.Now, Lookup: func(token string) (access.Key, bool) { k, ok := keys[token]; return k, ok },
			Log: slog.New(slog.DiscardHandler), Limits: limits,
		}
		r := shell.Router()
		r.With(shell.Allow(access.ReadUnitState)).Get("/thing", func(w http.ResponseWriter, r *http.Request) { httpapi.OK(w, r, struct{}{}) })
		ask := func(token string) *httptest.ResponseRecorder {
			q := httptest.NewRequest(http.MethodGet, "/thing", nil)
			q.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			r.ServeHTTP(w, q)
			synctest.Wait()
			return w
		}
		w := ask("usual")
		if h := w.Header(); w.Code != 200 || h.Get("RateLimit-Policy") != `"key";q=200;w=4` || h.Get("RateLimit") != `"key";r=199;t=1` {
			t.Errorf("first: %d %v", w.Code, h)
		}
		n := 1
		for ; w.Code == http.StatusOK && n < 1000; n++ {
			w = ask("usual")
		}
		if n != 201 {
			t.Errorf("limited after %d of 200", n)
		}
		if h := w.Header(); w.Code != 429 || h.Get("Retry-After") != "1" || h.Get("RateLimit") != `"key";r=0;t=4` {
			t.Errorf("limited: %d %v", w.Code, h)
		}
		time.Sleep(time.Second)
		if w = ask("usual"); w.Code != 200 {
			t.Errorf("after Retry-After: %d", w.Code)
		}
		for range 1000 {
			if w = ask("free"); w.Code != 200 || w.Header()["Ratelimit"] != nil || w.Header()["Ratelimit-Policy"] != nil {
				t.Fatalf("a key without a limit: %d %v", w.Code, w.Header())
			}
		}
		if w = ask("other"); w.Code != 403 || w.Header().Get("RateLimit-Policy") != `"key";q=1;w=2` {
			t.Errorf("a request that is refused counts, too: %d %v", w.Code, w.Header())
		}
		if w = ask("unknown"); w.Code != 401 || w.Header()["Ratelimit"] != nil {
			t.Errorf("an unknown key: %d %v", w.Code, w.Header())
		}
	})
}

// TestAwait sends messages one at a time, like a sender that waits for each acknowledgment. A burst passes without
// delay. After the burst, messages pass at the key's rate, but no message waits longer than patience.
func TestAwait(t *testing.T) {
	for name, tt := range map[string]struct {
		rate        float64
		burst       int
		messages    int
		least, most time.Duration
	}{
		"no limit":          {0, 0, 1000, 0, 0},
		"within the burst":  {1, 100, 100, 0, 0},
		"slowed":            {10, 20, 120, 9 * time.Second, 11 * time.Second},
		"as patience bears": {0.01, 1, 13, 50 * time.Second, 60 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limits := limit.New(limit.NewMemory(time.Now), time.Now)
				ctx := t.Context()
				shell := &httpapi.Shell{Now: time.Now, Limits: limits}
				key := access.Key{ID: "key_1", Rate: tt.rate, Burst: tt.burst}
				began := time.Now()
				for range tt.messages {
					if err := shell.Await(ctx, &key, 5*time.Second); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				if took := time.Since(began); took < tt.least || took > tt.most {
					t.Errorf("%d messages took %v, want %v to %v", tt.messages, took, tt.least, tt.most)
				}
				if tt.rate == 0 {
					return
				}
				ended, end := context.WithCancel(ctx)
				end()
				for range 2 * tt.burst { // until the next message would have to wait
					if err := shell.Await(ended, &key, time.Hour); errors.Is(err, context.Canceled) {
						return
					}
				}
				t.Error("it waits although its context has ended")
			})
		})
	}
}

// TestAcknowledgeAlone: a person with only the scope acknowledge may use an operation that accepts this scope as an
// alternative to admin, but no other operation that requires admin.
func TestAcknowledgeAlone(t *testing.T) {
	var denied []string
	shell := &httpapi.Shell{
		Now: time.Now, DocsURL: "/docs", Log: slog.New(slog.DiscardHandler),
		Lookup: func(string) (access.Key, bool) {
			return access.Key{ID: "usr_1", Hospital: "north", Scopes: []access.Scope{access.Acknowledge}}, true
		},
		Denied: func(_ context.Context, key *access.Key, method, route string, scope access.Scope) {
			denied = append(denied, key.ID+" "+method+" "+route+" "+string(scope))
		},
	}
	r := shell.Router()
	done := func(w http.ResponseWriter, r *http.Request) { httpapi.OK(w, r, struct{}{}) }
	r.With(shell.Allow(access.Admin, access.Acknowledge)).Post("/ack", done)
	r.With(shell.Allow(access.Admin, "")).Post("/keys/{id}", done)
	for path, want := range map[string]int{"/ack": http.StatusOK, "/keys/1": http.StatusForbidden} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		if w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if want := "usr_1 POST /keys/{id} admin"; len(denied) != 1 || denied[0] != want {
		t.Errorf("denied %q, want %q", denied, want)
	}
}

// TestTriesFillNoLog: links that an address tries beyond its limit do not fill the log, as requests without a valid key
// do not.
func TestTriesFillNoLog(t *testing.T) {
	var lines bytes.Buffer
	shell := &httpapi.Shell{
		Now: time.Now, DocsURL: "/docs", Log: slog.New(slog.NewTextHandler(&lines, nil)),
		Strangers: limit.NewStrangers(limit.Rate{PerSecond: 0.1, Burst: 3}, time.Now),
	}
	r := shell.Router()
	r.Get("/a/{token}", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		shell.Stranger(r)
	})
	for range 10 {
		r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/a/x", http.NoBody))
	}
	if n := strings.Count(lines.String(), "\n"); n != 3 {
		t.Errorf("%d lines, want 3:\n%s", n, &lines)
	}
}
