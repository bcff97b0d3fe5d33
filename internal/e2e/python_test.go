package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// python returns an interpreter that has the packages, each with its version. They
// are installed once, beside the caches of the user. Without Python, or without its
// package registry, the test does not run and says so; in CI that is a failure.
func python(t testing.TB, packages ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(strings.Join(packages, " ")))
	dir := filepath.Join(cache, "svc-python", hex.EncodeToString(sum[:6]))
	interpreter, done := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "complete")
	if _, err := os.Stat(done); err == nil {
		return interpreter
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		append([]string{interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "10"}, packages...),
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
			}
			t.Skipf("needs Python with %s: %v", strings.Join(packages, ", "), err)
		}
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return interpreter
}
