package signin

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/users"
	"svc/internal/httpapi/access"
	"svc/readapi/web/auth"
	"svc/readapi/web/page/pagetest"
)

// TestFrontIsNeverMissing: the first page says what a visitor can do next, even if sign-in is disabled. A signed-in
// person is redirected to the unit.
func TestFrontIsNeverMissing(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	if got := p.Ask("GET", "/", nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "ask your administrator for one") {
		t.Errorf("signed out: %d", got.Code)
	}
	if got := p.Ask("GET", "/", p.Cookie("north", "usr_viewer")); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/app" {
		t.Errorf("signed in: %d to %s", got.Code, got.Header().Get("Location"))
	}
	p.Seals = nil
	p.mount()
	if got := p.Ask("GET", "/", nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "SVC_SECRETS_KEY") {
		t.Errorf("without a key: %d", got.Code)
	}
	if got := p.Ask("POST", "/signin/fresh", nil); got.Code != http.StatusGone && got.Code != http.StatusNotFound || len(got.Result().Cookies()) != 0 {
		t.Errorf("sign-in without a key: %d", got.Code)
	}
	if l := p.links.ByToken["fresh"]; !l.UsedAt.IsZero() {
		t.Error("the link was burnt for nothing")
	}
}

// TestLinkSignsInOnce: opening a link changes nothing. The button on its page signs a person in, but only once.
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
	if got := p.Ask("POST", "/signout", cookie); got.Code != http.StatusSeeOther || !strings.Contains(got.Header().Get("Set-Cookie"), "Max-Age=0") || !slices.Equal(p.links.Out, []string{"north/usr_charge sign_out"}) {
		t.Errorf("signed out: %d, on record %v", got.Code, p.links.Out)
	}
}

// TestLinksThatDoNotSignIn: a used, expired or unknown link does not sign anyone in, and the page says what to do.
func TestLinksThatDoNotSignIn(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]int{"used": http.StatusGone, "old": http.StatusGone, "never": http.StatusNotFound, strings.Repeat("x", 5000): http.StatusNotFound} {
		p := newPages(t)
		for _, method := range []string{"GET", "POST"} {
			got := p.Ask(method, "/signin/"+token, nil)
			if got.Code != want || len(got.Result().Cookies()) != 0 || !strings.Contains(got.Body.String(), "Ask your administrator for a new one") {
				t.Errorf("%s %.8s: %d", method, token, got.Code)
			}
		}
	}
	p := newPages(t)
	p.links.Away = errors.New("away")
	if got := p.Ask("POST", "/signin/fresh", nil); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" || len(got.Result().Cookies()) != 0 {
		t.Errorf("while the log is away: %d", got.Code)
	}
}

// TestSignInLeadsBack: after signing in again, a person returns to the page that required the sign-in.
func TestSignInLeadsBack(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	const back = "/app/integrations/keys/new?preset=ehr"
	p.Router.Get("/app/integrations/keys/new", p.NewSite().RequireRole(users.Viewer, func(http.ResponseWriter, *http.Request, *auth.Session) {
		t.Error("a sign-in of 61 minutes ago is fresh")
	}))
	cookie := p.Cookie("north", "usr_viewer")
	p.Time = p.Time.Add(61 * time.Minute)
	asked := p.Ask("GET", back, cookie)
	p.Time = pagetest.Noon
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

// TestChooseLabel: a person's name at the provider cannot forge a name or a line in a list of users.
func TestChooseLabel(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		names []string
		want  string
	}{
		"a name":                   {[]string{"Ada L.", "ada"}, "Ada L."},
		"no name":                  {[]string{" \n", ""}, "user"},
		"only an account":          {[]string{"\u202e", "ada"}, "ada"},
		"another text direction":   {[]string{"\u202eadA\u202c \u2067rotartsinimda\u2069"}, "adA rotartsinimda"},
		"line breaks":              {[]string{"Ada\r\nusr_1\u2028usr_2\u2029usr_3\u0085"}, "Adausr_1usr_2usr_3"},
		"joined letters stay":      {[]string{"می\u200cخواهم"}, "می\u200cخواهم"},
		"more than 100 characters": {[]string{strings.Repeat("é", 150)}, strings.Repeat("é", 100)},
	} {
		if got := chooseLabel(tt.names...); got != tt.want || access.HasControls(got) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
