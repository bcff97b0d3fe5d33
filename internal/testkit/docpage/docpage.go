// Package docpage compares the generated parts of a page in docs/ with the code.
package docpage

import (
	"os"
	"strings"
	"testing"
)

// Hold fails the test unless the part of a page between <!-- name --> and <!-- /name --> is the wanted text. If
// update is true, it replaces that part instead.
func Hold(t *testing.T, path, name, want string, update bool) {
	t.Helper()
	page, err := os.ReadFile(path) //nolint:gosec // a page of docs/
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	head, rest, ok := strings.Cut(string(page), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no part %s", path, name)
	}
	if got == want {
		return
	}
	if !update {
		t.Fatalf("%s, part %s, is not what the code says; run go test -update in this folder", path, name)
	}
	if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o600); err != nil { //nolint:gosec // a page of docs/
		t.Fatal(err)
	}
}
