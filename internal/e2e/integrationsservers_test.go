package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestPagesOnServersOfAdministrators runs every task of the administrator pages on a real Kafka and
// Redis, where svc read serves the pages and svc ingest executes their requests.
func TestPagesOnServersOfAdministrators(t *testing.T) {
	t.Parallel()
	needServers(t)
	b := startBrowser(t)
	relay := startRelay(t)
	hook := &flowHook{refuses: map[string]bool{}, got: map[string]int{}}
	var ca string
	hook.Server, ca = serveHTTPS(t, hook)
	read, private := "127.0.0.1:"+mustFreePort(t), "127.0.0.1:"+mustFreePort(t)
	s := startSystemWith(t, []string{
		"SVC_EGRESS_ALLOW=north=" + hook.Listener.Addr().String(), "SVC_SECRETS_KEY=a key for tests, 32 characters and more", "SVC_PUBLIC_URL=http://" + read,
	}, "north")
	s.processor("p1")
	told := "127.0.0.1:" + mustFreePort(t)
	notify := start(t, "notify", []string{
		"notify", "--instance", "n1", "--private-listen", told, "--egress-ca-file", ca,
		"--smtp-host", "127.0.0.1", "--smtp-port", relay.port, "--smtp-ca", relay.ca, "--smtp-from", "svc@north.example", "--smtp-user", "svc", "--smtp-password", "secret",
	}, s.env...)
	pages := start(t, "read", []string{"read", "--listen", read, "--private-listen", private, "--ingest-url", s.base}, s.env...)
	notify.await("http://" + told + "/readyz")
	w := &ward{partner: s.partners[0], env: s.env}
	eventually(t, 30*time.Second, func() error { // until the processor is assigned its partitions
		if a := w.post(t, "census", census(t, 8, "labor-standard", "pp-couplet", "empty")); a.status != http.StatusOK {
			return fmt.Errorf("%d %s", a.status, a.raw)
		}
		return nil
	})
	w.sendUnknownCodes(t)
	pages.await("http://" + private + "/readyz")
	f := &flowing{view: b.window(t, "http://"+read, hands[0].as), hand: hands[0], ward: w, kafka: s.kafka.address, prefix: s.prefix, hook: hook}
	f.all(t, func() string { return s.front.logged() + notify.logged() + pages.logged() })
}
