package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/schemas"
)

// Rerun recomputes the verdicts of the given hospitals. It reads the log from the beginning, because inputs before
// From determine the state at From. It reads each partition once for all hospitals in it, and returns changes in the
// order of the log.
type Rerun struct {
	Inputs    inputlog.Source
	Hospitals []string  // empty: all
	From, To  time.Time // window of the reported changes; zero: unbounded
	Rules     Override
	// Wait limits the replay to a multiple of the log's original speed; nil means no limit. It is called with the
	// time of each input at or after From, by several goroutines if partitions are read concurrently.
	Wait func(ctx context.Context, at time.Time) error
	Pace *rate.Limiter
	// Progress is called with the number of records read and their total.
	Progress func(done, total int64)
}

// Write writes the changes as rows, and returns their number.
func (r *Rerun) Write(ctx context.Context, out Output) (rows int64, err error) {
	return writeRows(ctx, r, out, func(ctx context.Context, s stream.Span, in inputs, write func(*tables.VerdictRow) error) error {
		changes := inputlog.MakeAhead(ctx, func(_ context.Context, put func(*acuity.Change, int) error) error {
			return r.remake(in, func(c *acuity.Change) error { return put(c, 0) })
		})
		defer changes.Stop()
		for c := changes.Next(); c != nil; c = changes.Next() {
			row := tables.VerdictOf(s.Partition, c)
			if err := write(&row); err != nil {
				return err
			}
		}
		return changes.Err()
	})
}

// remake recomputes the changes of one partition, which inputs and timers cause, and calls fn with the changes in the
// window [From, To).
func (r *Rerun) remake(in inputs, fn func(*acuity.Change) error) error {
	folds := map[string]*Refold{}
	var hospital string
	var fault error // first error that fn returned
	emit := func(c *acuity.Change) {
		if fault == nil && r.inWindow(c.AppliedAt) {
			c.Hospital = hospital
			fault = fn(c)
		}
	}
	if err := in(func(input *inputlog.Input) error {
		hospital = input.Hospital
		f := folds[hospital]
		if f == nil {
			var err error
			if f, err = NewRefold(hospital, r.Rules); err != nil {
				return err
			}
			folds[hospital] = f
		}
		f.Apply(input, emit)
		return fault
	}); err != nil || r.To.IsZero() {
		return err
	}
	for _, hospital = range slices.Sorted(maps.Keys(folds)) { // changes that timers cause after the last input and before To
		folds[hospital].advanceTo(acuity.At(r.To)-1, emit)
	}
	return fault
}

// inWindow reports whether an instant is in [From, To). A zero From or To means no bound.
func (r *Rerun) inWindow(at acuity.Instant) bool {
	return (r.From.IsZero() || at >= acuity.At(r.From)) && (r.To.IsZero() || at < acuity.At(r.To))
}

// Output is the destination of rows.
type Output struct {
	To     io.Writer // receives the rows, one partition after the other, if there is neither a File nor a Folder
	File   string    // gets all rows
	Folder string    // empty folder, which gets one file per partition
	Format tables.Format
}

// ErrFolder means that the folder for the rows is not empty.
var ErrFolder = errors.New("the folder is not empty")

// writeRows folds the partitions and writes their rows. If the output is a folder, it processes as many partitions
// concurrently as there are CPUs.
func writeRows[R any](ctx context.Context, r *Rerun, out Output,
	fold func(ctx context.Context, s stream.Span, in inputs, write func(*R) error) error,
) (int64, error) {
	var rows atomic.Int64
	counted := func(write func(*R) error) func(*R) error {
		return func(row *R) error {
			rows.Add(1)
			return write(row)
		}
	}
	if out.Folder == "" {
		all := func(write func(*R) error) error {
			return r.foldPartitions(ctx, 1, func(ctx context.Context, s stream.Span, in inputs) error {
				return fold(ctx, s, in, counted(write))
			})
		}
		if out.File != "" {
			err := writeFile(out.File, out.Format, all)
			return rows.Load(), err
		}
		sink, err := tables.NewSink[R](out.To, out.Format)
		if err != nil {
			return 0, err
		}
		if err = all(sink.Write); err == nil {
			err = sink.Close()
		}
		return rows.Load(), err
	}
	if err := os.MkdirAll(out.Folder, 0o750); err != nil {
		return 0, fmt.Errorf("open folder: %w", err)
	}
	if entries, err := os.ReadDir(out.Folder); err != nil {
		return 0, fmt.Errorf("open folder: %w", err)
	} else if len(entries) > 0 {
		return 0, ErrFolder
	}
	err := r.foldPartitions(ctx, runtime.GOMAXPROCS(0), func(ctx context.Context, s stream.Span, in inputs) error {
		name := filepath.Join(out.Folder, fmt.Sprintf("part-%d.%s", s.Partition, out.Format))
		return writeFile(name, out.Format, func(write func(*R) error) error { return fold(ctx, s, in, counted(write)) })
	})
	return rows.Load(), err
}

