// Package tables converts the records of a topic to rows of files.
package tables

import (
	"bufio"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"

	"svc/acuity/catalogue"
	"svc/internal/analysis/spreadsheet"
	"svc/internal/stream"
	"svc/schemas"
)

// Format is a file format for rows.
type Format string

// File formats. Parquet is columnar and compressed with Snappy, which every reader supports. NDJSON has one object
// per line. In CSV, a list is written as JSON, and text is escaped for spreadsheets.
const (
	Parquet Format = "parquet"
	NDJSON  Format = "ndjson"
	CSV     Format = "csv"
)

// Formats returns all formats.
func Formats() []Format { return []Format{Parquet, NDJSON, CSV} }

// Sink writes the rows of one file.
type Sink[R any] interface {
	Write(row *R) error
	Close() error      // writes the buffered rows; the file remains open
	Reset(w io.Writer) // begins a new file after Close, and reuses the memory
}

// NewSink returns a sink for a format.
func NewSink[R any](w io.Writer, f Format) (Sink[R], error) {
	switch f {
	case Parquet:
		return &parquetSink[R]{writer: parquet.NewGenericWriter[R](w,
			parquet.Compression(&snappy.Codec{}),
			parquet.MaxRowsPerRowGroup(groupRows), parquet.PageBufferSize(pageBytes), parquet.WriteBufferSize(writeBytes),
			parquet.CreatedBy("svc", "1", "export"),
		)}, nil
	case NDJSON:
		buffer := bufio.NewWriterSize(w, writeBytes)
		out := json.NewEncoder(buffer)
		out.SetEscapeHTML(false)
		return &jsonSink[R]{buffer, out}, nil
	case CSV:
		s := &csvSink[R]{}
		s.Reset(w)
		return s, nil
	}
	return nil, fmt.Errorf("unknown format %q", f)
}

// Sizes in Parquet files. A reader loads one row group at a time.
const (
	groupRows  = 64_000
	batchRows  = 256
	pageBytes  = 64 << 10
	writeBytes = 32 << 10
)

type parquetSink[R any] struct {
	writer *parquet.GenericWriter[R]
	batch  []R
}

func (s *parquetSink[R]) Write(row *R) error {
	if s.batch = append(s.batch, *row); len(s.batch) < batchRows {
		return nil
	}
	return s.flush()
}

func (s *parquetSink[R]) flush() error {
	_, err := s.writer.Write(s.batch)
	s.batch = s.batch[:0]
	return err //nolint:wrapcheck // the error is from the underlying file
}

func (s *parquetSink[R]) Close() error {
	if err := s.flush(); err != nil {
		return err
	}
	return s.writer.Close() //nolint:wrapcheck // the error is from the underlying file
}

func (s *parquetSink[R]) Reset(w io.Writer) { s.writer.Reset(w) }

type jsonSink[R any] struct {
	buffer *bufio.Writer
	out    *json.Encoder
}

func (s *jsonSink[R]) Write(row *R) error { return s.out.Encode(row) }
func (s *jsonSink[R]) Close() error       { return s.buffer.Flush() }
func (s *jsonSink[R]) Reset(w io.Writer)  { s.buffer.Reset(w) }

type csvSink[R any] struct {
	out    *csv.Writer
	record []string
}

func (s *csvSink[R]) Reset(w io.Writer) {
	s.out, s.record = csv.NewWriter(w), s.record[:0]
	for f := range reflect.TypeFor[R]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		s.record = append(s.record, name)
	}
	s.out.Write(s.record) //nolint:errcheck // Close returns the error
}

func (s *csvSink[R]) Write(row *R) error {
	v := reflect.ValueOf(row).Elem()
	for i := range s.record {
		text, err := cell(v.Field(i))
		if err != nil {
			return err
		}
		s.record[i] = text
	}
	return s.out.Write(s.record) //nolint:wrapcheck // the error is from the underlying file
}

func (s *csvSink[R]) Close() error {
	s.out.Flush()
	return s.out.Error() //nolint:wrapcheck // the error is from the underlying file
}

