package rules

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/internal/testkit/docpage"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/")

// takesCode maps each folder to the functions that raise a code, with the index of the code's argument. The functions
// under "" are the same in every folder.
var takesCode = map[string]map[string]int{
	"":            {"warn": 0, "warnAt": 0, "refuse": 0, "Warn": 0, "Refuse": 0},
	"ingest/fhir": {"warn": 1, "reject": 1, "countNonResource": 1, "issue": 2, "decline": 1, "addIssue": 1},
}

var code = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// folders are the folders in which codes are raised.
var folders = map[string]Raised{"acuity/adt": ByState, "acuity/facts": ByState, "acuity/identity": ByState, "acuity/registry": ByState, "acuity/stays": ByState, "acuity/hospital": ByState, "ingest": ByJSON, "ingest/hl7": ByHL7, "ingest/fhir": ByFHIR}

// place is the location at which a code is raised.
type place struct {
	file   string
	raised Raised
}

// raised returns every code that the feeds and the domain can raise, with its location: the literal
// arguments of the functions in takesCode, the constants named warn…, reason… and Reason…, the codes of
// remarks and dispositions, and the reasons of outcomes.
func raised(t *testing.T) map[string]place {
	t.Helper()
	all := map[string]place{}
	for folder := range folders {
		files, err := filepath.Glob("../../../" + folder + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				addRaised(t, all, folder, file)
			}
		}
	}
	return all
}

// onlyForAdministrators are the constants with codes that an administrator gets, but not as warnings.
var onlyForAdministrators = []string{"reasonDryRun", "ReasonPrecondition", "ReasonNotThere", "ReasonTooMany"}

func addRaised(t *testing.T, all map[string]place, folder, file string) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	add := func(e ast.Expr) {
		literal, ok := e.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return
		}
		if text := strings.Trim(literal.Value, "`\""); code.MatchString(text) {
			all[text] = place{set.Position(e.Pos()).String(), all[text].raised | folders[folder]}
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.SelectorExpr); ok {
				at, known := takesCode[folder][name.Sel.Name]
				if !known {
					at, known = takesCode[""][name.Sel.Name]
				}
				if known && at < len(n.Args) {
					add(n.Args[at])
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				constant := strings.HasPrefix(name.Name, "warn") || strings.HasPrefix(strings.ToLower(name.Name), "reason")
				switch {
				case i >= len(n.Values):
				case constant && !slices.Contains(onlyForAdministrators, name.Name):
					add(n.Values[i])
				case name.Name == "remarkCodes":
					addElements(n.Values[i], add)
				}
			}
		case *ast.FuncDecl:
			if n.Name.Name == "Reason" {
				addElements(n.Body, add)
			}
		case *ast.AssignStmt: // in.Outcome, in.Reason = acuity.Ignored, "census_older"
			for i, to := range n.Lhs {
				if field, ok := to.(*ast.SelectorExpr); ok && strings.EqualFold(field.Sel.Name, "reason") && i < len(n.Rhs) {
					add(n.Rhs[i])
				}
			}
		case *ast.ReturnStmt: // return acuity.Ignored, "visit_unknown"
			if len(n.Results) == 2 {
				if outcome, ok := n.Results[0].(*ast.SelectorExpr); ok && slices.Contains([]string{"Ignored", "Rejected"}, outcome.Sel.Name) {
					add(n.Results[1])
				}
			}
		}
		return true
	})
}

// addElements adds the strings of all composite literals below a node.
func addElements(n ast.Node, add func(ast.Expr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if list, ok := n.(*ast.CompositeLit); ok {
			for _, e := range list.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					e = pair.Value
				}
				add(e)
			}
		}
		return true
	})
}

// renamed are codes of dispositions that have a different name in responses.
var renamed = map[string]string{"event_type": "event_ignored"}

// TestEveryCodeHasASentence: each code that can be raised is in the table, and each code in the table can be raised.
// The sentence of each code must say after a semicolon what the sender should do.
func TestEveryCodeHasASentence(t *testing.T) {
	codes := raised(t)
	if len(codes) < 50 {
		t.Fatalf("only %d codes were found: %v", len(codes), codes)
	}
	for name, at := range codes {
		if other, ok := renamed[name]; ok {
			name = other
		}
		switch w, ok := ExplainWarning(name); {
		case !ok:
			t.Errorf("%s is raised at %s and has no sentence in Warnings", name, at.file)
		case w.Raised&at.raised != at.raised:
			t.Errorf("%s is raised at %s: by %04b, and the table says %04b", name, at.file, at.raised, w.Raised)
		}
	}
	sentence := regexp.MustCompile(`^[A-Z].+; .+\.$`)
	for i, w := range Warnings {
		if _, ok := codes[w.Code]; !ok && code.MatchString(w.Code) {
			t.Errorf("%s is never raised", w.Code)
		}
		if !sentence.MatchString(w.Message) && w.Code != "required" {
			t.Errorf("%s: %q does not say what was found; what to do", w.Code, w.Message)
		}
		if i > 0 && Warnings[i-1].Code >= w.Code {
			t.Errorf("%s is not in its place", w.Code)
		}
	}
}

// TestPageOfWarnings: docs/reference/warnings.md lists each code with its sentence and the feeds that can get it.
func TestPageOfWarnings(t *testing.T) {
	var table strings.Builder
	table.WriteString("| Code | Feeds | The fact is | Message |\n|---|---|---|---|\n")
	effects := [...]string{Used: "used", Known: "known", Unused: "not used", Refused: "refused"}
	for _, w := range Warnings {
		feeds := "all"
		if w.Raised&ByState == 0 {
			var some []string
			for _, feed := range []struct {
				by   Raised
				name string
			}{{ByHL7, "HL7"}, {ByFHIR, "FHIR"}, {ByJSON, "JSON"}} {
				if w.Raised&feed.by != 0 {
					some = append(some, feed.name)
				}
			}
			feeds = strings.Join(some, ", ")
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", w.Code, feeds, effects[w.Effect], strings.ReplaceAll(w.Message, "|", `\|`))
	}
	docpage.Hold(t, "../../../docs/reference/warnings.md", "warnings", table.String(), *update)
}
