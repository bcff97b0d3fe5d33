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
	comment = regexp.MustCompile(`(?:^|[\s;{}()])//[ \t].*`)
	// citation matches a page with optional anchors, such as docs/decisions.md#birth, #turnover.
	citation = regexp.MustCompile(`\b((?:docs|deploy|acuity)/[a-z/-]+\.md)((?:#[a-z0-9-]+(?:,\s+#[a-z0-9-]+)*)?)`)
	// dangling matches citations that name a rule by number, or a page that is not in the repository.
	dangling = regexp.MustCompile(`\b(?:clinical|scoring)-(?:decisions|input)\b|\b(?:contract|house|style|language|stream-notes|notify)\.md\b|` +
		`\b(?:[Dd]ecision|[Rr]ule|[Cc]ontract|[Ss]coring|[Ff]inding|[Ii]ssue) #?\d+\b|§|\((?:[B-DFHIJRSX]\d{1,2}|[PT]\d)(?:,? (?:and |to )?[A-Z]\d{1,2})*\)`)
	// numbered matches a test case whose name is the number of a rule.
	numbered = regexp.MustCompile(`(?m)^\s*"(?:(?:clinical|scoring)-(?:decisions|input)\b|[CDFHPRSX]\d{1,2}\b)[^"]*": *\{`)
)

// TestCitations follows every citation of a document in a comment. The cited page and anchor must exist. A rule is
// cited by its anchor in docs/decisions.md, never by a number.
func TestCitations(t *testing.T) {
	root := filepath.Join("..", "..")
	cited := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		said := commentsOf(string(text))
		for _, name := range numbered.FindAllString(string(text), -1) {
			t.Errorf("%s: the case %s is named after a number that resolves to nothing", path, name)
		}
		for _, found := range dangling.FindAllString(said, -1) {
			t.Errorf("%s: %q resolves to nothing; cite docs/decisions.md#name, or give the reason", path, found)
		}
		for _, found := range citation.FindAllStringSubmatch(said, -1) {
			cited++
			page := filepath.Join(root, found[1])
			if _, err := os.Stat(page); err != nil {
				t.Errorf("%s: %s: no such page", path, found[1])
				continue
			}
			for fragment := range strings.SplitSeq(strings.ReplaceAll(found[2], "#", ""), ",") {
				if fragment = strings.TrimSpace(fragment); fragment != "" && !hasHeading(t, page, fragment) {
					t.Errorf("%s: %s#%s: no such anchor", path, found[1], fragment)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited < 100 {
		t.Errorf("only %d citations were found", cited)
	}
}

// commentsOf returns the comments of a Go file, with consecutive lines joined.
func commentsOf(text string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		if at := comment.FindStringIndex(line); at != nil {
			all.WriteString(strings.TrimLeft(line[at[0]:], " \t/;{}()"))
			continue
		}
		all.WriteString("\n\n")
	}
	return strings.ReplaceAll(all.String(), "\n", " ")
}

// TestDanglingCitations checks the forms that dangling matches, and similar texts that it must not match.
func TestDanglingCitations(t *testing.T) {
	for text, refused := range map[string]bool{
		"the last one counts (F9)":                  true,
		"see scoring-decisions 23":                  true,
		"by rule 12":                                true,
		"earliest clock (F7, F8)":                   true,
		"X (R10, S5)":                               true,
		"as §3 says":                                true,
		"as house.md says":                          true,
		"FHIR R4 and R5":                            false,
		"docs/decisions.md#resource-versions":       false,
		"a discharge (A03) or a transfer (A02)":     false,
		"the median (P50) and its high side (P90)":  false,
		"outcome of delivery (Z37), cesarean (O82)": false,
	} {
		if got := dangling.MatchString(text); got != refused {
			t.Errorf("%q: refused %t, want %t", text, got, refused)
		}
	}
}
