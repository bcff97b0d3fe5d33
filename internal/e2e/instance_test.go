package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// pairs is the number of pairs of processes with the same name, unless SVC_PAIRS is set.
const pairs = 5

// TestSecondOfTheSameInstance starts processes with the same instance name in succession. Each time, the older
// process must exit with code 1 and log the reason. The newer process must become ready and, if it is a processor,
// apply a write.
func TestSecondOfTheSameInstance(t *testing.T) {
	t.Parallel()
	for _, roles := range [][]string{{"process"}, {"notify"}, {"run", "process,notify"}} {
		t.Run(roles[0], func(t *testing.T) {
			s := startSystem(t, "north")
			n, _ := howOften(t, "SVC_PAIRS", pairs)
			older, ready := s.named(roles)
			ready()
			for i := range n {
				newer, ready := s.named(roles)
				if i%2 == 0 {
					ready()
				}
				select {
				case <-older.exited:
				case <-newer.exited:
					t.Fatalf("pair %d: the newer one ended", i)
				case <-after(time.Minute):
					t.Fatalf("pair %d: none ended", i)
				}
				if code := older.cmd.ProcessState.ExitCode(); code != 1 {
					t.Errorf("pair %d: exit code %d", i, code)
				}
				if last := tail(older.logged(), 1); !strings.Contains(last, "a newer process has the same --instance, so this process stops") {
					t.Errorf("pair %d: the last line is %q", i, last)
				}
				ready()
				if roles[0] != "notify" {
					s.partners[0].applied(t, i+1)
				}
				older = newer
			}
			older.stop()
		})
	}
}

// TestInstanceOfTwoRoles runs a svc process and a svc notify with the same name, like two services on one machine. Both
// continue.
func TestInstanceOfTwoRoles(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north")
	process, processReady := s.named([]string{"process"})
	notify, notifyReady := s.named([]string{"notify"})
	processReady()
	notifyReady()
	s.partners[0].applied(t, 1)
	process.stop()
	notify.stop()
}

// named starts one process with the given roles. All processes that named starts have the same instance name. The
// function ready waits until the process is ready, apart from its view.
func (s *system) named(roles []string) (n *node, ready func()) {
	s.t.Helper()
	private := "127.0.0.1:" + mustFreePort(s.t)
	n = start(s.t, roles[0], append(roles, "--instance", "one", "--private-listen", private), append(s.env, "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef")...)
	return n, func() { s.t.Helper(); n.await("http://" + private + "/readyz?exclude=view") }
}

// applied sends a number of nurses on duty repeatedly until a response reports that the number has been applied.
func (p *partner) applied(t *testing.T, nurses int) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		a, err := p.do("POST", "/api/ingest/staffing", "application/json", fmt.Sprintf(`{"nursesOnDuty": %d, "callStaffAvailable": true}`, nurses))
		if err != nil {
			return err
		}
		if a.status != 200 || !strings.Contains(string(a.raw), `"applied":true`) {
			return fmt.Errorf("%d %s", a.status, a.raw)
		}
		return nil
	})
}
