// Package archive keeps topics as files: it exports them to a folder, from which observations can be
// imported.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
)

// Export selects the records to export, and the destination.
type Export struct {
	Table     Table
	Topic     string   // with its prefix
	Hospitals []string // empty: all
	From, To  time.Time
	Format    tables.Format

	inputlog.Source // of the topic

	// Progress is called with the offsets that are done and their total, from several
	// goroutines. Nil: no progress is wanted.
	Progress func(done, total int64)
	Pace     *rate.Limiter
	// Segment is how many offsets are written as one unit; 0: 100,000. An interruption loses at
	// most one segment of each processor.
	Segment int64
}

const defaultSegment = 100_000

// exporter is a running export.
type exporter struct {
	Export
	dir string
	*inputlog.Share
	mu sync.Mutex // of the journal
}

// question returns the plan without the offsets.
func (x *Export) question() *Plan {
	p := &Plan{Topic: x.Topic, Table: x.Table.Name, Format: x.Format, Hospitals: slices.Sorted(slices.Values(x.Hospitals)), Segment: x.Segment, From: instant(x.From), To: instant(x.To)}
	if p.Hospitals == nil {
		p.Hospitals = []string{}
	}
	if p.Segment == 0 {
		p.Segment = defaultSegment
	}
	return p
}

// instant returns an instant as the manifest has it; nil: there is none.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// plan returns the question with the offsets that the topic has now.
func (x *Export) plan(ctx context.Context) (*Plan, error) {
	p := x.question()
	spans, err := x.Spans(ctx, x.From, x.To)
	if err != nil {
		return nil, err
	}
	p.Spans = piecesOf(spans)
	return p, nil
}

func (x *Export) exporter(dir string) *exporter {
	return &exporter{Export: *x, dir: dir, Share: inputlog.NewShare(x.Pace, x.Progress)}
}

// Run writes the export to a folder and returns its manifest. After an interruption, Run with
// the same question goes on with the offsets of the first start and ends with the same bytes.
// If the export is complete, Run returns its manifest.
func (x *Export) Run(ctx context.Context, dir string) (*Manifest, error) {
	if done, err := ReadManifest(dir); err == nil {
		if !done.sameQuestion(x.question()) {
			return nil, ErrOther
		}
		return done, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	j, err := openJournal(dir, x.question(), func() (*Plan, error) { return x.plan(ctx) })
	if err != nil {
		return nil, fmt.Errorf("export to %s: %w", dir, err)
	}
	defer j.file.Close() //nolint:errcheck // each line was synced
	if err := sweep(dir); err != nil {
		return nil, err
	}
	e := x.exporter(dir)
	if err := e.segments(ctx, j); err != nil {
		return nil, fmt.Errorf("export %s: %w", x.Table.Name, err)
	}
	m := j.manifest()
	if err := m.write(dir); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(dir, journalName)); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return m, nil
}

// sweep removes the half-written files of an interruption.
func sweep(dir string) error {
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, partialExt) {
			return os.Remove(name) //nolint:gosec // in the folder that the user named
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// Stream writes all rows to one writer, by partition and offset. The returned manifest has no
// files.
func (x *Export) Stream(ctx context.Context, out io.Writer) (*Manifest, error) {
	plan, err := x.plan(ctx)
	if err != nil {
		return nil, err
	}
	e := x.exporter("")
	for _, p := range plan.Spans {
		e.AddProgress(0, p.End-p.From)
	}
	w, err := e.Table.stream(e, out)
	if err != nil {
		return nil, err
	}
	j := &journal{plan: *plan, done: map[Piece]segment{}}
	for _, p := range plan.Spans {
		s, err := e.read(ctx, p, w)
		if err != nil {
			return nil, fmt.Errorf("export %s: %w", x.Table.Name, err)
		}
		j.done[p] = *s
	}
	if _, err := w.finish(); err != nil {
		return nil, fmt.Errorf("export %s: %w", x.Table.Name, err)
	}
	return j.manifest(), nil
}
