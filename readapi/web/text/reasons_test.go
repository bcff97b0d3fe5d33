package text

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/internal/httpapi"
	"svc/internal/httpapi/rules"
)

// reasons are what the API may refuse a form of an administrator for, as its source says.
type reasons struct{ rules, messages map[string]string } // with the place

// takesRule are the functions of the API that take a rule as their last text.
var takesRule = []string{"unless", "fits", "fault", "unfit", "add", "unprocessable", "Fault"}

func reasonsOfAPI(t *testing.T) reasons {
	t.Helper()
	var files []string
	for _, pattern := range []string{"../../../internal/admin/*/*.go", "../../../ingest/*.go"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	all := reasons{map[string]string{}, map[string]string{}}
	for _, file := range files {
		// What feeds and commands send, and the plan of the rooms, is typed into no form.
		name := filepath.Base(file)
		forms := strings.Contains(file, "/internal/admin/") && !strings.Contains(file, "/layout/") && !strings.Contains(file, "/commands/") ||
			slices.Contains([]string{"acts.go", "fields.go", "terminology.go", "locations.go", "rules.go", "deadletters.go"}, name)
		if strings.HasSuffix(name, "_test.go") || !forms {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				key, named := n.Key.(*ast.Ident)
				switch text := leftmost(n.Value); {
				case !named || text == "":
				case key.Name == "Rule":
					all.rules[text] = set.Position(n.Pos()).String()
				case key.Name == "Message":
					all.messages[text] = set.Position(n.Pos()).String()
				}
			case *ast.CallExpr:
				name := ""
				switch f := n.Fun.(type) {
				case *ast.SelectorExpr:
					name = f.Sel.Name
				case *ast.Ident:
					name = f.Name
				}
				if slices.Contains(takesRule, name) && len(n.Args) > 1 {
					if text := leftmost(n.Args[len(n.Args)-1]); text != "" {
						all.rules[text] = set.Position(n.Pos()).String()
					}
					if text := leftmost(n.Args[min(2, len(n.Args)-1)]); name == "unprocessable" && text != "" {
						all.messages[text] = set.Position(n.Pos()).String()
					}
				}
			}
			return true
		})
	}
	return all
}

// leftmost is the first text of an expression; "": it begins with none.
func leftmost(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return leftmost(e.X)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	}
	return ""
}

// TestReasonsInEachLanguage: every rule and every sentence by which the API may refuse a form
// has a text in each language. The English texts are the texts of the API.
func TestReasonsInEachLanguage(t *testing.T) {
	t.Parallel()
	all := reasonsOfAPI(t)
	if len(all.rules) < 40 || len(all.messages) < 15 {
		t.Fatalf("only %d rules and %d sentences were found", len(all.rules), len(all.messages))
	}
	for rule, place := range all.rules {
		if _, known := rules.Explain(rule); !known {
			t.Errorf("%s: nothing explains the rule %s", place, rule)
		}
	}
	for _, rule := range rules.All {
		for lang, texts := range allTexts {
			text, known := texts.words["rule."+rule.Word]
			if !known || (text == rule.About) != (lang == "en") {
				t.Errorf("%s: rule %s: %q", lang, rule.Word, text)
			}
		}
	}
	for _, kind := range []httpapi.Kind{httpapi.Invalid, httpapi.Precondition, httpapi.Missing, httpapi.Unprocessable, httpapi.TooLarge} {
		all.messages[kind.Message()] = "kind " + kind.Code()
	}
	for message, place := range all.messages {
		if strings.Contains(message, "at the same moment") || strings.Contains(message, "may not be listed yet") {
			continue // 503: a page of its own says so
		}
		key, known := messageKeys()[message]
		if es := allTexts["es"].words[key]; !known || es == "" || es == message {
			t.Errorf("%s: %q has no text in Spanish", place, message)
		}
	}
}
