package auth

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"svc/internal/admin/users"
)

var noon = time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)

// named is a fake [Seals]. It prefixes each sealed value with the name that was passed to Seal.
type named struct{}

func (named) Seal(name string, clear []byte) []byte { return append([]byte(name+"|"), clear...) }

func (named) Open(name string, sealed []byte) ([]byte, error) {
	clear, ours := bytes.CutPrefix(sealed, []byte(name+"|"))
	if !ours {
		return nil, errors.New("sealed for another name")
	}
	return clear, nil
}

// browser is a browser used by usr_1, a charge nurse in north and in south.
type browser struct {
	*testing.T
	now     time.Time
	people  *users.Register
	cookies *Cookies
	cookie  *http.Cookie // nil if the browser has none
}

func newBrowser(t *testing.T) *browser {
	b := &browser{T: t, now: noon, people: users.NewRegister()}
	b.cookies = &Cookies{Seals: named{}, Users: b.people, Now: func() time.Time { return b.now }}
	b.change("south", func(*users.User) {})
	b.change("north", func(*users.User) {})
	b.people.SetSession(users.Session{
		ID: "session", User: "usr_1", Hospital: "north", BegunAt: noon, ProvedAt: noon, EndsAt: noon.Add(13 * time.Hour),
		Epochs: []users.SessionEpoch{{Hospital: "north"}, {Hospital: "south"}},
	})
	record, _ := b.people.Session("session")
	b.keep(func(w http.ResponseWriter) { b.cookies.BeginSession(w, &record) })
	return b
}

// change applies the function do to the person's user in a hospital and stores the result.
func (b *browser) change(hospital string, do func(*users.User)) {
	u, known := b.people.User(hospital, "usr_1")
	if !known {
		u = users.User{ID: "usr_1", Hospital: hospital, Role: users.Charge}
	}
	do(&u)
	b.people.SetUser(u)
}

// keep stores the cookie that a response sets. It returns false if the response does not set one.
func (b *browser) keep(answer func(w http.ResponseWriter)) bool {
	w := httptest.NewRecorder()
	answer(w)
	set := w.Result().Cookies()
	if len(set) > 0 {
		b.cookie = set[0]
	}
	return len(set) > 0
}

func (b *browser) request(headers ...string) *http.Request {
	r := httptest.NewRequest("GET", "/app", nil)
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// TestReadSession: a session is valid until its idle or absolute limit. It becomes invalid earlier if it is ended or
// the person loses access.
func TestReadSession(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(b *browser)
		want error
	}{
		"at once":          {func(*browser) {}, nil},
		"before idle":      {func(b *browser) { b.now = noon.Add(time.Hour - time.Second) }, nil},
		"idle":             {func(b *browser) { b.now = noon.Add(time.Hour) }, ErrExpired},
		"issued tomorrow":  {func(b *browser) { b.now = noon.Add(-time.Minute - time.Second) }, ErrExpired},
		"a clock behind":   {func(b *browser) { b.now = noon.Add(-time.Minute) }, nil},
		"the person's end": {func(b *browser) { b.change("north", func(u *users.User) { u.Until = noon }) }, ErrExpired},
		"disabled":         {func(b *browser) { b.change("north", func(u *users.User) { u.Disabled = true }) }, ErrEnded},
		"ended":            {func(b *browser) { b.change("north", func(u *users.User) { u.Epoch++ }) }, ErrEnded},
		"removed":          {func(b *browser) { b.people.DropUser("north", "usr_1") }, ErrEnded},
		"signed out":       {func(b *browser) { b.people.DropSession("session") }, ErrEnded},
		"ended elsewhere":  {func(b *browser) { b.change("south", func(u *users.User) { u.Epoch++ }) }, nil},
		"no cookie":        {func(b *browser) { b.cookie = nil }, ErrSignedOut},
		"another cookie": {func(b *browser) {
			b.keep(func(w http.ResponseWriter) {
				b.cookies.Set(w, Cookie{Purpose: "other"}, cookie{ID: "session"})
			})
		}, ErrSignedOut},
		"without a seal":    {func(b *browser) { b.cookies.Seals = nil }, ErrSignedOut},
		"a cookie of words": {func(b *browser) { b.cookie.Value = "not base64!" }, ErrSignedOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t)
			tt.do(b)
			s, err := b.cookies.ReadSession(b.request())
			if !errors.Is(err, tt.want) || err == nil && (s.User != "usr_1" || s.Hospital != "north" || s.Base != AppPath) {
				t.Errorf("%+v, %v; want %v", s, err, tt.want)
			}
		})
	}
}

