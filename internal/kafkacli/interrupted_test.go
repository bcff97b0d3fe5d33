package kafkacli

import (
	"bytes"
	"context"
	"testing"
	"time"

	"svc/internal/admin/keys"
	"svc/internal/admin/settings"
	"svc/internal/cli"
	"svc/internal/stream"
)

// TestInterrupted: a command that a signal interrupts does not report success. A command that runs to completion
// reports success.
func TestInterrupted(t *testing.T) {
	broker, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	for name, interrupted := range map[string]bool{"interrupted": true, "done": false} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			w := cli.Env{LookupEnv: func(string) (string, bool) { return "", false }, Stdout: &said, Stderr: &said, Now: time.Now}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			c := New(w, 0)
			cmd := c.Cobra("test", "", func(ctx context.Context, _ []string) error {
				return c.Connected(ctx, func(ctx context.Context, _ *settings.Store, _ *keys.Ring) error {
					if interrupted {
						interrupt()
						<-ctx.Done()
					}
					return ctx.Err()
				})
			})
			if code := cli.Run(ctx, cmd, []string{"--kafka", broker.Addr()}, w); (code != 0) != interrupted {
				t.Errorf("code %d, says %q", code, &said)
			}
		})
	}
}
