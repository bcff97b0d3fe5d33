package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestWriteFile: WriteFile replaces the whole file. A failed write leaves no temporary file.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dev.json")
	for _, content := range []string{"one", "another, longer", ""} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%q, %v; want %q", got, err, content)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "folder"), []byte("x")); err == nil {
		t.Error("a folder is written over")
	}
	if err := WriteFile(filepath.Join(dir, "none", "key"), []byte("x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its folder: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left is %v, %v", left, err)
	}
}

// TestWriteFileKeepsLinks: WriteFile writes to a new file with the mode of the earlier one, so another hard link keeps the
// earlier content. A symbolic link to the file remains a link.
func TestWriteFileKeepsLinks(t *testing.T) {
	dir := t.TempDir()
	path, earlier, link := filepath.Join(dir, "map.csv"), filepath.Join(dir, "earlier"), filepath.Join(dir, "link")
	const before = "an earlier export"
	if err := errors.Join(os.WriteFile(path, []byte(before), 0o640), os.Link(path, earlier), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{path, link} {
		if err := WriteFile(to, []byte(to)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != to {
			t.Errorf("%q, %v; want %q", got, err, to)
		}
		if got, err := os.ReadFile(earlier); err != nil || string(got) != before {
			t.Errorf("the earlier file was written over: %q, %v", got, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%v, %v", info, err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is %v, %v", info, err)
		}
	}
}
