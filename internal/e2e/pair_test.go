package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// pair is two svc read processes behind a proxy that terminates TLS, as in production. Each has its own svc ingest for
// user actions, so that both can write at the same time.
type pair struct {
	*system
	t       *testing.T
	proxy   *httptest.Server
	readers []*node
	direct  []string // addresses of the readers
	turn    atomic.Int64
	admin   *partner  // client with an admin key of the first hospital
	linked  time.Time // last sign-in by a link
}

const (
	toReader    = "X-Test-Reader" // request header: index of the reader that gets the request; without the header, the readers alternate
	seenByProxy = "198.51.100.7"  // the client address that the proxy reports for every request
)

// startPair starts a pair on a Kafka and a Redis. Before any process starts, it passes the public address of the
// pages to its function argument, which returns additional environment variables.
func startPair(t *testing.T, kafka, redis *server, with func(public string) (env []string), hospitals ...string) *pair {
	t.Helper()
	p := &pair{t: t}
	p.proxy = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		FlushInterval: -1, // forwards streams without buffering
		Rewrite: func(r *httputil.ProxyRequest) {
			n, err := strconv.Atoi(r.In.Header.Get(toReader))
			if err != nil {
				n = int(p.turn.Add(1))
			}
			to, _ := url.Parse(p.direct[n%len(p.direct)]) //nolint:errcheck // the test made the address
			r.SetURL(to)
			r.SetXForwarded()
			r.Out.Host = r.In.Host
			r.Out.Header.Del(toReader)
			r.Out.Header.Set("X-Forwarded-For", strings.TrimPrefix(r.In.Header.Get("X-Forwarded-For")+", "+seenByProxy, ", "))
		},
	})
	p.proxy.StartTLS()
	t.Cleanup(p.proxy.Close)
	env := append([]string{
		"SVC_PUBLIC_URL=" + p.proxy.URL, "SVC_TRUSTED_PROXIES=127.0.0.1/32", "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef",
	}, with(p.proxy.URL)...)
	p.system = startSystemOn(t, kafka, redis, env, hospitals...)
	p.processor("p1")
	_, ingest := p.role("ingest")
	for _, writer := range []string{p.base, ingest} {
		reader, at := p.role("read", "SVC_INGEST_URL="+writer)
		p.readers, p.direct = append(p.readers, reader), append(p.direct, at)
	}
	key := cli(t, p.env, "keys", "mint", "--hospital", hospitals[0], "--name", "office", "--scopes", "admin", "--rate", "0")
	p.admin = newPartner(p.proxy.URL, hospitals[0], key)
	p.admin.http = p.proxy.Client()
	p.admin.http.Timeout = time.Minute
	for i := range p.direct { // until both readers know the key
		eventually(t, 30*time.Second, func() error {
			a, err := p.admin.do(http.MethodGet, "/api/admin/users", "", "", toReader, strconv.Itoa(i))
			if err == nil && a.status != http.StatusOK {
				err = fmt.Errorf("reader %d: %v", i, a)
			}
			return err
		})
	}
	p.partners[0].accepted(t, "census", census(t, 4, "labor-standard", "csection-intraop"))
	p.partners[0].accepted(t, "staffing", staffing(5, true))
	return p
}

// role starts a svc process with one role and a public port, and returns its address.
func (p *pair) role(role string, env ...string) (n *node, at string) {
	p.t.Helper()
	listen, private := "127.0.0.1:"+mustFreePort(p.t), "127.0.0.1:"+mustFreePort(p.t)
	n = start(p.t, role, []string{role, "--listen", listen, "--private-listen", private}, append(env, p.env...)...)
	n.await("http://" + private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
	return n, "http://" + listen
}

// visitor is an HTTP client that behaves like a browser: it keeps cookies, and sends the Origin header with a form.
type visitor struct {
	t    testing.TB
	base string
	http *http.Client
}

// visited is a response to a visitor.
type visited struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
	body    string
}

