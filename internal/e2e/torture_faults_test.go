package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/ory/dockertest/v3/docker"
	"github.com/twmb/franz-go/pkg/kadm"
)

// faultKind produces one kind of fault.
type faultKind struct {
	name       string
	impossible string                                                         // why the machine cannot produce the fault, or ""
	begin      func(r *rand.Rand) (what string, hold time.Duration, end undo) // end is nil if the target already has a fault
}

// undo ends a fault.
type undo func() error

// between returns a random duration from least to most, in whole milliseconds.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)/1e6+1))*time.Millisecond
}

// targets are the components that faults affect. A component has at most one fault at a time.
type targets struct {
	mu   sync.Mutex
	busy map[string]bool
}

// acquire reserves targets for a fault. It reserves none if one of them is busy.
func (t *targets) acquire(names ...string) (release func(), free bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range names {
		if t.busy[n] {
			return nil, false
		}
	}
	for _, n := range names {
		t.busy[n] = true
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, n := range names {
			delete(t.busy, n)
		}
	}, true
}

// faultKinds returns all kinds of faults.
func (x *torture) faultKinds() []*faultKind {
	var all []*faultKind
	for _, role := range []string{"ingest", "process", "read", "notify"} {
		all = append(all,
			x.memberFault("kill "+role, role, 0, 15*time.Second, (*member).kill, (*member).restart),
			x.memberFault("pause "+role, role, time.Second, 25*time.Second,
				func(m *member) error { return m.signal(syscall.SIGSTOP) }, func(m *member) error { return m.signal(syscall.SIGCONT) }))
	}
	disk, network, clock := "", "", ""
	if x.servers.brokers[0].disk == "" {
		disk = "no right to mount a file system"
	}
	if err := x.servers.brokers[0].inNetwork("iptables", "-w", "-S"); err != nil {
		network = err.Error()
	}
	if !x.steps {
		clock = "svc was not built with a clock that steps"
	}
	return append(all,
		x.brokerFault("kill broker", "", 0, 15*time.Second, (*tortureBroker).killNow, (*tortureBroker).run),
		x.brokerFault("pause broker", "", time.Second, 25*time.Second, (*tortureBroker).freeze, (*tortureBroker).thaw),
		x.allBrokers(),
		x.brokerFault("full disk", disk, 2*time.Second, 20*time.Second, (*tortureBroker).fillDisk, (*tortureBroker).emptyDisk),
		x.slowDisk(disk),
		x.networkFault("packet loss", network, func(r *rand.Rand, _ []string) [][]string {
			return [][]string{{"-m", "statistic", "--mode", "random", "--probability", strconv.FormatFloat(0.05+0.4*r.Float64(), 'f', 2, 64)}}
		}),
		x.networkFault("partition", network, x.cut),
		x.missingRights(), x.expiredCertificate(network),
		x.redisFault("kill redis", 0, 10*time.Second, x.killRedis),
		x.redisFault("pause redis", time.Second, 10*time.Second, x.pauseRedis),
		x.redisFault("lagging replica", time.Second, 10*time.Second, x.failOver),
		x.clockStep(clock),
	)
}

// memberFault returns a kind of fault that affects one instance of a role, or sometimes both instances.
func (x *torture) memberFault(name, role string, least, most time.Duration, do, undone func(*member) error) *faultKind {
	return &faultKind{name: name, begin: func(r *rand.Rand) (string, time.Duration, undo) {
		var chosen []*member
		for _, m := range x.members {
			if m.role == role {
				chosen = append(chosen, m)
			}
		}
		if r.IntN(4) > 0 {
			one := r.IntN(len(chosen))
			chosen = chosen[one : one+1]
		}
		var names []string
		for _, m := range chosen {
			names = append(names, m.name)
		}
		release, free := x.targets.acquire(names...)
		if !free {
			return "", 0, nil
		}
		each := func(f func(*member) error) (err error) {
			for _, m := range chosen {
				err = errors.Join(err, f(m))
			}
			return err
		}
		x.check(each(do))
		return fmt.Sprint(names), between(r, least, most), func() error { defer release(); return each(undone) }
	}}
}

// brokerFault returns a kind of fault that affects one broker.
func (x *torture) brokerFault(name, impossible string, least, most time.Duration, do, undone func(*tortureBroker) error) *faultKind {
	return &faultKind{name: name, impossible: impossible, begin: func(r *rand.Rand) (string, time.Duration, undo) {
		b := x.servers.brokers[r.IntN(3)]
		release, free := x.targets.acquire(b.name())
		if !free {
			return "", 0, nil
		}
		x.check(do(b))
		return b.name(), between(r, least, most), func() error { defer release(); return undone(b) }
	}}
}

func (b *tortureBroker) name() string { return fmt.Sprintf("broker-%d", b.id) }

func (b *tortureBroker) killNow() error { return b.server.killNow() }
func (b *tortureBroker) run() error     { return b.server.run() }
func (b *tortureBroker) freeze() error  { return b.server.freeze() }
func (b *tortureBroker) thaw() error    { return b.server.thaw() }

