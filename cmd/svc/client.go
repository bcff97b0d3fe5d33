package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// client is what a command has that asks a server over HTTP: where the server is,
// the key, and how to print.
type client struct {
	world
	flags *flag.FlagSet
	usage string
	admin bool // without a key it takes the administrator's of the running svc dev

	api, key, keyFile, data string
	json                    bool
}

// askWithin bounds one question to a server.
const askWithin = 20 * time.Second

// newClient returns the client of svc name; usage is printed before the flags.
func newClient(name, usage string, w world) *client {
	c := &client{world: w, flags: flag.NewFlagSet("svc "+name, flag.ContinueOnError), usage: usage, admin: true}
	c.flags.SetOutput(io.Discard)
	c.flags.StringVar(&c.api, "api", "", "`address` of the server: https://HOST (default: the running svc dev)")
	c.flags.StringVar(&c.api, "to", "", "the same `address`")
	c.flags.StringVar(&c.key, "key", "", "API `key` (default: that of the running svc dev)")
	c.flags.StringVar(&c.keyFile, "key-file", "", "`file` that holds the key")
	c.flags.StringVar(&c.data, "data", defaultData, "data `folder` of the running svc dev, if no address is given")
	c.flags.BoolVar(&c.json, "json", false, "print JSON")
	return c
}

// parse reads words and flags, in any order. The faults are what the environment,
// a missing server or a missing key have against it; err is all that hinders to
// look for more of them.
func (c *client) parse(args []string) (words []string, faults []error, err error) {
	for {
		if err := c.flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(c.Stdout, c.usage)
			c.flags.SetOutput(c.Stdout)
			c.flags.PrintDefaults()
			return nil, nil, err
		} else if err != nil {
			return nil, nil, usageError(err)
		}
		if c.flags.NArg() == 0 {
			break
		}
		words = append(words, c.flags.Arg(0))
		args = c.flags.Args()[1:]
	}
	faults = append(fromEnvironment(c.flags, c.Env), bothGiven(c.flags)...)
	return words, append(faults, c.fill()), nil
}

// otherFlag names the flag that says the same in another way: one that was given
// keeps the variables of both out.
var otherFlag = map[string]string{"api": "to", "to": "api", "key": "key-file", "key-file": "key"}

// bothGiven refuses two flags that say the same: which is meant nobody knows.
func bothGiven(flags *flag.FlagSet) (faults []error) {
	was := given(flags)
	for _, name := range []string{"api", "key"} {
		if was[name] && was[otherFlag[name]] {
			faults = append(faults, fmt.Errorf("--%s, --%s: give one of them", name, otherFlag[name]))
		}
	}
	return faults
}

// readKey reads the file of a key.
func readKey(file string) (string, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the file that the user named
	if err != nil {
		return "", fmt.Errorf("--key-file: %w", reason(err))
	}
	words := strings.Fields(string(content))
	if len(words) != 1 {
		return "", errors.New("--key-file: must hold one key and nothing else")
	}
	return words[0], nil
}

// fill takes what was not given from the running svc dev. Its key goes to no
// other server.
func (c *client) fill() error {
	if c.keyFile != "" {
		var err error
		if c.key, err = readKey(c.keyFile); err != nil {
			return err
		}
	}
	if c.api == "" {
		running, err := runningDev(c.data, (*devFile).api)
		if err != nil {
			return fmt.Errorf("name a server by --api, or start svc dev (%w)", err)
		}
		c.api = running.BaseURL
		switch {
		case c.key != "":
		case c.admin:
			c.key = running.AdminKey
		default:
			c.key = running.APIKey
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

// refusal is an answer that says no.
type refusal struct {
	Code    string
	Message string
	Details []struct {
		Path string
		Rule rule
	}
}

// rule is what a part of a request breaks, as the API names it.
type rule string

// String says it to people, where its name alone says too little.
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

// ask returns the data of an answer, or a *refusal. A nil body is none; headers
// are names and values.
func (c *client) ask(ctx context.Context, method, path string, body any, headers ...string) (json.RawMessage, error) {
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
	request, err := http.NewRequestWithContext(ctx, method, c.api+path, content) //nolint:gosec // the user names the server
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request) //nolint:gosec // the user names the server
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
	if err := json.Unmarshal(raw, data); err != nil {
		return fmt.Errorf("the answer is not one of svc: %w", err)
	}
	return nil
}

// show asks and prints the answer: as it came, or by print, which finds it in data.
func (c *client) show(ctx context.Context, method, path string, body, data any, print func() error, headers ...string) error {
	raw, err := c.ask(ctx, method, path, body, headers...)
	if err != nil {
		return err
	}
	if c.json {
		return printJSON(c.Stdout, raw)
	}
	if err := json.Unmarshal(raw, data); err != nil {
		return fmt.Errorf("the answer is not one of svc: %w", err)
	}
	return print()
}

func shownOr[T any](v *T) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprint(*v)
}
