package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"svc/internal/stream"
)

// Plan is what an export is of. It is made once, at its start: what is written
// to the topic afterwards is not part of it.
type Plan struct {
	Topic     string     `json:"topic"` // with its prefix
	Table     string     `json:"table"`
	Format    Format     `json:"format"`
	Hospitals []string   `json:"hospitals"` // ascending; empty: all
	From      *time.Time `json:"from"`      // null: from the beginning
	To        *time.Time `json:"to"`        // null: up to the end when the export began
	Spans     []Piece    `json:"partitions"`
	Segment   int64      `json:"segmentOffsets"` // offsets of a segment
}

// Piece is a span as the manifest has it.
type Piece struct {
	Partition int32 `json:"partition"`
	From      int64 `json:"from"`
	End       int64 `json:"end"` // the first offset that is not part of it
}

// File is one file of an export.
type File struct {
	Path      string `json:"path"` // from the folder of the manifest
	Hospital  string `json:"hospital"`
	Date      string `json:"date"` // UTC, of the timestamps of its records
	Partition int32  `json:"partition"`
	First     int64  `json:"firstOffset"`
	Last      int64  `json:"lastOffset"`
	Rows      int64  `json:"rows"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"`
}

// Unread is a record that could not be decoded.
type Unread struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
}

// Counts are the records of an export: Read is the sum of the others.
type Counts struct {
	Read      int64 `json:"read"`
	Rows      int64 `json:"rows"`
	Others    int64 `json:"ofOtherHospitals"`
	State     int64 `json:"state"` // records of a changelog that are no history
	Undecoded int64 `json:"undecoded"`
}

func (c *Counts) add(o *Counts) {
	c.Read, c.Rows, c.Others, c.State, c.Undecoded = c.Read+o.Read, c.Rows+o.Rows, c.Others+o.Others, c.State+o.State, c.Undecoded+o.Undecoded
}

// Manifest is what an export that is done has written. It holds nothing of when
// or where it was made, so the same records make the same manifest.
type Manifest struct {
	Plan
	Counts    Counts   `json:"records"`
	Undecoded []Unread `json:"undecoded"` // every one, by partition and offset
	Files     []File   `json:"files"`     // by path
}

// segment is a piece of work: what was made of one part of one span.
type segment struct {
	Piece
	Counts    Counts   `json:"records"`
	Undecoded []Unread `json:"undecoded,omitempty"`
	Files     []File   `json:"files"`
}

const (
	manifestName = "manifest.json"
	journalName  = "export.journal"
	partialExt   = ".partial"
)

// ErrOther says that the folder holds an export of something else.
var ErrOther = errors.New("the folder holds another export")

// ReadManifest reads that of a folder; fs.ErrNotExist: none is done there.
func ReadManifest(dir string) (*Manifest, error) {
	content, err := os.ReadFile(filepath.Join(dir, manifestName)) //nolint:gosec // in the folder that the user named
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(content, &m); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return &m, nil
}

// write writes the manifest in one step.
func (m *Manifest) write(dir string) error {
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	name := filepath.Join(dir, manifestName)
	if err := durable(name+partialExt, append(content, '\n')); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := os.Rename(name+partialExt, name); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

func durable(name string, content []byte) error {
	f, err := os.Create(name) //nolint:gosec // in the folder that the user named
	if err != nil {
		return err //nolint:wrapcheck // names the file
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// sameQuestion reports whether two plans are of the same question; the offsets
// are the answer.
func (p *Plan) sameQuestion(o *Plan) bool {
	a, b := *p, *o
	a.Spans, b.Spans = nil, nil
	return reflect.DeepEqual(a.text(), b.text())
}

func (p Plan) text() string {
	b, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// journal is what is done of an export that is under way: the plan, then a line
// for each segment once its files are in place.
type journal struct {
	file *os.File
	plan Plan
	done map[Piece]segment
}

// openJournal reads the journal of a folder, or begins one with the plan that
// make returns. The end of a line that was torn by a crash is dropped.
func openJournal(dir string, question *Plan, begin func() (*Plan, error)) (*journal, error) {
	name := filepath.Join(dir, journalName)
	content, err := os.ReadFile(name) //nolint:gosec // in the folder that the user named
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	content = content[:bytes.LastIndexByte(content, '\n')+1]
	j := &journal{done: map[Piece]segment{}}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<30)
	first := true
	for lines.Scan() {
		if first {
			if err = json.Unmarshal(lines.Bytes(), &j.plan); err != nil {
				return nil, fmt.Errorf("read journal: %w", err)
			}
			if !j.plan.sameQuestion(question) {
				return nil, ErrOther
			}
			first = false
			continue
		}
		var s segment
		if err = json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		j.done[s.Piece] = s
	}
	if first {
		plan, fault := begin()
		if fault != nil {
			return nil, fault
		}
		j.plan = *plan
		content = append([]byte(plan.text()), '\n')
		if err = durable(name+partialExt, content); err != nil {
			return nil, fmt.Errorf("begin journal: %w", err)
		}
		if err = os.Rename(name+partialExt, name); err != nil {
			return nil, fmt.Errorf("begin journal: %w", err)
		}
	}
	if j.file, err = os.OpenFile(name, os.O_WRONLY, 0o600); err != nil { //nolint:gosec // likewise
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if err = j.file.Truncate(int64(len(content))); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if _, err = j.file.Seek(0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return j, nil
}

// note says that a segment is done.
func (j *journal) note(s *segment) error {
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	j.done[s.Piece] = *s
	return nil
}

// manifest puts together what the segments wrote.
func (j *journal) manifest() *Manifest {
	m := &Manifest{Plan: j.plan, Undecoded: []Unread{}, Files: []File{}}
	for _, s := range j.done {
		m.Counts.add(&s.Counts)
		m.Undecoded = append(m.Undecoded, s.Undecoded...)
		m.Files = append(m.Files, s.Files...)
	}
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(m.Undecoded, func(a, b Unread) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return m
}

// pieces cuts the spans into segments.
func (p *Plan) pieces() (all []Piece) {
	for _, s := range p.Spans {
		for at := s.From; at < s.End; at += p.Segment {
			all = append(all, Piece{s.Partition, at, min(at+p.Segment, s.End)})
		}
	}
	return all
}

func piecesOf(spans []stream.Span) []Piece {
	all := make([]Piece, len(spans))
	for i, s := range spans {
		all[i] = Piece(s)
	}
	return all
}
