// Package archive exports topics to files. From such files, it can also import observations.
package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/time/rate"

	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
)

// Export defines which records to export, and in which format.
type Export struct {
	Table     Table
	Topic     string   // name of the topic, including its prefix
	Hospitals []string // empty: all
	From, To  time.Time
	Format    tables.Format

	inputlog.Source // reads the topic

	// Progress is called with the number of finished offsets and the total, possibly by several goroutines at once.
	// It may be nil.
	Progress func(done, total int64)
	Pace     *rate.Limiter
	// Segment is the number of offsets that are written as one unit; 0 means 100,000. An interruption loses at most
	// one segment per CPU.
	Segment int64
}

const defaultSegment = 100_000

// exporter is a running export.
type exporter struct {
	Export
	dir string
	*inputlog.Share
	mu sync.Mutex // guards the journal
}

// planWithoutOffsets returns the plan of this export without the offsets of the partitions.
func (x *Export) planWithoutOffsets() *Plan {
	hospitals := append([]string{}, x.Hospitals...)
	slices.Sort(hospitals)
	return &Plan{
		Topic: x.Topic, Table: x.Table.Name, Format: x.Format, Hospitals: hospitals, Segment: cmp.Or(x.Segment, defaultSegment),
		From: instant(x.From), To: instant(x.To),
	}
}

// instant converts a time to the form that the manifest uses: UTC, or nil for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// plan returns the plan with the current offsets of the topic.
func (x *Export) plan(ctx context.Context) (*Plan, error) {
	p := x.planWithoutOffsets()
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

// Run writes the export to a folder and returns its manifest. If the folder contains an interrupted export with the
// same options, Run resumes it with the offsets of the first run; the files are then the same as without the
// interruption. If the folder contains the complete export, Run only returns its manifest. If it contains a different
// export, Run returns [ErrOther]. If another process is writing to the folder, Run returns [ErrBusy].
func (x *Export) Run(ctx context.Context, dir string) (*Manifest, error) {
	if done, err := x.completed(dir); done != nil || err != nil {
		return done, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockName))
	defer lock.Close() //nolint:errcheck // the lock ends with the process at the latest

	if ours, err := lock.TryLock(); err == nil && !ours { // some network file systems have no locks
		return nil, ErrBusy
	}
	if done, err := x.completed(dir); done != nil || err != nil { // another process has completed it in the meantime
		return done, err
	}
	j, err := openJournal(dir, x.planWithoutOffsets(), func() (*Plan, error) { return x.plan(ctx) })
	if err != nil {
		return nil, fmt.Errorf("export to %s: %w", dir, err)
	}
	defer j.file.Close() //nolint:errcheck // every line is already synced
	if err := sweep(dir); err != nil {
		return nil, err
	}
	e := x.exporter(dir)
	if err := e.writeSegments(ctx, j); errors.Is(err, inputlog.ErrGone) {
		return nil, fmt.Errorf("export %s: %w by retention since the export began; export to another folder", x.Table.Name, err)
	} else if err != nil {
		return nil, fmt.Errorf("export %s: %w", x.Table.Name, err)
	}
	m := j.manifest()
	if err := m.write(dir); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(dir, journalName)); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	os.Remove(filepath.Join(dir, lockName)) //nolint:errcheck // it may not exist; the folder has a manifest now
	return m, nil
}

// completed returns the manifest of a folder that contains the complete export, or nil if the folder contains none.
func (x *Export) completed(dir string) (*Manifest, error) {
	m, err := ReadManifest(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !m.sameQuestion(x.planWithoutOffsets()):
		return nil, ErrOther
	}
	if f := firstAbsent(dir, m.Files); f != nil {
		return nil, fmt.Errorf("%s is missing from %s or has another size; export to another folder", f.Path, dir)
	}
	return m, nil
}

// firstAbsent returns the first file that a folder does not have in the recorded size, or nil.
func firstAbsent(dir string, files []File) *File {
	for i := range files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(files[i].Path)))
		if err != nil || info.Size() != files[i].Bytes {
			return &files[i]
		}
	}
	return nil
}

// sweep removes the incomplete files of an interrupted run.
func sweep(dir string) error {
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, partialExt) {
			return os.Remove(name) //nolint:gosec // the file is in the folder that the user named
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// Stream writes all rows to one writer, ordered by partition and offset. The returned manifest has no files.
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

// journal is the file that records the progress of a running export. The first line is the plan. Each further line
// describes a segment whose files have their final names.
type journal struct {
	file *os.File
	plan Plan
	done map[Piece]segment
}

// openJournal opens the journal of a folder, and drops an incomplete last line, which a crash may have left. If the
// folder has no journal, openJournal creates one with the plan that begin returns. If the options in the journal's
// plan differ from those in the argument question, the error is [ErrOther].
func openJournal(dir string, question *Plan, begin func() (*Plan, error)) (*journal, error) {
	name := filepath.Join(dir, journalName)
	content, err := os.ReadFile(name) //nolint:gosec // the file is in the folder that the user named
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	content = content[:bytes.LastIndexByte(content, '\n')+1]
	j := &journal{done: map[Piece]segment{}}
	if len(content) > 0 {
		if err = j.read(content); err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		if !j.plan.sameQuestion(question) {
			return nil, ErrOther
		}
		maps.DeleteFunc(j.done, func(_ Piece, s segment) bool { return firstAbsent(dir, s.Files) != nil }) // written again
	} else {
		plan, fault := begin()
		if fault != nil {
			return nil, fault
		}
		j.plan = *plan
		content = append([]byte(plan.text()), '\n')
		if err = writeWhole(name, content); err != nil {
			return nil, fmt.Errorf("begin journal: %w", err)
		}
	}
	if j.file, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600); err == nil { //nolint:gosec // in the user's folder
		err = j.file.Truncate(int64(len(content)))
	}
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return j, nil
}

// read reads the lines of a journal.
func (j *journal) read(content []byte) error {
	lines := json.NewDecoder(bytes.NewReader(content))
	if err := lines.Decode(&j.plan); err != nil {
		return err
	}
	for lines.More() {
		var s segment
		if err := lines.Decode(&s); err != nil {
			return err
		}
		j.done[s.Piece] = s
	}
	return nil
}

// record appends a finished segment to the journal.
func (j *journal) record(s *segment) error {
	line, err := json.Marshal(s)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	j.done[s.Piece] = *s
	return nil
}

// manifest combines the results of the segments.
func (j *journal) manifest() *Manifest {
	m := &Manifest{Plan: j.plan, Undecoded: []Unread{}, Files: []File{}}
	last := map[string]int64{} // newest version so far, by hospital
	counted := true            // whether each segment with rows has the versions of its changes
	for _, piece := range slices.SortedFunc(maps.Keys(j.done), Piece.compare) {
		s := j.done[piece]
		m.Counts.add(&s.Counts)
		m.Undecoded = append(m.Undecoded, s.Undecoded...)
		m.Files = append(m.Files, s.Files...)
		for hospital, v := range s.Versions {
			before, known := last[hospital]
			if known || j.plan.From == nil {
				m.Compacted += max(v.First-before-1, 0)
			}
			m.Compacted += v.Missing
			last[hospital] = max(before, v.Last)
		}
		counted = counted && (s.Counts.Rows == 0 || len(s.Versions) > 0)
	}
	if !counted { // an earlier release wrote a segment, or the rows are not changes
		m.Compacted = 0
	}
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(m.Undecoded, func(a, b Unread) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return m
}
