package e2e

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// TestHealthOfAProcess causes the health failures that no other test causes: Redis does not respond to a reader, and
// a consumer group has no partition left for another member.
func TestHealthOfAProcess(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	kafka, redis := embedServers(t, func(string, []string) string {
		if away.Load() {
			return "LOADING Redis is loading the dataset in memory"
		}
		return ""
	})
	s := startSystemOn(t, kafka, redis, []string{"SVC_PARTITIONS=1"})
	says := func(private, check, want string) {
		t.Helper()
		eventually(t, time.Minute, func() error {
			if got := healthy(t, private)[check]; got != want {
				return fmt.Errorf("svc_healthy of %s is %q, want %q", check, got, want)
			}
			return nil
		})
	}
	for check, role := range map[string]string{"verdict": "process", "notify": "notify"} {
		first, private := s.member(role, "one")
		says(private, check, "1")
		second, spare := s.member(role, "two")
		says(spare, check, "0")
		first.stop()
		says(spare, check, "1")
		second.stop()
	}
	says(s.private, "redis", "1")
	away.Store(true)
	says(s.private, "redis", "0")
	away.Store(false)
	says(s.private, "redis", "1")
}

// member starts a role under an instance name.
func (s *system) member(role, instance string) (n *node, private string) {
	s.t.Helper()
	address := "127.0.0.1:" + mustFreePort(s.t)
	n = start(s.t, role, []string{role, "--instance", instance, "--private-listen", address}, append(s.env, "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef")...)
	n.await("http://" + address + "/healthz")
	return n, "http://" + address
}
