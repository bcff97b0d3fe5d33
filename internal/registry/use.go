package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"svc/schemas"
)

// askAgainEvery is the pause before a registry without an answer is asked again.
const askAgainEvery = 2 * time.Second

// Subjects returns the schemas of the build, by topic and record. prefix stands before the names
// of the topics.
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

// Use registers the schemas of the build at the configured registry, and writes records
// with its ids. It waits while the registry does not answer, and returns an error if the registry
// refuses. Without these ids no record can be read or written.
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
			log.WarnContext(ctx, "the schema registry does not answer yet", "error", err)
		}
		if pause(ctx, askAgainEvery) != nil {
			return fmt.Errorf("wait for the schema registry: %w", err)
		}
	}
}

// registeredIDs returns the ids of the released schemas, in their order. Schemas that are in no
// topic keep the id of the build.
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

// pause waits for d. It returns the error of ctx if that ends first.
func pause(ctx context.Context, d time.Duration) error {
	wait, stop := context.WithTimeout(ctx, d)
	defer stop()
	<-wait.Done()
	return ctx.Err()
}
