package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"svc/internal/authorities"
	"svc/schemas"
)

// RefusedError means that a registry refuses a request for a subject, for example the registration of a schema. The
// process must not start, because the registry would refuse a retry, too.
type RefusedError struct {
	Subject string
	Err     error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the schema registry rejects %s: %v", e.Subject, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Client registers schemas in an external registry.
type Client struct{ client *sr.Client }

// Config is the address and the credentials of an external schema registry.
type Config struct {
	URL      string
	User     string // "": no authentication
	Password string
	CAFile   string // PEM file with the registry's certificate authorities; "": the system's
}

// NewClient returns a client. It does not send any requests.
func NewClient(c Config) (*Client, error) {
	options := []sr.ClientOpt{sr.URLs(c.URL), sr.UserAgent("svc")}
	if c.User != "" {
		options = append(options, sr.BasicAuth(c.User, c.Password))
	}
	if c.CAFile != "" {
		roots, err := authorities.Read(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("schema registry: %w", err)
		}
		options = append(options, sr.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}))
	}
	client, err := sr.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("schema registry: %w", err)
	}
	return &Client{client}, nil
}

// Register makes sure that the registry has every version of every subject. It returns a map from the schema ids of
// this build to those of the registry. A new subject gets the compatibility level BACKWARD: a reader with one version
// of the schema can read values that were written with the previous version. If the registry refuses a schema, the
// error is a [RefusedError]; after any other error, a retry may succeed.
func (c *Client) Register(ctx context.Context, subjects []Subject) (map[int]int, error) {
	ids := map[int]int{}
	for _, s := range subjects {
		for i, v := range s.Versions {
			id, err := c.register(ctx, s.Name, v, i == 0)
			if err != nil {
				return nil, err
			}
			ids[v.ID] = id
		}
	}
	return ids, nil
}

// Find returns a map from the schema ids of this build to those of the registry, and the names of the subjects for
// which the registry lacks a version. It does not write anything. If the registry refuses a request, the error is a
// [RefusedError]; after any other error, a retry may succeed.
func (c *Client) Find(ctx context.Context, subjects []Subject) (ids map[int]int, lacking []string, err error) {
	ids = map[int]int{}
	for _, s := range subjects {
		complete := true
		for _, v := range s.Versions {
			id, found, err := c.lookup(ctx, s.Name, v)
			if err != nil {
				return nil, nil, err
			}
			if complete = complete && found; found {
				ids[v.ID] = id
			}
		}
		if !complete {
			lacking = append(lacking, s.Name)
		}
	}
	return ids, lacking, nil
}

// lookup returns the id of one version, and reports whether the registry has the version.
func (c *Client) lookup(ctx context.Context, subject string, v Version) (id int, found bool, err error) {
	known, err := c.client.LookupSchema(ctx, subject, sr.Schema{Schema: v.Schema, Type: sr.TypeAvro})
	if err == nil {
		return known.ID, true, nil
	}
	if answered := (*sr.ResponseError)(nil); errors.As(err, &answered) && answered.StatusCode == http.StatusNotFound {
		return 0, false, nil
	}
	return 0, false, refusal(subject, err)
}

// register returns the id of one version. It writes the version only if the registry lacks it, so that a process
// whose schemas are already registered does not need write permission.
func (c *Client) register(ctx context.Context, subject string, v Version, first bool) (int, error) {
	id, found, err := c.lookup(ctx, subject, v)
	if err != nil || found {
		return id, err
	}
	if first {
		for _, set := range c.client.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatBackward}, subject) {
			if set.Err != nil {
				return 0, refusal(subject, set.Err)
			}
		}
	}
	id, err = c.client.RegisterSchema(ctx, subject, sr.Schema{Schema: v.Schema, Type: sr.TypeAvro}, -1, -1)
	if err != nil {
		return 0, refusal(subject, err)
	}
	return id, nil
}

// refusal returns a [RefusedError] if the registry refused the request, and an ordinary error if a retry may succeed.
func refusal(subject string, err error) error {
	answered := (*sr.ResponseError)(nil)
	if errors.As(err, &answered) && answered.StatusCode/100 == 4 && answered.StatusCode != http.StatusTooManyRequests { //nolint:mnd // 4xx
		return &RefusedError{subject, err}
	}
	return fmt.Errorf("query the schema registry for %s: %w", subject, err)
}

// askAgainEvery is the pause between requests to a registry that does not respond.
const askAgainEvery = 2 * time.Second

// Subjects returns the schemas of this release, by topic and record. prefix is the prefix of the topic names.
func Subjects(prefix string) (all []Subject) {
	released := schemas.Released()
	for _, topic := range schemas.Topics() {
		for _, record := range topic.Records {
			var s Subject
			for _, schema := range released {
				if schema.Record != record {
					continue
				}
				name, text := schema.Describe()
				s.Name = prefix + topic.Name + "-" + name
				s.Versions = append(s.Versions, Version{Number: schema.Version, ID: int(schema.ID), Schema: text})
			}
			all = append(all, s)
		}
	}
	return all
}

// Use registers the schemas of this build in the configured registry, and makes the process read and write records
// with the registry's ids. Use waits until the registry responds, and returns an error if the registry refuses a
// schema or ctx ends. If no registry is configured, Use does nothing.
func Use(ctx context.Context, c Config, prefix string, log *slog.Logger) error {
	if c.URL == "" {
		return nil
	}
	client, err := NewClient(c)
	if err != nil {
		return err
	}
	wanted := Subjects(prefix)
	for said := false; ; {
		ids, err := client.Register(ctx, wanted)
		if err == nil {
			schemas.UseRegistry(registeredIDs(ids))
			return nil
		}
		if refused := (*RefusedError)(nil); errors.As(err, &refused) {
			return err
		}
		if !said {
			said = true
			log.WarnContext(ctx, "schema registry does not respond yet", "error", err)
		}
		if pause(ctx, askAgainEvery) != nil {
			return fmt.Errorf("wait for the schema registry: %w", err)
		}
	}
}

// registeredIDs returns the ids of the released schemas, in order. A schema that no topic uses keeps the id that this
// build assigns.
func registeredIDs(ids map[int]int) []schemas.SchemaID {
	released := schemas.Released()
	list := make([]schemas.SchemaID, len(released))
	for i, s := range released {
		list[i] = s.ID
		if id, ok := ids[int(s.ID)]; ok {
			list[i] = schemas.SchemaID(id) //nolint:gosec // an id has four bytes on the wire
		}
	}
	return list
}

// pause waits for d. It returns the error of ctx if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	wait, stop := context.WithTimeout(ctx, d)
	defer stop()
	<-wait.Done()
	return ctx.Err()
}
