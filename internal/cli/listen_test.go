package cli

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/receiver/receivertest"
)

// lines is an output that signals each write on the channel more, so that a test can wait for output.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 1000)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.more <- struct{}{}
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// listening starts svc listen and returns its address and its output.
func listening(t *testing.T, args ...string) (url string, printed *lines) {
	t.Helper()
	printed, said := newLines(), newLines()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		done <- run(ctx, append([]string{"listen", "--addr", "127.0.0.1:0"}, args...), Env{LookupEnv: noEnvironment, Stdout: printed, Stderr: said, Now: time.Now})
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("svc listen ends with %d: %s", code, said)
		}
	})
	select {
	case <-said.more:
	case code := <-done:
		t.Fatalf("svc listen ends with %d: %s", code, said)
	}
	return regexp.MustCompile(`http://\S+/`).FindString(said.String()), printed
}

func TestListen(t *testing.T) {
	url, printed := listening(t, "--secret", receivertest.OtherSecret, "--secret", receivertest.Secret)
	now := time.Now()
	strange := receivertest.SignedRequest(t, url, receivertest.Secret, "evt_5", "\x1b[31mred\x07", now)
	for i, tt := range []struct {
		request *http.Request
		status  int
		want    string
	}{
		{receivertest.SignedRequest(t, url+"any/path", receivertest.Secret, "evt_1", "first", now), 204, `verified  ping  evt_1  first$`},
		{receivertest.SignedRequest(t, url, receivertest.OtherSecret, "evt_2", "second", now), 204, `verified  ping  evt_2  second$`},
		{receivertest.SignedRequest(t, url, receivertest.Secret, "evt_1", "first", now), 204, `verified  ping  evt_1  DUPLICATE, 2 times  first$`},
		{receivertest.SignedRequest(t, url, "a secret of somebody else", "evt_3", "", now), 401, `REFUSED \(X-Svc-Signature wrong, webhook-signature wrong\)  ping  evt_3$`},
		{receivertest.SignedRequest(t, url, receivertest.Secret, "evt_1", "first", now.Add(-time.Hour)), 401, `REFUSED \(X-Svc-Signature valid, webhook-signature stale\)  ping  evt_1  first$`},
		{receivertest.SignedRequest(t, url, "a secret of somebody else", "evt_3", "", now), 401, `ping  evt_3$`}, // not a duplicate, because the first evt_3 was not verified
		{strange, 204, `verified  ping  evt_5  \[31mred$`},
	} {
		if got := receivertest.StatusOf(t, tt.request); got != tt.status {
			t.Errorf("%d: answered %d, want %d", i, got, tt.status)
		}
		all := strings.Split(strings.TrimSpace(printed.String()), "\n")
		if len(all) != i+1 || !regexp.MustCompile(tt.want).MatchString(all[len(all)-1]) {
			t.Errorf("%d: printed\n%s\nwant %s", i, printed, tt.want)
		}
	}
}

// ownSecret is a partner's secret that contains spaces.
const ownSecret = "a secret of the partner's own"

func TestListenForms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(file, []byte(receivertest.OtherSecret+"\r\n\n"+receivertest.Secret+"\n"+ownSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"without a secret": {nil, 204, `not checked  ping  evt_1`},
		"another status":   {[]string{"--answer", "503", "--secret", receivertest.Secret}, 503, `verified  ping  evt_1`},
		"from a file":      {[]string{"--secret-file", file}, 204, `verified  ping  evt_1`},
		"with the body":    {[]string{"--secret", receivertest.Secret, "--body"}, 204, `(?s)verified.*\n    "protocol": "svc.v1",\n.*\n  }\n$`},
		"as JSON":          {[]string{"--secret", receivertest.Secret, "--json"}, 204, `"signature":"verified","xSvcSignature":"valid","webhookSignature":"valid","times":1,"payload":\{"event":"ping"`},
	} {
		t.Run(name, func(t *testing.T) {
			url, printed := listening(t, tt.args...)
			if got := receivertest.StatusOf(t, receivertest.SignedRequest(t, url, receivertest.Secret, "evt_1", "one", time.Now())); got != tt.status {
				t.Errorf("answered %d, want %d", got, tt.status)
			}
			if !regexp.MustCompile(tt.want).MatchString(printed.String()) {
				t.Errorf("printed\n%s\nwant %s", printed, tt.want)
			}
		})
	}
	url, _ := listening(t, "--secret-file", file)
	if got := receivertest.StatusOf(t, receivertest.SignedRequest(t, url, ownSecret, "evt_1", "one", time.Now())); got != http.StatusNoContent {
		t.Errorf("a secret with blanks in it: answered %d", got)
	}
}

// TestListenToNoSecret: a file without a secret is an error. svc listen omits the verification only if it is started
// without a secret and without a file.
func TestListenToNoSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := say(t, "listen", "--secret-file", file); code != 2 || !strings.Contains(stderr, "--secret-file: contains no secret") {
		t.Errorf("code %d, says %q", code, stderr)
	}
}

func TestListenFaults(t *testing.T) {
	var out bytes.Buffer
	code := run(t.Context(), []string{"listen", "--addr", "nowhere", "--answer", "99", "--secret-file", "/does/not/exist", "more"}, Env{LookupEnv: noEnvironment, Stdout: &out, Stderr: &out, Now: time.Now})
	for _, want := range []string{"--addr: must be", "--answer: must be", "--secret-file: ", `unexpected argument "more"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("missing %q in\n%s", want, &out)
		}
	}
	if code != 2 {
		t.Errorf("code %d", code)
	}
}

// TestHookRefusesWhatIsLarge: a body above the limit is refused, and no part of it is printed.
func TestHookRefusesWhatIsLarge(t *testing.T) {
	url, printed := listening(t)
	answer, err := http.Post(url, "application/json", strings.NewReader(strings.Repeat("x", outbound.MaxBody+1)))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusRequestEntityTooLarge || printed.String() != "" {
		t.Errorf("answered %d, printed %q", answer.StatusCode, printed)
	}
}
