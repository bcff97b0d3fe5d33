package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/schemas"
)

// writeSegments writes the unfinished segments.
func (e *exporter) writeSegments(ctx context.Context, j *journal) error {
	var left []Piece
	done, total := int64(0), int64(0)
	for _, p := range j.plan.pieces() {
		total += p.End - p.From
		if _, ok := j.done[p]; ok {
			done += p.End - p.From
		} else {
			left = append(left, p)
		}
	}
	e.AddProgress(done, total)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range left {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s, err := e.writeSegment(ctx, p)
			if err != nil {
				return err
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			return j.record(s)
		})
	}
	return g.Wait() //nolint:wrapcheck // the error is from this package
}

// progressEvery is the number of records between progress reports.
const progressEvery = 5000

// writeSegment writes the rows of one segment.
func (e *exporter) writeSegment(ctx context.Context, p Piece) (*segment, error) {
	w := e.Table.begin(e)
	defer w.abandon()
	s, err := e.read(ctx, p, w)
	if err != nil {
		return nil, err
	}
	if s.Files, err = w.finish(); err != nil {
		return nil, err
	}
	return s, nil
}

// read passes the records of a piece to w, and returns a segment with their counts. If a change repeats an earlier
// change of the piece, read counts it but does not pass it to w.
func (e *exporter) read(ctx context.Context, p Piece, w segmenter) (*segment, error) {
	s := &segment{Piece: p, Versions: map[string]*versions{}}
	at := p.From
	err := e.Read(ctx, stream.Span(p), func(r stream.Record) error {
		if err := e.Wait(ctx); err != nil {
			return err
		}
		if s.Counts.Read++; s.Counts.Read%progressEvery == 0 {
			e.AddProgress(r.Offset-at, 0)
			at = r.Offset
		}
		if hospital, version := e.Table.version(&r); version > 0 && e.wants(hospital) {
			known := s.Versions[hospital]
			if known == nil {
				known = &versions{}
				s.Versions[hospital] = known
			}
			if !known.add(version) {
				s.Counts.State++
				return nil
			}
		}
		return w.writeRecord(s, &r)
	})
	if err != nil {
		return nil, err
	}
	e.AddProgress(p.End-at, 0)
	return s, nil
}

// wants reports whether a hospital is exported.
func (e *exporter) wants(hospital string) bool {
	return len(e.Hospitals) == 0 || slices.Contains(e.Hospitals, hospital)
}

// fillRow fills a row from a record, and counts the outcome in s. It returns the record's hospital, and reports
// whether the record becomes a row; if not, the hospital is empty.
func fillRow[R any](e *exporter, s *segment, t *tables.Table[R], r *stream.Record, row *R) (hospital string, wanted bool) {
	hospital, has := t.Hospital(r)
	switch {
	case !has:
		s.Counts.State++
	case !e.wants(hospital):
		s.Counts.Others++
	default:
		reason := t.Read(r, row)
		if reason == "" {
			s.Counts.Rows++
			return hospital, true
		}
		s.Counts.Undecoded++
		s.Undecoded = append(s.Undecoded, Unread{e.Topic, r.Partition, r.Offset, reason})
	}
	return "", false
}

// Table is a topic that can be exported.
type Table struct {
	Name  string // name of the topic without the prefix "svc.v1."
	Topic schemas.Topic
	// Transactions reports whether the topic is written in transactions. Such a topic must be read with
	// internal/stream.
	Transactions bool

	version func(r *stream.Record) (hospital string, version int64)

	begin  func(e *exporter) segmenter
	stream func(e *exporter, w io.Writer) (segmenter, error)
}

// segmenter writes rows, either those of one segment to files or those of all segments to one writer.
type segmenter interface {
	// writeRecord writes the row of a record, if there is one, and counts the outcome.
	writeRecord(counted *segment, r *stream.Record) error
	finish() (files []File, err error)
	abandon()
}

func tableOf[R any](name string, transactions bool, t *tables.Table[R]) Table {
	version := func(*stream.Record) (string, int64) { return "", 0 }
	if t.Version != nil {
		version = func(r *stream.Record) (string, int64) {
			hospital, has := t.Hospital(r)
			if !has {
				return "", 0
			}
			return hospital, t.Version(r)
		}
	}
	return Table{
		Name: name, Topic: t.Topic, Transactions: transactions, version: version,
		begin: func(e *exporter) segmenter {
			return &segmentOf[R]{exporter: e, table: t, open: map[string]*outFile[R]{}}
		},
		stream: func(e *exporter, w io.Writer) (segmenter, error) {
			rows, err := tables.NewSink[R](w, e.Format)
			return &streamOf[R]{exporter: e, table: t, rows: rows}, err
		},
	}
}

// Tables returns all tables that can be exported.
func Tables() []Table {
	return []Table{
		tableOf("observations", false, tables.Observations()),
		tableOf("verdicts", true, tables.Verdicts()),
		tableOf("deliveries", true, tables.Deliveries()),
		tableOf("snapshots", true, tables.Snapshots()),
	}
}

// segmentOf writes the rows of a segment to one file for each hospital and day. Open files use memory, so a file is
// completed soon after its day has ended. A record that arrives later starts a new file.
type segmentOf[R any] struct {
	exporter *exporter
	table    *tables.Table[R]
	open     map[string]*outFile[R]
	ended    []*outFile[R]
	idle     []tables.Sink[R] // writers of completed files, for reuse
	due      time.Time        // earliest time at which an open file must be completed
	last     *outFile[R]
}

