package sms

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/signature"
	"svc/notifier/sendertest"
)

const (
	number = "+15550100"
	token  = "the-token-of-the-gateway"
)

var text = sending.Message{
	Hospital: "mercy", DeliveryID: "dlv_01", Attempt: 1, To: number,
	Text: "ORANGE (was YELLOW) L&D 14:05. Short 2 nurses: Short-staffed. Ack https://svc.example/a/7KQ2M9XW3PTD",
}

func gateway(t testing.TB, driver, address string) Gateway { //nolint:ireturn // the type depends on the driver
	t.Helper()
	g, err := New(Config{
		Driver: driver, URL: address, Account: "AC01", Token: token, From: "+15550199",
		Callback: "https://svc.example", Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestConformance(t *testing.T) {
	for driver, answer := range map[string]string{DriverHTTP: `{}`, DriverTwilio: `{"sid":"SM01","status":"queued"}`} {
		t.Run(driver, func(t *testing.T) {
			sendertest.Conform(t, sendertest.Channel{
				Sender: func(t *testing.T, address string) sending.Sender {
					t.Helper()
					return gateway(t, driver, "http://"+address)
				},
				Message: func(string) sending.Message { return text },
				Serve: func(conn net.Conn) {
					for reader := bufio.NewReader(conn); ; {
						r, err := http.ReadRequest(reader)
						if err != nil {
							return
						}
						if _, err := io.Copy(io.Discard, r.Body); err != nil {
							return
						}
						fmt.Fprintf(conn, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer) //nolint:errcheck // if this fails, the client reports an error
					}
				},
			})
		})
	}
}

func TestGenericRequest(t *testing.T) {
	var got []byte
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if got, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		if r.Header.Get("X-Svc-Signature") != signature.Body(token, got) {
			t.Error("the signature is not that of the body")
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer provider.Close()
	m := text
	m.Expires = time.Now().Add(10 * time.Minute)
	if r := gateway(t, DriverHTTP, provider.URL).Send(t.Context(), m); r.Class != sending.ClassOK || r.Status != 202 {
		t.Fatalf("result = %+v", r)
	}
	var body genericMessage
	if err := json.Unmarshal(got, &body); err != nil {
		t.Fatal(err)
	}
	if body.ValiditySeconds < 590 || body.ValiditySeconds > 600 {
		t.Errorf("valid for %d s", body.ValiditySeconds)
	}
	body.ValiditySeconds = 0
	want := genericMessage{ID: "dlv_01", To: number, From: "+15550199", Text: text.Text, Callback: "https://svc.example/api/public/sms/http?d=dlv_01&h=mercy"}
	if body != want {
		t.Errorf("body %+v, want %+v", body, want)
	}
}

// TestStatuses: a status has the same effect for both kinds of provider.
func TestStatuses(t *testing.T) {
	for status, want := range map[int]sending.Result{
		400: {Class: sending.ClassStatus, Final: true},
		404: {Class: sending.ClassStatus, Final: true},
		401: {Class: sending.ClassStatus}, // caused by the operator's token, not by this message
		429: {Class: sending.ClassThrottled, RetryAfter: 7 * time.Second},
		500: {Class: sending.ClassStatus},
		503: {Class: sending.ClassStatus},
		302: {Class: sending.ClassRedirect},
	} {
		for _, driver := range []string{DriverHTTP, DriverTwilio} {
			t.Run(fmt.Sprint(driver, " ", status), func(t *testing.T) {
				calls := 0
				provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodGet {
						io.WriteString(w, `{"messages":[]}`) //nolint:errcheck // if this fails, the client reports an error
						return
					}
					calls++
					w.Header().Set("Retry-After", "7")
					w.Header().Set("Location", "http://elsewhere.example/")
					w.WriteHeader(status)
					fmt.Fprintf(w, `{"code": 21211, "message": "The 'To' number %s is not valid"}`, number) //nolint:errcheck // if this fails, the client reports an error
				}))
				defer provider.Close()
				got := gateway(t, driver, provider.URL).Send(t.Context(), text)
				if strings.Contains(got.Response, number) {
					t.Errorf("the number is kept: %q", got.Response)
				}
				wait := want.RetryAfter
				if driver == DriverTwilio && status >= 500 {
					wait = 30 * time.Second
				}
				if got.Class != want.Class || got.Status != status || got.Final != want.Final || got.RetryAfter != wait || calls != 1 {
					t.Errorf("result = %+v after %d calls, want %+v", got, calls, want)
				}
			})
		}
	}
}

// fakeTwilio stores messages as the provider does, and can lose an answer.
type fakeTwilio struct {
	t        *testing.T
	mu       sync.Mutex
	messages []twilioMessage
	forms    []url.Values
	lose     func(w http.ResponseWriter) // loses the answer to the next message, which is still stored
	noList   bool
}

func (f *fakeTwilio) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	user, password, _ := r.BasicAuth()
	if r.URL.Path != "/2010-04-01/Accounts/AC01/Messages.json" || user != "AC01" || password != token {
		f.t.Errorf("%s %s as %s", r.Method, r.URL.Path, user)
	}
	if r.Method == http.MethodGet {
		if f.noList {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if r.URL.Query().Get("To") != number {
			f.t.Errorf("looked up %s", r.URL.RawQuery)
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"messages": f.messages}); err != nil {
			f.t.Error(err)
		}
		return
	}
	if err := r.ParseForm(); err != nil {
		f.t.Error(err)
	}
	one := twilioMessage{SID: fmt.Sprintf("SM%02d", len(f.messages)), Body: r.PostForm.Get("Body"), Status: "queued", Created: time.Now().Format(time.RFC1123Z)}
	f.messages, f.forms = append(f.messages, one), append(f.forms, r.PostForm)
	if lose := f.lose; lose != nil {
		f.lose = nil
		lose(w)
		return
	}
	w.WriteHeader(http.StatusCreated)
	if err := json.NewEncoder(w).Encode(one); err != nil {
		f.t.Error(err)
	}
}

