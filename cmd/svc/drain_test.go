package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/ingest"
	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/lifecycle"
)

// front starts a server with the routes of svc ingest and the routes that every process has. It returns a connection
// to the server and the token of a key with the given scopes.
func front(t *testing.T, scopes ...access.Scope) (conn net.Conn, token string) {
	t.Helper()
	key, token := access.Mint(access.Key{Hospital: "north", Scopes: scopes}, time.Now())
	shell := &httpapi.Shell{
		Now: time.Now, Lookup: func(presented string) (access.Key, bool) { return key, presented == token },
		Log: slog.New(slog.DiscardHandler),
	}
	h := &service{config: &config.Config{}, shell: shell, now: time.Now, Process: &lifecycle.Process{Health: lifecycle.NewHealth(nil, nil)}}
	h.createRouter()
	ingest.Mount(h.router, ingest.Config{Shell: shell, Log: noLog{}, Zone: func(string) *time.Location { return time.UTC }})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lifecycle.Server{Handler: h.router, Listener: listener, Within: time.Second}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if fault := <-ended; fault != nil {
			t.Error(fault)
		}
	})
	if conn, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err = conn.SetDeadline(time.Now().Add(time.Minute)); err != nil { // fails the test if the connection hangs
		t.Fatal(err)
	}
	return conn, token
}

// TestRefusedBodiesAreRead: a client may send the whole body before it reads the response. It must then get a response,
// no matter how early the request was refused, and the connection must remain open.
func TestRefusedBodiesAreRead(t *testing.T) {
	const large = 12 << 20
	length := fmt.Sprintf("Content-Length: %d\r\n", large)
	plain := strings.Repeat(" ", large)
	const piece = 64 << 10
	chunked := strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", piece, strings.Repeat(" ", piece)), large/piece) + "0\r\n\r\n"
	for name, c := range map[string]struct {
		path, header, body string
		stranger           bool
		scope              access.Scope
		status             int
	}{
		"too long, as it says": {"staffing", length, plain, false, access.IngestStaffing, 413},
		"too long, in chunks":  {"staffing", "Transfer-Encoding: chunked\r\n", chunked, false, access.IngestStaffing, 413},
		"of FHIR":              {"fhir", "Accept: application/fhir+json\r\nContent-Type: text/plain\r\n" + length, plain, false, access.IngestFHIR, 415},
		"of another type":      {"batch", "Content-Type: text/plain\r\n" + length, plain, false, access.IngestBatch, 415},
		"without a key":        {"batch", length, plain, true, access.IngestBatch, 401},
		"without the scope":    {"batch", length, plain, false, access.ReadStatus, 403},
		"of no path":           {"nowhere", length, plain, false, access.IngestBatch, 404},
		"that nobody sends":    {"staffing", "Expect: 100-continue\r\n" + length, "", false, access.IngestStaffing, 413},
		"nor a stranger":       {"staffing", "Expect: 100-continue\r\n" + length, "", true, access.IngestStaffing, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, token := front(t, c.scope)
			if c.stranger {
				token = "svc_none"
			}
			request := "POST /api/ingest/" + c.path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n" + c.header + "\r\n" + c.body
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatalf("the connection ended before the body was sent: %v", err)
			}
			reader := bufio.NewReader(conn)
			answer, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || answer.StatusCode != c.status || !strings.HasPrefix(string(text), `{"protocol":"svc.v1","ok":false,`) && !strings.HasPrefix(string(text), `{"resourceType":"OperationOutcome"`) {
				t.Errorf("%d %v %s, want %d", answer.StatusCode, err, text, c.status)
			}
			if c.body == "" {
				return
			}
			if _, err = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if answer, err = http.ReadResponse(reader, nil); err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("the next request: %v %v", answer, err)
			}
		})
	}
}
