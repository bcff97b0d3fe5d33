package devserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecret: a key is created once, and read at later starts. If a crash has damaged the file, loadSecret returns a
// one-line error and does not change the file.
func TestSecret(t *testing.T) {
	o := &Options{data: t.TempDir()}
	made, err := o.loadSecret(secretsKey)
	if err != nil || len(made) != 64 {
		t.Fatalf("%d characters, %v", len(made), err)
	}
	path := filepath.Join(o.data, secretsKey)
	if again, err := o.loadSecret(secretsKey); err != nil || again != made {
		t.Errorf("read it is another, %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for name, content := range map[string]string{
		"empty": "", "a line end": "\n", "cut off": made[:40], "zeros of a file system": strings.Repeat("\x00", 64),
		"digits": strings.Repeat("0", 64), "no digits": strings.Repeat("xyzw", 16), "twice": made + made,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := o.loadSecret(secretsKey)
		if err == nil || key != "" || !strings.Contains(err.Error(), path+" is damaged") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != content {
			t.Errorf("%s: the file is another now, %v", name, err)
		}
	}
	if err := os.WriteFile(path, []byte(made+"\n"), 0o600); err != nil { // a line break, which some editors add, is accepted
		t.Fatal(err)
	}
	if again, err := o.loadSecret(secretsKey); err != nil || again != made {
		t.Errorf("read it is another, %v", err)
	}
}