// lateWithin is how long a file stays open after its day has ended. It allows for differences between the clocks of
// the ingest processes that write the log.
const lateWithin = 10 * time.Minute

// outFile is a file of the export that is being written.
type outFile[R any] struct {
	File
	day  time.Time
	rows tables.Sink[R]
	to   *os.File
	sum  hash.Hash
	size int64
}

// Write implements io.Writer.
func (f *outFile[R]) Write(b []byte) (int, error) {
	f.sum.Write(b)
	n, err := f.to.Write(b)
	f.size += int64(n)
	return n, err //nolint:wrapcheck // the error names the file
}

func (s *segmentOf[R]) writeRecord(counted *segment, r *stream.Record) error {
	var row R
	hospital, wanted := fillRow(s.exporter, counted, s.table, r, &row)
	if !wanted {
		return nil
	}
	if !r.Timestamp.Before(s.due) {
		if err := s.endDays(r.Timestamp); err != nil {
			return err
		}
	}
	f, err := s.openFile(hospital, r)
	if err != nil {
		return err
	}
	f.Last, f.Rows = r.Offset, f.Rows+1
	return f.rows.Write(&row)
}

// openFile returns the file for a hospital and for the day of a record, and opens it if necessary.
func (s *segmentOf[R]) openFile(hospital string, r *stream.Record) (*outFile[R], error) {
	day := r.Timestamp.UTC().Truncate(24 * time.Hour)
	if f := s.last; f != nil && f.Hospital == hospital && f.day.Equal(day) {
		return f, nil
	}
	date := day.Format(time.DateOnly)
	// Only the date is a Hive partition. The hospital is a column of the file, and readers refuse a name that is both a
	// column and a partition.
	dir := filepath.Join(hospital, "date="+date)
	if f := s.open[dir]; f != nil {
		s.last = f
		return f, nil
	}
	e := s.exporter
	if err := os.MkdirAll(filepath.Join(e.dir, dir), 0o750); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	f := &outFile[R]{day: day, sum: sha256.New(), File: File{
		Path:     filepath.ToSlash(filepath.Join(dir, fmt.Sprintf("part-%d-%012d.%s", r.Partition, r.Offset, e.Format))),
		Hospital: hospital, Date: date, Partition: r.Partition, First: r.Offset,
	}}
	var err error
	if f.to, err = os.Create(filepath.Join(e.dir, filepath.FromSlash(f.Path)+partialExt)); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	s.open[dir], s.last = f, f
	if s.due.IsZero() || f.due().Before(s.due) {
		s.due = f.due()
	}
	if last := len(s.idle) - 1; last >= 0 {
		f.rows, s.idle = s.idle[last], s.idle[:last]
		f.rows.Reset(f)
		return f, nil
	}
	f.rows, err = tables.NewSink[R](f, e.Format)
	return f, err
}

// due returns the time at which the file must be completed: lateWithin after the end of its day.
func (f *outFile[R]) due() time.Time { return f.day.Add(24*time.Hour + lateWithin) }

// endDays completes the open files that are due at the given time.
func (s *segmentOf[R]) endDays(now time.Time) error {
	s.due, s.last = time.Time{}, nil
	for _, dir := range slices.Sorted(maps.Keys(s.open)) {
		f := s.open[dir]
		if due := f.due(); now.Before(due) {
			if s.due.IsZero() || due.Before(s.due) {
				s.due = due
			}
			continue
		}
		if err := s.end(dir); err != nil {
			return err
		}
	}
	return nil
}

// end completes a file. The file gets its final name when finish renames all files.
func (s *segmentOf[R]) end(dir string) error {
	f := s.open[dir]
	if err := errors.Join(f.rows.Close(), f.to.Sync(), f.to.Close()); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	delete(s.open, dir)
	s.ended, s.idle, f.rows = append(s.ended, f), append(s.idle, f.rows), nil
	return nil
}

// finish completes all files and renames them to their final names.
func (s *segmentOf[R]) finish() ([]File, error) {
	for _, dir := range slices.Sorted(maps.Keys(s.open)) {
		if err := s.end(dir); err != nil {
			return nil, err
		}
	}
	files := []File{}
	for _, f := range s.ended {
		name := filepath.Join(s.exporter.dir, filepath.FromSlash(f.Path))
		if err := os.Rename(name+partialExt, name); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		f.Bytes, f.SHA256 = f.size, hex.EncodeToString(f.sum.Sum(nil))
		files = append(files, f.File)
	}
	s.ended = nil
	return files, nil
}

// abandon closes and removes unfinished files; the next run writes them again.
func (s *segmentOf[R]) abandon() {
	for _, f := range s.open {
		f.to.Close()           //nolint:errcheck // the file is discarded
		os.Remove(f.to.Name()) //nolint:errcheck // the file is discarded
	}
	for _, f := range s.ended {
		os.Remove(f.to.Name()) //nolint:errcheck // the file is discarded, unless it already has its final name
	}
}

// streamOf writes all rows to one writer.
type streamOf[R any] struct {
	exporter *exporter
	table    *tables.Table[R]
	rows     tables.Sink[R]
}

func (s *streamOf[R]) writeRecord(counted *segment, r *stream.Record) error {
	var row R
	if _, wanted := fillRow(s.exporter, counted, s.table, r, &row); !wanted {
		return nil
	}
	return s.rows.Write(&row)
}

func (s *streamOf[R]) finish() ([]File, error) { return nil, s.rows.Close() }
func (s *streamOf[R]) abandon()                {}
