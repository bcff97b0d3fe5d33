// Package runtimes provides runtimes of other languages to tests, with packages from their registries. Partners use
// the same packages for verification, code generation or analysis.
//
// Packages are installed once in the user's cache. If a runtime is not available, the test is skipped and leaves a
// one-line note, which `make test` prints (internal/e2e/notice) until the test has run. Where all tests must run
// (CI=true, or SVC_E2E as in make e2e), the test fails instead.
package runtimes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// Program returns the path of a program on this machine.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	requireOrSkip(t, name, err)
	return path
}

// Python returns the path of an interpreter with packages, each named with its version:
// "duckdb==1.4.1".
func Python(t testing.TB, packages ...string) (interpreter string) {
	t.Helper()
	inside := filepath.Join("bin", "python")
	folder := installed(t, "python", packages, inside, func(folder string) [][]string {
		return [][]string{
			{"python3", "-m", "venv", "--clear", folder},
			append([]string{
				filepath.Join(folder, inside), "-m", "pip", "install",
				"--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "10",
			}, packages...),
		}
	})
	return filepath.Join(folder, inside)
}

// Node returns a folder whose node_modules contains packages, each named with its version: "standardwebhooks@1.1.1".
// Their programs are in node_modules/.bin.
func Node(t testing.TB, packages ...string) (folder string) {
	t.Helper()
	Program(t, "node")
	return installed(t, "node", packages, filepath.Join("node_modules", ".package-lock.json"), func(folder string) [][]string {
		return [][]string{append([]string{
			"npm", "install", "--prefix", folder, "--fetch-retries=1", "--fetch-timeout=15000",
			"--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error",
		}, packages...)}
	})
}

