package e2e

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the output in the README and the tour")

// volatile matches the parts of the output that differ between runs.
var volatile = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "TIME"},
	{regexp.MustCompile(`\|\d{14}[-+]\d{4}\|`), "|TIME|"},
	{regexp.MustCompile(`\|[0-9a-f]{20}\|`), "|ID|"},
	{regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`), "SECRET"},
}

func masked(text string) string {
	for _, v := range volatile {
		text = v.form.ReplaceAllString(text, v.as)
	}
	return strings.TrimSpace(text)
}

// isDocumented reports whether output equals the documented output, in which an ellipsis matches any text.
func isDocumented(got, want string) bool {
	if !strings.Contains(want, "…") {
		return masked(got) == masked(want)
	}
	parts := strings.Split(regexp.QuoteMeta(masked(want)), "…")
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$").MatchString(masked(got))
}

// TestReadmeTour runs the commands in the README and in the tour, and compares their output with the documented output.
func TestReadmeTour(t *testing.T) {
	for path, atLeast := range map[string]int{"../../README.md": 3, "../../docs/tour.md": 7} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			d := startDev(t, t.TempDir(), "--ephemeral")
			runDocumented(t, path, atLeast, "SVC_DATA="+d.dir, "SVC="+d.BaseURL, "KEY="+d.APIKey)
		})
	}
}

// runDocumented runs the commands of a page, with environment variables for the server and its key.
func runDocumented(t *testing.T, path string, atLeast int, env ...string) {
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```console\n(.*?)```")
	commands := 0
	written := block.ReplaceAllStringFunc(string(page), func(text string) string {
		inside := strings.TrimSuffix(strings.TrimPrefix(text, "```console\n"), "```")
		var out strings.Builder
		for _, part := range strings.Split("\n"+inside, "\n$ ")[1:] {
			command, want := splitCommand(part)
			commands++
			second := time.Now().Unix()
			got := shell(t, command, env...)
			if want != "" && !isDocumented(got, want) && !*update {
				t.Errorf("$ %s\n got %s\nwant %s", command, masked(got), masked(want))
			}
			if strings.Contains(want, "…") {
				got = want
			}
			out.WriteString("$ " + command + "\n")
			if want != "" {
				out.WriteString(strings.TrimRight(got, "\n") + "\n")
			}
			// HL7 times are in whole seconds. A person takes at least a second between two commands, so the test
			// waits for the next second.
			for time.Now().Unix() == second {
				time.Sleep(10 * time.Millisecond)
			}
		}
		return "```console\n" + out.String() + "```"
	})
	if commands < atLeast {
		t.Errorf("%s has only %d commands", path, commands)
	}
	if *update {
		if err := os.WriteFile(path, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// splitCommand splits a command from its output. A command continues on the next line while a quote is open, or if the
// line ends in a backslash or a pipe.
func splitCommand(part string) (command, output string) {
	lines := strings.Split(strings.TrimRight(part, "\n"), "\n")
	for i := range lines {
		command = strings.Join(lines[:i+1], "\n")
		open := strings.Count(command, "'")%2 == 1
		if !open && !strings.HasSuffix(lines[i], `\`) && !strings.HasSuffix(lines[i], "|") {
			return command, strings.Join(lines[i+1:], "\n")
		}
	}
	return command, ""
}

// shell runs a command with the svc under test in PATH, and returns the standard output.
func shell(t *testing.T, command string, env ...string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	path := filepath.Dir(binary(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")
	cmd.Env = append(append(os.Environ(), "PATH="+path), env...)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("$ %s: %v\n%s", command, err, tail(faults.String(), 20))
	}
	return string(out)
}
