package main

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// schedIdle is the policy of Linux for what runs only where nobody else wants the
// processor, and is put aside at once when somebody does (sched(7)). A nice value
// alone leaves a share, and a sender then waits until that share is used up.
const schedIdle = 5

// giveWay lowers the priority of the process; with leastPriority it takes only
// what nobody else wants. On Linux each thread has its own, which those that it
// starts inherit. It is best effort.
func giveWay(nice int) {
	if nice == 0 {
		return
	}
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
