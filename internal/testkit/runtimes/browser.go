package runtimes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Browser returns the program of a Chromium without a window, and the variables that it
// needs: that of this machine or, if it has none, that of its distribution, which is
// unpacked with the libraries that the machine lacks and not installed.
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
		// apt-get takes no lock, as nothing is installed. Libraries that are there already it
		// leaves out, but never the packages that are named: the program looks for its data
		// beside itself.
		const unpack = `mkdir -p "$0/lists/partial" "$0/archives/partial" && cd "$0" && ` +
			`get() { apt-get -qq -o Dir::State::lists="$0/lists" -o Dir::Cache="$0" -o APT::Sandbox::User="" -o Debug::NoLocking=1 "$@"; } && ` +
			`get update && get install --yes --no-install-recommends --reinstall --download-only "$@" >/dev/null && ` +
			`for package in archives/*.deb; do dpkg-deb -x "$package" . || exit 1; done && rm -rf lists archives ./*.bin`
		return [][]string{{"rm", "-rf", folder}, append([]string{"sh", "-c", unpack, folder}, browserPackages...)}
	})
	// libpulse finds a part of itself by an absolute path, which is not that of the folder.
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

// browserPackage is the package of the distribution, and its program.
const browserPackage = "chromium-headless-shell"

// browserPackages are unpacked: the program, its data, and a font.
var browserPackages = []string{browserPackage, "chromium-common", "fonts-dejavu-core"}
