package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc/internal/testkit/runtimes"
)

const generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"

// TestGeneratedClient generates a Go client from the document that svc serves, as a partner would, and compiles a
// program that runs the tour with the client.
func TestGeneratedClient(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	dev := startDev(t, t.TempDir(), "--ephemeral")
	document := newPartner(dev.BaseURL, dev.HospitalID, "").get(t, "/api/openapi.json").raw
	dir := t.TempDir()
	write := func(name string, content []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.ReadFile("testdata/client/main.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	answers := shownAnswers(t, document)
	write("go.mod", []byte("module partner\n\ngo 1.26.0\n"))
	write("openapi.json", document)
	write("answers.json", encoded(t, answers))
	write("main.go", program)
	write("answers.go", answerTypes(answers))
	write("api/doc.go", []byte("package api\n"))
	run := func(args ...string) string {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "SVC="+dev.BaseURL, "KEY="+dev.APIKey)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("run", generator, "-generate", "types,client", "-package", "api", "-o", "api/client.go", "openapi.json")
	run("mod", "tidy")
	if got, want := run("run", "."), toured+readAll(answers); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// shownAnswers returns the example success responses of a document, by the name of their schema.
func shownAnswers(t testing.TB, document []byte) map[string]json.RawMessage {
	t.Helper()
	var d struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
					Example json.RawMessage
				}
			}
		}
	}
	into(t, document, &d)
	answers := map[string]json.RawMessage{}
	for _, methods := range d.Paths {
		for _, o := range methods {
			shown := o.Responses["200"].Content["application/json"]
			if name, named := strings.CutPrefix(shown.Schema.Ref, "#/components/schemas/"); named && len(shown.Example) > 0 {
				answers[name] = shown.Example
			}
		}
	}
	if len(answers) < 35 {
		t.Fatalf("the document shows %d answers", len(answers))
	}
	return answers
}

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// answerTypes returns Go source for a map from the name of each answer to its type, because Go cannot look up types
// by name.
func answerTypes(answers map[string]json.RawMessage) []byte {
	var b strings.Builder
	b.WriteString("package main\n\nimport \"partner/api\"\n\nvar answerTypes = map[string]any{\n")
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		fmt.Fprintf(&b, "\t%q: new(api.%s),\n", name, name)
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// readAll returns the expected output of a program that reads all answers.
func readAll(answers map[string]json.RawMessage) string {
	return fmt.Sprintf("answers %d\n", len(answers))
}

// toured is the expected output of a program that runs the tour.
const toured = "census true 1 labor-standard\nclinical high-mag 1:1\nhl7 AA M1\nread true 3 high-mag\nrefused unauthorized\n"

// TestGeneratedPythonClient repeats TestGeneratedClient in Python, after a validator of OpenAPI
// documents has checked the document.
func TestGeneratedPythonClient(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	interpreter := runtimes.Python(t, "openapi-spec-validator==0.9.0", "openapi-python-client==0.29.1")
	dev := startDev(t, t.TempDir(), "--ephemeral")
	dir := t.TempDir()
	document := newPartner(dev.BaseURL, dev.HospitalID, "").get(t, "/api/openapi.json").raw
	if err := os.WriteFile(filepath.Join(dir, "openapi.json"), document, 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs("testdata/client/tour.py")
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SVC="+dev.BaseURL, "KEY="+dev.APIKey, "PYTHONPATH="+dir)
		out, fault := cmd.CombinedOutput()
		if fault != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), fault, out)
		}
		return string(out)
	}
	run(t, interpreter, "-m", "openapi_spec_validator", "openapi.json")
	t.Run("linter", func(t *testing.T) {
		folder := runtimes.Node(t, "@redocly/cli@2.77.0")
		run(t, filepath.Join(folder, "node_modules", ".bin", "redocly"), "lint", "openapi.json", "--max-problems", "1000")
	})
	run(t, filepath.Join(filepath.Dir(interpreter), "openapi-python-client"), "generate", "--path", "openapi.json", "--meta", "none", "--output-path", "partner")
	if got := run(t, interpreter, program); !strings.HasSuffix(got, toured) {
		t.Errorf("got\n%s\nwant\n%s", got, toured)
	}
}

// TestOpenAPIGenerator repeats TestGeneratedClient in Python and in TypeScript with OpenAPI Generator, which most
// partners use. Both clients must decode every example response of the document that reports success.
func TestOpenAPIGenerator(t *testing.T) {
	t.Parallel()
	folder := partnersInJava(t)
	interpreter := runtimes.Python(t, "urllib3==2.7.0", "pydantic==2.12.5", "python-dateutil==2.9.0.post0", "typing-extensions==4.15.0")
	node := runtimes.Node(t, "typescript@5.9.3", "@types/node@20.19.25")
	served := startDev(t, t.TempDir(), "--ephemeral")
	document := newPartner(served.BaseURL, served.HospitalID, "").get(t, "/api/openapi.json").raw
	answers := shownAnswers(t, document)
	dir := t.TempDir()
	files := map[string][]byte{"openapi.json": document, "answers.json": encoded(t, answers)}
	for _, name := range []string{"openapi_generator.py", "openapi-generator-python.yaml", "openapi-generator-typescript.yaml"} {
		files[name] = content(t, "testdata/client/"+name)
	}
	for _, name := range []string{"openapi_generator.ts", "tsconfig.json"} {
		files["typescript/"+name] = content(t, "testdata/client/"+name)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(t *testing.T, d *dev, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SVC="+d.BaseURL, "KEY="+d.APIKey, "PYTHONPATH="+filepath.Join(dir, "python"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", filepath.Base(name), err, out)
		}
		return string(out)
	}
	run(t, served, "java", "-XX:TieredStopAtLevel=1", "-jar", filepath.Join(folder, "target", "generator", "openapi-generator-cli.jar"),
		"batch", "openapi-generator-python.yaml", "openapi-generator-typescript.yaml")
	want := toured + readAll(answers)
	t.Run("Python", func(t *testing.T) {
		if got := run(t, served, interpreter, "openapi_generator.py"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
	t.Run("TypeScript", func(t *testing.T) {
		modules := filepath.Join(node, "node_modules")
		untouched := startDev(t, t.TempDir(), "--ephemeral") // the first tour has changed the rooms of the first svc dev
		run(t, untouched, filepath.Join(modules, ".bin", "tsc"), "-p", "typescript", "--typeRoots", filepath.Join(modules, "@types"))
		if got := run(t, untouched, "node", filepath.Join("typescript", "out", "openapi_generator.js")); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func content(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
