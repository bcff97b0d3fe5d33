package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpTree compares the help of every command with testdata/help.txt, so that any change in the command line is
// noticed.
func TestHelpTree(t *testing.T) {
	const path = "testdata/help.txt"
	var all bytes.Buffer
	each(tree(env{}), func(c *cobra.Command) {
		words := strings.Fields(c.CommandPath())[1:]
		code, help, stderr := say(t, append([]string{"help"}, words...)...)
		if code != 0 || stderr != "" {
			t.Errorf("svc help %s: code %d, says %q", strings.Join(words, " "), code, stderr)
		}
		all.WriteString("===== svc help " + strings.Join(words, " ") + "\n" + help + "\n")
		if _, same, _ := say(t, append(words, "--help")...); same != help {
			t.Errorf("%s --help says something else than svc help", c.CommandPath())
		}
	})
	if *update {
		if err := os.WriteFile(path, all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(all.Bytes(), want) {
		t.Errorf("%s is not the help of today (%v); run go test ./cmd/svc -update and look at the difference", path, err)
	}
}

// each calls fn on a command and all its subcommands.
func each(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, below := range c.Commands() {
		each(below, fn)
	}
}

// TestFlagsHaveTwoDashes: a flag with one dash is refused with a hint. No flag has a short name except -h, so a name
// after one dash can only be a mistake.
func TestFlagsHaveTwoDashes(t *testing.T) {
	each(tree(env{}), func(c *cobra.Command) {
		tried := false
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand != "" {
				t.Errorf("%s has the short flag -%s", c.CommandPath(), f.Shorthand)
			}
			if tried && f.Name[0] != 'h' { // one flag suffices, but all names with h are tried: pflag might read them as -h
				return
			}
			tried = true
			args := append(strings.Fields(c.CommandPath())[1:], "-"+f.Name, "x")
			code, stdout, stderr := say(t, args...)
			if code != 2 || stdout != "" || stderr != c.CommandPath()+": -"+f.Name+": flags begin with two dashes: --"+f.Name+"\n" {
				t.Errorf("svc %s: code %d, says %q and %q", strings.Join(args, " "), code, stdout, stderr)
			}
		})
	})
}

// TestCompletion: completion offers commands, flags and the values of a flag, and prints a script
// that a shell can load.
func TestCompletion(t *testing.T) {
	for words, want := range map[string][]string{
		"":                       {"dev\t", "keys\t", "completion\t"},
		"keys ":                  {"mint\t", "revoke\t"},
		"help webhooks ro":       {"rotate\t"},
		"export --format ":       {"parquet", "ndjson", "csv"},
		"webhooks replay w --on": {"--only\t"},
		"alerts set-tier ":       {"T1", "T2", "T3"},
		"completion ":            {"bash", "zsh", "fish"},
	} {
		args := strings.Split(words, " ")
		_, stdout, _ := say(t, append([]string{"__complete"}, args...)...)
		for _, one := range want {
			if !strings.Contains("\n"+stdout, "\n"+one) {
				t.Errorf("svc %s: %q is not offered in\n%s", words, one, stdout)
			}
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		code, script, stderr := say(t, "completion", shell)
		if code != 0 || stderr != "" || !strings.Contains(script, "__complete") {
			t.Errorf("%s: code %d, says %q", shell, code, stderr)
		}
		if shell == "bash" {
			check := exec.Command("bash", "-n")
			check.Stdin = strings.NewReader(script)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
	if code, stdout, stderr := say(t, "completion", "tcsh"); code != 2 || stdout != "" || !strings.Contains(stderr, "SHELL: must be bash, zsh or fish") {
		t.Errorf("code %d, says %q", code, stderr)
	}
}

// TestManualPages: each command has a manual page with its flags and their environment variables.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := say(t, "man", "--out", dir); code != 0 {
		t.Fatal(stderr)
	}
	each(tree(env{}), func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" { // cobra does not write a page for these commands
			return
		}
		path := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || !strings.HasPrefix(string(page), ".nh\n.TH") {
			t.Errorf("%s: %v, %.40q", path, err, page)
		}
	})
	_, page, _ := say(t, "man", "keys", "mint")
	for _, want := range []string{`--scopes`, "SVC_SCOPES", "SVC_KAFKA_SASL_PASSWORD_FILE", "create a key"} {
		if !strings.Contains(strings.ReplaceAll(page, `\`, ""), want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
	for _, args := range [][]string{{"man", "keys", "fly"}, {"help", "fly"}, {"man", "keys", "--out", dir}} {
		if code, stdout, stderr := say(t, args...); code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: code %d, says %q", args, code, stderr)
		}
	}
}
