package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"svc/internal/replay"
	"svc/internal/stream"
	"svc/schemas"
)

// runImport writes exported observations into an empty system.
func runImport(ctx context.Context, args []string, w world) error {
	c := newLogCommand("import DIR", w)
	c.command = "import"
	dir := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		dir, args = args[0], args[1:]
	}
	c.flags.IntVar(&c.partitions, "partitions", 48, "partitions of the topics, if they are not there yet")
	faults := c.read(args)
	if c.config != nil && dir == "" {
		faults = append(faults, errors.New("name the folder of an export of observations"))
	}
	if err := c.wrong(faults); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "observations")); err == nil { //nolint:gosec // the folder that the operator named: what -o named
		dir = filepath.Join(dir, "observations")
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer c.close()
	topic := c.topic(schemas.Observations())
	if _, err := c.cluster.Partitions(ctx, topic); err != nil {
		if err := c.cluster.Ensure(ctx, topics(c.config.TopicPrefix, int32(c.partitions), schemas.Topics()...)...); err != nil { //nolint:gosec // few
			return fmt.Errorf("topics: %w", err)
		}
	}
	loader, err := c.cluster.Loader(ctx, topic)
	if err != nil {
		return err
	}
	im := &replay.Import{Dir: dir, Spans: c.log.Spans, Pace: c.pace(), Progress: c.progress(), Put: func(r *stream.Record) error { return loader.Put(r) }}
	m, err := im.Run(ctx)
	err = errors.Join(err, loader.Close())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usageError(fmt.Errorf("%s holds no export that is done", dir))
	case err != nil:
		return err
	}
	fmt.Fprintf(c.Stderr, "import: %d observations\n", m.Counts.Rows)
	if m.Counts.Undecoded > 0 {
		fmt.Fprintf(c.Stderr, "import: %d records that could not be decoded are not in the export\n", m.Counts.Undecoded)
	}
	return nil
}
