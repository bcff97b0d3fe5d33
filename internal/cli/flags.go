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

// Annotations of flags.
const (
	noteSecret   = "svc_secret"   // the _FILE variable names a file with the value
	noteRequired = "svc_required" // the flag must be given
	noteInstead  = "svc_instead"  // the other flag for the same value
	noteServers  = "svc_servers"  // the help lists the flag in the section of servers
	noteFilled   = "svc_filled"   // the file must not be empty
	noteIdle     = "svc_idle"     // why the flag has no effect in this run
)

// Variable returns the environment variable of a flag.
func Variable(flag string) string {
	return "SVC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Secret marks flags whose value may also come from a file. The environment variable SVC_…_FILE names that file.
func Secret(flags *pflag.FlagSet, names ...string) { annotate(flags, noteSecret, "true", names) }

// Filled marks secrets for which an empty file is an error, because such a file was truncated or never written.
func Filled(flags *pflag.FlagSet, names ...string) { annotate(flags, noteFilled, "true", names) }

// Require marks flags that must be given.
func Require(flags *pflag.FlagSet, names ...string) {
	annotate(flags, noteRequired, "true", names)
	annotate(flags, cobra.BashCompOneRequiredFlag, "true", names) // shell completion offers these flags first
}

// ServerFlags lists flags in a separate section of the help.
func ServerFlags(flags *pflag.FlagSet, names ...string) { annotate(flags, noteServers, "true", names) }

// Idle marks flags that have no effect in this run. Their environment variables are ignored. If such a flag is given,
// the command fails with the reason as its error.
func Idle(flags *pflag.FlagSet, reason string, names ...string) {
	annotate(flags, noteIdle, reason, names)
}

// markAlternatives marks two flags for the same value. If one of them is given, the environment variables of both are
// ignored. It is an error to give both.
func markAlternatives(flags *pflag.FlagSet, one, other string) {
	annotate(flags, noteInstead, other, []string{one})
	annotate(flags, noteInstead, one, []string{other})
}

func annotate(flags *pflag.FlagSet, what, value string, names []string) {
	for _, name := range names {
		flag := flags.Lookup(name)
		if flag.Annotations == nil {
			flag.Annotations = map[string][]string{}
		}
		flag.Annotations[what] = []string{value}
	}
}

func annotation(flag *pflag.Flag, what string) string {
	return strings.Join(flag.Annotations[what], "")
}

// OneOf adds a flag that accepts one of the given words, which the shell can complete.
func OneOf(c *cobra.Command, into *string, name, preset, usage string, words ...string) {
	*into = preset
	c.Flags().Var(&oneOf{into, words}, name, usage)
	err := c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // cannot happen: the flag exists
	}
}

// oneOf is the value of a flag with a fixed set of words.
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

// checkedValue is a flag value that stores errors in faults. The parser therefore continues after an error, and all
// errors are reported together. The errors never contain the value.
type checkedValue struct {
	pflag.Value
	from   string // what supplied the value: the flag or an environment variable
	preset string // the default
	wrong  bool   // whether a value had an error
	faults *[]error
}

// Set implements [pflag.Value].
func (v *checkedValue) Set(text string) error {
	if err := v.Value.Set(text); err != nil {
		v.wrong = true
		*v.faults = append(*v.faults, fmt.Errorf("%s: %w", v.from, ruleOf(v.Type(), err)))
		v.Value.Set(v.preset) //nolint:errcheck // some types keep a zero, in which the command would find a second error
	}
	return nil
}

// ruleOf returns an error that states the required form of a value. The message of pflag is not used, because it
// contains the value.
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

// flagFaults fills missing flags from the environment, and returns all errors in the flags.
func (f *frame) flagFaults(flags *pflag.FlagSet) []error {
	var given []string
	flags.Visit(func(flag *pflag.Flag) { given = append(given, flag.Name) })
	flags.VisitAll(func(flag *pflag.Flag) {
		other, idle := annotation(flag, noteInstead), annotation(flag, noteIdle)
		switch {
		case idle != "":
			if slices.Contains(given, flag.Name) {
				f.faults = append(f.faults, fmt.Errorf("--%s: %s", flag.Name, idle))
			}
		case slices.Contains(given, flag.Name):
			if slices.Contains(given, other) && flag.Name < other {
				f.faults = append(f.faults, fmt.Errorf("--%s, --%s: give only one of them", flag.Name, other))
			}
		case !slices.Contains(given, other):
			f.fromEnvironment(flags, flag)
		}
		checked, ours := flag.Value.(*checkedValue)
		if annotation(flag, noteRequired) != "" && flag.Value.String() == "" && !(ours && checked.wrong) {
			f.faults = append(f.faults, fmt.Errorf("--%s: required", flag.Name))
		}
	})
	return f.faults
}

// fromEnvironment sets a flag from its variable or, for a secret, from the file that the _FILE
// variable names.
func (f *frame) fromEnvironment(flags *pflag.FlagSet, flag *pflag.Flag) {
	checked, ours := flag.Value.(*checkedValue)
	if !ours { // a flag that cobra has added, such as -h
		return
	}
	name := Variable(flag.Name)
	text, found := f.env(name)
	if !found && annotation(flag, noteSecret) != "" {
		name += "_FILE"
		var path string
		if path, found = f.env(name); found {
			content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
			if err != nil {
				f.faults = append(f.faults, fmt.Errorf("%s: %w", name, WithoutPath(err)))
				return
			}
			text = strings.TrimRight(string(content), "\r\n")
			if text == "" && annotation(flag, noteFilled) != "" {
				f.faults = append(f.faults, fmt.Errorf("%s: the file is empty", name))
				return
			}
		}
	}
	if found {
		checked.from = name
		flags.Set(flag.Name, text) //nolint:errcheck // checkedValue stores the error
	}
}

// explainFlag returns a clear error for a flag that the parser rejected.
func explainFlag(c *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	switch {
	case !ok:
		return Usage(err)
	case len(unknown.GetSpecifiedShortnames()) > 1:
		name, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "=")
		if c.Flags().Lookup("h"+name) != nil { // pflag has parsed the h as the flag -h
			name = "h" + name
		}
		return Usage(fmt.Errorf("-%s: flags begin with two dashes: --%s", name, name))
	case unknown.GetSpecifiedShortnames() != "":
		return Usage(fmt.Errorf("-%s: unknown flag; svc help %s lists the flags", unknown.GetSpecifiedShortnames(), pathBelowRoot(c)))
	}
	return Usage(fmt.Errorf("--%s: unknown flag; svc help %s lists the flags", unknown.GetSpecifiedName(), pathBelowRoot(c)))
}

// WithoutPath removes the path from a file error, because the caller adds the path, or the user has just typed it.
func WithoutPath(err error) error {
	if fault, ok := errors.AsType[*os.PathError](err); ok {
		return fault.Err
	}
	return err
}
