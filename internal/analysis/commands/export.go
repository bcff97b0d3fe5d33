package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/internal/analysis/archive"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
	"svc/internal/cli"
)

// exportOptions are the flags of svc export.
type exportOptions struct {
	*logCommand
	topic, format, out string
	segment            int64
}

// ExportCommand returns the command svc export, which writes a topic as files.
func ExportCommand(w cli.Env) *cobra.Command {
	o := &exportOptions{logCommand: newLogCommand(w, 0)}
	c := o.cobra("export", "export the log as Parquet, NDJSON or CSV", func(ctx context.Context, _ []string) error { return o.run(ctx) })
	cli.OneOf(c, &o.topic, "topic", "", strings.Join(tableNames(), ", "), tableNames()...)
	o.hospitalFlag()
	o.spanFlags()
	formatFlag(c, &o.format, tables.Parquet)
	c.Flags().StringVar(&o.out, "out", "", "`folder` with a subfolder for each topic; - is standard output")
	c.Flags().Int64Var(&o.segment, "segment", 100_000, //nolint:mnd // a segment takes at most about a minute
		"`offsets` per file, which is also the most that an interruption can lose")
	cli.Require(c.Flags(), "topic", "out")
	o.Check = func() []error {
		faults := o.faults()
		if o.segment < 1 {
			faults = append(faults, errors.New("--segment: must be at least 1"))
		}
		return faults
	}
	return c
}

// formatFlag adds --format.
func formatFlag(c *cobra.Command, into *string, preset tables.Format) {
	var words []string
	for _, f := range tables.Formats() {
		words = append(words, string(f))
	}
	cli.OneOf(c, into, "format", string(preset), strings.Join(words, ", "), words...)
}

func (c *exportOptions) run(ctx context.Context) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer c.close()
	name, out := c.topic, c.out
	table := archive.Tables()[slices.Index(tableNames(), name)]
	source := c.log.Source()
	if table.Transactions {
		source = c.committed(table.Topic)
	}
	x := &archive.Export{
		Table: table, Topic: c.Config.Topic(table.Topic), Hospitals: c.hospitalList(), From: c.span[0], To: c.span[1],
		Format: tables.Format(c.format), Source: source, Progress: c.startProgress(), Pace: inputlog.NewPace(c.rate), Segment: c.segment,
	}
	var m *archive.Manifest
	var err error
	if out == "-" {
		m, err = x.Stream(ctx, c.Stdout)
	} else {
		dir := filepath.Join(out, name)
		c.interrupted = "; to continue, run the same command again"
		m, err = x.Run(ctx, dir)
		switch {
		case errors.Is(err, archive.ErrOther):
			err = cli.Usage(fmt.Errorf("--out: %s contains a different export; use another folder", dir))
		case errors.Is(err, archive.ErrBusy):
			err = fmt.Errorf("--out: another svc export is writing to %s; wait for it, or use another folder", dir)
		}
	}
	c.endProgress()
	if err != nil {
		return err
	}
	if c.JSON && out != "-" {
		return cli.PrintJSON(c.Stdout, m)
	}
	printExported(c.Stderr, m)
	for _, hospital := range hospitalsWithoutRows(m, c.hospitalList()) {
		fmt.Fprintf(c.Stderr, "  no record for hospital %q was found\n", hospital)
	}
	if m.Counts.Rows == 0 && (m.From != nil || m.To != nil) {
		fmt.Fprintln(c.Stderr, "  --from and --to select records by the time at which they were written to Kafka (column at)")
	}
	return nil
}

// hospitalsWithoutRows returns the requested hospitals for which no row was exported, so that the user notices a
// mistyped name. An export to standard output does not record whose rows it has written; in that case,
// hospitalsWithoutRows returns all requested hospitals if there are no rows, and none otherwise.
func hospitalsWithoutRows(m *archive.Manifest, hospitals []string) (silent []string) {
	for _, hospital := range hospitals {
		found := slices.ContainsFunc(m.Files, func(f archive.File) bool { return f.Hospital == hospital })
		if !found && (len(m.Files) > 0 || m.Counts.Rows == 0) {
			silent = append(silent, hospital)
		}
	}
	return silent
}

func tableNames() (names []string) {
	for _, t := range archive.Tables() {
		names = append(names, t.Name)
	}
	return names
}

// namedAtMost is the maximum number of undecodable records that are printed. The manifest lists all of them.
const namedAtMost = 20

// printExported prints the amount of exported data, and the records that could not be decoded.
func printExported(out io.Writer, m *archive.Manifest) {
	fmt.Fprintf(out, "export: %d rows in %d files, from %d records", m.Counts.Rows, len(m.Files), m.Counts.Read)
	if m.Counts.Undecoded > 0 {
		fmt.Fprintf(out, "; %d could not be decoded", m.Counts.Undecoded)
	}
	fmt.Fprintln(out)
	if m.Compacted > 0 {
		fmt.Fprintf(out, "  changes missing because Kafka has compacted them: %d; svc replay recomputes them\n", m.Compacted)
	}
	for _, u := range m.Undecoded[:min(len(m.Undecoded), namedAtMost)] {
		fmt.Fprintf(out, "  %s %d:%d: %s\n", u.Topic, u.Partition, u.Offset, u.Reason)
	}
}
