package verdict

import "container/heap"

// timers is a heap of hospitals by due instant, earliest first.
type timers []*hospitalEntry

func (t timers) Len() int           { return len(t) }
func (t timers) Less(a, b int) bool { return t[a].due < t[b].due }
func (t timers) Swap(a, b int)      { t[a], t[b] = t[b], t[a]; t[a].index, t[b].index = a, b }
func (t *timers) Push(x any)        { h := x.(*hospitalEntry); h.index = len(*t); *t = append(*t, h) } //nolint:errcheck // container/heap gives back what it was given

func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	last.index = -1
	return last
}

// schedule sets the timer of a hospital to the due instant of its unit.
func (t *task) schedule(h *hospitalEntry) {
	due := h.unit.Due()
	switch {
	case due == h.due && (due == 0) == (h.index < 0):
	case due == 0:
		heap.Remove(&t.timers, h.index)
		h.due = 0
	case h.index < 0:
		h.due = due
		heap.Push(&t.timers, h)
	default:
		h.due = due
		heap.Fix(&t.timers, h.index)
	}
}