// visitor returns a visitor without cookies.
func (p *pair) visitor(t testing.TB) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, p.proxy.URL, &http.Client{
		Jar: jar, Transport: p.proxy.Client().Transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ask sends a request, with a form unless form is nil. reader is the index of the reader that answers, or -1 for any
// reader. If the response is 503 with Retry-After, ask repeats the request, as people do: on a busy machine, the pages
// may lose Kafka or Redis for a moment.
func (v *visitor) ask(reader int, method, path string, form url.Values, headers ...string) (*visited, error) {
	if !strings.Contains(path, "://") {
		path = v.base + path
	}
	var got *visited
	for end := time.Now().Add(20 * time.Second); ; {
		var err error
		if got, err = v.send(reader, method, path, form, headers); err != nil {
			return nil, err
		}
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || time.Now().After(end) {
			return got, nil
		}
		v.t.Logf("%s %s: 503, again", method, path)
		time.Sleep(time.Second)
	}
}

func (v *visitor) send(reader int, method, address string, form url.Values, headers []string) (*visited, error) {
	request, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if reader >= 0 {
		request.Header.Set(toReader, strconv.Itoa(reader))
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := v.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return &visited{answer.StatusCode, answer.Header, answer.Cookies(), string(body)}, err
}

func (v *visitor) get(reader int, path string, headers ...string) *visited {
	v.t.Helper()
	p, err := v.ask(reader, http.MethodGet, path, nil, headers...)
	if err != nil {
		v.t.Fatal(err)
	}
	return p
}

// post submits a form as a page does.
func (v *visitor) post(reader int, path string, form url.Values) *visited {
	v.t.Helper()
	p, err := v.ask(reader, http.MethodPost, path, form, "Sec-Fetch-Site", "same-origin", "Origin", v.base)
	if err != nil {
		v.t.Fatal(err)
	}
	return p
}

// signIn uses a sign-in link for the first hospital, and returns the cookie of the session.
func (p *pair) signIn(t testing.TB, v *visitor, role string) (session *http.Cookie) {
	t.Helper()
	return p.signInTo(t, v, p.admin.hospital, role)
}

// signInTo uses a sign-in link for a hospital, and returns the cookie of the session.
func (p *pair) signInTo(t testing.TB, v *visitor, hospital, role string) (session *http.Cookie) {
	t.Helper()
	link := cli(t, p.env, "admin", "link", "--hospital", hospital, "--role", role, "--label", role+" desk")
	if !strings.HasPrefix(link, p.proxy.URL+"/signin/") {
		t.Fatalf("a link is %s", link)
	}
	eventually(t, 20*time.Second, func() error { // until both readers know the link
		for reader := range p.direct {
			if got := v.get(reader, link); got.status != http.StatusOK {
				return fmt.Errorf("link: %d", got.status)
			}
		}
		return nil
	})
	p.linked = time.Now().Truncate(time.Millisecond) // as the API states times
	got := v.post(-1, link, nil)
	for _, c := range got.cookies {
		if c.Name == "__Host-svc" {
			session = c
		}
	}
	if got.status != http.StatusSeeOther || session == nil {
		t.Fatalf("sign-in: %d with %v: %s", got.status, got.cookies, got.body)
	}
	return session
}

// opens returns a reader's response to a request whose only credential is a saved cookie.
func (p *pair) opens(t testing.TB, reader int, path string, kept *http.Cookie) *visited {
	t.Helper()
	return p.visitor(t).get(reader, path, "Cookie", kept.Name+"="+kept.Value)
}

// ends waits until both readers refuse a saved cookie.
func (p *pair) ends(t testing.TB, kept *http.Cookie) {
	t.Helper()
	eventually(t, 30*time.Second, func() error {
		for reader := range p.direct {
			for _, path := range []string{"/app", "/app/events"} {
				if got := p.opens(t, reader, path, kept); got.status != http.StatusUnauthorized {
					return fmt.Errorf("reader %d answers an ended session with %d at %s", reader, got.status, path)
				}
			}
		}
		return nil
	})
}

// follow opens the live stream of the unit on a reader, and waits for its first event. The returned
// channel is closed when the server has ended the stream.
func (v *visitor) follow(reader int) (ended <-chan struct{}) {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	v.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+"/app/events", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set(toReader, strconv.Itoa(reader))
	patient := *v.http
	patient.Timeout = 0
	answer, err := patient.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		v.t.Fatalf("stream: %d", answer.StatusCode)
	}
	lines, first, done := bufio.NewScanner(answer.Body), make(chan struct{}), make(chan struct{})
	lines.Buffer(nil, 1<<20)
	go func() {
		defer close(done)
		for told := false; lines.Scan(); {
			if !told && strings.HasPrefix(lines.Text(), "event: ") {
				told = true
				close(first)
			}
		}
	}()
	select {
	case <-first:
	case <-done:
		v.t.Fatal("a stream ended before its first event")
	case <-after(30 * time.Second):
		v.t.Fatal("a stream says nothing")
	}
	return done
}

// closes waits until the streams have ended, and logs how long that took.
func closes(t testing.TB, what string, streams ...<-chan struct{}) {
	t.Helper()
	began := time.Now()
	for _, ended := range streams {
		select {
		case <-ended:
		case <-after(30 * time.Second):
			t.Fatalf("%s: a stream goes on", what)
		}
	}
	t.Logf("%s: %d streams ended after %v", what, len(streams), time.Since(began))
}
