package devserver

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"svc/internal/cli"
)

// TestOpen: what Open refuses has one line and leaves nothing open, so the next Open of the same
// folder works.
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
		if s, err := Open(t.Context(), o, w, log); s != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v, %v; want %s", s, err, want)
		}
	}
	refused("choose another with --listen")
	o.listen, o.kafkaPort = "127.0.0.1:0", taken.Addr().(*net.TCPAddr).Port
	refused("choose another with --kafka-port")
	o.kafkaPort = 0
	s, err := Open(t.Context(), o, w, log)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	refused("another svc dev runs on " + o.data)
}
