package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The number of starts, kills and reads in these tests can be set with environment variables:
//
//	SVC_STARTS=200   starts of svc dev, and of each role on real servers. Each process gets
//	                 a signal at a random moment of its first two seconds. If SVC_STARTS is
//	                 set, the process must exit within 2 s. Otherwise, the limit is 20 s,
//	                 because the machine may be busy; a process that hangs exceeds any limit.
//	SVC_FRESH=100    starts of all roles at once on three brokers (TestFreshBrokers).
//	SVC_KILLS=30     kills of svc dev (TestKillDev).
//	SVC_READS=10000  reads after a write (TestReadHoldsWrite, TestReadHoldsWriteOnServers).
const (
	startsOfDev   = 16
	startsOfRoles = 6 // of each role
	startsFresh   = 2
	killsOfDev    = 10
	readsOfDev    = 2000
	readsOfRoles  = 4000
	startWithin   = 2 * time.Second // the signal is sent within this time
)

// howOften returns the number in an environment variable, or preset if the variable is not set.
func howOften(t testing.TB, variable string, preset int) (n int, asked bool) {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		return preset, false
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		t.Fatalf("%s must be a number above 0", variable)
	}
	return n, true
}

// stopping starts svc repeatedly, and stops each process at a random moment.
type stopping struct {
	t       *testing.T
	random  *rand.Rand
	within  time.Duration // maximum time from the signal to the exit
	slowest time.Duration
	early   int // number of processes that were killed by the signal, because they had not yet installed a signal handler
}

func newStopping(t *testing.T, asked bool) *stopping {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &stopping{t: t, random: rand.New(rand.NewPCG(seed, 0)), within: 20 * time.Second}
	if asked {
		s.within = startWithin
	}
	t.Cleanup(func() { t.Logf("the slowest stop took %v; %d ended before they had begun", s.slowest, s.early) })
	return s
}

// once starts svc and stops it at a random moment. svc must exit in time with code 0 and without an error in its log.
func (s *stopping) once(name string, args []string, env ...string) {
	s.t.Helper()
	n := start(s.t, name, args, env...)
	moment := time.Duration(s.random.Int64N(int64(startWithin)))
	signal := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[s.random.IntN(2)]
	select {
	case <-n.exited:
		s.t.Fatalf("%s ended unexpectedly before the signal at %v:\n%s", name, moment, tail(n.logged(), 20))
	case <-time.After(moment):
	}
	if err := n.cmd.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
	asked := startWatch()
	select {
	case <-n.exited:
	case <-after(s.within):
		n.cmd.Process.Signal(syscall.SIGQUIT) // dumps the goroutines
		<-n.exited
		s.t.Fatalf("%s, signal %v after %v: still there %v later\n%s", name, signal, moment, s.within, tail(n.logged(), 400))
	}
	s.slowest = max(s.slowest, asked.elapsed())
	status := n.cmd.ProcessState.Sys().(syscall.WaitStatus) //nolint:forcetypeassert,errcheck // Unix uses this type
	switch {
	case status.Signaled() && status.Signal() == signal && n.logged() == "":
		s.early++ // the process did not handle signals yet, so the signal killed it
	case n.cmd.ProcessState.ExitCode() != 0:
		s.t.Errorf("%s, signal %v after %v: %v\n%s", name, signal, moment, n.cmd.ProcessState, tail(n.logged(), 20))
	case strings.Contains(n.logged(), `"level":"ERROR"`):
		s.t.Errorf("%s, signal %v after %v: errors in its log\n%s", name, signal, moment, tail(n.logged(), 20))
	}
}

// TestDevStopsWhileItStarts signals svc dev at random moments of its start, with a fresh folder and with the folder of
// an earlier interrupted start.
func TestDevStopsWhileItStarts(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	n, asked := howOften(t, "SVC_STARTS", startsOfDev)
	s := newStopping(t, asked)
	dir := t.TempDir()
	for i := range n {
		if i%4 == 0 {
			dir = t.TempDir()
		}
		s.once(fmt.Sprintf("dev %d", i), []string{"dev", "--data", dir, "--listen", "127.0.0.1:0"})
	}
	startDev(t, dir).stop() // the folder is still usable
}

// TestRolesStopWhileTheyStart repeats TestDevStopsWhileItStarts with each role on real servers. In
// every other start the topics already exist.
func TestRolesStopWhileTheyStart(t *testing.T) {
	t.Parallel()
	kafka, redis := needServers(t)
	n, asked := howOften(t, "SVC_STARTS", startsOfRoles)
	for _, role := range []string{"ingest", "process", "read", "notify", "run"} {
		t.Run(role, func(t *testing.T) {
			s := newStopping(t, asked)
			for i := range n {
				prefix := fmt.Sprintf("stop%d-%d.", time.Now().Unix(), systems.Add(1))
				if i%2 == 0 {
					prefix = "stop-" + role + "."
				}
				args := []string{role, "--private-listen", "127.0.0.1:0"}
				if role != "process" && role != "notify" {
					args = append(args, "--listen", "127.0.0.1:0")
				}
				if role != "ingest" && role != "read" {
					args = append(args, "--instance", "one")
				}
				s.once(fmt.Sprintf("%s %d", role, i), args,
					"SVC_KAFKA="+kafka.address, "SVC_REDIS=redis://"+redis.address+"/0", "SVC_TOPIC_PREFIX="+prefix,
					"SVC_PARTITIONS=2", "SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef")
				if i%2 == 1 {
					deleteTopics(t, kafka.address, prefix)
				}
			}
		})
	}
}

// deleteTopics deletes the topics of a start, so that they do not accumulate over hundreds of starts.
func deleteTopics(t testing.TB, kafka, prefix string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(kafka, ",")...), kgo.AlwaysRetryEOF())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	admin := kadm.NewClient(client)
	all, err := admin.ListTopics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var mine []string
	for name := range all {
		if strings.HasPrefix(name, prefix) {
			mine = append(mine, name)
		}
	}
	if len(mine) > 0 {
		if _, err := admin.DeleteTopics(ctx, mine...); err != nil {
			t.Fatal(err)
		}
	}
}
