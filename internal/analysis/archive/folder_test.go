package archive_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/archive"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
)

// Two exports cannot write to the same folder at once: the second one is refused and leaves the files of the first.
func TestExportAlone(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(900, 2, time.Minute))
	l := b.Log()
	dir := t.TempDir()
	x := analysistest.Export(l, tables.NDJSON)
	x.Segment = 100
	first := *x
	var second error
	var once sync.Once
	first.Read = func(ctx context.Context, s stream.Span, fn func(stream.Record) error) error {
		return l.Read(ctx, s, func(r stream.Record) error {
			if r.Offset == s.From+10 {
				once.Do(func() { _, second = x.Run(t.Context(), dir) })
			}
			return fn(r)
		})
	}
	m, err := first.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(second, archive.ErrBusy) {
		t.Errorf("the second export: %v", second)
	}
	if err := m.Sum(dir); err != nil {
		t.Error(err)
	}
	if len(analysistest.Folder(t, dir)) != len(m.Files)+1 {
		t.Error("the folder contains more than the files and the manifest")
	}
	if again, err := x.Run(t.Context(), dir); err != nil || again.Counts != m.Counts {
		t.Errorf("once more: %+v, %v", again, err)
	}
}

// A resumed export writes files again that were deleted in the meantime.
func TestResumedExportWithFilesGone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one segment after the other
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(3000, 2, time.Minute))
	l := b.Log()
	whole, dir := t.TempDir(), t.TempDir()
	x := analysistest.Export(l, tables.Parquet)
	x.Segment = 500
	if _, err := x.Run(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	half := *x
	half.Read = func(ctx context.Context, s stream.Span, fn func(stream.Record) error) error {
		if s.From >= 500 {
			return broken
		}
		return l.Read(ctx, s, fn)
	}
	if _, err := half.Run(t.Context(), dir); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	gone := ""
	for name := range analysistest.Folder(t, dir) {
		if strings.HasSuffix(name, ".parquet") {
			gone = name
		}
	}
	if err := os.Remove(filepath.Join(dir, gone)); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(analysistest.Folder(t, dir), analysistest.Folder(t, whole)) {
		t.Error("the resumed export differs")
	}
}

// If files of a complete export are missing, neither an export nor an import reports success; the error names the
// first file.
func TestFilesGone(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(100, 2, time.Minute))
	dir := t.TempDir()
	x := analysistest.Export(b.Log(), tables.Parquet)
	m, err := x.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	gone := m.Files[1].Path
	if err := os.Remove(filepath.Join(dir, gone)); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context(), dir); err == nil || !strings.Contains(err.Error(), gone+" is missing") {
		t.Errorf("export without %s: %v", gone, err)
	}
	im := &archive.Import{Dir: dir}
	if _, err := im.Run(t.Context()); err == nil || !strings.Contains(err.Error(), gone+" is missing") || errors.Is(err, os.ErrNotExist) {
		t.Errorf("import without %s: %v", gone, err)
	}
}

// An import refuses a manifest that is not from an export.
func TestImportOfEmptyManifest(t *testing.T) {
	im := &archive.Import{Dir: t.TempDir()}
	leave(t, im.Dir, "_manifest.json", "{}")
	if _, err := im.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "_manifest.json: the file is not from svc export") {
		t.Error(err)
	}
}

// If retention deletes records while an export is interrupted, the export cannot be completed, and the error says so.
func TestExportOfDeletedRecords(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(90, 1, time.Minute))
	x := analysistest.Export(b.Log(), tables.NDJSON)
	x.Read = func(context.Context, stream.Span, func(stream.Record) error) error { return inputlog.ErrGone }
	_, err := x.Run(t.Context(), t.TempDir())
	if !errors.Is(err, inputlog.ErrGone) || !strings.Contains(err.Error(), "export to another folder") {
		t.Error(err)
	}
}
