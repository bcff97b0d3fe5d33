package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"svc/internal/replay"
)

// runExport writes a topic as files.
func runExport(ctx context.Context, args []string, w world) error {
	var name, format, out string
	c := newLogCommand("export", w)
	c.spanFlags()
	c.flags.StringVar(&name, "topic", "", strings.Join(tableNames(), ", "))
	c.flags.StringVar(&c.hospitals, "hospital", "", "hospital `ids`, separated by commas (default: all)")
	c.flags.StringVar(&format, "format", string(replay.Parquet), "parquet, ndjson or csv")
	c.flags.StringVar(&out, "o", "", "`folder`; each topic has its own in it; - is standard output")
	segment := c.flags.Int64("segment", 100_000, "offsets written at once: what an interruption loses")
	faults := c.read(args)
	i := slices.Index(tableNames(), name)
	if c.config != nil && i < 0 {
		faults = append(faults, fmt.Errorf("--topic: must be one of %s", strings.Join(tableNames(), ", ")))
	}
	if c.config != nil && !slices.Contains(replay.Formats(), replay.Format(format)) {
		faults = append(faults, errors.New("--format: must be parquet, ndjson or csv"))
	}
	if c.config != nil && out == "" {
		faults = append(faults, errors.New("-o: name a folder, or - for standard output"))
	}
	if *segment < 1 {
		faults = append(faults, errors.New("--segment: must be at least 1"))
	}
	if err := c.wrong(faults); err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer c.close()
	table := replay.Tables()[i]
	source := c.inputs()
	if table.Transactions {
		source = c.committed(table.Topic)
	}
	x := &replay.Export{
		Table: table, Topic: c.topic(table.Topic), Hospitals: c.hospitalList(), From: c.span[0], To: c.span[1],
		Format: replay.Format(format), Read: source.Read, Spans: source.Spans, Progress: c.progress(), Pace: c.pace(), Segment: *segment,
	}
	var m *replay.Manifest
	var err error
	if out == "-" {
		m, err = x.Stream(ctx, c.Stdout)
	} else {
		dir := filepath.Join(out, name)
		if m, err = x.Run(ctx, dir); errors.Is(err, replay.ErrOther) {
			return usageError(fmt.Errorf("-o: %s holds an export of something else; name another folder", dir))
		}
	}
	if err != nil {
		return err
	}
	if c.json && out != "-" {
		return printValue(c.Stdout, m)
	}
	sayExported(c.Stderr, m)
	for _, hospital := range unheard(m, c.hospitalList()) {
		fmt.Fprintf(c.Stderr, "  nothing of hospital %q was found\n", hospital)
	}
	return nil
}

// unheard are those of the hospitals that were named of which nothing was exported:
// there was nothing yet, or the name is mistyped. What went to standard output does
// not tell whose it was, unless it is nothing at all.
func unheard(m *replay.Manifest, hospitals []string) (silent []string) {
	for _, hospital := range hospitals {
		heard := slices.ContainsFunc(m.Files, func(f replay.File) bool { return f.Hospital == hospital })
		if !heard && (len(m.Files) > 0 || m.Counts.Rows == 0) {
			silent = append(silent, hospital)
		}
	}
	return silent
}

func tableNames() (names []string) {
	for _, t := range replay.Tables() {
		names = append(names, t.Name)
	}
	return names
}

// namedAtMost is how many records that could not be decoded are named; the
// manifest names all.
const namedAtMost = 20

// sayExported says what an export has written, and what it could not.
func sayExported(out io.Writer, m *replay.Manifest) {
	fmt.Fprintf(out, "export: %d rows in %d files, of %d records", m.Counts.Rows, len(m.Files), m.Counts.Read)
	if m.Counts.Undecoded > 0 {
		fmt.Fprintf(out, "; %d could not be decoded", m.Counts.Undecoded)
	}
	fmt.Fprintln(out)
	for _, u := range m.Undecoded[:min(len(m.Undecoded), namedAtMost)] {
		fmt.Fprintf(out, "  %s %d:%d: %s\n", u.Topic, u.Partition, u.Offset, u.Reason)
	}
}

// printValue prints a value as JSON.
func printValue(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
