package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHealthIsLogged starts processes whose checks become healthy, fail again, or never become
// healthy. Failures of the first second are not logged; a start that makes no progress is.
func TestHealthIsLogged(t *testing.T) {
	for name, tt := range map[string]struct {
		check string
		fails func(since time.Duration) bool
		want  []string
	}{
		"a start as any":    {"verdict", func(since time.Duration) bool { return since < 3*time.Second }, []string{"INFO healthy"}},
		"well at once":      {"verdict", func(time.Duration) bool { return false }, nil},
		"does not get on":   {"verdict", func(time.Duration) bool { return true }, []string{"WARN not healthy"}},
		"is not opened":     {"start", func(time.Duration) bool { return true }, []string{"WARN not healthy"}},
		"gets on late":      {"notify", func(since time.Duration) bool { return since < 20*time.Second }, []string{"WARN not healthy", "INFO healthy"}},
		"fails soon again":  {"view", func(since time.Duration) bool { return since > 2*time.Second && since < 5*time.Second }, []string{"WARN not healthy", "INFO healthy"}},
		"never at a start":  {"keys", func(since time.Duration) bool { return since < 3*time.Second }, []string{"WARN not healthy", "INFO healthy"}},
		"again and again":   {"kafka", func(since time.Duration) bool { return int(since.Seconds())/10%2 == 1 }, []string{"WARN not healthy", "INFO healthy", "WARN not healthy"}},
		"fails in the end":  {"processing", func(since time.Duration) bool { return since > 15*time.Second }, []string{"WARN not healthy"}},
		"was well for long": {"redis", func(time.Duration) bool { return false }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, began := NewHealth([]string{"verdict", "start", "notify", "view", "keys", "kafka", "processing", "redis"}, []string{"verdict", "start", "notify", "view", "processing"}), time.Now()
				h.Add(tt.check, func(context.Context) error {
					if tt.fails(time.Since(began)) {
						return errors.New("no partition was taken up yet")
					}
					return nil
				})
				var log bytes.Buffer
				ctx, cancel := context.WithTimeout(t.Context(), 35500*time.Millisecond)
				defer cancel()
				if err := h.Watch(ctx, slog.New(slog.NewTextHandler(&log, nil))); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				var got []string
				for line := range strings.Lines(log.String()) {
					_, line, _ = strings.Cut(line, "level=")
					level, message, _ := strings.Cut(line, ` msg=`)
					message, _, _ = strings.Cut(message, " check="+tt.check)
					got = append(got, level+" "+strings.Trim(message, `"`))
				}
				if strings.Join(got, ", ") != strings.Join(tt.want, ", ") {
					t.Errorf("the log has %q, want %q", got, tt.want)
				}
			})
		})
	}
}
