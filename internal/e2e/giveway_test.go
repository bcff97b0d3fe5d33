package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestGivesWay wants every thread of a command that reads the log to have the policy
// SCHED_IDLE, also those that were started later, unless -nice says otherwise.
func TestGivesWay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the commands do not give way") // docs/replay.md says so
	}
	d := startDev(t, t.TempDir(), "-ephemeral")
	say(t, newPartner(d.BaseURL, d.HospitalID, d.APIKey), 6)
	for policy, args := range map[string][]string{"5": nil, "0": {"-nice", "0"}} {
		n := start(t, "verify", append([]string{"verify", "-continuous", "-every", "1s", "-metrics", "127.0.0.1:0", "-data", d.dir}, args...))
		<-n.says("metrics on")
		threads, err := filepath.Glob("/proc/" + strconv.Itoa(n.cmd.Process.Pid) + "/task/*/stat")
		if err != nil || len(threads) < 3 {
			t.Fatalf("%d threads, %v", len(threads), err)
		}
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			if err != nil {
				continue // it has ended
			}
			_, fields, _ := strings.Cut(string(stat), ") ") // the second field is a name; proc_pid_stat(5) counts from 1
			if got := strings.Fields(fields)[41-3]; got != policy {
				t.Errorf("svc verify %v has a thread of policy %s, not %s", args, got, policy)
			}
		}
		n.kill()
	}
}
