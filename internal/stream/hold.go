package stream

import "time"

// Holder is a [Task] that shows others its state as it becomes durable, and may
// put that off where what is shown is old at once.
type Holder interface {
	Task
	// Hold is called before each Outputs. True: what this transaction changes need
	// not be shown yet, for inputs of the partition lie in the log that lead to
	// another Outputs soon. What was put off is shown with the next that is not.
	Hold(bool)
}

const (
	// longBehind is so many inputs not yet applied that they take longer than
	// anything is held back: who waits for the last of them waits no longer for it.
	longBehind = 50_000
	holdAtMost = time.Second // the state that others see is that old at most, beside being behind
)

// hold tells a task that is about to be asked for its outputs whether others may
// hear of them later. That is only so while inputs are left that are sure to come,
// which cannot be told of a log with gaps.
func (l *loop) hold(p *part, now time.Time) {
	task, ok := p.task.(Holder)
	if !ok {
		return
	}
	hold := !l.cfg.Sparse && p.next < p.end && l.cfg.Stats.Lag.Load() >= longBehind && now.Sub(p.shown) < holdAtMost
	if !hold {
		p.shown = now
	}
	task.Hold(hold)
}
