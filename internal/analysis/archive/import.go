package archive

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/time/rate"

	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/spreadsheet"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/schemas"
)

// ErrNotEmpty means that the system already has observations.
var ErrNotEmpty = errors.New("the system already has observations; import requires an empty system")

// Import writes exported observations to a system that has none. Each record keeps its bytes and its timestamp, and
// the records of a hospital keep their order.
type Import struct {
	Dir   string
	Spans func(ctx context.Context, from, to time.Time) ([]stream.Span, error) // returns the spans of the system's observations topic
	Put   func(r *stream.Record) error
	Pace  *rate.Limiter
	// Progress is called with the number of written records and the total.
	Progress func(done, total int64)
}

// importedRow contains the columns of a row that are needed to restore the record.
type importedRow struct {
	Offset int64         `parquet:"offset" json:"offset"`
	At     tables.Moment `parquet:"at,timestamp(millisecond)" json:"at"`
	Key    string        `parquet:"key" json:"key"`
	Record []byte        `parquet:"record" json:"record"`
}

// Run verifies the exported files against their digests, passes their records to Put, and returns the manifest of the
// export. If the system already has observations, Run returns [ErrNotEmpty].
func (im *Import) Run(ctx context.Context) (*Manifest, error) {
	m, err := ReadManifest(im.Dir)
	if err != nil {
		return nil, err
	}
	if m.Table != "observations" {
		return nil, fmt.Errorf("the folder contains an export of %s, not of observations", m.Table)
	}
	if err = m.Sum(im.Dir); err != nil {
		return nil, err
	}
	spans, err := im.Spans(ctx, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	for _, s := range spans {
		if s.End > 0 {
			return nil, ErrNotEmpty
		}
	}
	shared := inputlog.NewShare(im.Pace, im.Progress)
	shared.AddProgress(0, m.Counts.Rows)
	for _, group := range m.segments() {
		rows, err := im.readSegment(m.Format, group)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if err := shared.Wait(ctx); err != nil {
				return nil, err
			}
			row := &rows[i]
			key := []byte(row.Key)
			if err := im.Put(&stream.Record{
				Partition: schemas.Partition(key, int32(len(spans))), //nolint:gosec // Kafka's number of partitions is an int32
				Key:       key, Value: schemas.Registered(row.Record), Timestamp: time.UnixMilli(int64(row.At)),
			}); err != nil {
				return nil, err
			}
		}
		shared.AddProgress(int64(len(rows)), 0)
	}
	return m, nil
}

// segments groups the files by segment, in the order of the log.
func (m *Manifest) segments() (groups [][]File) {
	files := slices.Clone(m.Files)
	begin := map[int32]int64{}
	for _, s := range m.Spans {
		begin[s.Partition] = s.From
	}
	number := func(f *File) int64 { return (f.First - begin[f.Partition]) / max(m.Segment, 1) }
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(number(&a), number(&b)), cmp.Compare(a.First, b.First))
	})
	for i := range files {
		if last := len(groups) - 1; last >= 0 {
			if f := &groups[last][0]; f.Partition == files[i].Partition && number(f) == number(&files[i]) {
				groups[last] = append(groups[last], files[i])
				continue
			}
		}
		groups = append(groups, []File{files[i]})
	}
	return groups
}

// readSegment reads the files of one segment, in the order of the log.
func (im *Import) readSegment(format tables.Format, files []File) ([]importedRow, error) {
	var all []importedRow
	for i := range files {
		rows, err := readRows(format, filepath.Join(im.Dir, filepath.FromSlash(files[i].Path)))
		if err == nil && int64(len(rows)) != files[i].Rows {
			err = fmt.Errorf("the file has %d rows, but the manifest lists %d", len(rows), files[i].Rows)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", files[i].Path, err)
		}
		all = append(all, rows...)
	}
	slices.SortFunc(all, func(a, b importedRow) int { return cmp.Compare(a.Offset, b.Offset) })
	return all, nil
}

func readRows(format tables.Format, name string) (rows []importedRow, err error) {
	if format == tables.Parquet {
		return parquet.ReadFile[importedRow](name)
	}
	f, err := os.Open(name) //nolint:gosec // the file is in the folder that the user named
	if err != nil {
		return nil, err //nolint:wrapcheck // the error names the file
	}
	defer f.Close() //nolint:errcheck // the file was only read
	if format == tables.CSV {
		return readCSV(f)
	}
	in := json.NewDecoder(bufio.NewReader(f))
	for {
		var row importedRow
		switch err := in.Decode(&row); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, err //nolint:wrapcheck // the caller names the file
		}
		rows = append(rows, row)
	}
}

func readCSV(f io.Reader) (rows []importedRow, err error) {
	in := csv.NewReader(bufio.NewReader(f))
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the file
	}
	place := map[string]int{}
	for i, name := range header {
		place[name] = i
	}
	for {
		text, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller names the file
		}
		offset, err1 := strconv.ParseInt(text[place["offset"]], 10, 64)
		at, err2 := time.Parse(time.RFC3339, text[place["at"]])
		record, err3 := base64.StdEncoding.DecodeString(text[place["record"]])
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		key := spreadsheet.Unescape(text[place["key"]])
		rows = append(rows, importedRow{Offset: offset, At: tables.Moment(at.UnixMilli()), Key: key, Record: record})
	}
}
