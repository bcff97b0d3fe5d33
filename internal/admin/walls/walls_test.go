package walls

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
)

var noon = time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)

// world serves the wall endpoints with an in-memory register in place of the settings log. If away is set, every
// write of a wall and every write to the audit log returns away as its error.
type world struct {
	office *Office
	acts   []string
	away   error
	ask    func(method, path, key, body string) (int, string)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.office = &Office{
		Register: NewRegister(), Now: func() time.Time { return noon },
		Audit: func(_ context.Context, act audit.Act) error {
			w.acts = append(w.acts, act.Hospital+" "+act.By+" "+act.Action)
			return w.away
		},
		Seen: func() int64 { return 0 },
		Put: func(_ context.Context, _ int64, wall *Wall, drop bool) error {
			if drop {
				w.office.Register.Drop(wall.ID)
			} else {
				w.office.Register.Set(*wall)
			}
			return w.away
		},
	}
	shell := &httpapi.Shell{
		Now: w.office.Now, Log: slog.New(slog.DiscardHandler), DocsURL: "/docs",
		Lookup: func(token string) (access.Key, bool) {
			return access.Key{ID: "key_" + token, Hospital: token, Scopes: []access.Scope{access.Admin}}, token != ""
		},
	}
	router := shell.Router()
	c := Config{shell, w.office, func(token string) string { return "https://svc.example/board/" + token }}
	MountReads(router, c)
	MountWrites(router, c)
	w.ask = func(method, path, key, body string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		router.ServeHTTP(answer, r)
		return answer.Code, answer.Body.String()
	}
	return w
}

// TestWall creates a wall display, finds it only by its token, lists it without the token, and
// revokes it.
func TestWall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code, body := w.ask("POST", "/api/admin/walls", "north", `{"label":" desk ","name":"x"}`)
	var made struct {
		Data struct{ ID, Label, URL string }
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || code != 200 || made.Data.Label != "desk" {
		t.Fatalf("%d %v: %s", code, err, body)
	}
	if !strings.Contains(body, `"warnings":[{"code":"unknown_field","path":"name"}]`) {
		t.Errorf("an unknown field: %s", body)
	}
	token, ok := strings.CutPrefix(made.Data.URL, "https://svc.example/board/")
	if wall, known := w.office.Register.Lookup(token); !ok || !known || wall.ID != made.Data.ID || wall.Hospital != "north" {
		t.Errorf("by its token: %+v", wall)
	}
	if _, known := w.office.Register.Lookup(token[1:]); known {
		t.Error("another token opens it")
	}
	if code, body := w.ask("GET", "/api/admin/walls", "north", ""); code != 200 || !strings.Contains(body, made.Data.ID) || strings.Contains(body, token) {
		t.Errorf("list: %d %s", code, body)
	}
	if _, body := w.ask("GET", "/api/admin/walls", "south", ""); strings.Contains(body, made.Data.ID) {
		t.Error("another hospital sees it")
	}
	if code, _ := w.ask("DELETE", "/api/admin/walls/"+made.Data.ID, "south", ""); code != 404 {
		t.Errorf("another hospital revokes it: %d", code)
	}
	if code, _ := w.ask("DELETE", "/api/admin/walls/"+made.Data.ID, "north", ""); code != 200 {
		t.Errorf("revoke: %d", code)
	}
	if _, known := w.office.Register.Lookup(token); known {
		t.Error("a revoked one opens")
	}
	if code, _ := w.ask("DELETE", "/api/admin/walls/"+made.Data.ID, "north", ""); code != 404 {
		t.Errorf("revoked twice: %d", code)
	}
	if want := []string{"north key_north " + ActMake, "north key_north " + ActRevoke}; !slices.Equal(w.acts, want) {
		t.Errorf("on record %q", w.acts)
	}
}

// TestWallsRefused: a refused request changes nothing.
func TestWallsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, body := range []string{`{}`, `{"label":""}`, `{"label":7}`, `{"label":"a\nb"}`, `{"label":"` + strings.Repeat("x", 101) + `"}`, `{`} {
		if code, said := w.ask("POST", "/api/admin/walls", "north", body); code != 400 {
			t.Errorf("%.20s: %d %s", body, code, said)
		}
	}
	if len(w.acts) != 0 || len(w.office.Register.Walls("north")) != 0 {
		t.Errorf("on record %q", w.acts)
	}
	for i := range Most {
		w.office.Register.Set(Wall{ID: fmt.Sprint(i), Hospital: "north", Hash: [32]byte{byte(i)}})
	}
	if code, _ := w.ask("POST", "/api/admin/walls", "north", `{"label":"one more"}`); code != 422 {
		t.Errorf("one too many: %d", code)
	}
	w.away = errors.New("away")
	if code, _ := w.ask("POST", "/api/admin/walls", "south", `{"label":"x"}`); code != 503 {
		t.Errorf("while Kafka does not respond: %d", code)
	}
}

// TestWallLinkWorksOnce: a link signs in one screen within a day. A new link ends that screen's session.
func TestWallLinkWorksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := noon
	w.office.Now = func() time.Time { return now }
	wall, token, err := w.office.Make(t.Context(), "key_1", "north", "desk")
	if err != nil {
		t.Fatal(err)
	}
	used, err := w.office.Use(t.Context(), token)
	if err != nil || used.ID != wall.ID || !used.UsedAt.Equal(noon) {
		t.Errorf("%+v, %v", used, err)
	}
	if _, err := w.office.Use(t.Context(), token); !errors.Is(err, ErrNone) {
		t.Errorf("used twice: %v", err)
	}
	if _, _, err := w.office.Relink(t.Context(), "key_2", "south", wall.ID); !errors.Is(err, ErrNone) {
		t.Errorf("another hospital makes a link: %v", err)
	}
	code, body := w.ask("POST", "/api/admin/walls/"+wall.ID+"/link", "north", "")
	var made struct{ Data struct{ URL string } }
	if err := json.Unmarshal([]byte(body), &made); err != nil || code != 200 {
		t.Fatalf("%d %v: %s", code, err, body)
	}
	fresh, _ := strings.CutPrefix(made.Data.URL, "https://svc.example/board/")
	if again, known := w.office.Register.Wall(wall.ID); !known || again.Hash == used.Hash || fresh == token {
		t.Error("the screen before stays signed in")
	}
	now = noon.Add(LinkFor)
	if _, err := w.office.Use(t.Context(), fresh); !errors.Is(err, ErrNone) {
		t.Errorf("a day later: %v", err)
	}
	now = noon.Add(LinkFor - time.Second)
	if _, err := w.office.Use(t.Context(), fresh); err != nil {
		t.Errorf("within the day: %v", err)
	}
	w.office.Register.Set(Wall{ID: "wall_old", Hospital: "north", Hash: sha256.Sum256([]byte("old"))})
	if old, err := w.office.Use(t.Context(), "old"); err != nil || old.UsedAt.IsZero() {
		t.Errorf("a link of the release before: %v", err)
	}
}
