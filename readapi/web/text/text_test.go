package text

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/internal/admin/keys"
	"svc/internal/admin/users"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/rules"
)

// source is the source code of the packages that serve the pages.
type source struct {
	files     map[string]string // Go files, except tests
	templates map[string]string
	names     map[string]bool // names of templates
}

func readSource(t *testing.T) *source {
	t.Helper()
	s := &source{files: map[string]string{}, templates: map[string]string{}, names: map[string]bool{}}
	defined := regexp.MustCompile(`\{\{define "([^"]*)"`)
	for _, folder := range []string{"../..", "..", "../*"} {
		for pattern, into := range map[string]map[string]string{"/*.go": s.files, "/templates/*.html": s.templates} {
			files, err := filepath.Glob(folder + pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(file, "_test.go") {
					into[file] = string(content)
				}
			}
		}
	}
	for _, content := range s.templates {
		for _, m := range defined.FindAllStringSubmatch(content, -1) {
			s.names[m[1]] = true
		}
	}
	if len(s.files) < 30 || len(s.templates) < 10 {
		t.Fatalf("only %d files and %d templates were found", len(s.files), len(s.templates))
	}
	return s
}

// listed returns the strings in the value of a variable. The strings may be literals or constants of package
// outbound.
func (s *source) listed(t *testing.T, variable string) (all []string) {
	t.Helper()
	for file, content := range s.files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is || spec.Names[0].Name != variable {
				return true
			}
			ast.Inspect(spec.Values[0], func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && text != "" {
						all = append(all, text)
					}
				case *ast.SelectorExpr:
					if of, is := n.X.(*ast.Ident); is && of.Name == "outbound" {
						all = append(all, outboundConstant(t, n.Sel.Name))
					}
				}
				return true
			})
			return false
		})
	}
	if len(all) < 3 {
		t.Fatalf("%s lists only %q", variable, all)
	}
	return all
}

// outboundConstant returns the value of a string constant of package outbound.
func outboundConstant(t *testing.T, name string) string {
	t.Helper()
	files, err := filepath.Glob("../../../internal/outbound/*.go")
	if err != nil {
		t.Fatal(err)
	}
	value := regexp.MustCompile(`(?m)^\t` + name + `\b[^=\n]*= "([^"]*)"`)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := value.FindSubmatch(content); m != nil {
			return string(m[1])
		}
	}
	t.Fatalf("package outbound has no text %s", name)
	return ""
}

// sections returns the names of the sections of the administration pages.
func (s *source) sections(t *testing.T) (all []string) {
	t.Helper()
	name := regexp.MustCompile(`(?s)return &section\{.*?name:\s+"([a-z]+)"`)
	for _, content := range s.files {
		for _, m := range name.FindAllStringSubmatch(content, -1) {
			all = append(all, m[1])
		}
	}
	if len(all) < 9 {
		t.Fatalf("only the sections %q were found", all)
	}
	return all
}

