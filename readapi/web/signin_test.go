package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/readapi/web/auth"
)

// TestFrontIsNeverMissing: the first page leads on, whoever asks.
func TestFrontIsNeverMissing(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	if got := p.Ask("GET", "/", nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "ask your administrator for one") {
		t.Errorf("signed out: %d", got.Code)
	}
	if got := p.Ask("GET", "/", p.Cookie("north", "usr_viewer")); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/app" {
		t.Errorf("signed in: %d to %s", got.Code, got.Header().Get("Location"))
	}
	p.config.Seals = nil
	p.mount()
	if got := p.Ask("GET", "/", nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "SVC_SECRETS_KEY") {
		t.Errorf("without a key: %d", got.Code)
	}
	if got := p.Ask("POST", "/signin/fresh", nil); got.Code != http.StatusGone && got.Code != http.StatusNotFound || len(got.Result().Cookies()) != 0 {
		t.Errorf("sign-in without a key: %d", got.Code)
	}
	if l := p.links.links["fresh"]; !l.UsedAt.IsZero() {
		t.Error("the link was burnt for nothing")
	}
}

// TestLinkSignsInOnce: to open a link changes nothing, its button signs in once.
func TestLinkSignsInOnce(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for range 3 {
		if got := p.Ask("GET", "/signin/fresh", nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "Sign in as charge nurse") || len(got.Result().Cookies()) != 0 {
			t.Fatalf("opened: %d", got.Code)
		}
	}
	got := p.Ask("POST", "/signin/fresh", nil)
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/app" || len(got.Result().Cookies()) != 1 {
		t.Fatalf("used: %d to %s", got.Code, got.Header().Get("Location"))
	}
	cookie := got.Result().Cookies()[0]
	if got := p.Ask("GET", "/app", cookie); got.Code != http.StatusOK {
		t.Errorf("signed in: %d", got.Code)
	}
	if got := p.Ask("POST", "/signout", cookie); got.Code != http.StatusSeeOther || !strings.Contains(got.Header().Get("Set-Cookie"), "Max-Age=0") || !slices.Equal(p.links.out, []string{"north/usr_charge"}) {
		t.Errorf("signed out: %d, on record %v", got.Code, p.links.out)
	}
}

// TestLinksThatDoNotSignIn say what to do, and sign nobody in.
func TestLinksThatDoNotSignIn(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]int{"used": http.StatusGone, "old": http.StatusGone, "never": http.StatusNotFound, strings.Repeat("x", 5000): http.StatusNotFound} {
		p := newPages(t)
		for _, method := range []string{"GET", "POST"} {
			got := p.Ask(method, "/signin/"+token, nil)
			if got.Code != want || len(got.Result().Cookies()) != 0 || !strings.Contains(got.Body.String(), "Ask for a new one") {
				t.Errorf("%s %.8s: %d", method, token, got.Code)
			}
		}
	}
	p := newPages(t)
	p.links.away = errors.New("away")
	if got := p.Ask("POST", "/signin/fresh", nil); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" || len(got.Result().Cookies()) != 0 {
		t.Errorf("while the log is away: %d", got.Code)
	}
}

// TestUnitIsAway: a unit that is not known now is no page of a unit.
func TestUnitIsAway(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	p.units.err = errAway
	if got := p.Ask("GET", "/app", p.Cookie("north", "usr_viewer")); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" || strings.Contains(got.Body.String(), "Green") {
		t.Errorf("%d", got.Code)
	}
}

// TestTooManyTries: an address that tries words gets to wait, before anything is recorded;
// a link that holds works from there all the same.
func TestTooManyTries(t *testing.T) {
	t.Parallel()
	p, left := newPages(t), 2
	p.config.Stranger = func(*http.Request) (time.Duration, bool) {
		left--
		return 3 * time.Second, left >= 0
	}
	p.mount()
	for i, want := range []int{http.StatusGone, http.StatusNotFound, http.StatusTooManyRequests, http.StatusTooManyRequests, http.StatusTooManyRequests} {
		method, path := "POST", []string{"/signin/used", "/board/never", "/signin/used", "/board/never", "/signin/never"}[i]
		if strings.HasPrefix(path, "/board") {
			method = "GET"
		}
		got := p.Ask(method, path, nil)
		if got.Code != want || want == http.StatusTooManyRequests && got.Header().Get("Retry-After") != "4" {
			t.Errorf("try %d: %d, Retry-After %q", i+1, got.Code, got.Header().Get("Retry-After"))
		}
	}
	if got := p.Ask("POST", "/signin/fresh", nil); got.Code != http.StatusSeeOther {
		t.Errorf("a link that holds: %d", got.Code)
	}
}

// TestSignInLeadsBack: who was asked to sign in again comes back to the page that asked.
func TestSignInLeadsBack(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	const back = "/app/integrations/keys/new?preset=ehr"
	asked := httptest.NewRecorder()
	session := &auth.Session{Hospital: "north", User: "usr_charge", Base: auth.AppPath, Issued: noon.Add(-61 * time.Minute).Unix()}
	if p.NewSite().RequireFreshSignIn(asked, httptest.NewRequest("GET", back, nil), session, back) {
		t.Fatal("a sign-in of 61 minutes ago is fresh")
	}
	r := httptest.NewRequest("POST", "/signin/fresh", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range asked.Result().Cookies() {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	p.Router.ServeHTTP(w, r)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != back {
		t.Errorf("%d, to %q", w.Code, w.Header().Get("Location"))
	}
}
