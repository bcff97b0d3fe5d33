package notifier

import (
	"container/heap"
	"time"
)

// timer calls a function at an instant. Its owner sets it again or stops it; the zero
// value is not set.
type timer struct {
	at    time.Time
	do    func()
	index int // in the heap, from 1; 0: not set
}

// timers is a heap, earliest first.
type timers []*timer

func (t *timers) set(x *timer, at time.Time, do func()) {
	x.do = do
	if x.index > 0 {
		if !x.at.Equal(at) {
			x.at = at
			heap.Fix(t, x.index-1)
		}
		return
	}
	x.at = at
	heap.Push(t, x)
}

func (t *timers) stop(x *timer) {
	if x.index > 0 {
		heap.Remove(t, x.index-1)
	}
	x.do = nil
}

func (t *timers) next() (at time.Time, any bool) {
	if len(*t) == 0 {
		return at, false
	}
	return (*t)[0].at, true
}

// fire calls the functions that are due.
func (t *timers) fire(now time.Time) {
	for len(*t) > 0 && !(*t)[0].at.After(now) {
		x := (*t)[0]
		heap.Pop(t)
		do := x.do
		x.do = nil
		do()
	}
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(a, b int) bool { return t[a].at.Before(t[b].at) }
func (t timers) Swap(a, b int)      { t[a], t[b] = t[b], t[a]; t[a].index, t[b].index = a+1, b+1 }

// Push is called by container/heap.
func (t *timers) Push(x any) {
	one := x.(*timer) //nolint:errcheck // container/heap gives back what it was given
	*t = append(*t, one)
	one.index = len(*t)
}

// Pop is called by container/heap.
func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	x.index = 0
	return x
}
