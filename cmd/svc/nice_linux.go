package main

import (
	"os"
	"strconv"
	"syscall"
)

// giveWay lowers the priority of the process. On Linux each thread has its own,
// which those that it starts inherit. It is best effort.
func giveWay(nice int) {
	if nice == 0 {
		return
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, task := range tasks {
		if id, err := strconv.Atoi(task.Name()); err == nil {
			syscall.Setpriority(syscall.PRIO_PROCESS, id, nice) //nolint:errcheck // best effort
		}
	}
}
