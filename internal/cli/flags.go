package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What is noted at a flag.
const (
	noteSecret   = "svc_secret"   // its variable has one that names a file, too
	noteRequired = "svc_required" // it must be given
	noteInstead  = "svc_instead"  // the flag that says the same in another way
	noteServers  = "svc_servers"  // it names servers: the help lists it apart
	noteFilled   = "svc_filled"   // its file is not empty
	noteIdle     = "svc_idle"     // why it says nothing in this run
)

// Variable is the environment variable of a flag.
func Variable(flag string) string {
	return "SVC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Secret has the value of flags also read from the files that their SVC_…_FILE name.
func Secret(flags *pflag.FlagSet, names ...string) { note(flags, noteSecret, "true", names) }

// Filled refuses an empty file as the value of a secret: it was cut off, or never made.
func Filled(flags *pflag.FlagSet, names ...string) { note(flags, noteFilled, "true", names) }

// Require has flags that must be given.
func Require(flags *pflag.FlagSet, names ...string) {
	note(flags, noteRequired, "true", names)
	note(flags, cobra.BashCompOneRequiredFlag, "true", names) // completion offers them first
}

// OfServers lists flags in a part of the help of their own.
func OfServers(flags *pflag.FlagSet, names ...string) { note(flags, noteServers, "true", names) }

// Idle marks flags that say nothing in this run: their variables are left alone, and
// one that is given is refused for a reason.
func Idle(flags *pflag.FlagSet, reason string, names ...string) {
	note(flags, noteIdle, reason, names)
}

// Instead marks two flags that say the same: one that is given keeps the variables of
// both out, and both together are refused.
func Instead(flags *pflag.FlagSet, one, other string) {
	note(flags, noteInstead, other, []string{one})
	note(flags, noteInstead, one, []string{other})
}

func note(flags *pflag.FlagSet, what, value string, names []string) {
	for _, name := range names {
		flag := flags.Lookup(name)
		if flag.Annotations == nil {
			flag.Annotations = map[string][]string{}
		}
		flag.Annotations[what] = []string{value}
	}
}

func noted(flag *pflag.Flag, what string) string {
	return strings.Join(flag.Annotations[what], "")
}

// OneOf adds a flag that takes one of some words, which the shell completes.
func OneOf(c *cobra.Command, into *string, name, preset, usage string, words ...string) {
	*into = preset
	c.Flags().Var(&oneOf{into, words}, name, usage)
	err := c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag was just added
	}
}

// oneOf is the value of such a flag.
type oneOf struct {
	into  *string
	words []string
}

// String implements [pflag.Value].
func (v *oneOf) String() string { return *v.into }

// Type implements [pflag.Value].
func (v *oneOf) Type() string { return "word" }

// Set implements [pflag.Value].
func (v *oneOf) Set(text string) error {
	if !slices.Contains(v.words, text) {
		return fmt.Errorf("must be %s", either(v.words))
	}
	*v.into = text
	return nil
}

// checkedValue is the value of a flag that keeps what is wrong with it, so that the
// parser goes on and all faults are told at once. No fault repeats the value.
type checkedValue struct {
	pflag.Value
	from   string // the flag, or the variable that stands in for it
	faults *[]error
}

// Set implements [pflag.Value].
func (v *checkedValue) Set(text string) error {
	if err := v.Value.Set(text); err != nil {
		*v.faults = append(*v.faults, fmt.Errorf("%s: %w", v.from, ruleOf(v.Type(), err)))
	}
	return nil
}

// ruleOf says what a value of a type must be; pflag's own words repeat the value.
func ruleOf(kind string, err error) error {
	switch kind {
	case "int", "int64", "uint64":
		return errors.New("must be a whole number")
	case "float64":
		return errors.New("must be a number")
	case "bool":
		return errors.New("must be true or false")
	case "duration":
		return errors.New("must be a duration such as 30s")
	}
	return err
}

// flagFaults takes what was not given from the environment, and returns all that is
// wrong with the flags one by one.
func (f *frame) flagFaults(flags *pflag.FlagSet) []error {
	var given []string
	flags.Visit(func(flag *pflag.Flag) { given = append(given, flag.Name) })
	flags.VisitAll(func(flag *pflag.Flag) {
		other, idle := noted(flag, noteInstead), noted(flag, noteIdle)
		switch {
		case idle != "":
			if slices.Contains(given, flag.Name) {
				f.faults = append(f.faults, fmt.Errorf("--%s: %s", flag.Name, idle))
			}
		case slices.Contains(given, flag.Name):
			if slices.Contains(given, other) && flag.Name < other {
				f.faults = append(f.faults, fmt.Errorf("--%s, --%s: give one of them", flag.Name, other))
			}
		case !slices.Contains(given, other):
			f.fromEnvironment(flags, flag)
		}
		if noted(flag, noteRequired) != "" && flag.Value.String() == "" {
			f.faults = append(f.faults, fmt.Errorf("--%s: must be given", flag.Name))
		}
	})
	return f.faults
}

// fromEnvironment sets a flag from its variable, or from the file that the other
// variable of a secret names.
func (f *frame) fromEnvironment(flags *pflag.FlagSet, flag *pflag.Flag) {
	checked, ours := flag.Value.(*checkedValue)
	if !ours { // -h, of cobra
		return
	}
	name := Variable(flag.Name)
	text, found := f.env(name)
	if !found && noted(flag, noteSecret) != "" {
		name += "_FILE"
		var path string
		if path, found = f.env(name); found {
			content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
			if err != nil {
				f.faults = append(f.faults, fmt.Errorf("%s: %w", name, withoutPath(err)))
				return
			}
			text = strings.TrimRight(string(content), "\r\n")
			if text == "" && noted(flag, noteFilled) != "" {
				f.faults = append(f.faults, fmt.Errorf("%s: the file that it names is empty", name))
				return
			}
		}
	}
	if found {
		checked.from = name
		flags.Set(flag.Name, text) //nolint:errcheck // a checked value keeps its fault
	}
}

// explainFlag says what is wrong with a command line that the parser cannot read.
func explainFlag(c *cobra.Command, err error) error {
	unknown, is := errors.AsType[*pflag.NotExistError](err)
	switch {
	case !is:
		return Usage(err)
	case len(unknown.GetSpecifiedShortnames()) > 1:
		name, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "=")
		if c.Flags().Lookup("h"+name) != nil { // its h was read as -h
			name = "h" + name
		}
		return Usage(fmt.Errorf("-%s: a flag has two dashes: --%s", name, name))
	case unknown.GetSpecifiedShortnames() != "":
		return Usage(fmt.Errorf("-%s: there is no such flag; svc help %s lists them", unknown.GetSpecifiedShortnames(), pathBelowRoot(c)))
	}
	return Usage(fmt.Errorf("--%s: there is no such flag; svc help %s lists them", unknown.GetSpecifiedName(), pathBelowRoot(c)))
}

// withoutPath is an error of a file without the path that the user has just named.
func withoutPath(err error) error {
	if of, is := errors.AsType[*os.PathError](err); is {
		return of.Err
	}
	return err
}
