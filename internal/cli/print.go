package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
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

// shownOr returns the text of a value that may be missing.
func shownOr[T any](v *T) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprint(*v)
}

func dashed(text string) string {
	if text == "" {
		return "-"
	}
	return text
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
