package keys_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contracttest"
)

// fixture serves the endpoints on a register in memory, with a simulated clock.
type fixture struct {
	*chi.Mux
	t         *testing.T
	now       time.Time
	register  *access.Register
	acts      []audit.Act
	puts      int
	meanwhile func() // called once, between reading a key and the next write
	fail      error  // error that the audit log returns
	tokens    map[string]string
}

func open(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{t: t, now: time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC), tokens: map[string]string{}}
	clock := func() time.Time { return h.now }
	h.register = access.NewRegister(clock)
	for name, template := range map[string]access.Key{
		"admin":   {Hospital: "north", Name: "admin", Scopes: []access.Scope{access.Admin}},
		"reader":  {Hospital: "north", Name: "reader", Scopes: access.Scopes()},
		"foreign": {Hospital: "south", Name: "admin", Scopes: []access.Scope{access.Admin}},
	} {
		key, token := access.Mint(template, h.now)
		h.register.SetKey(key)
		h.tokens[name] = token
	}
	shell := &httpapi.Shell{Now: clock, Lookup: h.register.Lookup, DocsURL: "/docs", Log: slog.New(slog.DiscardHandler)}
	config := keys.Config{Shell: shell, Ring: &keys.Ring{
		Register: h.register, Now: clock,
		Seen: func() int64 { return int64(h.puts) },
		Put: func(_ context.Context, seen int64, keys ...*access.Key) error {
			if h.meanwhile != nil {
				h.meanwhile()
				h.meanwhile = nil
			}
			if seen < int64(h.puts) {
				return access.ErrOvertaken
			}
			for _, key := range keys {
				if h.puts++; len(h.acts) < h.puts {
					t.Error("a key was written before its act was on record")
				}
				h.register.SetKey(*key)
			}
			return nil
		},
		Audit: func(_ context.Context, act audit.Act) error {
			if h.fail == nil {
				h.acts = append(h.acts, act)
			}
			return h.fail
		},
	}}
	h.Mux = shell.Router()
	keys.MountWrites(h, config)
	keys.MountReads(h, config)
	return h
}

type row struct {
	ID, Prefix, Name, Status, Key, Version string
	Scopes                                 []string
	Rate                                   float64
	Burst                                  int
	ExpiresAt, RevokedAt                   *time.Time
	Warnings                               []httpapi.Warning
}

func (h *fixture) ask(who, method, path, body string, want int, headers ...string) (row, http.Header) {
	h.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+h.tokens[who])
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	contracttest.CheckTag(h.t, keys.Operations(), r, w)
	var answer struct{ Data row }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != want {
		h.t.Errorf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, want)
	}
	if w.Header().Get("Cache-Control") != "no-store" {
		h.t.Errorf("%s %s may be stored", method, path)
	}
	return answer.Data, w.Header()
}

