//go:build unix

package statefulset

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// leaveSignal is the signal that asks a process to leave its groups when the process stops.
const leaveSignal = syscall.SIGUSR1

// Leaving listens for leaveSignal. It returns a function that reports whether the signal was received.
func Leaving() func() bool {
	var asked atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, leaveSignal)
	go func() {
		<-signals
		asked.Store(true)
	}()
	return asked.Load
}

// askToLeave sends leaveSignal to a process.
func askToLeave(process int) error {
	if err := syscall.Kill(process, leaveSignal); err != nil {
		return fmt.Errorf("signal process %d: %w", process, err)
	}
	return nil
}
