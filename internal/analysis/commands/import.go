package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/analysis/archive"
	"svc/internal/analysis/inputlog"
	"svc/internal/cli"
	"svc/internal/stream"
	"svc/schemas"
)

// ImportCommand returns the command svc import, which writes exported observations into an empty system.
func ImportCommand(w cli.Env) *cobra.Command {
	c := newLogCommand(w, 0)
	cmd := c.cobra("import FOLDER", "import exported observations into an empty system", func(ctx context.Context, args []string) error {
		return c.importFrom(ctx, args[0])
	})
	cmd.Flags().IntVar(&c.Config.Partitions, "partitions", 48, //nolint:mnd // the default of the roles
		"`partitions` of the topics, if they do not exist yet")
	return cmd
}

func (c *logCommand) importFrom(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "observations")); err == nil {
		dir = filepath.Join(dir, "observations")
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer c.close()
	topic := c.Config.Topic(schemas.Observations())
	if _, err := c.log.Spans(ctx, time.Time{}, time.Time{}); errors.Is(err, inputlog.ErrNoTopic) {
		if err := c.createTopics(ctx, topic); err != nil {
			return fmt.Errorf("topics: %w", err)
		}
	}
	loader, err := c.cluster.Loader(ctx, topic)
	if err != nil {
		return err
	}
	partial := fmt.Sprintf("; the system does not have exactly the export: to repeat the import, stop the roles and delete all topics %s* "+
		"except %s", c.Config.TopicPrefix+"svc.v1.", c.Config.Topic(schemas.Settings()))
	began := false
	put := func(r *stream.Record) error {
		began, c.interrupted = true, partial
		return loader.Put(r)
	}
	im := &archive.Import{Dir: dir, Spans: c.log.Spans, Pace: inputlog.NewPace(c.rate), Progress: c.startProgress(), Put: put}
	m, err := im.Run(ctx)
	if err = errors.Join(err, loader.Close()); err == nil {
		err = im.CheckAlone(ctx)
	}
	c.endProgress()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.Usage(fmt.Errorf("%s contains no completed export", dir))
	case err != nil && began:
		return fmt.Errorf("%w%s", err, partial)
	case err != nil:
		return err
	}
	if c.JSON {
		return cli.PrintJSON(c.Stdout, map[string]int64{"observations": m.Counts.Rows, "undecoded": m.Counts.Undecoded})
	}
	fmt.Fprintf(c.Stderr, "import: %d observations\n", m.Counts.Rows)
	if m.Counts.Undecoded > 0 {
		fmt.Fprintf(c.Stderr, "import: records that the export does not have because they could not be decoded: %d\n", m.Counts.Undecoded)
	}
	return nil
}

// createTopics creates the topics, and opens the log again, because its client remembers for a while that the topic did
// not exist.
func (c *logCommand) createTopics(ctx context.Context, observations string) error {
	dial, cancel := c.dialing(ctx)
	defer cancel()
	if err := c.cluster.Ensure(dial, c.Config.Topics(schemas.Topics()...)...); err != nil {
		return err
	}
	c.log.Close()
	options := c.Config.Cluster(c.Log())
	var err error
	c.log, err = inputlog.OpenLog(&options, observations)
	return err
}
