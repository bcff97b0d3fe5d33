package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// schedIdle is the policy of Linux for what runs only where nobody else wants the
// processor, and is put aside at once when somebody does (sched(7)). A nice value
// alone leaves a share, and a sender then waits until that share is used up.
const schedIdle = 5

// giveWay lowers the priority of the process, and of the session that it leads;
// with leastPriority it takes only what nobody else wants, on half of the
// processors: to be put aside still costs others a moment. It is best effort.
func giveWay(nice int) {
	if nice == 0 {
		return
	}
	if grouped() && leads() {
		weighLess(nice)
	}
	lower(nice)
	if nice == leastPriority {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/2, 1))
	}
}

// stepAside prepares for giveWay where each session is a group of its own for the
// scheduler (sched(7), autogroup). There the sessions share the processors alike,
// and a broker in another one gets half of them whatever priority we have in ours.
// So a process that does not lead its session runs the command anew in one that it
// leads; the error is then the exitCode of that.
func stepAside(ctx context.Context, nice int) error {
	if nice == 0 || !grouped() || leads() {
		return nil
	}
	return apart(ctx)
}

// leads reports whether the process is the first of its session.
func leads() bool {
	sid, _, fault := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	return fault == 0 && int(sid) == os.Getpid()
}

// grouped reports whether each session is a group of its own for the scheduler.
func grouped() bool {
	on, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled")
	return err == nil && strings.TrimSpace(string(on)) == "1"
}

// weighLess lowers the weight of the session. The kernel wants a tenth of a second
// between two such changes by whoever is not root.
func weighLess(nice int) {
	for range 5 {
		err := os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(nice)), 0)
		if !errors.Is(err, syscall.EAGAIN) {
			return
		}
		time.Sleep(100 * time.Millisecond) // there is nothing to wait on
	}
}

// apart runs this command in a session of its own, which ends with this process,
// and returns how it ended.
func apart(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the other process ends with the thread that began it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...) //nolint:gosec // the command line that we got
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); cmd.ProcessState == nil {
		return err
	}
	if status, is := cmd.ProcessState.Sys().(syscall.WaitStatus); is && status.Signaled() {
		return exitCode(128 + int(status.Signal())) // as a shell has it
	}
	return exitCode(cmd.ProcessState.ExitCode())
}

// lower has all threads take only so much of the processor. Each has a priority
// of its own, which those that it starts inherit.
func lower(nice int) {
	done := map[int]bool{}
	for more := true; more; { // a thread that was not asked yet may have started another
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		more = false
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil || done[id] {
				continue
			}
			done[id], more = true, true
			syscall.Setpriority(syscall.PRIO_PROCESS, id, nice) //nolint:errcheck // best effort
			if nice == leastPriority {
				none := int32(0)                                                                                        // struct sched_param
				syscall.Syscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(id), schedIdle, uintptr(unsafe.Pointer(&none))) //nolint:errcheck,gosec // likewise
			}
		}
	}
}

// watchOthers notes whether others use the processors, until ctx ends.
func watchOthers(ctx context.Context, others *atomic.Bool) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before, own := usage()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, used := usage()
		others.Store(othersWork(before, now, used-own))
		before, own = now, used
	}
}

const (
	watchEvery = 200 * time.Millisecond
	// othersShare of all processors is more than a broker takes to hand out what is read.
	othersShare = 0.125
)

// usage is what /proc/stat says of all processors, and what this process has used.
func usage() (all string, own time.Duration) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return "", 0
	}
	all, _, _ = strings.Cut(string(stat), "\n")
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return "", 0
	}
	return all, time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// othersWork reports whether, between two lines of proc_stat(5), others than we used
// more than othersShare of all processors.
func othersWork(before, now string, own time.Duration) bool {
	const tick = 10 * time.Millisecond // USER_HZ is 100 everywhere
	var busy, all time.Duration
	from, to := strings.Fields(before), strings.Fields(now)
	for i := 1; i < min(len(from), len(to), 9); i++ { // guests are part of user
		a, err := strconv.ParseInt(from[i], 10, 64)
		b, err2 := strconv.ParseInt(to[i], 10, 64)
		if err != nil || err2 != nil {
			return false
		}
		spent := time.Duration(b-a) * tick
		all += spent
		if i != 4 && i != 5 { // idle, or waiting for a disk
			busy += spent
		}
	}
	return float64(busy-own) > othersShare*float64(all)
}
