package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// journal records the progress of a running export: the plan, then a line for each segment
// once its files are in place.
type journal struct {
	file *os.File
	plan Plan
	done map[Piece]segment
}

// openJournal reads the journal of a folder, or starts one with the plan that begin returns. A
// line that a crash cut off is dropped.
func openJournal(dir string, question *Plan, begin func() (*Plan, error)) (*journal, error) {
	name := filepath.Join(dir, journalName)
	content, err := os.ReadFile(name) //nolint:gosec // in the folder that the user named
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
	if j.file, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600); err == nil { //nolint:gosec // likewise
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

// note records that a segment is done.
func (j *journal) note(s *segment) error {
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

// manifest puts together the results of the segments.
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
