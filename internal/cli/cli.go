// Package cli is the command line for the API of a server.
//
// It also provides what all svc commands have in common, including those that start a role: environment variables for
// flags, a single report of all errors, and help.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Env is the environment of a command: environment variables, outputs and clock. Tests pass a simulated environment.
type Env struct {
	LookupEnv      func(string) (string, bool)
	Stdout, Stderr io.Writer
	Now            func() time.Time
	Terminal       bool // whether Stderr is a terminal, on which progress is shown as a bar
}

// Printf prints to standard output.
func (w Env) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(w.Stdout, format, args...)
	return err
}

// usageError is an error in the command line or the configuration. After such an error, the command does nothing, and
// the exit code is 2.
type usageError struct{ err error }

// Error implements error, with one line for each error.
func (e usageError) Error() string { return e.err.Error() }

// Unwrap returns the joined errors.
func (e usageError) Unwrap() error { return e.err }

// Usage joins all errors in a command line into one error, or returns nil if there are none.
func Usage(faults ...error) error {
	if err := errors.Join(faults...); err != nil {
		return usageError{err}
	}
	return nil
}

// Root returns the root command of a program; build is the output of --version.
func Root(name, short, build string) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Version: build}
	c.SetVersionTemplate("{{.Version}}\n")
	c.Flags().Bool("version", false, "print the version of this build")
	return c
}

// Section groups commands under a title in the help of their parent.
func Section(parent *cobra.Command, title string, commands ...*cobra.Command) {
	parent.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	parent.AddCommand(commands...)
}

// Run runs the command that args name, and returns the exit code: 0 for success, 1 if the command failed, and 2 if
// the command line or the configuration is invalid and nothing was started. Errors are printed to standard error, one
// per line, after the path of the command, such as "svc keys mint".
//
// Each command is a plain cobra command, with two conventions. Use declares the arguments after the name: NAME is
// required, [NAME] is optional, NAME… is one or more. PreRunE returns all errors in the flags of the command; Run
// prints them together with all other errors.
func Run(ctx context.Context, root *cobra.Command, args []string, w Env) int {
	path, err := execute(ctx, root, args, w)
	if err == nil {
		return 0
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w.Stderr, "%s: %s\n", path, strings.TrimSuffix(line, "\n"))
	}
	if _, wrong := errors.AsType[usageError](err); wrong {
		return 2
	}
	return 1
}

// execute runs the command that args name. It returns the path of the command, and the command's error.
func execute(ctx context.Context, root *cobra.Command, args []string, w Env) (path string, err error) {
	root.SetArgs(append([]string{}, args...)) // nil would make cobra read os.Args
	root.SetOut(w.Stdout)
	root.SetErr(w.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpFunc(printHelp)
	root.SetFlagErrorFunc(explainFlag)
	f := &frame{env: w.LookupEnv}
	f.prepare(root)
	c, err := root.ExecuteContextC(ctx)
	return c.CommandPath(), err
}

// frame is the state that all commands in one run share.
type frame struct {
	env    func(string) (string, bool)
	faults []error // errors in the values of flags
}

// prepare prepares a command and its subcommands to report their errors to the frame.
func (f *frame) prepare(c *cobra.Command) {
	c.Flags().SortFlags = false
	c.SuggestionsMinimumDistance = 2
	c.Args = cobra.ArbitraryArgs
	use := c.Use
	c.Use, c.DisableFlagsInUseLine, c.DisableAutoGenTag = fullUse(c), true, true
	if !c.Runnable() {
		c.RunE = chooseBelow
		c.FParseErrWhitelist.UnknownFlags = c.HasParent() // an unknown flag may belong to the missing subcommand
	} else if !c.DisableFlagParsing {
		check := c.PreRunE
		c.PreRunE = func(c *cobra.Command, args []string) error {
			faults := append(wordFaults(use, args), f.flagFaults(c.Flags())...)
			if check != nil {
				faults = append(faults, check(c, args))
			}
			return Usage(faults...)
		}
	}
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "version" { // --version has no environment variable
			return
		}
		flag.Usage += " [" + variables(flag) + "]"
		flag.Value = &checkedValue{Value: flag.Value, from: "--" + flag.Name, preset: flag.DefValue, faults: &f.faults}
	})
	for _, below := range c.Commands() {
		f.prepare(below)
	}
}

// chooseBelow is the run function of a command that only groups subcommands. The root command without arguments
// prints its help. In all other cases, chooseBelow returns an error that names the possible subcommands or the
// unknown command.
func chooseBelow(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && !c.HasParent():
		return c.Help()
	case len(args) == 0:
		return Usage(fmt.Errorf("expected %s; see svc help %s", either(names(c)), pathBelowRoot(c)))
	}
	said := fmt.Sprintf("unknown command %q; see svc help%s", args[0], strings.TrimRight(" "+pathBelowRoot(c), " "))
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		said += "; " + either(near) + " is near"
	}
	return Usage(errors.New(said))
}

func names(c *cobra.Command) (all []string) {
	for _, below := range c.Commands() {
		if !below.Hidden {
			all = append(all, below.Name())
		}
	}
	return all
}

// either joins words as alternatives.
func either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// pathBelowRoot returns the path of a command without the program's name.
func pathBelowRoot(c *cobra.Command) string {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	return path
}

// wordFaults returns the errors in the arguments of a command. use is the Use of the command, which declares the
// arguments.
func wordFaults(use string, args []string) (faults []error) {
	wanted := strings.Fields(use)[1:]
	for _, word := range wanted {
		switch optional := strings.HasPrefix(word, "["); {
		case len(args) > 0 && strings.Contains(word, "…"):
			return nil
		case len(args) > 0:
			args = args[1:]
		case !optional:
			faults = append(faults, fmt.Errorf("%s: required", strings.TrimSuffix(word, "…")))
		}
	}
	if len(args) > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", args[0]))
	}
	return slices.Clip(faults)
}