func TestLifeOfAKey(t *testing.T) {
	h := open(t)
	made, header := h.ask("admin", "POST", "/api/admin/keys", `{"name":" Epic ","scopes":["ingest:hl7"],"rate":5}`, 200)
	if made.Name != "Epic" || made.Status != "active" || made.Rate != 5 || made.Burst != 20 || header.Get("ETag") != `"`+made.Version+`"` {
		t.Errorf("made %+v, %v", made, header)
	}
	if key, ok := h.register.Lookup(made.Key); !ok || key.ID != made.ID || key.Hospital != "north" || !slices.Equal(key.Scopes, []access.Scope{access.IngestHL7}) {
		t.Errorf("the key does not work: %+v", key)
	}
	if got, _ := h.ask("admin", "GET", "/api/admin/keys/"+made.ID, "", 200); got.Prefix != made.Key[:8] || len(got.Prefix) != 8 {
		t.Errorf("the list names the key %q", got.Prefix)
	}
	if got, _ := h.ask("admin", "GET", "/api/admin/keys/"+made.ID, "", 200); got.Key != "" || got.Version != made.Version {
		t.Errorf("read %+v", got)
	}
	next, _ := h.ask("admin", "POST", "/api/admin/keys/"+made.ID+"/rotate", `{"overlap":"1h"}`, 200, "If-Match", header.Get("ETag"))
	if next.Key == made.Key || next.ID == made.ID || next.Prefix != next.Key[:8] || next.Rate != 5 || next.Name != "Epic" {
		t.Errorf("next %+v", next)
	}
	if _, ok := h.register.Lookup(made.Key); !ok {
		t.Error("the old key has no overlap")
	}
	h.ask("admin", "DELETE", "/api/admin/keys/"+made.ID, "", 412, "If-Match", header.Get("ETag"))
	h.now = h.now.Add(time.Hour)
	if _, ok := h.register.Lookup(made.Key); ok {
		t.Error("the old key outlives the overlap")
	}
	h.ask("admin", "POST", "/api/admin/keys/"+made.ID+"/rotate", `{}`, 422)
	gone, _ := h.ask("admin", "DELETE", "/api/admin/keys/"+next.ID, "", 200, "If-Match", "*")
	if _, ok := h.register.Lookup(next.Key); ok || gone.Status != "revoked" {
		t.Errorf("revoked %+v", gone)
	}
	h.ask("admin", "DELETE", "/api/admin/keys/"+next.ID, "", 200) // without If-Match: accepts any version of the key

	admin, _ := h.register.Lookup(h.tokens["admin"])
	var actions []string
	for _, act := range h.acts {
		actions = append(actions, act.Action+" "+act.Subject)
		if act.By != admin.ID || act.Hospital != "north" || act.After == "" || act.After == act.Before || (act.Before == "") != (act.Action == keys.ActMint) {
			t.Errorf("act %+v", act)
		}
		if text := act.By + act.Before + act.After + act.Subject; strings.Contains(text, "svc_") {
			t.Error("a token is on record")
		}
	}
	if want := []string{"key.mint " + made.ID, "key.mint " + next.ID, "key.rotate " + made.ID, "key.revoke " + next.ID}; !slices.Equal(actions, want) {
		t.Errorf("acts %v, want %v", actions, want)
	}
}

// TestAKeyThatIsChangedMeanwhile: another process revokes a key after a request has read the key but before the
// request writes. If the request names the old version, it is refused. If it accepts any version, it is handled like
// a request for a revoked key: revoking succeeds without a write, and rotating is refused.
func TestAKeyThatIsChangedMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, match string
		want                int
		puts                int // expected number of writes by the request
	}{
		"revoke that version": {"DELETE", "", "that", 412, 0},
		"rotate that version": {"POST", "/rotate", "that", 412, 0},
		"revoke whatever":     {"DELETE", "", "", 200, 0}, // the key is already revoked
		"rotate whatever":     {"POST", "/rotate", "", 422, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			made, _ := h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 200)
			h.meanwhile = func() {
				key, _ := h.register.Key(made.ID)
				key.RevokedAt = h.now
				h.register.SetKey(key)
				h.puts++
			}
			var headers []string
			if c.match != "" {
				headers = []string{"If-Match", `"` + made.Version + `"`}
			}
			puts := h.puts
			h.ask("admin", c.method, "/api/admin/keys/"+made.ID+c.path, `{}`, c.want, headers...)
			if h.puts != puts+1+c.puts {
				t.Errorf("%d writes", h.puts-puts-1)
			}
		})
	}
}

func TestOthersSeeAndDoNothing(t *testing.T) {
	h := open(t)
	mine, _ := h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 200)
	acts := len(h.acts)
	for _, c := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"POST", "/rotate"}} {
		h.ask("foreign", c[0], "/api/admin/keys/"+mine.ID+c[1], `{}`, 404)
		h.ask("foreign", c[0], "/api/admin/keys/key_0000000000000000"+c[1], `{}`, 404)
		h.ask("reader", c[0], "/api/admin/keys/"+mine.ID+c[1], `{}`, 403)
		h.ask("nobody", c[0], "/api/admin/keys/"+mine.ID+c[1], `{}`, 401)
	}
	h.ask("reader", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 403)
	if len(h.acts) != acts {
		t.Errorf("acts %+v", h.acts[acts:])
	}
}

