package webhook

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"svc/internal/outbound/sending"
	"svc/notifier/egress/egresstest"
	"svc/notifier/outcome"
	"svc/notifier/sendertest"
)

func TestMatrixStatus(t *testing.T) {
	for name, tt := range map[string]struct {
		head  string
		class sending.Class
		after time.Duration
		final bool
	}{
		"200":                        {"200 OK", sending.ClassOK, 0, false},
		"201":                        {"201 Created", sending.ClassOK, 0, false},
		"202":                        {"202 Accepted\r\nRetry-After: 9", sending.ClassOK, 0, false},
		"299":                        {"299 Fine", sending.ClassOK, 0, false},
		"500":                        {"500 Internal Server Error", sending.ClassStatus, 0, false},
		"500 with Retry-After":       {"500 Internal Server Error\r\nRetry-After: 9", sending.ClassStatus, 0, false},
		"503":                        {"503 Service Unavailable", sending.ClassStatus, 0, false},
		"503, Retry-After 30":        {"503 Service Unavailable\r\nRetry-After: 30", sending.ClassStatus, 30 * time.Second, false},
		"429":                        {"429 Too Many Requests", sending.ClassThrottled, 0, false},
		"429, Retry-After 600":       {"429 Too Many Requests\r\nRetry-After: 600", sending.ClassThrottled, 600 * time.Second, false},
		"429, Retry-After a date":    {"429 Too Many Requests\r\nRetry-After: Sun, 01 Mar 2026 14:15:00 GMT", sending.ClassThrottled, 600 * time.Second, false},
		"429, Retry-After past":      {"429 Too Many Requests\r\nRetry-After: Sun, 01 Mar 2026 14:00:00 GMT", sending.ClassThrottled, 0, false},
		"429, Retry-After a day":     {"429 Too Many Requests\r\nRetry-After: 86400", sending.ClassThrottled, time.Hour, false},
		"429, Retry-After a year on": {"429 Too Many Requests\r\nRetry-After: Mon, 01 Mar 2027 14:15:00 GMT", sending.ClassThrottled, time.Hour, false},
		"429, Retry-After too large": {"429 Too Many Requests\r\nRetry-After: 99999999999999999999999", sending.ClassThrottled, time.Hour, false},
		"429, Retry-After below 0":   {"429 Too Many Requests\r\nRetry-After: -5", sending.ClassThrottled, 0, false},
		"429, Retry-After a word":    {"429 Too Many Requests\r\nRetry-After: later", sending.ClassThrottled, 0, false},
		"410":                        {"410 Gone", sending.ClassGone, 0, true},
		"400":                        {"400 Bad Request", sending.ClassStatus, 0, false},
		"401":                        {"401 Unauthorized\r\nWWW-Authenticate: Basic", sending.ClassStatus, 0, false},
		"404":                        {"404 Not Found", sending.ClassStatus, 0, false},
		"101":                        {"101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x", sending.ClassStatus, 0, false},
		"302":                        {"302 Found", sending.ClassRedirect, 0, false},
		"304":                        {"304 Not Modified", sending.ClassRedirect, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, says("HTTP/1.1 "+tt.head+"\r\nContent-Length: 0\r\n\r\n"))
			s := local(t)
			s.now = func() time.Time { return time.Date(2026, 3, 1, 14, 5, 0, 0, time.UTC) }
			got := send(t, s, message(r.url()), tt.class)
			if got.RetryAfter != tt.after || got.Final != tt.final || fmt.Sprint(got.Status) != tt.head[:3] {
				t.Errorf("%+v, want Retry-After %v, final %v", got, tt.after, tt.final)
			}
		})
	}
}

// TestMatrixRedirect: redirects are never followed, whatever the status and target.
func TestMatrixRedirect(t *testing.T) {
	elsewhere := receive(t, says(ok))
	locations := []string{elsewhere.url(), "//" + elsewhere.address + "/", "/again"}
	for _, c := range egresstest.Corpus(t) {
		locations = append(locations, c.URL)
	}
	var answer string
	r := receive(t, func(conn net.Conn) bool { return says(answer)(conn) })
	s := local(t)
	for i, location := range locations {
		status := []int{301, 302, 303, 307, 308}[i%5]
		answer = fmt.Sprintf("HTTP/1.1 %d Elsewhere\r\nLocation: %s\r\nRefresh: 0; url=%s\r\nContent-Length: 0\r\n\r\n", status, location, location)
		if got := send(t, s, message(r.url()), sending.ClassRedirect); got.Status != status {
			t.Errorf("%+v", got)
		}
		r.next(t)
		r.untouched(t)
	}
	elsewhere.untouched(t)
}

