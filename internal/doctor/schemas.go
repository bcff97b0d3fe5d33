package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/internal/cli"
	"svc/internal/registry"
	"svc/internal/stream"
	"svc/schemas"
)

// newestRecords is the number of newest offsets that checkSchemas checks in each partition.
const newestRecords = 20

// checkSchemas checks that the schema registry, if there is one, has the schemas of this build, and that this build can
// read the newest records in the topics.
func (e *examination) checkSchemas(ctx context.Context, cluster *stream.Cluster, topics []string) {
	readable := map[schemas.SchemaID]bool{}
	for _, s := range schemas.Released() {
		readable[s.ID] = true
	}
	if e.Config.Registry.URL != "" {
		registered, ok := e.registry(ctx)
		if !ok {
			return // without the registry's ids, readable is incomplete
		}
		for _, id := range registered {
			readable[schemas.SchemaID(id)] = true //nolint:gosec // an id has four bytes on the wire
		}
	}
	limited, cancel := context.WithTimeout(ctx, e.Within)
	defer cancel()
	for _, topic := range topics {
		unknown, err := unknownIDs(limited, cluster, topic, readable)
		if err != nil {
			e.add(Warning, "schemas", "repeat svc doctor when all brokers respond", "the records of %s were not checked: %v", topic, err)
			return
		}
		if len(unknown) > 0 {
			e.add(Fault, "schemas", "upgrade svc to the release that wrote the records; if their schema ids are from a schema registry, set "+
				"--schema-registry to its URL", "%s has records with schemas that this build does not read: %s", topic, strings.Join(unknown, ", "))
		}
	}
	if !slices.ContainsFunc(e.found, func(f Finding) bool { return f.Check == "schemas" && f.Result == Fault }) {
		e.ok("schemas", "this build reads the newest records of all partitions")
	}
}

// registry checks the schema registry. It returns the ids of the schemas in the registry. ok is false if the registry
// could not be read.
func (e *examination) registry(ctx context.Context) (ids map[int]int, ok bool) {
	client, err := registry.NewClient(e.Config.Registry)
	if err != nil {
		e.add(Fault, "schemas", "correct --schema-registry-ca", "%v", cli.WithoutPath(err))
		return nil, false
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ids, lacking, err := client.Find(limited, registry.Subjects(e.Config.TopicPrefix))
	refused := (*registry.RefusedError)(nil)
	switch {
	case errors.As(err, &refused):
		e.add(Fault, "schemas", "check --schema-registry, --schema-registry-user and --schema-registry-password, and the rights of the user",
			"%v", err)
	case err != nil:
		e.add(Fault, "schemas", remedyOfConnection(err, "--schema-registry", "--schema-registry (https://) and --schema-registry-ca"), "%v", err)
	case len(lacking) > 0:
		e.add(Warning, "schemas", "start a role whose --schema-registry-user may register schemas",
			"the schema registry lacks schemas for %d subjects, such as %s", len(lacking), lacking[0])
	default:
		e.ok("schemas", "the schema registry has all schemas of this build")
	}
	return ids, err == nil
}

// unknownIDs returns the ids of the schemas that the newest records of a topic use and that are not in readable. A
// record without a schema id adds "no schema id".
func unknownIDs(ctx context.Context, cluster *stream.Cluster, topic string, readable map[schemas.SchemaID]bool) ([]string, error) {
	spans, err := cluster.Spans(ctx, topic, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	unknown := map[string]bool{}
	for _, s := range spans {
		s.From = max(s.From, s.End-newestRecords)
		err := cluster.Range(ctx, topic, s, func(r stream.Record) error {
			id, is := schemas.IDOf(r.Value)
			switch {
			case r.Value == nil: // the record deletes a key
			case !is:
				unknown["no schema id"] = true
			case !readable[id]:
				unknown[fmt.Sprintf("id %d", id)] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(unknown)), nil
}
