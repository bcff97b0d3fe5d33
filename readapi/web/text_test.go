package web

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/acuity"
	"svc/internal/admin/keys"
	"svc/internal/admin/users"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
)

// keysUsed returns the keys that code and templates name, and those that they make of
// words of the domain.
func keysUsed(t *testing.T) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	named := regexp.MustCompile(`(?:\bT|\bOr|\.page)\(?\s?"([a-z0-9.:+>]+)"`)
	ours := regexp.MustCompile(`"((?:alerts|audit|command|connect|delivery|effect|episodes|feeds|hooks|int|keys|kind|letters|places|recipients|replay|rules|run|terms|tiers|users|walls)\.[a-z0-9.]+)"`)
	fault := regexp.MustCompile(`"((?:fault|none)\.?[a-z]*)"`)
	files, err := filepath.Glob("*.go")
	pages, err2 := filepath.Glob("templates/*.html")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for _, file := range append(files, pages...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(source, -1) {
			used[string(m[1])] = true
		}
		for _, m := range ours.FindAllSubmatch(source, -1) {
			if _, text := allTexts["en"].words[string(m[1])]; text || templates.Lookup(string(m[1])) == nil {
				used[string(m[1])] = true
			}
		}
		for _, m := range fault.FindAllSubmatch(source, -1) {
			used[string(m[1])] = true
			if strings.HasPrefix(string(m[1]), "fault.") {
				used[string(m[1])+".do"] = true
			}
		}
	}
	for f := acuity.Factor(1); int(f) <= acuity.Default().Len(); f++ {
		used["factor."+f.ID()] = true
	}
	for a := range acuity.Axis(acuity.AxisCount) {
		used["axis."+a.String()] = true
	}
	for l := acuity.LevelGreen; l <= acuity.LevelRed; l++ {
		used["level."+l.String()], used["axes."+l.String()] = true, true
	}
	for c := acuity.ColorGreen; c <= acuity.ColorRed; c++ {
		used["color."+c.String()] = true
	}
	for k := acuity.BySignal; k <= acuity.ByCensus; k++ {
		used["evidence."+k.String()] = true
	}
	for _, r := range users.Roles() {
		used["role."+string(r)] = true
	}
	for _, section := range sections() {
		used["int."+section.name] = true
	}
	for _, key := range [...]string{"int.alerts", "int.feeds", "int.rules", "int.terminology"} {
		used[key] = true
	}
	for _, scope := range append(access.Scopes(), access.Admin) {
		used["scope."+string(scope)] = true
	}
	for _, preset := range keyPresets {
		used["keys.preset."+preset.name] = true
	}
	for overlap := range keys.Overlaps {
		used["keys.overlap."+overlap] = true
	}
	for _, ttl := range users.Lifetimes() {
		used["users.ttl."+ttl] = true
	}
	for _, event := range webhookEvents {
		used["hooks.event."+event] = true
	}
	for _, state := range deliveryStates {
		used["delivery."+state] = true
	}
	for _, key := range [...]string{
		"hooks.overlap.0", "hooks.overlap.1", "hooks.overlap.24", "hooks.overlap.168", "hooks.reason.paused", "hooks.reason.gone", "hooks.reason.failing",
		"hooks.secret.current", "hooks.secret.next", "hooks.secret.previous", "replay.only.missing", "replay.only.failed", "replay.only.all", "hooks.warning.name_unresolved",
		"command.test", "command.retry", "command.replay", "command.ack",
	} {
		used[key] = true
	}
	for _, step := range []string{"key", "feed", "room", "staffing", "tell", "wall"} {
		used["run."+step], used["run."+step+".do"], used["run."+step+".link"] = true, true, true
	}
	for key := range allTexts["en"].words { // what a field is about, beside its label
		if label, is := strings.CutSuffix(key, ".about"); is && used[label] {
			used[key] = true
		}
	}
	for prefix, codes := range map[string][]string{
		"channel": channelsOfAlerts, "kind": kindsOfCodes[1:], "feeds.status": {"ok", "degraded", "stale", "down"},
		"feeds.reason":    {"viewaway", "logaway", "logfull", "processorsilent", "feedstale", "nothingrecorded", "viewincomplete", "processingbehind", "deadletters"},
		"letters.reason":  {"unknownschema", "malformedrecord", "wronghospital"},
		"terms.reason":    {"knowngap", "iftrialoflabor", "codeneighborhood", "displaywords", "factorid"},
		"episodes.reason": {"raised", "lowered", "cleared", "digest", "escalated", "repeated"},
	} {
		for _, code := range codes {
			used[prefix+"."+code] = true
		}
	}
	for _, rule := range httpapi.Rules {
		used["rule."+rule.Rule] = true
	}
	for _, key := range saidKeys() {
		used[key] = true
	}
	for m := range 12 {
		used[fmt.Sprintf("month.%d", m+1)] = true
	}
	for d := range 7 {
		used[fmt.Sprintf("weekday.%d", d+1)] = true
	}
	for _, ratio := range []string{"1:4", "1:3", "1:2", "1:1", "1:1+", "2:1", ">2:1", "none"} {
		used["ratio."+ratio] = true
	}
	for _, channel := range []string{"adt", "batch", "census", "clinical", "fhir", "hl7", "roster", "staffing"} {
		used["feed."+channel] = true
	}
	for _, codes := range unknownBecause {
		for _, code := range codes {
			used["unknown."+code] = true
		}
	}
	for _, code := range qualityCodes(t) {
		used["quality."+code] = true
	}
	return used
}

