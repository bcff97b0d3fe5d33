package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// field is a flag whose value becomes a field of the request body.
type field struct {
	flag, path, usage string
	fieldKind
}

// fieldKind defines how the text of a flag becomes a value of the body.
type fieldKind struct {
	words  []string // accepted values; nil: any
	preset string   // default, one of words
	filled bool     // whether an empty value is omitted from the body; otherwise, only a flag that was not given is omitted
	add    func(c *cobra.Command, name, usage string)
	value  func(c *client, text string) (any, error) // converts the text of the flag; nil: the text is the value
}

// Kinds of fields.
var (
	textField   = fieldKind{}
	filledField = fieldKind{filled: true}
	truthField  = fieldKind{words: []string{"true", "false"}, value: func(_ *client, text string) (any, error) { return text == "true", nil }}
	listField   = fieldKind{value: func(_ *client, text string) (any, error) { return commas(text), nil }}
	agoField    = fieldKind{filled: true, value: func(c *client, text string) (any, error) { return c.ago(text), nil }}

	wholeField   = fieldKind{add: func(c *cobra.Command, name, usage string) { c.Flags().Int(name, 0, usage) }, value: number}
	decimalField = fieldKind{add: func(c *cobra.Command, name, usage string) { c.Flags().Float64(name, 0, usage) }, value: number}

	// nullField sends null for an empty string, which deletes the value.
	nullField = fieldKind{value: func(_ *client, text string) (any, error) {
		if text == "" {
			return nil, nil
		}
		return text, nil
	}}

	// roomsField is a comma-separated list of room ids; the word all becomes null, which means all rooms.
	roomsField = fieldKind{value: func(_ *client, text string) (any, error) {
		var rooms []int32
		for _, id := range commas(text) {
			if text == "all" {
				break
			}
			n, err := strconv.ParseInt(id, 10, 32)
			if err != nil {
				return nil, Usage(errors.New("--rooms: must be room ids, or all"))
			}
			rooms = append(rooms, int32(n))
		}
		return rooms, nil
	}}

	// secretField is the name of a file; the body contains the content of the file.
	secretField = fieldKind{filled: true, value: func(_ *client, path string) (any, error) {
		secret, err := readSecret(path)
		if err != nil {
			return nil, fmt.Errorf("--secret-file: %w", err)
		}
		return secret, nil
	}}
)

// number returns the text of a number flag unchanged, because the flag has already checked it.
func number(_ *client, text string) (any, error) { return json.Number(text), nil }

// wordField accepts one of the given words.
func wordField(words ...string) fieldKind { return fieldKind{words: words} }

// commas returns the items of a comma-separated list without duplicates.
func commas(list string) []string {
	all := []string{}
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one != "" && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// option adds flags or arguments to a command that is being created.
type option func(*client, *cobra.Command)

// fields adds flags whose values become fields of the request body.
func fields(list ...field) option {
	return func(c *client, cmd *cobra.Command) {
		c.fields = append(c.fields, list...)
		for i := range list {
			switch f := &list[i]; {
			case f.words != nil:
				OneOf(cmd, new(string), f.flag, f.preset, f.usage, f.words...)
			case f.add != nil:
				f.add(cmd, f.flag, f.usage)
			default:
				cmd.Flags().String(f.flag, "", f.usage)
			}
		}
	}
}

// idField puts the first argument of the command into the request body, at the given path.
func idField(path string) option { return func(c *client, _ *cobra.Command) { c.idField = path } }

// ifVersion adds the flag --if-version. If it is given, the server makes the change only if the resource has that
// version.
func ifVersion(c *client, cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.version, "if-version", "", "make the change only if the resource has this `version`")
}

// required marks the flag of a field as required.
func required(name string) option {
	return func(_ *client, cmd *cobra.Command) { Require(cmd.Flags(), name) }
}

// addFields adds the fields to the body of a request.
func (c *client) addFields(body map[string]any) (err error) {
	if c.idField != "" {
		body[c.idField] = c.id
	}
	for i := range c.fields {
		f := &c.fields[i]
		text := c.text(f.flag)
		if f.filled && text == "" || !f.filled && !c.flags.Changed(f.flag) {
			continue
		}
		body[f.path] = text
		if f.value == nil {
			continue
		}
		if body[f.path], err = f.value(c, text); err != nil {
			return err
		}
	}
	return nil
}

// requireField returns an error if the command line has none of the command's fields, so that nothing would change.
func (c *client) requireField() error {
	names := make([]string, len(c.fields))
	for i := range c.fields {
		if c.flags.Changed(c.fields[i].flag) {
			return nil
		}
		names[i] = "--" + c.fields[i].flag
	}
	return Usage(fmt.Errorf("nothing to change; give at least one of %s", either(names)))
}

// text returns the value of a flag, or "" if the command has no such flag.
func (c *client) text(flag string) string {
	if f := c.flags.Lookup(flag); f != nil {
		return f.Value.String()
	}
	return ""
}
