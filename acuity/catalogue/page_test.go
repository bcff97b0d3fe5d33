package catalogue

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var updatePage = flag.Bool("update-page", false, "rewrite the table of factors in docs/reference/factors.md")

// TestFactorsPage compares the table of factors in docs/reference/factors.md with the catalogue.
func TestFactorsPage(t *testing.T) {
	const path, begin, end = "../../docs/reference/factors.md", "<!-- factors -->\n", "<!-- /factors -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no part for the factors", path)
	}
	want := factorTable(catalogueText)
	if rows := strings.Count(want, "\n"); rows < 80 {
		t.Fatalf("the table has %d lines for 80 factors", rows)
	}
	switch {
	case got == want:
	case *updatePage:
		if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("%s is not what the catalogue says; run go test ./acuity/catalogue -run FactorsPage -update-page", path)
	}
}

// factorTable returns the table of factors, which contains the catalogue lines about demand, severity and duration.
func factorTable(text string) string {
	var table strings.Builder
	var name, label, section string
	var asks []string
	class := ""
	flush := func() {
		if name != "" {
			fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", name, label, section, strings.Join(asks, "; "), class)
		}
		asks, class = nil, ""
	}
	table.WriteString("| factor | name | section | asks for | class |\n|---|---|---|---|---|\n")
	variant := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		value = strings.TrimSpace(value)
		switch key {
		case "primary", "modifier":
			flush()
			name, variant = value, ""
		case "label":
			label = value
		case "section":
			section = value
		case "variant":
			variant = value + ": "
		case "class":
			if variant == "" {
				class = value
			} else {
				class += "; " + variant + value
			}
		case "demand", "track", "with-mother", "floor", "track-floor", "add", "window", "ends", "silent", "stale", "per-baby", "boarder":
			asks = append(asks, variant+key+" "+value)
		}
	}
	flush()
	return table.String()
}
