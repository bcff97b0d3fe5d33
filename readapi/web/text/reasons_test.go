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

	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/rules"
)

// reasons are the rules and messages with which the API may refuse an administrator's form. They are collected from
// the API's source code.
type reasons struct{ rules, messages map[string]string } // maps each rule or message to its location in the source code

// takesRule contains the names of the API's functions whose last argument is a rule.
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
		// No form sends feeds, commands or room layouts.
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

// leftmost returns the leftmost string of an expression, or "" if the expression begins with anything else.
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

// notFromForm contains the rules for JSON and URLs. The pages generate the JSON and URLs that they send, so only
// other clients can break these rules. If such a rule is broken, the pages show the API's explanation.
var notFromForm = []string{"path", "name", "version", "type"}

// TestReasonsInEachLanguage: every rule with which the API may refuse a form has an explanation in each language. The
// explanation does not repeat the API's message to developers.
func TestReasonsInEachLanguage(t *testing.T) {
	t.Parallel()
	all := reasonsOfAPI(t)
	if len(all.rules) < 40 || len(all.messages) < 15 {
		t.Fatalf("only %d rules and %d sentences were found", len(all.rules), len(all.messages))
	}
	for _, rule := range []string{
		"enum:a|b", "items:1-9", "max:1e9", "maxItems:9", "maxKeys:9", "maxLength:64", "maxLinks:9", "maxWalls:9", "min:1", "minItems:1", "minItems:2",
		"minLength:1", "minLength:24", "range:0.1-500",
	} {
		all.rules[rule] = "httpapi.Check"
	}
	for rule, place := range all.rules {
		about, known := rules.Explain(rule)
		if !known {
			t.Errorf("%s: nothing explains the rule %s", place, rule)
		}
		if slices.Contains(notFromForm, about.Word) && !strings.HasPrefix(rule, "type:") || rule == "type:object" || rule == "type:array" {
			continue
		}
		for lang, texts := range allTexts {
			text := texts.ExplainRule(rule)
			if text == about.About && rule != "catalogue" || text == rule || text == "" || strings.ContainsAny(text, "{}") {
				t.Errorf("%s: %s: rule %s: %q", place, lang, rule, text)
			}
		}
	}
	for _, kind := range []problem.Kind{problem.Invalid, problem.Missing, problem.Unprocessable, problem.TooLarge} {
		for lang, texts := range allTexts {
			if texts.ExplainRefusal(kind.Code(), "") == "" {
				t.Errorf("%s: there is no text of refused.%s", lang, kind.Code())
			}
		}
	}
}

// TestBoundsInTheSentence: the displayed sentence includes the limit, but none of the API's terms.
func TestBoundsInTheSentence(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"maxLength:64":       "Enter at most 64 characters.",
		"minLength:1":        "Enter a value.",
		"minLength:24":       "Enter at least 24 characters.",
		"range:0.1-500":      "Enter a number from 0.1 to 500.",
		"max:1e9":            "Enter 1000000000 or less.",
		"enum:viewer|charge": "Choose one of: viewer, charge.",
		"format:e164":        "Use international format, such as +15555550100.",
		"maxItems":           "You have reached the limit. Remove an entry before adding another.",
		"maxItems:50":        "At most 50 entries are allowed. Remove one first.",
		"unheard:of":         "unheard:of",
	} {
		if got := allTexts["en"].ExplainRule(rule); got != want {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}
