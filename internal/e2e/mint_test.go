package e2e

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// TestKeysMintedAtOnce starts eight commands at once that each mint a key. The commands take turns, and none fails.
func TestKeysMintedAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir, "--ephemeral")
	mintAtOnce(t, []string{"--data", dir, "--hospital", d.HospitalID}, nil)
}

func TestKeysMintedAtOnceOnServers(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north")
	mintAtOnce(t, []string{"--hospital", "north"}, s.env)
}

func mintAtOnce(t *testing.T, args, env []string) {
	t.Helper()
	const processes = 8
	var all sync.WaitGroup
	for range processes {
		cmd := exec.Command(binary(t), append([]string{"keys", "mint", "--name", "at once", "--scopes", "read:status"}, args...)...)
		cmd.Env = append(cmd.Environ(), env...)
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "svc_") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	made := 0
	for _, k := range items[struct{ Name string }](t, cli(t, env, append([]string{"keys", "list", "--json"}, args...)...)) {
		if k.Name == "at once" {
			made++
		}
	}
	if made != processes {
		t.Errorf("%d keys are listed, want %d", made, processes)
	}
}
