package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestGivesWay wants every thread of a command that reads the log to have the policy
// SCHED_IDLE, also those that were started later, unless --nice says otherwise; and
// where sessions share the processor alike, to be of a session of the least weight,
// which ends with the command.
func TestGivesWay(t *testing.T) {
	d := startDev(t, t.TempDir(), "--ephemeral")
	say(t, newPartner(d.BaseURL, d.HospitalID, d.APIKey), 6)
	sessions, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled")
	grouped := err == nil && string(sessions) == "1\n"
	for policy, args := range map[string][]string{"5": nil, "0": {"--nice", "0"}} {
		n := start(t, "verify", append([]string{"verify", "--continuous", "--every", "1s", "--metrics", "127.0.0.1:0", "--data", d.dir}, args...))
		<-n.says("metrics on")
		pid := n.cmd.Process.Pid
		if grouped && args == nil {
			children := childrenOf(t, pid)
			if len(children) != 1 {
				t.Fatalf("svc verify runs %d others, not itself in a session of its own", len(children))
			}
			pid = children[0]
			if weight, err := os.ReadFile(process(pid, "autogroup")); err != nil || !strings.HasSuffix(string(weight), " nice 19\n") {
				t.Errorf("its session weighs %q, %v", weight, err)
			}
			if weight, err := os.ReadFile("/proc/self/autogroup"); err != nil || strings.HasSuffix(string(weight), " nice 19\n") {
				t.Errorf("that of the test weighs %q, %v", weight, err)
			}
		}
		threads, err := filepath.Glob(process(pid, "task/*/stat"))
		if err != nil || len(threads) < 3 {
			t.Fatalf("%d threads, %v", len(threads), err)
		}
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			if err != nil {
				continue // it has ended
			}
			if got := fields(stat)[41-3]; got != policy { // proc_pid_stat(5) counts from 1
				t.Errorf("svc verify %v has a thread of policy %s, not %s", args, got, policy)
			}
		}
		n.kill()
		eventually(t, 10*time.Second, func() error {
			if stat, err := os.ReadFile(process(pid, "stat")); err == nil && fields(stat)[0] != "Z" {
				return os.ErrExist
			}
			return nil
		})
	}
}

// TestApart wants a command that runs in a session of its own to end as it would
// without, and to be stopped as that.
func TestApart(t *testing.T) {
	d := startDev(t, t.TempDir(), "--ephemeral")
	say(t, newPartner(d.BaseURL, d.HospitalID, d.APIKey), 6)
	for want, args := range map[int][]string{
		0: {"replay", "--data", d.dir},
		1: {"verify", "--hospital", "nobody", "--data", d.dir},
		2: {"export", "--topic", "nothing", "--out", "-", "--data", d.dir},
	} {
		n := start(t, args[0], args)
		<-n.exited
		if got := n.cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%v ended with code %d, not %d", args, got, want)
		}
	}
	n := start(t, "verify", []string{"verify", "--continuous", "--metrics", "127.0.0.1:0", "--data", d.dir})
	<-n.says("metrics on")
	n.stop()
	if got := n.cmd.ProcessState.ExitCode(); got != 0 {
		t.Errorf("a verify that was asked to end did so with code %d", got)
	}
}

func process(pid int, file string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), file)
}

// fields are those of a stat of proc_pid_stat(5) after the second, which is a name
// and may hold blanks.
func fields(stat []byte) []string {
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(after)
}

func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil || fields(stat)[1] != strconv.Itoa(pid) {
			continue // it has ended, or is nobody's of ours
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	return children
}
