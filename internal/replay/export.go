package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/stream"
)

// Export says what is written where.
type Export struct {
	Table     Table
	Topic     string   // with its prefix
	Hospitals []string // empty: all
	From, To  time.Time
	Format    Format

	Read  Read
	Spans func(ctx context.Context, from, to time.Time) ([]stream.Span, error)

	// Progress is told the offsets that are done, of how many; it may be called
	// from several goroutines at once. Nil: nobody looks.
	Progress func(done, total int64)
	// Rate is how many records are read in a second at most; 0: as many as can be.
	Rate int
	// Segment is how many offsets are written at once, 0: 100,000. What an
	// interruption loses is at most one segment of each worker.
	Segment int64
	// Workers is how many segments are written at once; 0: one per processor.
	Workers int
}

const defaultSegment = 100_000

// exporter is an export under way.
type exporter struct {
	Export
	dir  string
	only map[string]bool
	pace *pace
	done atomic.Int64
	mu   sync.Mutex // of the journal
}

// question is the plan without its answer.
func (x *Export) question() *Plan {
	p := &Plan{Topic: x.Topic, Table: x.Table.Name, Format: x.Format, Hospitals: slices.Sorted(slices.Values(x.Hospitals)), Segment: x.Segment}
	if p.Hospitals == nil {
		p.Hospitals = []string{}
	}
	if p.Segment == 0 {
		p.Segment = defaultSegment
	}
	if !x.From.IsZero() {
		at := x.From.UTC()
		p.From = &at
	}
	if !x.To.IsZero() {
		at := x.To.UTC()
		p.To = &at
	}
	return p
}

// plan asks for the offsets.
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
	e := &exporter{Export: *x, dir: dir, pace: newPace(x.Rate)}
	if len(x.Hospitals) > 0 {
		e.only = map[string]bool{}
		for _, h := range x.Hospitals {
			e.only[h] = true
		}
	}
	return e
}

// Run writes the export to a folder and returns its manifest. Begun again after
// an interruption it goes on, and ends with the bytes that it would have had: the
// offsets are those of its first start. Done already, it returns the manifest.
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

// sweep removes what an interruption left half written.
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

// segments writes those that are not done.
func (e *exporter) segments(ctx context.Context, j *journal) error {
	var left []Piece
	total := int64(0)
	for _, p := range j.plan.pieces() {
		total += p.End - p.From
		if _, done := j.done[p]; done {
			e.done.Add(p.End - p.From)
		} else {
			left = append(left, p)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.workers())
	for _, p := range left {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s, err := e.segment(ctx, p, total)
			if err != nil {
				return err
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			return j.note(s)
		})
	}
	return g.Wait() //nolint:wrapcheck // of ours
}