// TestRedirectNamesItsTarget: administrators see an endpoint's new location without the parts that may be secret.
func TestRedirectNamesItsTarget(t *testing.T) {
	var head string
	r := receive(t, func(conn net.Conn) bool { return says(head)(conn) })
	s := local(t)
	for name, tt := range map[string]struct{ location, body, want string }{
		"absolute":  {"https://user:pass@new.example/hook?token=secret#part", "", "Location: https://new.example/hook"},
		"relative":  {"/hooks/", "Moved", "Location: http://" + r.address + "/hooks/ Moved"},
		"no URL":    {"http://[", "Moved", "Location: not a URL. Moved"},
		"none":      {"", "Moved", "Moved"},
		"very long": {"https://new.example/" + strings.Repeat("x", 600), "", ("Location: https://new.example/" + strings.Repeat("x", 600))[:outcome.MaxResponse]},
	} {
		t.Run(name, func(t *testing.T) {
			head = fmt.Sprintf("HTTP/1.1 308 Permanent Redirect\r\nLocation: %s\r\nContent-Length: %d\r\n\r\n%s", tt.location, len(tt.body), tt.body)
			if got := send(t, s, message(r.url()), sending.ClassRedirect); got.Response != tt.want {
				t.Errorf("%q, want %q", got.Response, tt.want)
			}
		})
	}
}

// TestMatrixHugeAnswer: a 2xx response counts as a success even if its body is endless, incomplete or malformed. The
// sender closes the connection without waiting for the rest of the body.
func TestMatrixHugeAnswer(t *testing.T) {
	stopped := make(chan struct{}, 10)
	a := newAuthority(t)
	for name, answer := range map[string]func(net.Conn){
		"without end": func(conn net.Conn) {
			says("HTTP/1.1 200 OK\r\n\r\n")(conn)
			for says(strings.Repeat("x", 4096))(conn) {
			}
		},
		"shorter than it says": func(conn net.Conn) { says("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nfirst")(conn) },
		"drop by drop": func(conn net.Conn) {
			says("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfirst")(conn)
			sendertest.Silent(conn)
		},
		"broken chunks": func(conn net.Conn) { says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfirst")(conn) },
		"compressed, as a bomb": func(conn net.Conn) {
			says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08")(conn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, func(conn net.Conn) bool {
				answer(conn)
				stopped <- struct{}{}
				return false
			})
			s := partner(t, a)
			got := send(t, s, message(r.url()), sending.ClassOK)
			if n := len([]rune(got.Response)); n > outcome.MaxResponse {
				t.Errorf("%d characters kept", n)
			}
			<-stopped // the sender has closed the connection, so the receiver neither writes nor waits any longer
		})
	}
	// A response body is read only up to a number of bytes and for a limited time. Each of these limits applies even
	// if the other is not reached.
	t.Run("bytes", func(t *testing.T) {
		const most = 64 << 20 // more than bodyMost and the buffers of two sockets
		wrote := make(chan int, 1)
		r := receive(t, func(conn net.Conn) bool {
			says("HTTP/1.1 200 OK\r\n\r\n")(conn)
			n := 0
			for chunk := says(strings.Repeat("x", 64<<10)); n < most && chunk(conn); n += 64 << 10 {
			}
			wrote <- n
			return false
		})
		send(t, patient(t, a), message(r.url()), sending.ClassOK)
		if n := <-wrote; n >= most {
			t.Errorf("%d bytes were read", n)
		}
	})
	t.Run("time", func(t *testing.T) {
		r := receive(t, func(conn net.Conn) bool {
			says("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfirst")(conn)
			sendertest.Silent(conn)
			return false
		})
		m := message(r.url())
		m.Webhook.TimeoutSeconds = 3600
		one := begin(t.Context(), partner(t, a), m)
		select {
		case <-one.done:
		case <-time.After(30 * time.Second):
			t.Error("it waits for the rest of an answer")
		}
	})
	t.Run("headers without end", func(t *testing.T) {
		r := receive(t, func(conn net.Conn) bool {
			says("HTTP/1.1 200 OK\r\n")(conn)
			for says("X-More: " + strings.Repeat("x", 1000) + "\r\n")(conn) {
			}
			return false
		})
		send(t, local(t), message(r.url()), sending.ClassReset)
	})
}

func TestResponseKept(t *testing.T) {
	for name, tt := range map[string]struct{ body, want string }{
		"short":           {"accepted", "accepted"},
		"lines":           {"one\r\ntwo\x00", "one  two"},
		"not UTF-8":       {"a\xffb", "a\uFFFDb"},
		"long":            {strings.Repeat("ä", 3000), strings.Repeat("ä", outcome.MaxResponse)},
		"cut in a letter": {strings.Repeat("x", 2047) + "ä", strings.Repeat("x", outcome.MaxResponse)},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, says(fmt.Sprintf("HTTP/1.1 500 Oops\r\nContent-Length: %d\r\n\r\n%s", len(tt.body), tt.body)))
			s := local(t)
			for range 2 { // the second request uses the idle connection
				if got := send(t, s, message(r.url()), sending.ClassStatus); got.Response != tt.want {
					t.Errorf("%q, want %q", got.Response, tt.want)
				}
			}
			if n := r.connected.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}
