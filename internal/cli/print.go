package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// PrintJSON prints the output of --json: one object.
func PrintJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false) // for terminals and programs: "L&D", addresses to copy
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// PrintItems prints a list as an object whose items are the list.
func PrintItems(out io.Writer, list any) error {
	return PrintJSON(out, map[string]any{"items": list})
}

// Stamp returns an instant in the form of the API; "" for none.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// ParseLifetime reads a duration that may be in days; empty text is zero.
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
	return 0, errors.New("must be a time such as 90d or 12h")
}

// tableWriter prints rows for people, in columns as wide as their widest cell.
type tableWriter struct{ out *tabwriter.Writer }

// NewTable returns a table. Its first row is the titles of the columns, if there are any.
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

// orDash returns the text of a value that may be missing.
func orDash[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// shownOr returns the text of a value that may be unknown.
func shownOr[T any](v *T) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprint(*v)
}

// plain returns foreign text without control characters, because a terminal would execute them.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
}
