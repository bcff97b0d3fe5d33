package e2e

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/ingest/mllp"
)

// TestMLLPOverTLS: only messages from a sender with the right client certificate are answered and applied. A peer is
// refused if it does not use TLS 1.2 or later, has no certificate, or has a certificate from a different authority or
// with a different name.
func TestMLLPOverTLS(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north")
	s.processor("p1")
	certs, ours := makeCertificates(t)
	_, theirs := makeCertificates(t)
	ca := filepath.Join(certs, "ca.pem")
	address, private := "127.0.0.1:"+mustFreePort(t), "127.0.0.1:"+mustFreePort(t)
	n := start(t, "mllps", []string{
		"ingest", "--listen", "127.0.0.1:0", "--private-listen", private,
		"--mllp", "addr=" + address + ",client=bridge.north.example,key=" + s.keyID("north"),
		"--mllp-tls-cert", filepath.Join(certs, "cert.pem"), "--mllp-tls-key", filepath.Join(certs, "key.pem"), "--mllp-tls-client-ca", ca,
	}, s.env...)
	n.await("http://" + private + "/readyz")

	right, certFile, keyFile := ours.bridge(t, "bridge.north.example")
	foreign, foreignCert, foreignKey := theirs.bridge(t, "bridge.north.example")
	other, _, _ := ours.bridge(t, "bridge.south.example")
	sender := &engine{address: func() string { return address }, secured: ours.trusted(right)}
	defer sender.close()
	if code, err := sender.send(arrival(1, time.Now())); err != nil || code != "AA" {
		t.Fatal(code, err)
	}
	for name, tt := range map[string]struct {
		secured *tls.Config // nil: plain TCP
		ended   string
	}{
		"no certificate":                  {ours.trusted(), "no_handshake"},
		"a certificate of others":         {ours.trusted(foreign), "no_handshake"},
		"no TLS":                          {nil, "no_handshake"},
		"TLS 1.1":                         {older(ours.trusted(right)), "no_handshake"},
		"a certificate with another name": {ours.trusted(other), "sender_refused"},
	} {
		before := strings.Count(n.logged(), `"ended":"`+tt.ended+`"`)
		if answer := offer(t, address, tt.secured, arrival(2, time.Now())); answer != "" {
			t.Errorf("%s: answered %q", name, answer)
		}
		eventually(t, 10*time.Second, func() error {
			if strings.Count(n.logged(), `"ended":"`+tt.ended+`"`) == before {
				return fmt.Errorf("%s: no line %s", name, tt.ended)
			}
			return nil
		})
	}
	// The accepted sender continues, and svc send is accepted as well.
	if code, err := sender.try(arrival(3, time.Now())); err != nil || code != "AA" {
		t.Errorf("after the refusals: %s %v", code, err)
	}
	for _, tt := range []struct {
		cert, key string
		codes     int
	}{{certFile, keyFile, 1}, {foreignCert, foreignKey, 0}} {
		cmd := exec.Command(binary(t), "send", "--json", "--to", "mllps://"+address, "--tls-ca", ca, "--tls-cert", tt.cert, "--tls-key", tt.key, "--retry-for", "100ms", "-")
		cmd.Stdin = strings.NewReader(arrival(4, time.Now()))
		out, _ := cmd.Output() //nolint:errcheck // the acknowledgments are checked below
		var got struct{ Codes map[string]int }
		if err := json.Unmarshal(out, &got); err != nil || got.Codes["AA"] != tt.codes {
			t.Errorf("svc send: %s %v", out, err)
		}
	}
	log := readApplied(t, s.kafka.address, s.prefix)
	if n := len(log.observations); n != 3 {
		t.Errorf("%d messages in the log, want those of the right sender, 3", n)
	}
}

// older limits TLS to versions before 1.2.
func older(c *tls.Config) *tls.Config {
	c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	return c
}

// offer sends a message on a new connection, and returns the answer. The server must close the
// connection.
func offer(t *testing.T, address string, secured *tls.Config, message string) string {
	t.Helper()
	raw, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err = raw.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	conn := raw
	if secured != nil {
		conn = tls.Client(raw, secured)
	}
	if _, err = conn.Write(mllp.Append(nil, []byte(message))); err != nil {
		return "" // the handshake failed
	}
	answer, err := io.ReadAll(conn)
	if err, ok := err.(net.Error); ok && err.Timeout() { //nolint:errorlint // the connection returns the error unwrapped
		t.Errorf("%v: the connection stays open", address)
	}
	if secured == nil && len(answer) > 0 && answer[0] == 0x15 {
		return "" // a TLS alert
	}
	return string(answer)
}