func TestTwilioRequest(t *testing.T) {
	f := &fakeTwilio{t: t}
	provider := httptest.NewServer(f)
	defer provider.Close()
	m := text
	m.Expires = time.Now().Add(15 * time.Minute)
	if r := gateway(t, DriverTwilio, provider.URL).Send(t.Context(), m); r.Class != sending.ClassOK || r.Response != "SM00" {
		t.Fatalf("result = %+v", r)
	}
	form := f.forms[0]
	for name, want := range map[string]string{
		"To": number, "From": "+15550199", "Body": text.Text, "StatusCallback": "https://svc.example/api/public/sms/twilio?d=dlv_01&h=mercy",
	} {
		if got := form.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if v := form.Get("ValidityPeriod"); v != "899" && v != "900" {
		t.Errorf("ValidityPeriod = %s", v)
	}
}

// TestTwilioLooksUp: if the result of an attempt is unknown, or was lost in a crash, but the provider has the
// message, the message is not sent again.
func TestTwilioLooksUp(t *testing.T) {
	for name, tt := range map[string]struct {
		lose    func(w http.ResponseWriter)
		attempt int
	}{
		"a 500 after it was taken": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, 2},
		"an answer that breaks off": {func(w http.ResponseWriter) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				conn.Close()
			}
		}, 2},
		"a crash": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeTwilio{t: t, lose: tt.lose}
			provider := httptest.NewServer(f)
			defer provider.Close()
			written := time.Now()
			first := gateway(t, DriverTwilio, provider.URL).Send(t.Context(), text)
			if tt.lose != nil && (first.Class == sending.ClassOK || first.Final || first.RetryAfter != defaultListDelay) {
				t.Fatalf("first = %+v", first)
			}
			again := text
			again.Attempt, again.Since = tt.attempt, written
			second := gateway(t, DriverTwilio, provider.URL).Send(t.Context(), again)
			if second.Class != sending.ClassOK || second.Response != "SM00" || len(f.messages) != 1 {
				t.Errorf("second = %+v, %d messages", second, len(f.messages))
			}
		})
	}
	t.Run("not taken: once more", func(t *testing.T) {
		f := &fakeTwilio{t: t}
		provider := httptest.NewServer(f)
		defer provider.Close()
		again := text
		again.Attempt = 2
		if r := gateway(t, DriverTwilio, provider.URL).Send(t.Context(), again); r.Class != sending.ClassOK || len(f.messages) != 1 {
			t.Errorf("result = %+v, %d messages", r, len(f.messages))
		}
	})
	t.Run("the same words of yesterday are another message", func(t *testing.T) {
		f := &fakeTwilio{t: t, messages: []twilioMessage{{SID: "SM99", Body: text.Text, Created: time.Now().Add(-24 * time.Hour).Format(time.RFC1123Z)}}}
		provider := httptest.NewServer(f)
		defer provider.Close()
		if r := gateway(t, DriverTwilio, provider.URL).Send(t.Context(), text); r.Class != sending.ClassOK || len(f.messages) != 2 {
			t.Errorf("result = %+v, %d messages", r, len(f.messages))
		}
	})
	t.Run("the same words of an earlier alert are another message", func(t *testing.T) {
		// Two alerts have the same text within a minute, in the hour that is repeated when clocks are set back, or if a
		// command sends the alert again.
		for _, attempt := range []int{1, 2} {
			for _, status := range []string{"delivered", "undelivered"} {
				f := &fakeTwilio{t: t, messages: []twilioMessage{{
					SID: "SM99", Body: text.Text, Status: status, Created: time.Now().Add(-30 * time.Second).Format(time.RFC1123Z),
				}}}
				provider := httptest.NewServer(f)
				defer provider.Close()
				later := text
				later.Attempt, later.Since = attempt, time.Now()
				if r := gateway(t, DriverTwilio, provider.URL).Send(t.Context(), later); r.Class != sending.ClassOK || len(f.messages) != 2 {
					t.Errorf("attempt %d after %s: result = %+v, %d messages", attempt, status, r, len(f.messages))
				}
			}
		}
	})
	t.Run("without the list the first attempt goes out, the second waits", func(t *testing.T) {
		f := &fakeTwilio{t: t, noList: true}
		provider := httptest.NewServer(f)
		defer provider.Close()
		g := gateway(t, DriverTwilio, provider.URL)
		if r := g.Send(t.Context(), text); r.Class != sending.ClassOK {
			t.Errorf("first = %+v", r)
		}
		again := text
		again.Attempt = 2
		if r := g.Send(t.Context(), again); r.Class == sending.ClassOK || r.Final || len(f.messages) != 1 {
			t.Errorf("second = %+v, %d messages", r, len(f.messages))
		}
	})
}

