package stream

import "time"

// Deferrer is a [Task] that shows its state to others when it is durable. It may defer
// that while a newer state follows at once.
type Deferrer interface {
	Task
	// Defer is called before each Outputs. True: the changes of this transaction need
	// not be shown yet, because the log has inputs of the partition that lead to
	// another Outputs soon. The next Outputs that is not deferred shows them.
	Defer(bool)
}

const (
	// longBehind is a number of unapplied inputs that takes longer than any deferral:
	// a reader that waits for the last of them waits no longer for it.
	longBehind = 50_000
	holdAtMost = time.Second // age of the shown state at most, beside the lag
)

// deferOutputs tells a task before its outputs whether it may defer showing them. It may
// only while inputs are left that are sure to come; a log with gaps cannot say that.
func (l *loop) deferOutputs(p *part, now time.Time) {
	task, ok := p.task.(Deferrer)
	if !ok {
		return
	}
	hold := !l.cfg.Sparse && p.next < p.end && l.cfg.Stats.Lag.Load() >= longBehind && now.Sub(p.shown) < holdAtMost
	if !hold {
		p.shown = now
	}
	task.Defer(hold)
}