// qualityCodes are those that the comment of the domain lists.
func qualityCodes(t *testing.T) (all []string) {
	t.Helper()
	source, err := os.ReadFile("../../acuity/quality.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"([a-z_]+_[a-z]+)", "`).FindAllSubmatch(source, -1) {
		all = append(all, string(m[1]))
	}
	if len(all) < 8 {
		t.Fatalf("only %d codes were found", len(all))
	}
	return all
}

// TestTexts: each language has the same keys with the same gaps, every key is used, and
// every key that is used is there.
func TestTexts(t *testing.T) {
	used := keysUsed(t)
	gap := regexp.MustCompile(`\{[a-z]+\}`)
	gaps := func(text string) []string {
		all := gap.FindAllString(text, -1)
		slices.Sort(all)
		return slices.Compact(all)
	}
	en := allTexts["en"]
	for name, texts := range allTexts {
		for key, text := range texts.words {
			base := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".other")
			if !used[key] && !used[base] {
				t.Errorf("%s: nobody uses %s", name, key)
			}
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: %s is empty", name, key)
			}
			if !slices.Equal(gaps(text), gaps(en.words[key])) {
				t.Errorf("%s: %s has other gaps than in English", name, key)
			}
		}
		if !slices.Equal(slices.Sorted(maps.Keys(texts.words)), slices.Sorted(maps.Keys(en.words))) {
			t.Errorf("%s has other keys than en", name)
		}
	}
	for key := range used {
		if _, ok := en.words[key]; ok || strings.HasSuffix(key, ".") {
			continue
		}
		if _, ok := en.words[key+".other"]; ok {
			continue
		}
		if key == "fault.behind.do" || key == "fault.away.do.do" { // said beside another one
			continue
		}
		t.Errorf("there is no text of %s", key)
	}
}

// TestNoWordsInTemplates: what a person reads, or hears, comes from the texts.
func TestNoWordsInTemplates(t *testing.T) {
	files, err := filepath.Glob("templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	action := regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	spoken := regexp.MustCompile(`(?:aria-label|title|alt|placeholder|content|data-lost|data-old|data-live|data-gone|data-in)="([^"]*)"`)
	quiet := regexp.MustCompile(`(?s)<meta[^>]*>|<!doctype[^>]*>|<[^>]*>|&[a-z]+;`)
	letter := regexp.MustCompile(`\p{L}+`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := action.ReplaceAllString(string(source), "")
		for _, m := range spoken.FindAllStringSubmatch(text, -1) {
			if letter.MatchString(m[1]) && m[1] != "width=device-width" {
				t.Errorf("%s says %q in an attribute", file, m[1])
			}
		}
		if words := letter.FindAllString(quiet.ReplaceAllString(text, " "), -1); len(words) > 0 {
			t.Errorf("%s says %q", file, words)
		}
	}
}