func TestReceipts(t *testing.T) {
	self, err := url.Parse("/api/public/sms/x?d=dlv_01&h=mercy")
	if err != nil {
		t.Fatal(err)
	}
	form := func(status string) string {
		return url.Values{"MessageSid": {"SM00"}, "MessageStatus": {status}, "To": {number}}.Encode()
	}
	signed := func(driver, body string) http.Header {
		if driver == DriverHTTP {
			return http.Header{"X-Svc-Signature": {signature.Body(token, []byte(body))}}
		}
		values, err := url.ParseQuery(body)
		if err != nil {
			t.Fatal(err)
		}
		return http.Header{"X-Twilio-Signature": {twilioSignature(token, "https://svc.example/api/public/sms/twilio?d=dlv_01&h=mercy", values)}}
	}
	for name, tt := range map[string]struct {
		driver, body, signedBody string
		want                     outbound.State
		err                      error
	}{
		"http, delivered":     {driver: DriverHTTP, body: `{"id":"dlv_01","status":"delivered"}`, want: outbound.Delivered},
		"http, failed":        {driver: DriverHTTP, body: `{"id":"dlv_01","status":"failed"}`, want: outbound.Failed},
		"http, on its way":    {driver: DriverHTTP, body: `{"id":"dlv_01","status":"sent"}`},
		"http, another id":    {driver: DriverHTTP, body: `{"id":"dlv_02","status":"failed"}`, err: ErrMalformed},
		"http, no JSON":       {driver: DriverHTTP, body: `failed`, err: ErrMalformed},
		"http, forged":        {driver: DriverHTTP, body: `{"id":"dlv_01","status":"failed"}`, signedBody: `{}`, err: ErrForged},
		"twilio, delivered":   {driver: DriverTwilio, body: form("delivered"), want: outbound.Delivered},
		"twilio, undelivered": {driver: DriverTwilio, body: form("undelivered"), want: outbound.Failed},
		"twilio, sent":        {driver: DriverTwilio, body: form("sent")},
		"twilio, forged":      {driver: DriverTwilio, body: form("failed"), signedBody: form("delivered"), err: ErrForged},
	} {
		t.Run(name, func(t *testing.T) {
			signedBody := tt.signedBody
			if signedBody == "" {
				signedBody = tt.body
			}
			got, err := gateway(t, tt.driver, "https://gateway.example").Receipt(self, signed(tt.driver, signedBody), []byte(tt.body))
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil && got != (Receipt{Hospital: "mercy", DeliveryID: "dlv_01", State: tt.want}) {
				t.Errorf("receipt = %+v", got)
			}
		})
	}
}

// TestTwilioSignature checks the example in the provider's webhook documentation.
func TestTwilioSignature(t *testing.T) {
	form := url.Values{"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+14158675310"}, "Digits": {"1234"}, "From": {"+14158675310"}, "To": {"+18005551212"}}
	if got := twilioSignature("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", form); got != "GvWf1cFY/Q7PnoempGyD5oXAezc=" {
		t.Errorf("signature = %s", got)
	}
}
