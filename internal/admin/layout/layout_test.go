package layout

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contracttest"
)

// world serves the endpoints on an Office that stores the layout in memory.
type world struct {
	office *Office
	acts   int
	at     int64
	before func() // makes a concurrent change before a write
	away   error
	ask    func(method, key, match, body string) (int, string, string)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	var once sync.Once
	w.office = &Office{
		Register: NewRegister(), Now: func() time.Time { return time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC) },
		Seen:  func() int64 { return w.at },
		Audit: func(context.Context, audit.Act) error { w.acts++; return w.away },
		Put: func(_ context.Context, seen int64, l *Layout) error {
			if w.before != nil {
				once.Do(w.before)
			}
			if seen < w.at {
				return access.ErrOvertaken
			}
			w.at++
			kept := *l
			w.office.Register.Set(&kept)
			return nil
		},
	}
	shell := &httpapi.Shell{
		Now: w.office.Now, Log: slog.New(slog.DiscardHandler), DocsURL: "/docs",
		Lookup: func(token string) (access.Key, bool) {
			return access.Key{ID: "key_" + token, Hospital: token, Scopes: []access.Scope{access.Admin}}, token != ""
		},
	}
	router := shell.Router()
	MountReads(router, Config{shell, w.office})
	MountWrites(router, Config{shell, w.office})
	w.ask = func(method, key, match, body string) (int, string, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		if match != "" {
			r.Header.Set("If-Match", match)
		}
		answer := httptest.NewRecorder()
		router.ServeHTTP(answer, r)
		contracttest.CheckTag(t, Operations(), r, answer)
		return answer.Code, answer.Body.String(), answer.Header().Get("Etag")
	}
	return w
}

const drawn = `{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":1},{"roomId":2,"x":2,"y":1,"w":2}],"landmarks":[{"label":" desk ","x":1,"y":2,"w":4}]}`

// drawn1 differs from drawn in one landmark.
var drawn1 = strings.Replace(drawn, "desk", "door", 1)

// TestLayout sets the layout of a unit, and replaces it.
func TestLayout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if code, _, _ := w.ask("GET", "north", "", ""); code != 404 {
		t.Errorf("before: %d", code)
	}
	if code, _, _ := w.ask("PUT", "north", "*", drawn); code != 412 {
		t.Errorf("a version where there is none: %d", code)
	}
	code, body, tag := w.ask("PUT", "north", "", drawn)
	const want = `"data":{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":1,"w":1,"h":1},{"roomId":2,"x":2,"y":1,"w":2,"h":1}],"landmarks":[{"label":"desk","x":1,"y":2,"w":4,"h":1}],"version":1`
	if code != 200 || !strings.Contains(body, want) || tag != `"1"` {
		t.Errorf("%d %s %s", code, tag, body)
	}
	if code, body, tag := w.ask("GET", "north", "", ""); code != 200 || !strings.Contains(body, want) || tag != `"1"` {
		t.Errorf("read: %d %s %s", code, tag, body)
	}
	if code, _, _ := w.ask("GET", "south", "", ""); code != 404 {
		t.Errorf("another hospital: %d", code)
	}
	acts := w.acts
	if code, body, tag := w.ask("PUT", "north", `"1"`, drawn); code != 200 || tag != `"1"` || !strings.Contains(body, want) ||
		!strings.Contains(body, `"warnings":[{"code":"unchanged"}]`) || w.acts != acts {
		t.Errorf("the same again: %d %s %s, %d acts on record", code, tag, body, w.acts-acts)
	}
	if code, _, tag := w.ask("PUT", "north", `"1"`, drawn1); code != 200 || tag != `"2"` {
		t.Errorf("again: %d %s", code, tag)
	}
	if code, _, _ := w.ask("PUT", "north", `"1"`, drawn1); code != 412 {
		t.Errorf("of a version of before: %d", code)
	}
	const misspelled = `{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1.0,"y":1,"width":2}],"landmark":[]}`
	if code, body, _ := w.ask("PUT", "north", "", misspelled); code != 200 ||
		!strings.Contains(body, `"warnings":[{"code":"unknown_field","path":"landmark"},{"code":"unknown_field","path":"rooms[0].width"}]`) {
		t.Errorf("misspelled: %d %s", code, body)
	}
	w.before = func() { w.at++ }
	if code, _, tag := w.ask("PUT", "north", "", drawn); code != 200 || tag != `"4"` {
		t.Errorf("overtaken by another setting: %d %s", code, tag)
	}
	w.away = errors.New("away")
	if code, _, _ := w.ask("PUT", "north", "", drawn1); code != 503 {
		t.Errorf("while Kafka does not respond: %d", code)
	}
}

// TestLayoutsRefused: a refusal names each violated rule, and changes nothing.
func TestLayoutsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, want := range map[string]string{
		`{"columns":0,"rows":25,"rooms":[{"roomId":1,"x":1,"y":1}]}`:                                                                      "range:1-24",
		`{"columns":4,"rows":2,"rooms":[]}`:                                                                                               "items:1-400",
		`{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":1},{"roomId":1,"x":2,"y":1}]}`:                                              `"path":"rooms[1].roomId","rule":"unique"`,
		`{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":1,"w":2},{"roomId":2,"x":2,"y":1}]}`:                                        `"path":"rooms[1]","rule":"overlap"`,
		`{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":4,"y":1,"w":2}]}`:                                                                 `"path":"rooms[0]","rule":"insideGrid"`,
		`{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":0,"y":1}]}`:                                                                       "insideGrid",
		`{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":1,"w":2147483647,"h":2147483647}]}`:                                         "insideGrid",
		`{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":-1,"h":-3}]}`:                                                               "insideGrid",
		`{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":1}],"landmarks":[{"label":"desk","x":1,"y":1}]}`:                            `"path":"landmarks[0]","rule":"overlap"`,
		`{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":1}],"landmarks":[{"label":" ","x":1,"y":2}]}`:                               `"path":"landmarks[0].label"`,
		`{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":1}],"landmarks":[{"label":"` + strings.Repeat("x", 41) + `","x":1,"y":2}]}`: "maxLength:40",
		`{"columns":"four"}`: `"path":"columns"`,
	} {
		if code, said, _ := w.ask("PUT", "north", "", body); code != 400 || !strings.Contains(said, want) {
			t.Errorf("%.80s: %d %s, want %s", body, code, said, want)
		}
	}
	if w.acts != 0 || w.office.Register.Layout("north") != nil {
		t.Error("a refusal changed something")
	}
}
