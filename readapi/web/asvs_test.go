package web

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi"
	"svc/readapi/web/page"
)

// recordRefusals records each refusal of the pages in the form "user@hospital METHOD reason".
func (p *pages) recordRefusals() *[]string {
	var all []string
	p.config.Refused = func(r *http.Request, hospital, user, reason string) {
		all = append(all, user+"@"+hospital+" "+r.Method+" "+reason)
	}
	p.mount()
	return &all
}

// TestASVS1632RefusedActs (ASVS 16.3.2): if a person attempts an act that they may not perform, the attempt is
// recorded together with the person.
func TestASVS1632RefusedActs(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	all := p.recordRefusals()
	viewer, both := p.Cookie("north", "usr_viewer"), p.Cookie("north", "usr_both")
	gone := p.Cookie("north", "usr_charge")
	p.Ask("POST", "/app/staffing", viewer, "nurses=3")
	p.Ask("GET", "/app/integrations", viewer)
	p.Ask("GET", "/app/u/west", both)
	for _, s := range p.Users.Sessions("usr_charge") {
		p.Users.DropSession(s.ID)
	}
	p.Ask("POST", "/app/staffing", gone, "nurses=3")
	want := []string{
		"usr_viewer@north POST role", "usr_viewer@north GET role", "usr_both@north GET other_hospital", "usr_charge@north POST session_ended",
	}
	if !slices.Equal(*all, want) {
		t.Errorf("noted %q, want %q", *all, want)
	}
}

// TestASVS751FreshActs (ASVS 7.5.1): the table in package page contains every act on the pages, and no route that
// does not exist. Acts on keys, users, walls, rules and sessions need a fresh sign-in, and so do new recipients and
// changes to webhooks.
func TestASVS751FreshActs(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	acts, seen := page.FreshActs(), map[string]bool{}
	for _, r := range p.guarded() {
		if act := r.method + " " + page.ActRoute(r.pattern); r.method != http.MethodGet {
			if _, known := acts[act]; !known {
				t.Errorf("the table lacks %s", act)
			}
			seen[act] = true
		} else {
			seen[act] = true
		}
	}
	for act, fresh := range acts {
		if !seen[act] {
			t.Errorf("there is no %s", act)
		}
		method, path, _ := strings.Cut(act, " ")
		if method != http.MethodPost || fresh {
			continue
		}
		for _, gives := range []string{"/keys", "/users", "/walls", "/rules", "/sessions", "/recipients/new", "/edit", "/rotate", "/delete"} {
			if strings.Contains(path, gives) {
				t.Errorf("%s needs no fresh sign-in", act)
			}
		}
	}
}

// TestASVS752OwnSessions (ASVS 7.5.2): after a fresh sign-in, a person sees their own sessions and can end one or all
// of them. Another person's session is not found.
func TestASVS752OwnSessions(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	here, home, other := p.Cookie("north", "usr_charge"), p.Cookie("north", "usr_charge"), p.Cookie("north", "usr_viewer")
	ids := func(user string) (all []string) {
		for _, s := range p.Users.Sessions(user) {
			all = append(all, s.ID)
		}
		return all
	}
	mine, foreign := ids("usr_charge"), ids("usr_viewer")[0]
	list := p.Ask("GET", "/app/sessions", here).Body.String()
	if strings.Count(list, `name="session"`) != 1 || strings.Contains(list, foreign) || !strings.Contains(list, "this browser") {
		t.Errorf("list: %s", list)
	}
	if got := p.Ask("POST", "/app/sessions/end", here, "session="+foreign); got.Code != http.StatusNotFound || len(ids("usr_viewer")) != 1 {
		t.Errorf("a session of somebody else: %d", got.Code)
	}
	p.Time = p.Time.Add(59 * time.Minute)
	here = p.Ask("GET", "/app/sessions", here).Result().Cookies()[0]
	p.Time = p.Time.Add(2 * time.Minute)
	if got := p.Ask("POST", "/app/sessions/end", here, "session="+mine[1]); got.Code != http.StatusForbidden || len(ids("usr_charge")) != 2 {
		t.Errorf("after an hour: %d, left %q", got.Code, ids("usr_charge"))
	}
	p.Time = noon
	for _, id := range mine {
		s, _ := p.Users.Session(id)
		if !strings.Contains(list, id) { // the list offers no button for the current session
			continue
		}
		if got := p.Ask("POST", "/app/sessions/end", here, "session="+s.ID); got.Code != http.StatusSeeOther {
			t.Errorf("another browser: %d", got.Code)
		}
	}
	if left := ids("usr_charge"); len(left) != 1 {
		t.Errorf("left %q", left)
	}
	if got := p.Ask("POST", "/app/sessions/end", here); got.Code != http.StatusSeeOther || len(ids("usr_charge")) != 0 || len(ids("usr_viewer")) != 1 {
		t.Errorf("all: %d", got.Code)
	}
	for _, c := range []*http.Cookie{here, home} {
		if got := p.Ask("GET", "/app", c); got.Code != http.StatusUnauthorized {
			t.Errorf("an ended session: %d", got.Code)
		}
	}
	if got := p.Ask("GET", "/app", other); got.Code != http.StatusOK {
		t.Errorf("somebody else: %d", got.Code)
	}
}

// TestASVS1621LinesNameThePerson (ASVS 16.2.1): the log line of a page request contains the
// hospital and the person, even if the request is refused.
func TestASVS1621LinesNameThePerson(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	var log bytes.Buffer
	shell := &httpapi.Shell{Now: p.config.Now, Log: slog.New(slog.NewJSONHandler(&log, nil)), DocsURL: "/docs"}
	p.Router = shell.Router()
	Mount(p.Router, p.config)
	viewer := p.Cookie("north", "usr_viewer")
	expired := p.Cookie("south", "usr_south")
	for _, s := range p.Users.Sessions("usr_south") {
		p.Users.DropSession(s.ID)
	}
	for _, ask := range []struct {
		path     string
		cookie   *http.Cookie
		hospital string
		user     string
		status   float64
	}{
		{"/app", viewer, "north", "usr_viewer", 200},
		{"/app/integrations", viewer, "north", "usr_viewer", 403},
		{"/app/u/south", viewer, "north", "usr_viewer", 404},
		{"/app", expired, "south", "usr_south", 401},
	} {
		log.Reset()
		p.Ask("GET", ask.path, ask.cookie)
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, log.String())
		}
		if line["hospital"] != ask.hospital || line["user_id"] != ask.user || line["status"] != ask.status {
			t.Errorf("%s: %v", ask.path, line)
		}
	}
}
