package runtimes

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// observedTest is a test that records its name and its result.
type observedTest struct {
	testing.TB
	name, skipped, failed string
}

func (s *observedTest) Name() string { return s.name }

func (s *observedTest) Skip(args ...any) {
	s.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (s *observedTest) Fatal(args ...any) {
	s.failed = fmt.Sprint(args...)
	runtime.Goexit()
}

// try runs a test and returns its result.
func try(t *testing.T, name string, test func(t testing.TB)) *observedTest {
	t.Helper()
	s := &observedTest{TB: t, name: name}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(s)
	}()
	<-done
	return s
}

// machine prepares an environment with only the given programs, as shell scripts, and an empty cache. notes returns
// the notes of skipped tests.
func machine(t *testing.T, programs map[string]string) (notes func() string) {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("CI", "")
	t.Setenv("SVC_E2E", "")
	return func() string {
		files, err := filepath.Glob(filepath.Join(cache(t), "missing", "*"))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(content)
		}
		return all.String()
	}
}

// python3 creates folders as venv does. The interpreter in them only records what it installs.
const python3 = `[ "$2" = venv ] || exit 3
mkdir -p "$4/bin"
printf '#!/bin/sh\necho "$@" >>"%s.installs"\n' "$4" >"$4/bin/python"
chmod +x "$4/bin/python"
`

// npm refuses packages whose name contains "absent", as if the registry were unavailable.
const npm = `case "$*" in *absent*) echo "npm error E404" >&2; exit 1 ;; esac
mkdir -p "$3/node_modules"
echo {} >"$3/node_modules/.package-lock.json"
`

func TestTheRule(t *testing.T) {
	notes := machine(t, map[string]string{"node": "", "npm": npm})
	for name, test := range map[string]func(t testing.TB){
		"TestOfAProgram": func(t testing.TB) { Program(t, "javac") },
		"TestOfPython":   func(t testing.TB) { Python(t, "duckdb==1.0") },
		"TestOf/Node":    func(t testing.TB) { Node(t, "absent@1.0") },
		"TestOfMaven":    func(t testing.TB) { Maven(t, "testdata") },
	} {
		s := try(t, name, test)
		if s.failed != "" || !strings.HasPrefix(s.skipped, name+" did not run, it needs ") || strings.Contains(s.skipped, "\n") {
			t.Errorf("%s: skipped %q, failed %q", name, s.skipped, s.failed)
		}
		if !strings.Contains(notes(), s.skipped+"\n") {
			t.Errorf("%s: not noted in %q", name, notes())
		}
		for variable, value := range map[string]string{"CI": "true", "SVC_E2E": "1"} {
			t.Setenv(variable, value)
			if s = try(t, name, test); s.skipped != "" || !strings.Contains(s.failed, "did not run") {
				t.Errorf("%s with %s=%s: skipped %q, failed %q", name, variable, value, s.skipped, s.failed)
			}
			t.Setenv(variable, "")
		}
	}
}

// TestNotesEnd: the note of a skipped test is removed once the test finds its runtime.
func TestNotesEnd(t *testing.T) {
	notes := machine(t, nil)
	needs := func(t testing.TB) { Python(t, "duckdb==1.0") }
	try(t, "TestOfPython", needs)
	if notes() == "" {
		t.Fatal("nothing is noted")
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "python3"), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+python3), 0o700); err != nil {
		t.Fatal(err)
	}
	if s := try(t, "TestOfPython", needs); s.skipped+s.failed != "" || notes() != "" {
		t.Errorf("skipped %q, failed %q, noted %q", s.skipped, s.failed, notes())
	}
}

// TestInstalledOnce: packages are installed once and then reused. They are installed again if the interpreter is
// missing or the installation was interrupted. Other packages get a different folder.
func TestInstalledOnce(t *testing.T) {
	machine(t, map[string]string{"python3": python3})
	interpreter := Python(t, "duckdb==1.0", "numpy==2.0")
	folder := filepath.Dir(filepath.Dir(interpreter))
	installs := func() int {
		content, err := os.ReadFile(folder + ".installs")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), "duckdb==1.0 numpy==2.0\n") {
			t.Errorf("installed: %s", content)
		}
		return strings.Count(string(content), "\n")
	}
	if Python(t, "duckdb==1.0", "numpy==2.0"); installs() != 1 {
		t.Errorf("%d installations", installs())
	}
	if other := Python(t, "duckdb==1.1"); other == interpreter {
		t.Error("other packages have the same folder")
	}
	if err := os.Remove(interpreter); err != nil {
		t.Fatal(err)
	}
	if Python(t, "duckdb==1.0", "numpy==2.0"); installs() != 2 {
		t.Errorf("%d installations after the interpreter has gone", installs())
	}
	if err := os.Remove(folder + ".complete"); err != nil {
		t.Fatal(err)
	}
	if Python(t, "duckdb==1.0", "numpy==2.0"); installs() != 3 {
		t.Errorf("%d installations after one was cut short", installs())
	}
}

// mvn creates the result of a build, and records its calls.
const mvn = `folder=$(dirname "$4")
mkdir -p "$folder/target/lib"
echo built >>"$folder.builds"
`

// TestBuiltOnce: a project is built once, and built again only if one of its files has changed.
func TestBuiltOnce(t *testing.T) {
	machine(t, map[string]string{"java": "", "javac": "", "mvn": mvn, "rm": `exec rm "$@"`, "cp": `exec cp "$@"`})
	project := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(project, "pom.xml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	first := Maven(t, project)
	if again := Maven(t, project); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if builds, err := os.ReadFile(first + ".builds"); err != nil || string(builds) != "built\n" {
		t.Errorf("%q %v", builds, err)
	}
	if content, err := os.ReadFile(filepath.Join(first, "pom.xml")); err != nil || string(content) != "one" {
		t.Errorf("%q %v", content, err)
	}
	write("two")
	if other := Maven(t, project); other == first {
		t.Error("a changed project is not built anew")
	}
}

// TestCommitIsBuiltOnce: a program is built once for each commit, from that commit.
func TestCommitIsBuiltOnce(t *testing.T) {
	machine(t, map[string]string{
		"rm": `exec rm "$@"`, "mkdir": `exec mkdir "$@"`,
		"git": `echo "$2 $6" >"$5"`,       // git -C repository archive --output archive commit
		"tar": `exec cp "$2" "$4/origin"`, // tar -xf archive -C source
		"go":  `exec cp "$3/origin" "$5"`, // go build -C source -o program package
	})
	built := func(program string) string {
		content, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	first := Commit(t, "repository", "aaa", "svc")
	if got := built(first); got != "repository aaa\n" {
		t.Errorf("built from %q", got)
	}
	if err := os.WriteFile(first, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := Commit(t, "repository", "aaa", "svc"); again != first || built(again) != "kept" {
		t.Errorf("%s, then %s from %q", first, again, built(again))
	}
	if got := built(Commit(t, "repository", "bbb", "svc")); got != "repository bbb\n" {
		t.Errorf("another commit is built from %q", got)
	}
}
