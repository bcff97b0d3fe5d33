package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
)

// one serves one request and returns the response and the access log line.
func one(t *testing.T, s *httpapi.Shell, change func(*http.Request) *http.Request) (answer outer, status int, line struct{ Address string }) {
	t.Helper()
	var log bytes.Buffer
	s.Now, s.Log = time.Now, slog.New(slog.NewJSONHandler(&log, nil))
	if s.Lookup == nil {
		s.Lookup = func(token string) (access.Key, bool) { return access.Key{ID: "key_1"}, token == "svc_good" }
	}
	r := s.Router()
	r.With(s.Allow("")).Get("/thing", func(w http.ResponseWriter, r *http.Request) { httpapi.OK(w, r, struct{}{}) })
	w := httptest.NewRecorder()
	r.ServeHTTP(w, change(httptest.NewRequest(http.MethodGet, "/thing", nil)))
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
	}
	return answer, w.Code, line
}

// TestDocsURL: the URL of the documentation in an error is the configured one. If none is configured, the URL is
// /docs on the host that the request names or, if its Host header is not a plain host, on the local address of the
// connection.
func TestDocsURL(t *testing.T) {
	for name, c := range map[string]struct {
		configured, host, proto string
		want                    string
	}{
		"configured":         {"https://docs.example/svc", "api.example", "", "https://docs.example/svc"},
		"of the request":     {"", "api.example:8443", "", "http://api.example:8443/docs"},
		"behind a proxy":     {"", "api.example", "https", "https://api.example/docs"},
		"IPv6":               {"", "[::1]:8080", "", "http://[::1]:8080/docs"},
		"not a host":         {"", `x"><script>`, "", "http://10.1.2.3:8080/docs"},
		"none":               {"", "", "", "http://10.1.2.3:8080/docs"},
		"longer than a host": {"", strings.Repeat("x", 256), "", "http://10.1.2.3:8080/docs"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, status, _ := one(t, &httpapi.Shell{DocsURL: c.configured}, func(r *http.Request) *http.Request {
				r.Host = c.host
				r.Header.Set("X-Forwarded-Proto", c.proto)
				local := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8080}
				return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
			})
			if status != http.StatusUnauthorized || answer.Error.Docs != c.want {
				t.Errorf("%d %+v, want %s", status, answer.Error, c.want)
			}
		})
	}
}

// TestAddress: the address of a request is the peer's, or the one that the trusted proxies saw. A client cannot forge
// it.
func TestAddress(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		peer string
		seen []string
		want string
	}{
		"a peer":                   {"192.0.2.1:99", nil, "192.0.2.1"},
		"a peer that makes one up": {"192.0.2.1:99", []string{"203.0.113.9"}, "192.0.2.1"},
		"a proxy":                  {"10.0.0.1:99", []string{"203.0.113.9"}, "203.0.113.9"},
		"two proxies":              {"10.0.0.1:99", []string{"203.0.113.9, 10.7.7.7"}, "203.0.113.9"},
		"two headers":              {"10.0.0.1:99", []string{"203.0.113.9", "10.7.7.7"}, "203.0.113.9"},
		"a client that makes up":   {"10.0.0.1:99", []string{"198.51.100.1, 203.0.113.9, 10.7.7.7"}, "203.0.113.9"},
		"no header":                {"10.0.0.1:99", nil, "10.0.0.1"},
		"no address in it":         {"10.0.0.1:99", []string{"unknown"}, "10.0.0.1"},
		"proxies alone":            {"10.0.0.1:99", []string{"10.1.1.1, 10.2.2.2"}, "10.1.1.1"},
		"IPv6":                     {"[fd00::1]:99", []string{"2001:db8::7"}, "2001:db8::7"},
		"IPv4 in IPv6":             {"[::ffff:10.0.0.1]:99", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		"no peer":                  {"pipe", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, line := one(t, &httpapi.Shell{Proxies: proxies}, func(r *http.Request) *http.Request {
				r.RemoteAddr = c.peer
				r.Header["X-Forwarded-For"] = c.seen
				return r
			})
			if line.Address != c.want {
				t.Errorf("%q, want %q", line.Address, c.want)
			}
		})
	}
}

// TestTooManyStrangers: an address that sends too many requests without a valid key must wait, and its requests do
// not fill the log. A client with a valid key is not affected, even at the same address.
func TestTooManyStrangers(t *testing.T) {
	s := &httpapi.Shell{Strangers: limit.NewStrangers(limit.Rate{PerSecond: 0.1, Burst: 3}, time.Now)}
	from := func(address, token string) func(*http.Request) *http.Request {
		return func(r *http.Request) *http.Request {
			r.RemoteAddr = address + ":99"
			r.Header.Set("Authorization", "Bearer "+token)
			return r
		}
	}
	for n := range 6 {
		answer, status, line := one(t, s, from("192.0.2.1", "svc_bad"))
		want, code, logged := http.StatusUnauthorized, "unauthorized", true
		if n >= 3 {
			want, code, logged = http.StatusTooManyRequests, "rate_limited", false
		}
		if status != want || answer.Error.Code != code || (line.Address != "") != logged {
			t.Errorf("%d: %d %+v, log %+v", n, status, answer.Error, line)
		}
	}
	if _, status, _ := one(t, s, from("192.0.2.1", "svc_good")); status != http.StatusOK {
		t.Errorf("a valid key from there: %d", status)
	}
	if _, status, _ := one(t, s, from("192.0.2.2", "svc_bad")); status != http.StatusUnauthorized {
		t.Errorf("from elsewhere: %d", status)
	}
}
