package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc/internal/httpapi/rules"
)

// client contains the parts of a command that sends requests to a server: the address, the key and the output format.
type client struct {
	Env
	reader bool // whether the default key is the read key of svc dev instead of its administrator key

	api, key, keyFile, data string
	json                    bool

	flags   *pflag.FlagSet
	id      string        // first argument, usually an id
	version string        // version that the resource must have, from --if-version; "": any
	fields  []field       // fields of the body
	idField string        // path of the id in the body; "": the body has no id
	wait    time.Duration // how long to wait for an outcome; 0: do not wait
}

// askWithin is the time limit for one request to a server.
const askWithin = 20 * time.Second

// verb returns a command that sends requests to a server.
func verb(w Env, use, short string, run func(context.Context, *client) error, options ...option) *cobra.Command {
	c := &client{Env: w}
	cmd := c.command(use, short, func(ctx context.Context) error { return run(ctx, c) })
	for _, add := range options {
		add(c, cmd)
	}
	return cmd
}

// command returns a command that sends requests to a server.
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

// keyFlags adds the flags for an API key.
func keyFlags(flags *pflag.FlagSet, key, file *string) {
	flags.StringVar(key, "key", "", "API `key` (default: that of the running svc dev)")
	flags.StringVar(file, "key-file", "", "`file` that holds the key")
	markAlternatives(flags, "key", "key-file")
}

// readKey reads the key from --key-file, if that flag is given.
func readKey(file string, key *string) error {
	if file == "" {
		return nil
	}
	content, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return fmt.Errorf("--key-file: %w", WithoutPath(err))
	}
	words := strings.Fields(string(content))
	if len(words) != 1 {
		return errors.New("--key-file: must contain one key and nothing else")
	}
	*key = words[0]
	return nil
}

// devServer returns the running svc dev, which a command without a server flag uses. flag is the name of that flag,
// for the error.
func devServer(flag, data string) (*DevFile, error) {
	running, err := RunningDev(data, (*DevFile).API)
	if err != nil {
		return nil, fmt.Errorf("name a server with --%s, or start svc dev (%w)", flag, err)
	}
	return running, nil
}

// fill sets missing flags from the running svc dev. The key of svc dev is never sent to another server.
func (c *client) fill() error {
	if err := readKey(c.keyFile, &c.key); err != nil {
		return err
	}
	if c.api == "" {
		running, err := devServer("api", c.data)
		if err != nil {
			return err
		}
		c.api = running.BaseURL
		if c.reader {
			c.key = cmp.Or(c.key, running.APIKey)
		} else {
			c.key = cmp.Or(c.key, running.AdminKey)
		}
	}
	c.api = strings.TrimSuffix(c.api, "/")
	if u, err := url.Parse(c.api); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("--api: must be an address such as https://svc.example.org")
	}
	if c.key == "" {
		return errors.New("--key: required")
	}
	return nil
}

// refusal is an error response of the API.
type refusal struct {
	status  int // HTTP status
	Code    string
	Message string
	Details []struct {
		Path string
		Rule rule
	}
}

// rule is a broken rule as the API reports it, such as maxLength:100.
type rule string

// String returns the rule, in words if its name alone does not explain it.
func (r rule) String() string {
	switch r {
	case "factor", "key", "recipient", "webhook":
		return "not found: " + string(r)
	case "unique":
		return "is listed twice"
	}
	word, _, _ := strings.Cut(string(r), ":")
	if said, known := rules.Explain(string(r)); known && !slices.Contains(plainRules, word) {
		return string(r) + " (" + strings.TrimSuffix(said.About, ".") + ")"
	}
	return string(r)
}

// plainRules are rules whose name and bound say what to do.
var plainRules = []string{
	"required", "type", "enum", "minLength", "maxLength", "minItems", "maxItems", "items", "min", "max", "range", "integer", "one_of",
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

// ask sends a request and returns the data of the response. If the response reports an error, ask returns a *refusal.
// {id} in the path is replaced by the command's first argument. If body is nil, the request has no body.
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
	request, err := http.NewRequestWithContext(ctx, method, c.api+strings.ReplaceAll(path, "{id}", url.PathEscape(c.id)), content)
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
	defer response.Body.Close() //nolint:errcheck // the body was read to its end
	var answer struct {
		OK    bool
		Data  json.RawMessage
		Error refusal
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s responded with status %d and a body that is not from svc", c.api, response.StatusCode)
	}
	if !answer.OK {
		answer.Error.status = response.StatusCode
		return nil, &answer.Error
	}
	return answer.Data, nil
}

// askInto sends a request and decodes the data of the response.
func (c *client) askInto(ctx context.Context, method, path string, body, data any) error {
	raw, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	return decode(raw, data)
}

// Ask sends one request to the administration API at a base URL, with a key, and decodes the data of the response
// into data. If body is nil, the request has no body. If the server refuses the request, the error says why.
func Ask(ctx context.Context, base, key, method, path string, body, data any) error {
	return (&client{api: base, key: key}).askInto(ctx, method, path, body, data)
}

