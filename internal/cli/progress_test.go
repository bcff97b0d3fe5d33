package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestProgress: without a terminal, a line is printed every two seconds. On a terminal, a bar is shown until End
// removes it.
func TestProgress(t *testing.T) {
	for name, tt := range map[string]struct {
		terminal bool
		total    int64
		want     []string
		lines    int
	}{
		"lines":                    {false, 500, []string{"export: 300 of 500 records, 100/s, 2s left\n", "export: 500 of 500 records, 100/s, 0s left\n"}, 2},
		"lines, nobody knows when": {false, 0, []string{"export: 300 records, 100/s\n", "export: 500 records, 100/s\n"}, 2},
		"bar":                      {true, 700, []string{"\rexport ", "%", "/700"}, 0},
		"bar, nobody knows when":   {true, 0, []string{"\r", "export"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			at := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
			p := NewProgress(Env{Stderr: &out, Now: func() time.Time { return at }, Terminal: tt.terminal}, "export", "records")
			for second := range int64(5) {
				p.Tell(100*(second+1), tt.total)
				if tt.terminal {
					continue
				}
				at = at.Add(time.Second)
			}
			p.Say("a line between")
			p.End()
			ended := out.Len()
			at = at.Add(time.Minute)
			p.Tell(600, tt.total)
			if out.Len() != ended {
				t.Errorf("goes on after its end: %q", out.String()[ended:])
			}
			said := out.String()
			for _, want := range append(tt.want, "a line between\n") {
				if !strings.Contains(said, want) {
					t.Errorf("missing %q in %q", want, said)
				}
			}
			if lines := strings.Count(said, "\n") - 1; lines != tt.lines {
				t.Errorf("%d lines in %q", lines, said)
			}
			const cleared = "\x1b[2K\r"
			if tt.terminal != strings.HasSuffix(said, cleared) {
				t.Errorf("a bar is left: %q", said)
			}
		})
	}
}
