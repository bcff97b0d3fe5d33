package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/walls"
	"svc/internal/httpapi"
)

// silent implements Changes but never reports a change.
type silent struct{}

func (silent) Watch(context.Context, ...string) <-chan string { return nil }

// TestStreamEnds: when the access of a person or a wall has ended, the stream sends the event "gone" as its last
// event.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path string
		end  func(*pages, *walls.Register)
	}{
		"a screen is revoked":    {"/board/events", func(_ *pages, r *walls.Register) { r.Drop("wall_1") }},
		"a session is ended":     {"/app/events", func(p *pages, _ *walls.Register) { p.endSessions("north", "usr_both") }},
		"in one of hospitals":    {"/app/u/south/events", func(p *pages, _ *walls.Register) { p.endSessions("south", "usr_both") }},
		"on the page of several": {"/app/units/events", func(p *pages, _ *walls.Register) { p.endSessions("north", "usr_both") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, register, cookie := withWall(t)
			p.config.Changes, p.Clock = silent{}, time.Now
			p.mount()
			if !strings.HasPrefix(tt.path, "/board") {
				cookie = p.Cookie("north", "usr_both")
			}
			server := httptest.NewServer(p.Router)
			defer server.Close()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.AddCookie(cookie)
			answer, err := server.Client().Do(r)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%v, %v", answer, err)
			}
			defer answer.Body.Close()
			lines, last := bufio.NewScanner(answer.Body), ""
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				switch line := lines.Text(); {
				case strings.HasPrefix(line, "event: beat"): // the stream has begun
					tt.end(p, register)
				case strings.HasPrefix(line, "event: "):
					last = line
				}
			}
			if last != "event: gone" {
				t.Errorf("the last event is %q, %v", last, lines.Err())
			}
		})
	}
}

// TestStreamsEndWithTheProcess: a process that is asked to stop ends its streams immediately instead of waiting for
// them. The streams do not report that the session has ended.
func TestStreamsEndWithTheProcess(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/board/events", "/app/events", "/app/units/events"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			p, _, cookie := withWall(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			p.config.Changes, p.Clock, p.config.Ends = silent{}, time.Now, ctx
			p.mount()
			if !strings.HasPrefix(path, "/board") {
				cookie = p.Cookie("north", "usr_both")
			}
			server := httptest.NewServer(p.Router)
			p.Cleanup(server.Close) // runs after the streams have ended
			answer, _ := p.openStream(server, path, cookie)
			lines := bufio.NewScanner(answer.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() { // the stream ends only because the process stops
				switch line := lines.Text(); {
				case strings.HasPrefix(line, "event: beat"):
					stop()
				case strings.HasPrefix(line, "event: gone"):
					t.Error("the browser is told that its session has ended")
				}
			}
			if err := lines.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// openStream opens a stream. The returned end function closes it.
func (p *pages) openStream(server *httptest.Server, path string, cookie *http.Cookie) (answer *http.Response, end func()) {
	p.Helper()
	ctx, end := context.WithCancel(p.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	r.AddCookie(cookie)
	if answer, err = server.Client().Do(r); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		end()
		answer.Body.Close()
	})
	return answer, end
}

// TestStreamsOfAWallAreBounded: many screens that use the same link of a wall do not block other viewers.
func TestStreamsOfAWallAreBounded(t *testing.T) {
	t.Parallel()
	p, register, cookie := withWall(t)
	register.Set(walls.Wall{ID: "wall_2", Hospital: "north", Hash: sha256.Sum256([]byte("other"))})
	other := p.Ask("POST", "/board/other", nil).Result().Cookies()[0]
	p.config.Changes, p.Clock = silent{}, time.Now
	p.mount()
	server := httptest.NewServer(p.Router)
	p.Cleanup(server.Close) // runs after the streams have ended
	var ends []func()
	for i := range 10 {
		answer, end := p.openStream(server, "/board/events", cookie)
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %d", i+1, answer.StatusCode)
		}
		ends = append(ends, end)
	}
	if answer, _ := p.openStream(server, "/board/events", cookie); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("stream 11: %d", answer.StatusCode)
	}
	for path, c := range map[string]*http.Cookie{"/board/events": other, "/app/events": p.Cookie("north", "usr_both")} {
		if answer, _ := p.openStream(server, path, c); answer.StatusCode != http.StatusOK {
			t.Errorf("%s of somebody else: %d", path, answer.StatusCode)
		}
	}
	ends[0]()
	limit, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		answer, _ := p.openStream(server, "/board/events", cookie)
		if answer.StatusCode == http.StatusOK {
			return
		}
		if limit.Err() != nil {
			t.Fatal("a place that is free is not given")
		}
	}
}

// endSessions ends the sessions of a user by incrementing the user's epoch.
func (p *pages) endSessions(hospital, user string) {
	u, _ := p.Users.User(hospital, user)
	u.Epoch++
	p.Users.SetUser(u)
}

// TestTokensAreNotLogged: no log line and no metric label contains a token, whether the token is
// valid or not.
func TestTokensAreNotLogged(t *testing.T) {
	t.Parallel()
	p, _, _ := withWall(t)
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var routes []string
	shell := &httpapi.Shell{Now: p.config.Now, Log: logger, DocsURL: "/docs", Answered: func(_ context.Context, _, route string, _ int, _ time.Duration) { routes = append(routes, route) }}
	p.config.Log = logger
	p.Router = shell.Router()
	Mount(p.Router, p.config)
	p.links.ByToken["fresh-token"] = p.links.ByToken["fresh"]
	for _, path := range []string{"/signin/fresh-token", "/signin/wrong-token", "/board/screen", "/board/wrong-token", "/signin/wrong-token/more", "/oidc/callback?code=wrong-token&state=wrong-token"} {
		for _, method := range []string{"GET", "POST", "PUT"} {
			p.Ask(method, path, nil)
		}
	}
	said := log.String() + strings.Join(routes, " ")
	if strings.Contains(said, "-token") || strings.Contains(said, "/screen") || !strings.Contains(said, "/signin/{token}") {
		t.Errorf("said: %s", said)
	}
}
