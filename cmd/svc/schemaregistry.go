package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"svc/internal/config"
	"svc/internal/registry"
	"svc/schemas"
)

// registryPath is the path of the read-only registry of the build.
const registryPath = "/registry"

// registryEvery is the pause before a registry without an answer is asked again.
const registryEvery = 2 * time.Second

// subjects returns the schemas of the build, by topic and record.
func subjects(prefix string) (all []registry.Subject) {
	released := schemas.Released()
	for _, topic := range schemas.Topics() {
		for _, record := range topic.Records {
			var s registry.Subject
			for _, schema := range released {
				if schema.Record != record {
					continue
				}
				name, text := schema.Describe()
				s.Name = prefix + topic.Name + "-" + name
				s.Versions = append(s.Versions, registry.Version{Number: schema.Version, ID: int(schema.ID), Schema: text})
			}
			all = append(all, s)
		}
	}
	return all
}

// useRegistry registers the schemas of the build at the configured registry, and writes records
// with its ids. It waits while the registry does not answer, and returns an error if the registry
// refuses. Without these ids records can be neither read nor written.
func useRegistry(ctx context.Context, c *config.Config, log *slog.Logger) error {
	if c.Registry.URL == "" {
		return nil
	}
	client, err := registry.NewClient(c.Registry)
	if err != nil {
		return err
	}
	wanted := subjects(c.TopicPrefix)
	for said := false; ; {
		ids, err := client.Register(ctx, wanted)
		if err == nil {
			schemas.UseRegistry(registeredIDs(ids))
			return nil
		}
		if refused := (*registry.RefusedError)(nil); errors.As(err, &refused) {
			return err
		}
		if !said {
			said = true
			log.WarnContext(ctx, "the schema registry does not answer yet", "error", err)
		}
		if pause(ctx, registryEvery) != nil {
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
