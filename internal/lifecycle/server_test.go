package lifecycle

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestDrain: after a server is asked to stop, it answers all requests until its drain ends, and closes each
// connection after the response. If the process stops because of a failure, there is no drain.
func TestDrain(t *testing.T) {
	for name, cause := range map[string]error{"stop": context.Canceled, "failure": ErrFailed} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(t.Context())
				late, cancel := Linger(ctx, 5*time.Second)
				defer cancel()
				stop(cause)
				began := time.Now()
				<-late.Done()
				if took := time.Since(began); (took == 5*time.Second) == errors.Is(cause, ErrFailed) {
					t.Errorf("ends %v after a %s", took, name)
				}
			})
		})
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s := &Server{Handler: answer, Listener: listener(t), Within: time.Second, Drain: time.Hour}
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	ask := func() *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Listener.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		return got
	}
	if got := ask(); got.Close {
		t.Error("a connection is closed before the stop")
	}
	stop(nil)
	for range 3 {
		if got := ask(); got.StatusCode != http.StatusNoContent || !got.Close {
			t.Errorf("after the stop: %s, connection closed %v", got.Status, got.Close)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("it ends while it drains: %v", err)
	default:
	}
	s.Listener.Close()
	<-ended
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