// writeFile writes a file of rows. The file gets its name only once it is complete; after an error, an earlier file of
// that name is unchanged.
func writeFile[R any](name string, f tables.Format, rows func(write func(*R) error) error) error {
	file, err := os.Create(name + ".partial") //nolint:gosec // the file is in the folder that the user named
	if err != nil {
		return fmt.Errorf("open part: %w", err)
	}
	sink, err := tables.NewSink[R](file, f)
	if err == nil {
		err = rows(sink.Write)
	}
	if err != nil {
		file.Close()           //nolint:errcheck // the file is discarded
		os.Remove(file.Name()) //nolint:errcheck // the file is discarded
		return err
	}
	if err = errors.Join(sink.Close(), file.Sync(), file.Close()); err != nil {
		os.Remove(file.Name()) //nolint:errcheck // the file is discarded
		return fmt.Errorf("write %s: %w", file.Name(), err)
	}
	return os.Rename(file.Name(), name)
}

// inputs is a function that reads one partition and passes every requested input to a callback, in the order of the
// log.
type inputs func(each func(*inputlog.Input) error) error

// foldPartitions calls fold for each partition of the requested hospitals, at most atOnce concurrently. If the log
// has no record of requested hospitals, the names are probably wrong, and foldPartitions returns their [AbsentErrors].
func (r *Rerun) foldPartitions(ctx context.Context, atOnce int, fold func(ctx context.Context, s stream.Span, in inputs) error) error {
	spans, err := r.spans(ctx)
	if err != nil {
		return err
	}
	shared := inputlog.NewShare(r.Pace, r.Progress)
	for _, s := range spans {
		shared.AddProgress(0, s.End-s.From)
	}
	var mu sync.Mutex
	absent := slices.Clone(r.Hospitals) // hospitals without an input so far
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, s := range spans {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err() //nolint:wrapcheck // another partition has failed
			}
			return fold(ctx, s, func(fn func(*inputlog.Input) error) error {
				return r.readInputs(ctx, s, shared, func(in *inputlog.Input) error {
					mu.Lock()
					if i := slices.Index(absent, in.Hospital); i >= 0 {
						absent = slices.Delete(absent, i, i+1)
					}
					mu.Unlock()
					return fn(in)
				})
			})
		})
	}
	if err = g.Wait(); err == nil {
		err = AbsentErrors(absent)
	}
	return err
}

// AbsentError is the id of a requested hospital that has no record in the log.
type AbsentError string

func (e AbsentError) Error() string {
	return fmt.Sprintf("the log has no records for hospital %q", string(e))
}

// AbsentErrors returns an [AbsentError] for each hospital, joined, or nil if there are none.
func AbsentErrors(hospitals []string) error {
	var all []error
	for _, h := range hospitals {
		all = append(all, AbsentError(h))
	}
	return errors.Join(all...)
}

// readInputs calls fn with every input of the requested hospitals, in the order of the partition.
func (r *Rerun) readInputs(ctx context.Context, s stream.Span, shared *inputlog.Share, fn func(in *inputlog.Input) error) error {
	in := inputlog.ReadInputs(ctx, r.Inputs.Read, s, r.Hospitals)
	in.Progress = shared.AddProgress
	defer in.Stop()
	from := acuity.At(r.From)
	for {
		input := in.Next()
		if input == nil {
			return in.Err()
		}
		if err := shared.Wait(ctx); err != nil {
			return err
		}
		if input.Hospital == "" {
			continue
		}
		if r.Wait != nil && (r.From.IsZero() || input.At >= from) {
			if err := r.Wait(ctx, input.At.Time()); err != nil {
				return err
			}
		}
		if err := fn(input); err != nil {
			return err
		}
	}
}

// wants reports whether the hospital in a key is among the requested hospitals.
func (r *Rerun) wants(key []byte) bool {
	return len(r.Hospitals) == 0 || slices.Contains(r.Hospitals, schemas.InputHospital(key))
}

// spans returns the spans to read, one for each partition that contains requested hospitals. If the first
// observations of such a partition have been deleted, it returns [inputlog.ErrGone].
func (r *Rerun) spans(ctx context.Context) ([]stream.Span, error) {
	all, err := r.Inputs.Spans(ctx, time.Time{}, r.To)
	if err != nil {
		return nil, err
	}
	wanted := inputlog.PartitionsOf(r.Hospitals, int32(len(all))) //nolint:gosec // Kafka's number of partitions is an int32
	var spans []stream.Span
	for _, s := range all {
		if s.From == s.End || wanted != nil && wanted[s.Partition] == nil {
			continue
		}
		if s.From > 0 {
			return nil, fmt.Errorf("%w: the observations of partition %d begin at offset %d", inputlog.ErrGone, s.Partition, s.From)
		}
		spans = append(spans, s)
	}
	return spans, nil
}
