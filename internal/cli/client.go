package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// client is the part of a command that asks a server over HTTP: the address, the key and the
// form of the output.
type client struct {
	Env
	reader bool // without a key, use the key of svc dev with every scope; false: the administrator's

	api, key, keyFile, data string
	json                    bool

	flags   *pflag.FlagSet
	id      string // the word after the command: mostly the id of what it is about
	version string // only this version is changed; "": any
}

// askWithin is the time limit of one request to a server.
const askWithin = 20 * time.Second

// verb returns a command whose state, a C, embeds a client. Functions run and flags are methods
// of that state.
func verb[C any, P interface {
	*C
	embedded() *client
}](w Env, use, short string, run func(P, context.Context) error, flags ...func(P, *cobra.Command),
) *cobra.Command {
	state := P(new(C))
	c := state.embedded()
	c.Env = w
	cmd := c.command(use, short, func(ctx context.Context) error { return run(state, ctx) })
	for _, add := range flags {
		add(state, cmd)
	}
	return cmd
}

func (c *client) embedded() *client { return c }

// command returns a command that asks a server.
func (c *client) command(use, short string, run func(ctx context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		PreRunE: func(*cobra.Command, []string) error { return c.fill() },
		RunE: func(cmd *cobra.Command, args []string) error {
			c.id = strings.Join(args, "")
			return run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	c.flags = flags
	flags.StringVar(&c.api, "api", "", "`address` of the server: https://HOST (default: the running svc dev)")
	keyFlags(flags, &c.key, &c.keyFile)
	flags.StringVar(&c.data, "data", DefaultData, "data `folder` of the running svc dev, if no address is given")
	flags.BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

// versionFlag adds the flag of a precondition: the command acts only on this version.
func (c *client) versionFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.version, "if-version", "", "do it only if it has this `version`")
}

// keyFlags adds the flags of an API key.
func keyFlags(flags *pflag.FlagSet, key, file *string) {
	flags.StringVar(key, "key", "", "API `key` (default: that of the running svc dev)")
	flags.StringVar(file, "key-file", "", "`file` that holds the key")
	instead(flags, "key", "key-file")
}

// put puts the value of a flag into the body of a request, if the flag is given.
func (c *client) put(body map[string]any, field, flag string, value any) {
	if c.flags.Changed(flag) {
		body[field] = value
	}
}

// readKey reads a key from its file.
func readKey(file string) (string, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the file that the user named
	if err != nil {
		return "", fmt.Errorf("--key-file: %w", WithoutPath(err))
	}
	words := strings.Fields(string(content))
	if len(words) != 1 {
		return "", errors.New("--key-file: must hold one key and nothing else")
	}
	return words[0], nil
}

// fill takes missing flags from the running svc dev. The key of svc dev goes to no other
// server.
func (c *client) fill() error {
	if c.keyFile != "" {
		var err error
		if c.key, err = readKey(c.keyFile); err != nil {
			return err
		}
	}
	if c.api == "" {
		running, err := RunningDev(c.data, (*DevFile).API)
		if err != nil {
			return fmt.Errorf("name a server by --api, or start svc dev (%w)", err)
		}
		c.api = running.BaseURL
		switch {
		case c.key != "":
		case c.reader:
			c.key = running.APIKey
		default:
			c.key = running.AdminKey
		}
	}
	c.api = strings.TrimSuffix(c.api, "/")
	if u, err := url.Parse(c.api); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("--api: must be an address such as https://svc.example.org")
	}
	if c.key == "" {
		return errors.New("--key: must be given")
	}
	return nil
}

// refusal is an error answer of the API.
type refusal struct {
	status  int // of HTTP
	Code    string
	Message string
	Details []struct {
		Path string
		Rule rule
	}
}

// rule is the name of the rule that a part of a request breaks, as the API names it.
type rule string

// String explains the rule to people if its name alone does not.
func (r rule) String() string {
	switch r {
	case "factor", "key", "recipient", "webhook":
		return "there is no such " + string(r)
	case "unique":
		return "is there twice"
	}
	return string(r)
}

// Error implements error.
func (r *refusal) Error() string {
	if len(r.Details) == 0 {
		return r.Message
	}
	said := make([]string, 0, len(r.Details))
	for _, d := range r.Details {
		said = append(said, strings.TrimSpace(d.Path+" "+d.Rule.String()))
	}
	return strings.TrimSuffix(r.Message, ".") + ": " + strings.Join(said, "; ")
}

// ask returns the data of an answer, or a *refusal. A nil body sends none.
func (c *client) ask(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.api+path, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.version != "" && method != http.MethodGet {
		request.Header.Set("If-Match", `"`+c.version+`"`)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	var answer struct {
		OK    bool
		Data  json.RawMessage
		Error refusal
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s answers with status %d and no JSON of svc", c.api, response.StatusCode)
	}
	if !answer.OK {
		answer.Error.status = response.StatusCode
		return nil, &answer.Error
	}
	return answer.Data, nil
}

// into asks and reads the data of the answer.
func (c *client) into(ctx context.Context, method, path string, body, data any) error {
	raw, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	return decode(raw, data)
}

// decode reads the data of an answer.
func decode(raw json.RawMessage, data any) error {
	if err := json.Unmarshal(raw, data); err != nil {
		return fmt.Errorf("the answer is not one of svc: %w", err)
	}
	return nil
}

// show asks and prints the answer: as JSON, or by print, which finds the answer in data.
func (c *client) show(ctx context.Context, method, path string, body, data any, print func() error) error {
	raw, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	if c.json {
		return PrintJSON(c.Stdout, raw)
	}
	if err := decode(raw, data); err != nil {
		return err
	}
	return print()
}

// list asks for a list, which the answer holds under a name, and prints it. It prints JSON, or
// by print, which finds the list in items.
func (c *client) list(ctx context.Context, path, name string, items any, print func() error) error {
	var answer map[string]json.RawMessage
	if err := c.into(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return err
	}
	if c.json {
		return PrintItems(c.Stdout, answer[name])
	}
	if err := decode(answer[name], items); err != nil {
		return err
	}
	return print()
}
