package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress reports the progress of long work on standard error. On a terminal it draws a bar,
// elsewhere it prints a line every few seconds. It is safe for concurrent use.
type Progress struct {
	out  io.Writer
	what string // the work
	unit string // the things that are counted
	now  func() time.Time
	bar  *progressbar.ProgressBar // nil: lines

	mu    sync.Mutex
	begun time.Time
	first int64 // done at the start: the work of an earlier run
	told  time.Time
	ended bool
}

// lineEvery and barEvery are the least intervals between two lines, and between two drawings
// of the bar.
const (
	lineEvery = 2 * time.Second
	barEvery  = 100 * time.Millisecond
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// NewProgress returns the progress of a piece of work.
func NewProgress(w Env, what, unit string) *Progress {
	p := &Progress{out: w.Stderr, what: what, unit: unit, now: w.Now}
	if w.Terminal {
		p.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(w.Stderr), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(barEvery), progressbar.OptionClearOnFinish(), progressbar.OptionUseANSICodes(true),
			progressbar.OptionSetSpinnerChangeInterval(0)) // the spinner turns only on Tell
	}
	return p
}

// Tell reports how much is done; a total of 0 or less is unknown.
func (p *Progress) Tell(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		if total > 0 && total != p.bar.GetMax64() {
			p.bar.ChangeMax64(total)
		}
		p.bar.Set64(done) //nolint:errcheck // the terminal is gone: nobody reads it
		return
	}
	if p.ended {
		return
	}
	now := p.now()
	if p.begun.IsZero() {
		p.begun, p.told, p.first = now, now, done
		return
	}
	if now.Sub(p.told) < lineEvery {
		return
	}
	p.told = now
	rate := float64(done-p.first) / now.Sub(p.begun).Seconds()
	if total <= 0 {
		fmt.Fprintf(p.out, "%s: %d %s, %.0f/s\n", p.what, done, p.unit, rate)
		return
	}
	left := "?"
	if rate > 0 {
		left = (time.Duration(float64(total-done)/rate) * time.Second).Round(time.Second).String()
	}
	fmt.Fprintf(p.out, "%s: %d of %d %s, %.0f/s, %s left\n", p.what, done, total, p.unit, rate, left)
}

// Say prints a line above the progress.
func (p *Progress) Say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear() //nolint:errcheck // the terminal is gone: nobody reads it
	}
	fmt.Fprintln(p.out, line)
}

// End removes the bar, so the next output starts on an empty line.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Exit()  //nolint:errcheck // the terminal is gone: nobody reads it
		p.bar.Clear() //nolint:errcheck // likewise
	}
	p.bar, p.ended = nil, true
}
