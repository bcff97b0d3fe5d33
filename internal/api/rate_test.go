package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/access"
	"svc/internal/api"
	"svc/internal/limit"
)

func TestRateOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := limit.New(limit.NewMemory(time.Now), time.Now)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go limits.Run(ctx) //nolint:errcheck // ends with the test
		keys := map[string]access.Key{
			"usual": {ID: "key_1", Hospital: "north", Scopes: []access.Scope{access.ReadUnitState}, Rate: 50, Burst: 200},
			"free":  {ID: "key_2", Hospital: "north", Scopes: []access.Scope{access.ReadUnitState}},
			"other": {ID: "key_3", Hospital: "north", Scopes: nil, Rate: 0.5, Burst: 1},
		}
		shell := &api.Shell{
			Now: time.Now, Lookup: func(token string) (access.Key, bool) { k, ok := keys[token]; return k, ok },
			Log: slog.New(slog.DiscardHandler), Limits: limits,
		}
		r := shell.Router()
		r.With(shell.Allow(access.ReadUnitState)).Get("/thing", func(w http.ResponseWriter, r *http.Request) { api.OK(w, r, struct{}{}) })
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
		if n < 200 || n > 222 {
			t.Errorf("limited after %d of 200", n)
		}
		if h := w.Header(); w.Code != 429 || h.Get("Retry-After") != "1" || h.Get("RateLimit") != `"key";r=0;t=5` {
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
