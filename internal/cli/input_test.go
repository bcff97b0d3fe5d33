package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// TestStoppedWhileItReads: a command that is stopped ends at once, even while it waits for standard input.
func TestStoppedWhileItReads(t *testing.T) {
	in, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stdin
	os.Stdin = in
	defer func() {
		os.Stdin = was
		writer.Close()
	}()
	for _, args := range [][]string{
		{"send", "-", "--to", "http://127.0.0.1:1", "--key", "svc_1"},
		{"terminology", "import", "-", "--api", "http://127.0.0.1:1", "--key", "svc_1"},
	} {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		var out, faults bytes.Buffer
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, args, Env{LookupEnv: noEnvironment, Stdout: &out, Stderr: &faults, Now: time.Now})
		}()
		select {
		case code := <-ended:
			if code != 1 || !strings.Contains(faults.String(), "context canceled") {
				t.Errorf("%v: code %d, says %q", args, code, &faults)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%v: goes on waiting for input", args)
		}
	}
}

func TestInterruptibleReadsAll(t *testing.T) {
	text := strings.Repeat("all of it\n", 20_000)
	in := interruptible(t.Context(), strings.NewReader(text))
	defer in.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(in); err != nil || got.String() != text {
		t.Errorf("read %d of %d bytes, %v", got.Len(), len(text), err)
	}
}
