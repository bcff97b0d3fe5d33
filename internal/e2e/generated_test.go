package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc/internal/runtimes"
)

const generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"

// TestGeneratedClient makes a client from the document that svc serves, as a
// partner would, compiles a program with it, and has it do the tour.
func TestGeneratedClient(t *testing.T) {
	if os.Getenv("SVC_E2E") == "" {
		t.Skip("needs the Go module proxy: make e2e")
	}
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
	write("go.mod", []byte("module partner\n\ngo 1.26.0\n"))
	write("openapi.json", document)
	write("main.go", program)
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
	if got := run("run", "."); !strings.HasSuffix(got, toured) {
		t.Errorf("got\n%s\nwant\n%s", got, toured)
	}
}

// toured is what a program says that did the tour.
const toured = "census true 1 labor-standard\nclinical high-mag 1:1\nhl7 AA M1\nread true 3 high-mag\nrefused unauthorized\n"

// TestGeneratedPythonClient does the same in another language, after a validator
// and a linter of such documents have read this one.
func TestGeneratedPythonClient(t *testing.T) {
	if os.Getenv("SVC_E2E") == "" {
		t.Skip("needs the package registries: make e2e")
	}
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