// TestRoleOfNow: a session always has the person's current role.
func TestRoleOfNow(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.change("north", func(u *users.User) { u.Role = users.Viewer })
	b.now = noon.Add(2 * time.Hour) // beyond the limit of the previous role
	if s, err := b.cookies.ReadSession(b.request()); err != nil || s.Role != users.Viewer {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestTouchSession: a request by a person extends the session; an automatic request from a page does not. No request
// extends a session beyond its absolute limit.
func TestTouchSession(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		headers []string
		after   time.Duration
		want    bool
	}{
		"a click":            {[]string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-User", "?1"}, seenEvery, true},
		"too soon":           {[]string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-User", "?1"}, seenEvery - time.Second, false},
		"by itself":          {[]string{"Sec-Fetch-Mode", "navigate"}, seenEvery, false},
		"fetched by a page":  {[]string{"Sec-Fetch-Mode", "cors"}, seenEvery, false},
		"fetched for person": {[]string{"Sec-Fetch-Mode", "cors", "X-Stay", "1"}, seenEvery, true},
		"old browser":        {nil, seenEvery, true},
		"stream":             {[]string{"Accept", "text/event-stream"}, seenEvery, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t)
			b.now = noon.Add(tt.after)
			r := b.request(tt.headers...)
			s, err := b.cookies.ReadSession(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.keep(func(w http.ResponseWriter) { b.cookies.TouchSession(w, r, s) }); got != tt.want {
				t.Errorf("prolonged: %v", got)
			}
			b.now = noon.Add(time.Hour)
			if _, err := b.cookies.ReadSession(b.request()); (err == nil) != tt.want {
				t.Errorf("an hour after the sign-in: %v", err)
			}
		})
	}
	s := Session{Role: users.Charge, BegunAt: noon, cookie: cookie{Seen: noon.Add(13*time.Hour - time.Minute).Unix()}}
	if ends := s.EndsAt(); !ends.Equal(noon.Add(13 * time.Hour)) {
		t.Errorf("ends at %v", ends)
	}
}

// TestMoveSession: a session is valid in each of the person's hospitals until it is ended there.
func TestMoveSession(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	s, err := b.cookies.ReadSession(b.request())
	if err != nil {
		t.Fatal(err)
	}
	south, ok := b.cookies.MoveSession(s, "south")
	if !ok || south.Hospital != "south" || south.Base != AppPath+"/u/south" || s.Hospital != "north" {
		t.Errorf("%+v, %v", south, ok)
	}
	if got := b.cookies.ListHospitals(south); !slices.Equal(got, []string{"north", "south"}) {
		t.Errorf("%q", got)
	}
	if _, ok := b.cookies.MoveSession(s, "east"); ok {
		t.Error("it holds where nobody knows the person")
	}
	b.change("south", func(u *users.User) { u.Epoch++ })
	if _, ok := b.cookies.MoveSession(s, "south"); ok || !slices.Equal(b.cookies.ListHospitals(s), []string{"north"}) {
		t.Error("it holds where it was ended")
	}
}

// TestCookieOfHTTPS: over HTTPS, the cookie has the prefix that binds it to its host.
func TestCookieOfHTTPS(t *testing.T) {
	t.Parallel()
	for secure, name := range map[bool]string{true: "__Host-svc-x", false: "svc-dev-x"} {
		b := newBrowser(t)
		b.cookies.Secure = secure
		b.keep(func(w http.ResponseWriter) { b.cookies.Set(w, Cookie{"-x", "x", time.Minute}, 7) })
		if c := b.cookie; c.Name != name || c.Secure != secure || !c.HttpOnly || c.Path != "/" || c.MaxAge != 60 || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("%+v", c)
		}
		b.keep(func(w http.ResponseWriter) { b.cookies.Remove(w, Cookie{Suffix: "-x"}) })
		if b.cookie.MaxAge >= 0 || b.cookie.Value != "" {
			t.Errorf("removed: %+v", b.cookie)
		}
	}
}

// TestSessionOfAnotherInstance: if an instance does not have the record of a session, it waits until it has read the
// settings up to the position in the cookie. If the record is still missing after the wait, the session has ended.
func TestSessionOfAnotherInstance(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	record, _ := b.people.Session("session")
	b.cookies.Position = func() int64 { return 7 }
	b.keep(func(w http.ResponseWriter) { b.cookies.BeginSession(w, &record) })
	b.people.DropSession("session")
	b.cookies.Await = func(_ context.Context, position int64) {
		if position == 7 {
			b.people.SetSession(record)
		}
	}
	if _, err := b.cookies.ReadSession(b.request()); err != nil {
		t.Error(err)
	}
	b.people.DropSession("session")
	b.cookies.Await = func(context.Context, int64) {}
	if _, err := b.cookies.ReadSession(b.request()); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
}
