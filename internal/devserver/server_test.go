package devserver

import (
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/internal/cli"
)

// TestOpen: if Open fails, it returns a one-line error and closes everything, so that the same folder can be opened
// again.
func TestOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	w := cli.Env{Stdout: io.Discard, Stderr: io.Discard, Now: time.Now}
	o := &Options{data: t.TempDir(), listen: taken.Addr().String()}
	log := slog.New(slog.DiscardHandler)
	refused := func(want string) {
		t.Helper()
		if s, fault := Open(t.Context(), o, w, log); s != nil || fault == nil || !strings.Contains(fault.Error(), want) {
			t.Fatalf("%v, %v; want %s", s, fault, want)
		}
	}
	refused("choose another with --listen")
	refused("ARGS=") // the error also explains ARGS=, for users who start svc dev with make
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	o.listen = "127.0.0.1:0"
	if o.kafkaPort, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	refused("choose another with --kafka-port")
	o.kafkaPort = 0
	s, err := Open(t.Context(), o, w, log)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	refused("another svc dev is using " + o.data)
}