// ignoreNotRunning drops Docker's errors about a container that is not running or not paused.
func ignoreNotRunning(err error) error {
	var answer *docker.Error
	if errors.As(err, &answer) && (answer.Status == 409 || answer.Status == 500) {
		return nil
	}
	return err
}

// allBrokers returns the fault that kills every broker.
func (x *torture) allBrokers() *faultKind {
	return &faultKind{name: "all brokers", begin: func(r *rand.Rand) (string, time.Duration, undo) {
		if r.IntN(3) > 0 { // less often than the other faults, because this fault hides them
			return "", 0, nil
		}
		release, free := x.targets.acquire("broker-1", "broker-2", "broker-3")
		if !free {
			return "", 0, nil
		}
		for _, b := range x.servers.brokers {
			x.check(b.killNow())
		}
		return "all", between(r, 0, 10*time.Second), func() (err error) {
			defer release()
			for _, b := range x.servers.brokers {
				err = errors.Join(err, b.run())
			}
			return err
		}
	}}
}

// fillDisk fills the disk of a broker completely. A broker that notices the full disk stops. emptyDisk frees the space
// and restarts the broker.
func (b *tortureBroker) fillDisk() error {
	file, err := os.OpenFile(filepath.Join(b.disk, "full"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	var end int64
	for size := int64(1 << 30); size >= 4096; {
		if err := syscall.Fallocate(int(file.Fd()), 0, end, size); err != nil {
			size /= 2
			continue
		}
		end += size
	}
	return nil
}

func (b *tortureBroker) emptyDisk() error {
	return errors.Join(os.Remove(filepath.Join(b.disk, "full")), b.run())
}

// slowDisk returns the fault that stalls the file system of a broker repeatedly. During a stall, which lasts up to
// 1.5 s, each write waits, and so does each read of data that is not in memory.
func (x *torture) slowDisk(impossible string) *faultKind {
	return &faultKind{name: "slow disk", impossible: impossible, begin: func(r *rand.Rand) (string, time.Duration, undo) {
		b := x.servers.brokers[r.IntN(3)]
		release, free := x.targets.acquire(b.name())
		if !free {
			return "", 0, nil
		}
		stop, done := make(chan struct{}), make(chan error, 1)
		stall, pause := between(r, 50*time.Millisecond, 1500*time.Millisecond), between(r, 20*time.Millisecond, 200*time.Millisecond)
		go func() {
			for {
				if err := exec.Command("fsfreeze", "--freeze", b.disk).Run(); err != nil {
					done <- fmt.Errorf("fsfreeze: %w", err)
					return
				}
				<-time.After(stall)
				if err := exec.Command("fsfreeze", "--unfreeze", b.disk).Run(); err != nil {
					done <- fmt.Errorf("fsfreeze: %w", err)
					return
				}
				select {
				case <-stop:
					done <- nil
					return
				case <-time.After(pause):
				}
			}
		}()
		return fmt.Sprintf("%s %v of %v", b.name(), stall, stall+pause), between(r, 3*time.Second, 20*time.Second), func() error {
			defer release()
			close(stop)
			return errors.Join(<-done, b.run())
		}
	}}
}

// missingRights returns the fault that revokes the permissions in one row of docs/configuration.md, and later grants
// them again.
func (x *torture) missingRights() *faultKind {
	return &faultKind{name: "missing rights", begin: func(r *rand.Rand) (string, time.Duration, undo) {
		release, free := x.targets.acquire("rights")
		if !free {
			return "", 0, nil
		}
		all := rights(x.prefix)
		n, hold := r.IntN(len(all)), between(r, time.Second, 20*time.Second)
		again := func() error { return until(3*time.Minute, func() error { return x.servers.grant(all[n]) }) }
		if err := x.servers.admin(func(ctx context.Context, admin *kadm.Client) error {
			_, err := admin.DeleteACLs(ctx, all[n])
			return err
		}); err != nil { // no broker responds
			x.check(again())
			release()
			return "", 0, nil
		}
		return fmt.Sprintf("row %d", n), hold, func() error { defer release(); return again() }
	}}
}

func (s *tortureServers) grant(b *kadm.ACLBuilder) error {
	return s.admin(func(ctx context.Context, admin *kadm.Client) error {
		created, err := admin.CreateACLs(ctx, b)
		for _, c := range created {
			err = errors.Join(err, c.Err)
		}
		return err
	})
}

// clockStep returns the fault that sets the clock of an instance up to five minutes ahead or back, and later resets
// it.
func (x *torture) clockStep(impossible string) *faultKind {
	return &faultKind{name: "clock step", impossible: impossible, begin: func(r *rand.Rand) (string, time.Duration, undo) {
		m := x.members[r.IntN(len(x.members))]
		release, free := x.targets.acquire("clock of " + m.name)
		if !free {
			return "", 0, nil
		}
		by := 5 * time.Minute
		if r.IntN(2) > 0 {
			by = between(r, time.Second, by).Truncate(time.Second)
		}
		if r.IntN(2) > 0 {
			by = -by
		}
		x.check(m.stepClock(by))
		return fmt.Sprintf("%s %v", m.name, by), between(r, time.Second, 30*time.Second), func() error {
			defer release()
			return m.stepClock(0)
		}
	}}
}
