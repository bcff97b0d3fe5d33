package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommandsAreListedOnce wants every verb in the help once, and each with a
// help of its own kind: what it does, not how.
func TestCommandsAreListedOnce(t *testing.T) {
	var help bytes.Buffer
	if code := run(t.Context(), nil, world{stdout: &help}); code != 0 {
		t.Fatalf("help ends with %d", code)
	}
	for _, c := range commands() {
		if c.name != "" && (strings.Count(help.String(), "\n  svc "+c.usage+" ") != 1 || !strings.HasPrefix(c.usage, c.name)) {
			t.Errorf("svc %s is not listed once:\n%s", c.name, &help)
		}
	}
}

func TestVersion(t *testing.T) {
	for args, want := range map[string]int{"version": 0, "version -x": 2, "versions": 2, "": 0} {
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(args), world{stdout: &out, stderr: &errs})
		if code != want || (code == 0) != (out.Len() > 0) || (code != 0) != (errs.Len() > 0) {
			t.Errorf("svc %s: %d, %q, %q", args, code, &out, &errs)
		}
	}
}
