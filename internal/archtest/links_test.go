package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	anchor  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks follows every relative link in every document. The linked file and heading must exist.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	links := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" || strings.Contains(path, "testdata") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			target, fragment, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, ":") {
				continue // a link to another site
			}
			links++
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: link to %s: the file does not exist", path, found[1])
				continue
			}
			if fragment != "" && !hasHeading(t, file, fragment) {
				t.Errorf("%s: link to %s: no such heading", path, found[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// hasHeading reports whether a document has a heading or an anchor with the given name, in GitHub's notation.
func hasHeading(t *testing.T, file, fragment string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range anchor.FindAllStringSubmatch(string(text), -1) {
		if found[1] == fragment {
			return true
		}
	}
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
		slug := strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-")
		if slug == fragment {
			return true
		}
	}
	return false
}