// decode decodes the data of a response into data.
func decode(raw json.RawMessage, data any) error {
	if err := json.Unmarshal(raw, data); err != nil {
		return fmt.Errorf("the response is not from svc: %w", err)
	}
	return nil
}

// request returns the run function of a command that sends one request. The body contains the fields of the command.
// The run function prints the response as JSON or with print, depending on --json. {id} in the path is replaced by
// the command's first argument. A command that changes a resource must be given at least one field.
func request[T any](method, path string, print func(*client, *T) error) func(context.Context, *client) error {
	return func(ctx context.Context, c *client) error {
		if method == http.MethodPatch {
			if err := c.requireField(); err != nil {
				return err
			}
		}
		if len(c.fields) == 0 && c.idField == "" {
			return show(ctx, c, method, path, nil, print)
		}
		body := map[string]any{}
		if err := c.addFields(body); err != nil {
			return err
		}
		return show(ctx, c, method, path, body, print)
	}
}

// show sends a request and prints the response: as JSON if --json is given, otherwise with print.
func show[T any](ctx context.Context, c *client, method, path string, body any, print func(*client, *T) error) error {
	raw, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	if c.json {
		return PrintJSON(c.Stdout, raw)
	}
	var data T
	if err := decode(raw, &data); err != nil {
		return err
	}
	return print(c, &data)
}

// list returns the run function of a command that prints a list. name is the name of the list in the response.
func list[T any](path, name string, print func(*client, []T) error) func(context.Context, *client) error {
	return func(ctx context.Context, c *client) error {
		var answer map[string]json.RawMessage
		if err := c.askInto(ctx, http.MethodGet, path, nil, &answer); err != nil {
			return err
		}
		if c.json {
			return PrintItems(c.Stdout, answer[name])
		}
		var items []T
		if err := decode(answer[name], &items); err != nil {
			return err
		}
		return print(c, items)
	}
}

// alone returns a function that prints a single item, given a function that prints a list.
func alone[T any](print func(*client, []T) error) func(*client, *T) error {
	return func(c *client, v *T) error { return print(c, []T{*v}) }
}

// identified is a response from which only the id is used.
type identified struct{ ID string }

// printID returns a function that prints a sentence with the id of a response.
func printID(sentence string) func(*client, *identified) error {
	return func(c *client, v *identified) error { return c.Printf(sentence+"\n", v.ID) }
}

// pages requests the pages of a list until it has all items, or the given maximum number of items.
func pages[T any](ctx context.Context, c *client, path string, query url.Values, most int) ([]T, error) {
	all := []T{}
	for len(all) < most {
		var page struct {
			Items            []T
			Next, NextCursor *string
		}
		if err := c.askInto(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		next := cmp.Or(page.Next, page.NextCursor)
		if next == nil {
			break
		}
		query.Set("cursor", *next)
	}
	return all[:min(len(all), most)], nil
}

// DefaultData is the data folder of svc dev.
const DefaultData = "./.svc-dev"

// DevFile is the file DIR/dev.json, in which svc dev describes itself to other programs.
type DevFile struct {
	BaseURL    string `json:"baseUrl"`
	HospitalID string `json:"hospitalId"`
	APIKey     string `json:"apiKey"`
	AdminKey   string `json:"adminKey"`
	Kafka      string `json:"kafka"`
	Redis      string `json:"redis"`
	MLLP       string `json:"mllp"`
}

// DevFilePath returns the path of dev.json in a data folder.
func DevFilePath(data string) string { return filepath.Join(data, "dev.json") }

// ReadDevFile reads the dev.json of a data folder.
func ReadDevFile(data string) (*DevFile, error) {
	content, err := os.ReadFile(DevFilePath(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist", DevFilePath(data))
	} else if err != nil {
		return nil, err
	}
	var d DevFile
	if err := json.Unmarshal(content, &d); err != nil {
		return nil, fmt.Errorf("read %s: %w", DevFilePath(data), err)
	}
	return &d, nil
}

// answerWithin is the timeout for connecting to a svc dev on this machine.
const answerWithin = 2 * time.Second

// RunningDev reads dev.json, and checks that svc dev accepts connections at the host:port that address returns. The
// check is necessary, because svc dev does not remove the file when it exits.
func RunningDev(data string, address func(*DevFile) string) (*DevFile, error) {
	d, err := ReadDevFile(data)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("tcp", address(d), answerWithin) //nolint:noctx // DialTimeout does not need a context
	if err != nil {
		return nil, fmt.Errorf("the svc dev that wrote %s is not running", DevFilePath(data))
	}
	return d, conn.Close()
}

// API returns the address of the API, host:port.
func (d *DevFile) API() string { return strings.TrimPrefix(d.BaseURL, "http://") }