// Maven returns a folder in which a project was built, with the classes in target/classes and their dependencies in
// target/lib. Downloads are also kept in the cache.
func Maven(t testing.TB, project string) (folder string) {
	t.Helper()
	Program(t, "java")
	Program(t, "javac")
	what := []string{filepath.Base(project)}
	err := filepath.WalkDir(project, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // the file is part of this repository
		sum := sha256.Sum256(content)
		what = append(what, entry.Name()+"@"+hex.EncodeToString(sum[:6]))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(cache(t), "maven")
	return installed(t, "java", what, filepath.Join("target", "lib"), func(folder string) [][]string {
		return [][]string{
			{"rm", "-rf", folder},
			{"cp", "-r", project, folder},
			{"mvn", "-q", "-B", "-f", filepath.Join(folder, "pom.xml"), "-Dmaven.repo.local=" + repository, "package"},
		}
	})
}

// Debian returns the path of a program on this machine. If the machine does not have the program, Debian downloads a
// package from the distribution and unpacks it without installing it.
func Debian(t testing.TB, name, program string) (path string) {
	t.Helper()
	if path, err := exec.LookPath(filepath.Base(program)); err == nil {
		requireOrSkip(t, name, nil)
		return path
	}
	folder := installed(t, "debian", []string{name}, program, func(folder string) [][]string {
		const unpack = `mkdir -p "$0/lists/partial" "$0/archives/partial" && cd "$0" && ` +
			`get() { apt-get -qq -o Dir::State::lists="$0/lists" -o Dir::Cache="$0" -o APT::Sandbox::User="" "$@"; } && ` +
			`get update && get download "$1" && dpkg-deb -x ./*.deb . && rm -rf ./*.deb lists archives ./*.bin`
		return [][]string{{"rm", "-rf", folder}, {"sh", "-c", unpack, folder, name}}
	})
	return filepath.Join(folder, program)
}

// Compose returns the environment variables that `docker compose` needs: none if this machine has Compose. If it does
// not, Compose is built from module, a folder whose go.mod requires Compose.
func Compose(t testing.TB, module string) (env []string) {
	t.Helper()
	docker := Program(t, "docker")
	if exec.CommandContext(t.Context(), docker, "compose", "version").Run() == nil { //nolint:gosec // the path of docker was found above
		return nil
	}
	version, err := os.ReadFile(filepath.Join(module, "go.mod")) //nolint:gosec // the file is part of this repository
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(version)
	plugin := filepath.Join("cli-plugins", "docker-compose")
	folder := installed(t, "compose", []string{"go.mod@" + hex.EncodeToString(sum[:6])}, plugin, func(folder string) [][]string {
		program := filepath.Join(folder, plugin)
		return [][]string{{"go", "build", "-C", module, "-ldflags=-s -w", "-o", program, "github.com/docker/compose/v2/cmd"}}
	})
	return []string{"DOCKER_CONFIG=" + folder}
}

// Commit returns the path of a program of this project, built from an earlier commit. repository is the folder of the
// repository, hash names the commit in full, and name is a folder in cmd.
func Commit(t testing.TB, repository, hash, name string) (program string) {
	t.Helper()
	folder := installed(t, "commit", []string{name, hash}, name, func(folder string) [][]string {
		source, archive := filepath.Join(folder, "source"), filepath.Join(folder, "source.tar")
		return [][]string{
			{"rm", "-rf", folder},
			{"mkdir", "-p", source},
			{"git", "-C", repository, "archive", "--output", archive, hash},
			{"tar", "-xf", archive, "-C", source},
			{"go", "build", "-C", source, "-o", filepath.Join(folder, name), "./cmd/" + name},
			{"rm", "-rf", source, archive},
		}
	})
	return filepath.Join(folder, name)
}

// patience is the time limit for an installation. The packages of the analysts' notebook need half a minute; Compose
// needs minutes on a busy machine.
const patience = 20 * time.Minute

// installed returns a folder in the cache in which commands have installed packages, now or in an earlier run. The
// file named by inside exists once the installation is complete.
func installed(t testing.TB, language string, packages []string, inside string, commands func(folder string) [][]string) (folder string) {
	t.Helper()
	sum := sha256.Sum256([]byte(strings.Join(packages, " ")))
	folder = filepath.Join(cache(t), language+"-"+hex.EncodeToString(sum[:6]))
	done := folder + ".complete"
	lock := flock.New(folder + ".lock") // Go packages are tested in parallel
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Close() //nolint:errcheck // the end of the process releases the lock, too
	what := strings.Join(append([]string{language}, packages...), " ")
	if exists(done) && exists(filepath.Join(folder, inside)) {
		requireOrSkip(t, what, nil)
		return folder
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, command := range commands(folder) {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput() //nolint:gosec // from this package
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, last(string(out)))
		}
		requireOrSkip(t, what, err)
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil { //nolint:gosec // the file is in this package's own cache
		t.Fatal(err)
	}
	return folder
}

// requireOrSkip lets a test continue if its runtime was found. If err is set, it fails or skips the test, as the
// package comment describes.
func requireOrSkip(t testing.TB, what string, err error) {
	t.Helper()
	note := filepath.Join(cache(t), "missing", strings.ReplaceAll(t.Name(), "/", "."))
	if err == nil {
		if err = os.Remove(note); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return
	}
	line := fmt.Sprintf("%s did not run, it needs %s: %v", t.Name(), what, err)
	if os.Getenv("CI") == "true" || os.Getenv("SVC_E2E") != "" { //nolint:forbidigo // these variables configure tests, not svc
		t.Fatal(line)
	}
	if err = os.MkdirAll(filepath.Dir(note), 0o700); err == nil {
		err = os.WriteFile(note, []byte(line+"\n"), 0o600) //nolint:gosec // the file is in this package's own cache
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Skip(line)
}

func cache(t testing.TB) string {
	t.Helper()
	user, err := os.UserCacheDir()
	if err == nil {
		user = filepath.Join(user, "svc-runtimes")
		err = os.MkdirAll(user, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return user
}

func exists(path string) bool {
	_, err := os.Stat(path) //nolint:gosec // the file is in this package's own cache; Stat follows links
	return err == nil
}

// last returns the last line of a program's output.
func last(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// Browser returns a headless Chromium and the environment variables that it needs. If the machine has no Chromium,
// Browser downloads the distribution's package and unpacks it, with any missing libraries, without installing it.
func Browser(t testing.TB) (program string, env []string) {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			requireOrSkip(t, browserPackage, nil)
			return path, nil
		}
	}
	inside := filepath.Join("usr", "lib", "chromium", browserPackage)
	folder := installed(t, "browser", browserPackages, inside, func(folder string) [][]string {
		// apt-get does not need a lock, because nothing is installed. It downloads the named packages even if they
		// are installed, because the program loads its data from its own folder. It skips libraries that are
		// installed.
		const unpack = `mkdir -p "$0/lists/partial" "$0/archives/partial" && cd "$0" && ` +
			`get() { apt-get -qq -o Dir::State::lists="$0/lists" -o Dir::Cache="$0" -o APT::Sandbox::User="" -o Debug::NoLocking=1 "$@"; } && ` +
			`get update && get install --yes --no-install-recommends --reinstall --download-only "$@" >/dev/null && ` +
			`for package in archives/*.deb; do dpkg-deb -x "$package" . || exit 1; done && rm -rf lists archives ./*.bin`
		return [][]string{{"rm", "-rf", folder}, append([]string{"sh", "-c", unpack, folder}, browserPackages...)}
	})
	// libpulse loads a part of itself from an absolute path, which is not in this folder.
	var libraries []string
	for _, below := range []string{"", "pulseaudio"} {
		found, err := filepath.Glob(filepath.Join(folder, "usr", "lib", "*-linux-gnu", below))
		if err != nil {
			t.Fatal(err)
		}
		libraries = append(libraries, found...)
	}
	program = filepath.Join(folder, inside)
	env = append(env, "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
	if _, err := os.Stat("/etc/fonts/fonts.conf"); err != nil {
		env = append(env, "FONTCONFIG_SYSROOT="+folder)
	}
	return program, env
}

// browserPackage is the name of the distribution's package, and of the program in it.
const browserPackage = "chromium-headless-shell"

// browserPackages are the packages to unpack: the program, its data, and a font.
var browserPackages = []string{browserPackage, "chromium-common", "fonts-dejavu-core"}