// TestUnknownFields: the response warns about an unknown field. Without the warning, a mistyped expiry would create a
// key that never expires, and a mistyped overlap would keep a key valid for a day.
func TestUnknownFields(t *testing.T) {
	h := open(t)
	made, _ := h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"],"expires":"90d"}`, 200)
	if want := []httpapi.Warning{{Code: "unknown_field", Path: "expires"}}; !slices.Equal(made.Warnings, want) {
		t.Errorf("made with warnings %+v, want %+v", made.Warnings, want)
	}
	next, _ := h.ask("admin", "POST", "/api/admin/keys/"+made.ID+"/rotate", `{"overlapHours":0}`, 200)
	if want := []httpapi.Warning{{Code: "unknown_field", Path: "overlapHours"}}; !slices.Equal(next.Warnings, want) {
		t.Errorf("rotated with warnings %+v, want %+v", next.Warnings, want)
	}
	last, _ := h.ask("admin", "POST", "/api/admin/keys/"+next.ID+"/rotate", ``, 200)
	if last.Warnings == nil || len(last.Warnings) > 0 {
		t.Errorf("rotated with warnings %#v, want an empty list", last.Warnings)
	}
}

// TestExpiryInTheZone: a time without an offset is in the hospital's time zone.
func TestExpiryInTheZone(t *testing.T) {
	h := open(t)
	h.register.SetHospital(access.Hospital{ID: "north", Name: "North", Zone: "America/Chicago"})
	h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"],"expiresAt":"2031-04-05T08:00:00"}`, 200)
	h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"],"expiresAt":"2031-04-05T06:59:00"}`, 422)
	h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"],"expiresAt":"soon"}`, 400)
}

func TestBodiesThatAreRefused(t *testing.T) {
	h := open(t)
	for name, body := range map[string]string{
		"no JSON":     `{`,
		"empty":       ``,
		"no name":     `{"scopes":["all"]}`,
		"long name":   `{"name":"` + strings.Repeat("n", 101) + `","scopes":["all"]}`,
		"two lines":   `{"name":"a\nb","scopes":["all"]}`,
		"blank name":  `{"name":"\u0085\u3000","scopes":["all"]}`,
		"no scope":    `{"name":"n"}`,
		"scope":       `{"name":"n","scopes":["fly"]}`,
		"rate":        `{"name":"n","scopes":["all"],"rate":-1}`,
		"type":        `{"name":1,"scopes":["all"]}`,
		"two objects": `{"name":"n","scopes":["all"]}{}`,
		"a brace":     `{"name":"n","scopes":["all"]}}`,
		"a bracket":   `{"name":"n","scopes":["all"]} ]`,
	} {
		t.Run(name, func(t *testing.T) {
			h.t = t
			h.ask("admin", "POST", "/api/admin/keys", body, 400)
		})
	}
	h.t = t
	h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"],"expiresAt":"2031-04-05T12:00:00Z"}`, 422)
	h.ask("admin", "POST", "/api/admin/keys", strings.Repeat(" ", 70_000)+`{}`, 413)
	h.ask("admin", "POST", "/api/admin/keys", `{}`, 415, "Content-Type", "text/plain")
	if len(h.acts) > 0 {
		t.Errorf("acts %+v", h.acts)
	}
}

// TestFailedActsAreOnRecord: if another process changes a setting during the first attempt to revoke a key, the
// second attempt revokes the key. The audit log contains the first attempt as failed.
func TestFailedActsAreOnRecord(t *testing.T) {
	h := open(t)
	made, _ := h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 200)
	h.acts, h.meanwhile = nil, func() { h.puts++ }
	h.ask("admin", "DELETE", "/api/admin/keys/"+made.ID, ``, 200)
	var got []string
	for _, act := range h.acts {
		if got = append(got, act.Action); act.Subject != made.ID {
			t.Errorf("%+v", act)
		}
	}
	if want := []string{"key.revoke", "key.revoke.failed", "key.revoke"}; !slices.Equal(got, want) {
		t.Errorf("acts %q, want %q", got, want)
	}
}

// TestNothingWithoutARecord: if an action cannot be recorded in the audit log, it is not executed.
func TestNothingWithoutARecord(t *testing.T) {
	h := open(t)
	mine, _ := h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 200)
	h.fail = errors.New("away")
	h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 503)
	h.ask("admin", "DELETE", "/api/admin/keys/"+mine.ID, "", 503)
	h.ask("admin", "POST", "/api/admin/keys/"+mine.ID+"/rotate", `{}`, 503)
	if _, ok := h.register.Lookup(mine.Key); !ok || h.puts != 1 || len(h.register.Keys("north")) != 3 {
		t.Errorf("%d keys were written", h.puts)
	}
}
