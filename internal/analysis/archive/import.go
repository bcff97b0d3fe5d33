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

// ErrNotAlone means that others wrote observations during an import, so that the log has a different order than the
// exported one, or every record twice.
var ErrNotAlone = errors.New("senders or another import wrote observations during the import")

// Import writes exported observations to a system that has none. Each record keeps its bytes and its timestamp, and
// the records of a hospital keep their order. If the system has a different number of partitions, records of several
// exported partitions are merged by time.
type Import struct {
	Dir   string
	Spans func(ctx context.Context, from, to time.Time) ([]stream.Span, error) // returns the spans of the system's observations topic
	Put   func(r *stream.Record) error
	Pace  *rate.Limiter
	// Progress is called with the number of written records and the total.
	Progress func(done, total int64)

	written int64 // number of records that were passed to Put
}

// CheckAlone returns [ErrNotAlone] if the system has more observations than Run has written. Call it when the records
// of a complete Run have been appended.
func (im *Import) CheckAlone(ctx context.Context) error {
	spans, err := im.Spans(ctx, time.Time{}, time.Time{})
	if err != nil {
		return err
	}
	count := int64(0)
	for _, s := range spans {
		count += s.End
	}
	if count > im.written {
		return fmt.Errorf("%w (%d)", ErrNotAlone, count-im.written)
	}
	return nil
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
	partitions := int32(len(spans)) //nolint:gosec // Kafka's number of partitions is an int32
	for p := range partitions {
		inOther := func(f File) bool { return schemas.Partition([]byte(f.Hospital), partitions) != p }
		sources := m.sourcesOf(slices.DeleteFunc(slices.Clone(m.Files), inOther))
		if err := im.merge(ctx, m.Format, sources, partitions, shared); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// exportedPartition is the part of an exported partition whose records go to one partition of the system.
type exportedPartition struct {
	segments [][]File      // segments that are not read yet
	rows     []importedRow // rows of the current segment that are not written yet
}

// sourcesOf groups files by the partition that they were exported from.
func (m *Manifest) sourcesOf(files []File) (sources []*exportedPartition) {
	last := int32(-1)
	for _, group := range m.segments(files) {
		if group[0].Partition != last {
			last = group[0].Partition
			sources = append(sources, &exportedPartition{})
		}
		s := sources[len(sources)-1]
		s.segments = append(s.segments, group)
	}
	return sources
}

// merge writes the records of several exported partitions by time, because a partition of Kafka must be in the order of
// time: a search for an instant stops at the first record that is not earlier. The records of each exported partition
// keep their order.
func (im *Import) merge(
	ctx context.Context, format tables.Format, sources []*exportedPartition, partitions int32, shared *inputlog.Share,
) error {
	reported := im.written
	for {
		for _, s := range sources {
			for len(s.rows) == 0 && len(s.segments) > 0 {
				rows, err := im.readSegment(format, s.segments[0])
				if err != nil {
					return err
				}
				s.rows, s.segments = rows, s.segments[1:]
			}
		}
		sources = slices.DeleteFunc(sources, func(s *exportedPartition) bool { return len(s.rows) == 0 })
		if len(sources) == 0 {
			shared.AddProgress(im.written-reported, 0)
			return nil
		}
		next := slices.MinFunc(sources, func(a, b *exportedPartition) int { return cmp.Compare(a.rows[0].At, b.rows[0].At) })
		row := &next.rows[0]
		next.rows = next.rows[1:]
		if err := shared.Wait(ctx); err != nil {
			return err
		}
		key := []byte(row.Key)
		if err := im.Put(&stream.Record{
			Partition: schemas.Partition(key, partitions),
			Key:       key, Value: schemas.Registered(row.Record), Timestamp: time.UnixMilli(int64(row.At)),
		}); err != nil {
			return err
		}
		if im.written++; im.written%progressEvery == 0 {
			shared.AddProgress(im.written-reported, 0)
			reported = im.written
		}
	}
}

// segments groups files by segment, in the order of the log.
func (m *Manifest) segments(files []File) (groups [][]File) {
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
