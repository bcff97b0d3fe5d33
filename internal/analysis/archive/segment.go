package archive

import (
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"svc/internal/analysis/tables"
	"svc/internal/stream"
)

// segments writes the segments that are not done.
func (e *exporter) segments(ctx context.Context, j *journal) error {
	var left []Piece
	done, total := int64(0), int64(0)
	for _, p := range j.plan.pieces() {
		total += p.End - p.From
		if _, is := j.done[p]; is {
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
			s, err := e.segment(ctx, p)
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

// progressEvery is the number of records between two reports of progress.
const progressEvery = 5000

// segment writes the rows of one segment.
func (e *exporter) segment(ctx context.Context, p Piece) (*segment, error) {
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

// read hands the records of a piece to a writer of rows, and counts them.
func (e *exporter) read(ctx context.Context, p Piece, w segmenter) (*segment, error) {
	s := &segment{Piece: p}
	at := p.From
	known := map[string]int64{} // newest version of each hospital
	err := e.Read(ctx, stream.Span(p), func(r stream.Record) error {
		if err := e.Wait(ctx); err != nil {
			return err
		}
		if s.Counts.Read++; s.Counts.Read%progressEvery == 0 {
			e.AddProgress(r.Offset-at, 0)
			at = r.Offset
		}
		if hospital, version := e.Table.version(&r); version > 0 {
			if version <= known[hospital] { // repeats an earlier change
				s.Counts.State++
				return nil
			}
			known[hospital] = version
		}
		return w.writeRecord(s, &r)
	})
	if err != nil {
		return nil, err
	}
	e.AddProgress(p.End-at, 0)
	return s, nil
}

// rowOf fills a row from a record, and counts the outcome; false: the record becomes no row.
func rowOf[R any](e *exporter, s *segment, t *tables.Table[R], r *stream.Record, row *R) (hospital string, wanted bool) {
	hospital, has := t.Hospital(r)
	switch {
	case !has:
		s.Counts.State++
	case len(e.Hospitals) > 0 && !slices.Contains(e.Hospitals, hospital):
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
