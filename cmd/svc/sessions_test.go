package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/users"
	"svc/internal/config"
	"svc/internal/httpapi/access"
	"svc/internal/lifecycle"
	"svc/internal/stream"
	"svc/internal/view"
)

// newReader starts a svc read on a log, with a separate, empty Redis.
func newReader(t *testing.T, kafka string) *service {
	t.Helper()
	redis, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Close)
	h := newService(&config.Config{
		Instance: "test", Kafka: []string{kafka}, Partitions: 1, Redis: redis.URL(),
		PseudonymKey: key32, SecretsKey: key32, ShutdownWithin: time.Second,
	}, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(h.close)
	ctx, stop := context.WithCancel(t.Context())
	if err := h.build(ctx, []string{"read"}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lifecycle.RunAll(ctx, time.Minute, nil, h.Loops) //nolint:errcheck // ends with the test
	}()
	t.Cleanup(func() { stop(); <-ended })
	<-h.settings.Ready()
	return h
}

// askPage sends a request as a browser does from a page of svc.
func askPage(h *service, method, path string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.router.ServeHTTP(w, r)
	return w
}

// TestASVS741SessionsEndOnEveryReader (ASVS 7.4.1, 7.4.2, 7.5.2): two readers run on one log. A session that begins at
// one reader is accepted by the other at once. A session that ends at one reader also ends, with its streams, at the other reader
// and at a reader that starts later with an empty Redis.
func TestASVS741SessionsEndOnEveryReader(t *testing.T) {
	kafka, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kafka.Close)
	one, other := newReader(t, kafka.Addr()), newReader(t, kafka.Addr())
	hospital := &access.Hospital{ID: "north", Name: "North", Zone: "UTC", CreatedAt: time.Now()}
	if err := one.settings.PutHospital(t.Context(), one.settings.Seen(), hospital); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(other.router)
	t.Cleanup(server.Close)
	yes, viewer := true, users.Viewer
	change := func(c users.Change) func(*users.Session, *http.Cookie) {
		return func(s *users.Session, _ *http.Cookie) {
			u, _ := one.settings.Users.User("north", s.User)
			if _, err := one.office().Change(t.Context(), "key_1", one.settings.Seen(), u, c); err != nil {
				t.Error(err)
			}
		}
	}
	var kept []*http.Cookie
	for name, end := range map[string]func(*users.Session, *http.Cookie){
		"sign-out":                      func(_ *users.Session, c *http.Cookie) { askPage(one, "POST", "/signout", c) },
		"the person":                    func(_ *users.Session, c *http.Cookie) { askPage(one, "POST", "/app/sessions/end", c) },
		"a lock":                        change(users.Change{Disabled: &yes}),
		"another role":                  change(users.Change{Role: &viewer}),
		"an administrator":              change(users.Change{EndSessions: true}),
		"a sign-in at the same browser": func(_ *users.Session, c *http.Cookie) { askPage(one, "POST", "/signin/"+newToken(t, one), c) },
	} {
		cookie := askPage(one, "POST", "/signin/"+newToken(t, one)).Result().Cookies()[0]
		if got := askPage(other, "GET", "/app/sessions", cookie); got.Code != http.StatusOK {
			t.Fatalf("%s: at once at the other reader: %d", name, got.Code)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/app/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(cookie)
		answer, err := server.Client().Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: stream %v, %v", name, answer, err)
		}
		all := one.settings.Users.Sessions(lastUser(one))
		end(&all[0], cookie)
		events, err := io.ReadAll(answer.Body) // returns when the session has ended, or after half an hour
		answer.Body.Close()
		if err != nil || !strings.Contains(string(events), "event: gone") {
			t.Errorf("%s: the stream of the other reader ends with %v: %s", name, err, events)
		}
		for _, h := range []*service{one, other} {
			if got := askPage(h, "GET", "/app/sessions", cookie); got.Code != http.StatusUnauthorized {
				t.Errorf("%s: the kept cookie answers %d", name, got.Code)
			}
		}
		kept = append(kept, cookie)
	}
	later := newReader(t, kafka.Addr())
	for i, cookie := range kept {
		if got := askPage(later, "GET", "/app/sessions", cookie); got.Code != http.StatusUnauthorized {
			t.Errorf("kept cookie %d at a reader that starts later: %d", i, got.Code)
		}
	}
}

// newToken creates a link for a charge nurse.
func newToken(t *testing.T, h *service) string {
	t.Helper()
	_, token, err := h.office().MakeLink(t.Context(), "key_1", "north", "desk", users.Charge, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// lastUser returns the person who signed in last.
func lastUser(h *service) string {
	id, last := "", time.Time{}
	for _, u := range h.settings.Users.Users("north") {
		if !u.SignedInAt.Before(last) && len(h.settings.Users.Sessions(u.ID)) > 0 {
			id, last = u.ID, u.SignedInAt
		}
	}
	return id
}