// keysUsed returns the text keys that code and templates contain, and those that the pages compose from domain terms.
func keysUsed(t *testing.T) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	named := regexp.MustCompile(`(?:\bT|\bOr|\.newPage)\(?\s?"([a-z0-9.:+>]+)"`)
	ours := regexp.MustCompile(`"((?:ack|alerts|audit|command|connect|delivery|effect|episodes|feeds|hooks|int|keys|kind|letters|places|recipients|replay|rules|run|terms|tiers|users|walls)\.[a-z0-9.]+)"`)
	fault := regexp.MustCompile(`"((?:fault|none)\.?[a-z]*)"`)
	source := readSource(t)
	for _, content := range slices.Concat(slices.Collect(maps.Values(source.files)), slices.Collect(maps.Values(source.templates))) {
		for _, m := range named.FindAllStringSubmatch(content, -1) {
			used[m[1]] = true
		}
		for _, m := range ours.FindAllStringSubmatch(content, -1) {
			if _, text := allTexts["en"].words[m[1]]; text || !source.names[m[1]] {
				used[m[1]] = true
			}
		}
		for _, m := range fault.FindAllStringSubmatch(content, -1) {
			used[m[1]] = true
			if strings.HasPrefix(m[1], "fault.") {
				used[m[1]+".do"] = true
			}
		}
	}
	for f := catalogue.Factor(1); int(f) <= catalogue.Default().Len(); f++ {
		used["factor."+f.ID()] = true
		for _, l := range catalogue.Default().Lines(f) {
			variant, line, varied := strings.Cut(l.Name, ".")
			if !varied {
				line = l.Name
			} else {
				used["rules.variant."+variant] = true
			}
			used["rules.line."+line], used["rules.line."+line+".about"] = true, true
		}
	}
	for a := range acuity.Axis(acuity.AxisCount) {
		used["axis."+a.String()], used["why."+a.String()] = true, true
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
	used["role.none"] = true // API's name for users.NoRole
	for _, section := range source.sections(t) {
		used["int."+section] = true
	}
	for _, key := range [...]string{"int.alerts", "int.feeds", "int.rules", "int.terminology"} {
		used[key] = true
	}
	for _, scope := range append(access.Scopes(), access.Admin) {
		used["scope."+string(scope)] = true
	}
	for _, preset := range source.listed(t, "keyPresets") {
		used["keys.preset."+preset] = true
	}
	for overlap := range keys.Overlaps {
		used["keys.overlap."+overlap] = true
	}
	for _, ttl := range users.Lifetimes() {
		used["users.ttl."+ttl] = true
	}
	for _, event := range source.listed(t, "webhookEvents") {
		used["hooks.event."+event] = true
	}
	for _, state := range source.listed(t, "deliveryStates") {
		used["delivery."+state] = true
	}
	for _, key := range [...]string{
		"hooks.overlap.0", "hooks.overlap.1", "hooks.overlap.24", "hooks.overlap.168", "hooks.reason.paused", "hooks.reason.gone", "hooks.reason.failing",
		"hooks.secret.current", "hooks.secret.ending", "hooks.secret.next", "hooks.secret.previous", "replay.only.missing", "replay.only.failed", "replay.only.all", "hooks.warning.name_unresolved",
		"command.test", "command.retry", "command.replay", "command.ack",
	} {
		used[key] = true
	}
	for _, step := range []string{"key", "feed", "room", "staffing", "tell", "wall"} {
		used["run."+step], used["run."+step+".do"], used["run."+step+".link"] = true, true, true
	}
	for key := range allTexts["en"].words { // the text LABEL.about explains the field labeled LABEL
		if label, is := strings.CutSuffix(key, ".about"); is && used[label] {
			used[key] = true
		}
	}
	for prefix, codes := range map[string][]string{
		"channel": source.listed(t, "channelsOfAlerts"), "recipients.language": {"en", "es"}, "kind": source.listed(t, "kindsOfCodes"), "feeds.status": {"ok", "degraded", "stale", "down"},
		"feeds.reason":    {"viewaway", "logaway", "logfull", "processorsilent", "feedstale", "nothingrecorded", "viewincomplete", "processingbehind", "deadletters"},
		"letters.reason":  {"unknownschema", "malformedrecord", "wronghospital"},
		"terms.reason":    {"knowngap", "iftrialoflabor", "codeneighborhood", "displaywords", "factorid"},
		"audit.act":       auditedActions(t),
		"audit.group":     source.listed(t, "auditGroups"),
		"episodes.reason": {"raised", "lowered", "cleared", "digest", "escalated", "repeated"},
	} {
		for _, code := range codes {
			used[prefix+"."+code] = true
		}
	}
	for key := range allTexts["en"].words { // texts for API rules, some with a limit
		rule, is := strings.CutPrefix(key, "rule.")
		word, _, _ := strings.Cut(rule, ".")
		if _, known := rules.Explain(word); is && known {
			used[key] = true
		}
	}
	for _, kind := range problem.Kinds() {
		if kind.Code() != "rate_limited" && kind.Code() != "internal" && kind.Code() != "unauthorized" && kind.Code() != "forbidden_scope" {
			used["refused."+kind.Code()] = true
		}
	}
	used["refused.fields"] = true
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
	for _, code := range source.listed(t, "unknownBecause") {
		used["unknown."+code] = true
	}
	for _, code := range qualityCodes(t) {
		used["quality."+code] = true
	}
	return used
}

// qualityCodes returns the codes of data quality problems, as found in the source code of package score.
func qualityCodes(t *testing.T) (all []string) {
	t.Helper()
	source, err := os.ReadFile("../../../acuity/score/verdict.go")
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

// TestTexts: each language has the same keys with the same placeholders. Every key is used, and
// every used key has a text.
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
		if key == "fault.behind.do" || key == "fault.away.do.do" { // only part of a longer key
			continue
		}
		t.Errorf("there is no text of %s", key)
	}
}

// TestNoWordsInTemplates: every word that is displayed or read aloud comes from the language files.
func TestNoWordsInTemplates(t *testing.T) {
	action := regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	spoken := regexp.MustCompile(`(?:aria-label|title|alt|placeholder|content|data-lost|data-old|data-live|data-gone|data-in)="([^"]*)"`)
	quiet := regexp.MustCompile(`(?s)<meta[^>]*>|<!doctype[^>]*>|<[^>]*>|&[a-z]+;`)
	letter := regexp.MustCompile(`\p{L}+`)
	for file, content := range readSource(t).templates {
		text := action.ReplaceAllString(content, "")
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

// houseWords matches words for which there is a standard term (acknowledge, notify, recipient, expired, rejected),
// and synonyms of terms that the pages already use.
var houseWords = map[string]*regexp.Regexp{
	"en": regexp.MustCompile(`(?i)\b(told|said|heard|took|taken|stands|dead letters?|looks?|beside|own(?:,|\.|;|$)|few|anew|otherwise|whoever|somebody|nobody|please|take|e?mail box|wall links?|refused|begins?|begun|beneath)\b|!`),
	"es": regexp.MustCompile(`(?i)\b(por favor|quien sea|alguien|enfermera (?:encargada|respons\w+|jefa)|petición|peticiones|cabeceras?|borrar|caduc\w+|ratio|avisos|suceso|en directo|añad\w+|introduc\w+)\b|!`),
}

// TestStandardWords: the texts use standard terms, with one term for each concept. They contain neither "please" nor
// exclamation marks.
func TestStandardWords(t *testing.T) {
	t.Parallel()
	for lang, texts := range allTexts {
		for key, text := range texts.words {
			words := regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(text, "")
			if found := houseWords[lang].FindString(words); found != "" {
				t.Errorf("%s: %s has %q: %s", lang, key, found, text)
			}
			if lang == "en" && strings.Contains(text, " %") {
				t.Errorf("%s: %s has a space before the percent sign: %s", lang, key, text)
			}
		}
	}
}
