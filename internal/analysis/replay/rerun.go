package replay

import (
	"context"
	"errors"
	"io"
	"maps"
	"runtime"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
)

// Rerun makes the verdicts of some hospitals again. It also reads the log before From, because
// older inputs make the state at From. Each partition is read once for all its hospitals, and its
// changes come in the order of the log.
type Rerun struct {
	Inputs    inputlog.Source
	Hospitals []string  // empty: all
	From, To  time.Time // window of the reported changes; zero: unbounded
	Rules     Override
	// Wait limits the changes to a multiple of the log's own speed. It is called with the instant
	// of each input from From on; several goroutines call it if partitions are read at the same
	// time. Nil: no limit.
	Wait func(ctx context.Context, at time.Time) error
	Pace *rate.Limiter
	// Progress is called with the number of records that are read, and their total.
	Progress func(done, total int64)
}

// Write writes the changes as rows to one writer, partition after partition.
func (r *Rerun) Write(ctx context.Context, w io.Writer, format tables.Format) (rows int64, err error) {
	return writeOne(w, format, func(out *part[tables.VerdictRow]) error {
		return r.foldPartitions(ctx, 1, func(_ context.Context, s stream.Span) (passage, error) { return r.write(s.Partition, out), nil })
	})
}

// WriteFolder writes the changes as rows into an empty folder, a file for each partition. As
// many partitions are written at once as there are processors.
func (r *Rerun) WriteFolder(ctx context.Context, dir string, format tables.Format) (rows int64, err error) {
	return writeParts(dir, format, func(open func(partition int32) (*part[tables.VerdictRow], error)) error {
		return r.foldPartitions(ctx, runtime.GOMAXPROCS(0), func(_ context.Context, s stream.Span) (passage, error) {
			out, err := open(s.Partition)
			if err != nil {
				return nil, err
			}
			return r.write(s.Partition, out), nil
		})
	})
}

// window reports whether an instant lies between From and To.
func (r *Rerun) window(at acuity.Instant) bool {
	return (r.From.IsZero() || at >= acuity.At(r.From)) && (r.To.IsZero() || at < acuity.At(r.To))
}

// remaking is a passage that makes the changes of all hospitals of a partition.
type remaking struct {
	r        *Rerun
	folds    map[string]*Refold
	hospital string // hospital of the present input
	each     func(c *acuity.Change) error
	fault    error // the first error of each
	emit     func(c *acuity.Change)
}

func (r *Rerun) remake(each func(c *acuity.Change) error) *remaking {
	m := &remaking{r: r, folds: map[string]*Refold{}, each: each}
	m.emit = func(c *acuity.Change) {
		if m.fault == nil && r.window(c.AppliedAt) {
			c.Hospital = m.hospital
			m.fault = each(c)
		}
	}
	return m
}

func (m *remaking) foldInput(in *inputlog.Input) error {
	f := m.folds[in.Hospital]
	if f == nil {
		var err error
		if f, err = NewRefold(in.Hospital, m.r.Rules); err != nil {
			return err
		}
		m.folds[in.Hospital] = f
	}
	m.hospital = in.Hospital
	f.Apply(in, m.emit)
	return m.fault
}

// finish makes the changes that are due until To.
func (m *remaking) finish() error {
	if m.r.To.IsZero() {
		return nil
	}
	for _, m.hospital = range slices.Sorted(maps.Keys(m.folds)) {
		m.folds[m.hospital].advanceTo(acuity.At(m.r.To)-1, m.emit)
	}
	return m.fault
}

func (m *remaking) close() {}

// writing is a remaking that writes the changes as rows in a goroutine of its own.
type writing struct {
	*remaking
	changes *behind[acuity.Change]
	out     *part[tables.VerdictRow]
}

func (r *Rerun) write(partition int32, out *part[tables.VerdictRow]) *writing {
	w := &writing{out: out}
	w.changes = takeBehind(func(c *acuity.Change) error {
		row := tables.VerdictOf(partition, c)
		return out.Write(&row)
	})
	w.remaking = r.remake(func(c *acuity.Change) error { return w.changes.put(c) })
	return w
}

func (w *writing) finish() error {
	return errors.Join(w.remaking.finish(), w.changes.close(), w.out.Close())
}

// close ends the goroutine and removes the file, unless finish has completed it.
func (w *writing) close() {
	w.changes.stop()
	w.out.abandon()
}