func (e *exporter) workers() int {
	if e.Workers > 0 {
		return e.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// toldEvery is after how many records progress is told.
const toldEvery = 5000

// segment writes the rows of one segment.
func (e *exporter) segment(ctx context.Context, p Piece, total int64) (*segment, error) {
	w := e.Table.begin(e)
	defer w.abandon()
	s, err := e.read(ctx, p, total, w)
	if err != nil {
		return nil, err
	}
	if s.Files, err = w.finish(); err != nil {
		return nil, err
	}
	return s, nil
}

// read hands the records of a piece to a writer of rows, and counts them.
func (e *exporter) read(ctx context.Context, p Piece, total int64, w segmenter) (*segment, error) {
	s := &segment{Piece: p}
	at := p.From
	err := e.Read(ctx, stream.Span(p), func(r stream.Record) error {
		if err := e.pace.wait(ctx); err != nil {
			return err
		}
		if s.Counts.Read++; s.Counts.Read%toldEvery == 0 {
			e.tell(r.Offset-at, total)
			at = r.Offset
		}
		return e.take(s, w, &r)
	})
	if err != nil {
		return nil, err
	}
	e.tell(p.End-at, total)
	return s, nil
}

func (e *exporter) tell(more, total int64) {
	done := e.done.Add(more)
	if e.Progress != nil {
		e.Progress(done, total)
	}
}

// take hands one record to the segment and counts it.
func (e *exporter) take(s *segment, w segmenter, r *stream.Record) error {
	err := w.take(r)
	unread := (*unreadError)(nil)
	switch {
	case err == nil:
		s.Counts.Rows++
	case errors.Is(err, errOthers):
		s.Counts.Others++
	case errors.Is(err, errState):
		s.Counts.State++
	case errors.As(err, &unread):
		s.Counts.Undecoded++
		s.Undecoded = append(s.Undecoded, Unread{e.Topic, r.Partition, r.Offset, unread.reason})
	default:
		return err
	}
	return nil
}

// What becomes of a record that has no row.
var (
	errOthers = errors.New("of another hospital")
	errState  = errors.New("no history")
)

// unreadError is a record that cannot be decoded.
type unreadError struct{ reason string }

func (e *unreadError) Error() string { return e.reason }

// segmentOf writes the rows of a segment, a file for each hospital and day.
type segmentOf[R any] struct {
	exporter *exporter
	table    *table[R]
	open     map[string]*outFile[R]
	row      R
	last     *outFile[R]
}

// outFile is a file that is being written.
type outFile[R any] struct {
	File
	rows sink[R]
	to   *os.File
	sum  hash.Hash
	size int64
}

// Write implements io.Writer.
func (f *outFile[R]) Write(b []byte) (int, error) {
	f.sum.Write(b)
	n, err := f.to.Write(b)
	f.size += int64(n)
	return n, err //nolint:wrapcheck // names the file
}

// rowOf reads a record.
func rowOf[R any](e *exporter, t *table[R], r *stream.Record, row *R) (hospital string, err error) {
	hospital, has := t.hospital(r)
	switch {
	case !has:
		return "", errState
	case e.only != nil && !e.only[hospital]:
		return "", errOthers
	}
	if reason := t.read(r, row); reason != "" {
		return "", &unreadError{reason}
	}
	return hospital, nil
}

func (s *segmentOf[R]) take(r *stream.Record) error {
	hospital, err := rowOf(s.exporter, s.table, r, &s.row)
	if err != nil {
		return err
	}
	f, err := s.file(hospital, r)
	if err != nil {
		return err
	}
	f.Last, f.Rows = r.Offset, f.Rows+1
	return f.rows.Write(&s.row)
}

// file returns the open file of a hospital and the day of a record.
func (s *segmentOf[R]) file(hospital string, r *stream.Record) (*outFile[R], error) {
	date := r.Timestamp.UTC().Format(time.DateOnly)
	if f := s.last; f != nil && f.Hospital == hospital && f.Date == date {
		return f, nil
	}
	dir := filepath.Join("hospital="+hospital, "date="+date)
	if f := s.open[dir]; f != nil {
		s.last = f
		return f, nil
	}
	e := s.exporter
	if err := os.MkdirAll(filepath.Join(e.dir, dir), 0o750); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	f := &outFile[R]{sum: sha256.New(), File: File{
		Path:     filepath.ToSlash(filepath.Join(dir, fmt.Sprintf("part-%d-%012d.%s", r.Partition, r.Offset, e.Format))),
		Hospital: hospital, Date: date, Partition: r.Partition, First: r.Offset,
	}}
	var err error
	if f.to, err = os.Create(filepath.Join(e.dir, filepath.FromSlash(f.Path)+partialExt)); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	s.open[dir], s.last = f, f
	f.rows, err = newSink[R](f, e.Format)
	return f, err
}

// finish puts the files in place, by their names.
func (s *segmentOf[R]) finish() ([]File, error) {
	files := []File{}
	for _, dir := range slices.Sorted(maps.Keys(s.open)) {
		f := s.open[dir]
		if err := errors.Join(f.rows.Close(), f.to.Sync(), f.to.Close()); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		name := filepath.Join(s.exporter.dir, filepath.FromSlash(f.Path))
		if err := os.Rename(name+partialExt, name); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		f.Bytes, f.SHA256 = f.size, hex.EncodeToString(f.sum.Sum(nil))
		files = append(files, f.File)
	}
	s.open = nil
	return files, nil
}

// abandon closes what was not finished; the next start writes it again.
func (s *segmentOf[R]) abandon() {
	for _, f := range s.open {
		f.to.Close()           //nolint:errcheck // it is thrown away
		os.Remove(f.to.Name()) //nolint:errcheck // likewise
	}
}

// streamOf writes all rows to one writer.
type streamOf[R any] struct {
	exporter *exporter
	table    *table[R]
	rows     sink[R]
}

func (s *streamOf[R]) take(r *stream.Record) error {
	var row R
	if _, err := rowOf(s.exporter, s.table, r, &row); err != nil {
		return err
	}
	return s.rows.Write(&row)
}

func (s *streamOf[R]) finish() ([]File, error) { return nil, s.rows.Close() }
func (s *streamOf[R]) abandon()                {}

// Stream writes all rows to one writer, by partition and offset. The manifest
// has no files.
func (x *Export) Stream(ctx context.Context, out io.Writer) (*Manifest, error) {
	plan, err := x.plan(ctx)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, p := range plan.Spans {
		total += p.End - p.From
	}
	e := x.exporter("")
	w, err := e.Table.stream(e, out)
	if err != nil {
		return nil, err
	}
	j := &journal{plan: *plan, done: map[Piece]segment{}}
	for _, p := range plan.Spans {
		s, err := e.read(ctx, p, total, w)
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

// Sum checks the files of a manifest against their sums and returns the first
// that is not what it was.
func (m *Manifest) Sum(dir string) error {
	for i := range m.Files {
		f := &m.Files[i]
		if !filepath.IsLocal(f.Path) {
			return fmt.Errorf("file %q is not in the folder", f.Path)
		}
		in, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Path))) //nolint:gosec // in the folder that the user named
		if err != nil {
			return fmt.Errorf("check export: %w", err)
		}
		sum := sha256.New()
		_, err = io.Copy(sum, in)
		in.Close() //nolint:errcheck // only read
		if err != nil {
			return fmt.Errorf("check export: %w", err)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, f.SHA256) {
			return fmt.Errorf("check export: %s is not what was written", f.Path)
		}
	}
	return nil
}
