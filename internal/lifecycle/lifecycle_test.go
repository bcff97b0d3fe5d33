package lifecycle

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var errBroken = errors.New("broken")

// TestEndsOfAStart: a process that is stopped or fails while it connects ends with the right error.
func TestEndsOfAStart(t *testing.T) {
	for name, tt := range map[string]struct {
		signal bool
		start  func(context.Context) error
		want   error
	}{
		"signal":                        {true, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, nil},
		"failure of what was cut short": {true, func(ctx context.Context) error { <-ctx.Done(); return errBroken }, nil},
		"signal and success":            {true, func(ctx context.Context) error { <-ctx.Done(); return nil }, nil},
		"failure":                       {false, func(context.Context) error { return errBroken }, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewProcess(nil, nil)
			private := p.Private("127.0.0.1:0", http.NotFoundHandler())
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			err := p.Live(ctx, private, func(ctx context.Context) ([]func(context.Context) error, error) {
				if tt.signal {
					stop()
				}
				return []func(context.Context) error{func(context.Context) error { t.Error("it serves"); return nil }}, tt.start(ctx)
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("ends with %v, want %v", err, tt.want)
			}
		})
	}
}

// TestEndsOfWork: a process that is stopped or fails while it runs ends with the right error. The error names loops
// that hang.
func TestEndsOfWork(t *testing.T) {
	const within = 10 * time.Second
	work := func(after time.Duration, err error) func(context.Context) error { // a loop that ends the given time after its context
		return func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(after)
			return err
		}
	}
	fails := func(context.Context) error { return errBroken }
	for name, tt := range map[string]struct {
		signal      bool
		loop, serve func(context.Context) error
		want        error
		mentions    string
		after       time.Duration
	}{
		"signal":                             {signal: true, loop: work(0, nil), serve: work(0, nil)},
		"loop that says why it ends":         {signal: true, loop: work(0, context.Canceled), serve: work(0, nil)},
		"server that takes its time":         {signal: true, loop: work(0, nil), serve: work(time.Hour, nil), after: time.Hour},
		"loop that takes its time":           {signal: true, loop: work(within-1, nil), serve: work(0, nil), after: within - 1},
		"loop that hangs":                    {signal: true, loop: work(time.Hour, nil), serve: work(0, nil), mentions: "work did not end within 10s", after: within},
		"loop that fails as it ends":         {signal: true, loop: work(0, errBroken), serve: work(0, nil), want: errBroken},
		"loop that fails":                    {loop: fails, serve: work(time.Second, nil), want: errBroken, mentions: "work: broken", after: time.Second},
		"loop that ends by itself":           {loop: func(context.Context) error { return nil }, serve: work(0, nil), mentions: "work ended unexpectedly"},
		"loop that fails, server that hangs": {loop: fails, serve: work(time.Hour, nil), want: errBroken, mentions: "open requests did not end within 10s", after: within},
		"server that fails":                  {loop: work(time.Second, nil), serve: fails, want: errBroken, after: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if tt.signal {
					stop()
				}
				p := &Process{}
				p.Run("work", tt.loop)
				began := time.Now()
				err := RunAll(ctx, within, []func(context.Context) error{tt.serve}, p.Loops)
				if took := time.Since(began); took != tt.after {
					t.Errorf("ends after %v, want %v", took, tt.after)
				}
				if failed := tt.want != nil || tt.mentions != ""; (err != nil) != failed || tt.want != nil && !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.mentions) {
					t.Errorf("ends with %v, want %v %s", err, tt.want, tt.mentions)
				}
				time.Sleep(time.Hour) // virtual time, so that the hanging loop ends
			})
		})
	}
}
