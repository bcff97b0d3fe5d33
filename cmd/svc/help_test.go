package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpTree holds the help of every command against testdata/help.txt, so that a
// change of the surface is seen.
func TestHelpTree(t *testing.T) {
	const path = "testdata/help.txt"
	var all bytes.Buffer
	each(tree(world{}), func(c *cobra.Command) {
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
		t.Errorf("%s is not the help of today (%v); run go test -update ./cmd/svc and look at the difference", path, err)
	}
}

// each goes through a command and all below it.
func each(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, below := range c.Commands() {
		each(below, fn)
	}
}

// TestFlagsHaveTwoDashes: one dash is never read as a row of short flags, since no
// flag that takes a value has a short name; and whoever writes one is told so.
func TestFlagsHaveTwoDashes(t *testing.T) {
	each(tree(world{}), func(c *cobra.Command) {
		tried := false
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand != "" {
				t.Errorf("%s has the short flag -%s", c.CommandPath(), f.Shorthand)
			}
			if tried && f.Name[0] != 'h' { // -h there is, so those are read in another way
				return
			}
			tried = true
			args := append(strings.Fields(c.CommandPath())[1:], "-"+f.Name, "x")
			code, stdout, stderr := say(t, args...)
			if code != 2 || stdout != "" || stderr != c.CommandPath()+": -"+f.Name+": a flag has two dashes: --"+f.Name+"\n" {
				t.Errorf("svc %s: code %d, says %q and %q", strings.Join(args, " "), code, stdout, stderr)
			}
		})
	})
}
