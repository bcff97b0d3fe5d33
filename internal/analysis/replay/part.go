package replay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"svc/internal/analysis/tables"
)

// ErrFolder says that the folder for the rows is not empty.
var ErrFolder = errors.New("the folder is not empty")

// partialExt ends the name of a file that is not complete.
const partialExt = ".partial"

// part writes the rows of one partition.
type part[R any] struct {
	sink tables.Writer[R]
	rows *atomic.Int64 // of all parts
	file *os.File      // nil: all parts share one sink, which writeOne closes
}

// Write counts a row and writes it.
func (p *part[R]) Write(row *R) error {
	p.rows.Add(1)
	return p.sink.Write(row)
}

// Close writes the rest of the file and gives it its final name.
func (p *part[R]) Close() error {
	if p.file == nil {
		return nil
	}
	name := p.file.Name()
	if err := errors.Join(p.sink.Close(), p.file.Sync(), p.file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	p.file = nil
	return os.Rename(name, name[:len(name)-len(partialExt)])
}

// abandon removes a file that was not closed.
func (p *part[R]) abandon() {
	if p.file != nil {
		p.file.Close()           //nolint:errcheck // the file is thrown away
		os.Remove(p.file.Name()) //nolint:errcheck // likewise
	}
}

// writeOne calls write with a part, which writes the rows of all partitions to one writer.
func writeOne[R any](w io.Writer, f tables.Format, write func(out *part[R]) error) (rows int64, err error) {
	out := &part[R]{rows: new(atomic.Int64)}
	if out.sink, err = tables.NewSink[R](w, f); err != nil {
		return 0, err
	}
	if err = write(out); err == nil {
		err = out.sink.Close()
	}
	return out.rows.Load(), err
}

// writeParts calls write with a function that opens a file for a partition in a folder.
func writeParts[R any](dir string, f tables.Format, write func(open func(partition int32) (*part[R], error)) error) (rows int64, err error) {
	if err = os.MkdirAll(dir, 0o750); err != nil {
		return 0, fmt.Errorf("open folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("open folder: %w", err)
	}
	if len(entries) > 0 {
		return 0, ErrFolder
	}
	var count atomic.Int64
	err = write(func(partition int32) (*part[R], error) {
		return openPart[R](filepath.Join(dir, fmt.Sprintf("part-%d.%s", partition, f)), f, &count)
	})
	return count.Load(), err
}

func openPart[R any](name string, f tables.Format, rows *atomic.Int64) (p *part[R], err error) {
	p = &part[R]{rows: rows}
	if p.file, err = os.Create(name + partialExt); err != nil { //nolint:gosec // in the folder that the user named
		return nil, fmt.Errorf("open part: %w", err)
	}
	p.sink, err = tables.NewSink[R](p.file, f)
	return p, err
}