// cell returns one column of a row as text. It returns an empty string for null.
func cell(v reflect.Value) (string, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", nil
		}
		v = v.Elem()
	}
	switch {
	case v.Type() == reflect.TypeFor[Moment]():
		if v.Int() == 0 {
			return "", nil
		}
		return Moment(v.Int()).text(), nil
	case v.Kind() == reflect.String:
		return spreadsheet.Escape(v.String()), nil
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), nil
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case v.Kind() == reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64), nil
	case v.Type() == reflect.TypeFor[[]byte]():
		return base64.StdEncoding.EncodeToString(v.Bytes()), nil
	case v.Len() == 0:
		return "", nil
	}
	text, err := json.Marshal(v.Interface())
	return string(text), err //nolint:wrapcheck // the struct is defined in this package
}

// Table describes how the records of a topic are converted to rows.
type Table[R any] struct {
	Topic schemas.Topic
	// Read fills a row, or returns the reason why the record cannot be decoded.
	Read func(r *stream.Record, row *R) (reason string)
	// Hospital returns the hospital of a record, and reports whether the record has a row.
	Hospital func(r *stream.Record) (hospital string, has bool)
	// Version returns the version of a record within its hospital. Nil means that the topic has no versions.
	Version func(r *stream.Record) int64
}

// rowsOf returns a row for each element of a list.
func rowsOf[E, R any](list []E, row func(*E) R) []R {
	if len(list) == 0 {
		return nil
	}
	rows := make([]R, 0, len(list))
	for i := range list {
		rows = append(rows, row(&list[i]))
	}
	return rows
}

// Moment is an instant in a column: milliseconds since the Unix epoch in UTC, or RFC 3339 in
// text formats. Zero is null.
type Moment int64

// MarshalJSON encodes the moment as RFC 3339, or null.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendQuote(nil, m.text()), nil
}

// UnmarshalJSON decodes RFC 3339, or null.
func (m *Moment) UnmarshalJSON(b []byte) error {
	var at *time.Time
	if err := json.Unmarshal(b, &at); err != nil {
		return err //nolint:wrapcheck // the error contains the cause and the position
	}
	if *m = 0; at != nil {
		*m = Moment(at.UnixMilli())
	}
	return nil
}

func (m Moment) text() string {
	return time.UnixMilli(int64(m)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Names of enumeration values in columns. If the API has a name for a value, the column uses the same name.
var (
	eventWords      = [...]string{"other", "A01", "A02", "A03", "A04", "A06", "A07", "A08", "A11", "A12", "A13"}
	signalWords     = [...]string{"", "medication", "observation", "lab", "device", "condition"}
	statusWords     = [...]string{"active", "ended", "on-hold", "retracted"}
	comparatorWords = [...]string{"", "<", "<=", ">", ">="}
	tristateWords   = [...]string{"", "no", "yes"}
	causeWords      = [...]string{"ingest", "time"}
	outcomeWords    = [...]string{"applied", "duplicate", "ignored", "rejected", "time"}
	effectWords     = [...]string{"", "surge.level_changed", "room.rescored"}
)

// nullable returns a pointer for a nullable column; the zero value becomes nil, which is null in the column. A
// nullable column must have pointers. Without pointers, parquet-go treats zeros as nulls, but encodes some rows
// incorrectly: for example, if only the second of 64 rows has a value, all later rows are read with a value.
func nullable[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// word returns the name of an enumeration value, or the digits of an unknown number.
func word[E ~uint8](words []string, e E) string {
	if int(e) < len(words) {
		return words[e]
	}
	return strconv.Itoa(int(e))
}

func classLetter(c byte) string {
	if c == 0 {
		return ""
	}
	return string(rune(c))
}

func factorID(f catalogue.Factor) string {
	if f == 0 {
		return ""
	}
	return f.ID()
}

func factorIDs(list []catalogue.Factor) []string {
	if len(list) == 0 {
		return nil
	}
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID()
	}
	return ids
}
