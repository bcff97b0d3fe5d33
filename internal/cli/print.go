package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// PrintJSON prints one JSON value with indentation, as --json does.
func PrintJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false) // keeps & in "L&D" and in URLs readable
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// PrintItems prints a JSON object whose member "items" is the list.
func PrintItems(out io.Writer, list any) error {
	return PrintJSON(out, map[string]any{"items": list})
}

// Stamp returns an instant in the format of the API, or "" for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// ParseLifetime parses a duration, which may be in days, such as 30d. An empty string means 0.
func ParseLifetime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 3650 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, errors.New("must be a duration such as 90d or 12h")
}

// tableWriter prints a table whose columns are as wide as their widest cells.
type tableWriter struct{ out *tabwriter.Writer }

// NewTable returns a table. titles is its first row; without titles the table has no heading.
func NewTable(out io.Writer, titles ...any) tableWriter {
	t := tableWriter{tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)}
	if len(titles) > 0 {
		t.Row(titles...)
	}
	return t
}

// Row adds a row.
func (t tableWriter) Row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.out, "\t")
		}
		fmt.Fprint(t.out, cell)
	}
	fmt.Fprintln(t.out)
}

// Flush prints the table.
func (t tableWriter) Flush() error { return t.out.Flush() }

// printTable prints a row of cells for each item, below the titles.
func printTable[T any](c *client, all []T, cells func(*T) []any, titles ...any) error {
	table := NewTable(c.Stdout, titles...)
	for i := range all {
		table.Row(cells(&all[i])...)
	}
	return table.Flush()
}

// orDash returns the text of a value, or "-" if the value is missing.
func orDash[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// shownOr returns the text of a value, or "?" if the value is unknown.
func shownOr[T any](v *T) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprint(*v)
}

// plain returns untrusted text without control characters, because a terminal would execute them.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
}

// Progress reports the progress of a long operation on standard error. On a terminal it draws a bar; elsewhere, it
// prints a line every few seconds. It is safe for concurrent use.
type Progress struct {
	out  io.Writer
	what string // label of the operation
	unit string // unit of the count
	now  func() time.Time
	bar  *progressbar.ProgressBar // nil: print lines instead

	mu    sync.Mutex
	begun time.Time
	first int64 // amount done at the first call to Tell; the rate does not include it
	told  time.Time
	ended bool
}

// lineEvery and barEvery are the minimum intervals between printed lines, and between redraws of the bar.
const (
	lineEvery = 2 * time.Second
	barEvery  = 100 * time.Millisecond
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// NewProgress returns a Progress for an operation with the given label. unit is the plural name of what is counted,
// such as records.
func NewProgress(w Env, what, unit string) *Progress {
	p := &Progress{out: w.Stderr, what: what, unit: unit, now: w.Now}
	if w.Terminal {
		p.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(w.Stderr), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(barEvery), progressbar.OptionClearOnFinish(), progressbar.OptionUseANSICodes(true),
			progressbar.OptionSetSpinnerChangeInterval(0)) // the spinner turns only when Tell is called
	}
	return p
}

// Tell reports how many units of work are done, and how many there are in total. A total of 0 or less means that the
// total is unknown.
func (p *Progress) Tell(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		if total > 0 && total != p.bar.GetMax64() {
			p.bar.ChangeMax64(total)
		}
		p.bar.Set64(done) //nolint:errcheck // a write to a closed terminal is harmless
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

// Say prints a line of text. On a terminal, it removes the bar first; the next Tell draws the bar again below the
// text.
func (p *Progress) Say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear() //nolint:errcheck // a write to a closed terminal is harmless
	}
	fmt.Fprintln(p.out, line)
}

// End removes the bar, so that further output starts on an empty line. After End, Tell prints nothing.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Exit()  //nolint:errcheck // a write to a closed terminal is harmless
		p.bar.Clear() //nolint:errcheck // as above
	}
	p.bar, p.ended = nil, true
}
