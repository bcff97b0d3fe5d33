package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFeedsPage: each flag in docs/feeds.md and docs/reference/mllp.md exists.
func TestFeedsPage(t *testing.T) {
	var page strings.Builder
	for _, path := range []string{"../../docs/feeds.md", "../../docs/reference/mllp.md"} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page.Write(content)
	}
	known := map[string]bool{}
	for _, args := range [][]string{{"run", "-h"}, {"send", "-h"}, {"keys", "mint", "-h"}, {"keys", "list", "-h"}} {
		_, help, _ := say(t, args...)
		for _, flag := range regexp.MustCompile(`(?m)^ +--?([a-z-]+)`).FindAllStringSubmatch(help, -1) {
			known[flag[1]] = true
		}
	}
	named := regexp.MustCompile("[` ]--([a-z][a-z-]+)").FindAllStringSubmatch(page.String(), -1)
	for _, flag := range named {
		if !known[flag[1]] {
			t.Errorf("there is no flag --%s", flag[1])
		}
	}
	for _, part := range regexp.MustCompile("(?m)^\\| `([a-z]+)=").FindAllStringSubmatch(page.String(), -1) {
		if _, _, stderr := say(t, "run", "--mllp", part[1]+"=x"); strings.Contains(stderr, "there is no") || !strings.Contains(stderr, "--mllp: ") {
			t.Errorf("--mllp: %s", stderr)
		}
	}
	if len(named) < 15 {
		t.Errorf("only %d flags are found on the page", len(named))
	}
}
