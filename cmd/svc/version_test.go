package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	for args, want := range map[string]int{"version": 0, "--version": 0, "version -x": 2, "versions": 2, "": 0} {
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(args), env{Stdout: &out, Stderr: &errs})
		if code != want || (code == 0) != (out.Len() > 0) || (code != 0) != (errs.Len() > 0) {
			t.Errorf("svc %s: %d, %q, %q", args, code, &out, &errs)
		}
	}
}
