package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
)

// clientVerb is one verb of a command that asks a server.
type clientVerb[C any] struct {
	about string // the word behind it; "": there is none, "?": there may be one
	flags []string
	run   func(C, context.Context) error
}

// choose reads a command line: the verb, and the word that it is about. Names are
// the verbs, for people.
func choose[C any](c *client, args []string, verbs map[string]clientVerb[C], names string) (verb clientVerb[C], about string, err error) {
	words, faults, err := c.parse(args)
	if err != nil {
		return verb, "", err
	}
	if len(words) == 0 || verbs[words[0]].run == nil {
		return verb, "", usageError(fmt.Errorf("say %s; --help says more", names))
	}
	verb = verbs[words[0]]
	switch words = words[1:]; {
	case verb.about == "":
	case len(words) > 0:
		about, words = words[0], words[1:]
	case verb.about != "?":
		faults = append(faults, fmt.Errorf("name %s", verb.about))
	}
	if len(words) > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", words[0]))
	}
	faults = append(faults, strangers(given(c.flags), verb.flags)...)
	if err := errors.Join(faults...); err != nil {
		return verb, "", usageError(err)
	}
	return verb, about, nil
}

// given are the flags that were given, on the command line or by a variable.
func given(flags *flag.FlagSet) map[string]bool {
	all := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { all[f.Name] = true })
	return all
}

// clientFlags are those that every verb has.
var clientFlags = []string{"api", "to", "key", "key-file", "data", "json"}

// strangers names the flags that a verb does not have: one that does nothing would
// be taken for done.
func strangers(given map[string]bool, known []string) (faults []error) {
	for name := range given {
		if !slices.Contains(known, name) && !slices.Contains(clientFlags, name) {
			faults = append(faults, fmt.Errorf("--%s: is not for this", name))
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return faults
}
