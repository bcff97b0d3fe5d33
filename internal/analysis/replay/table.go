package replay

import (
	"context"
	"io"
	"reflect"

	"svc/internal/stream"
	"svc/schemas"
)

// table is a topic as rows.
type table[R any] struct {
	topic schemas.Topic
	// read fills a row; a reason says why a record cannot be read.
	read func(r *stream.Record, row *R) (reason string)
	// hospital returns whose record it is, and whether it is one that has a row.
	hospital func(r *stream.Record) (hospital string, has bool)
	// version returns the place of a record that has a row in the history of its
	// hospital; nil: it has none.
	version func(r *stream.Record) int64
}

// Read is how the records of a span are read: [Log.Read], or the Range of a
// cluster for what is written in transactions.
type Read func(ctx context.Context, s stream.Span, each func(stream.Record) error) error

// Table is a topic that can be exported.
type Table struct {
	Name    string // of the topic without svc.v1.
	Topic   schemas.Topic
	Columns []Column // those of lists after the list, with its name and a dot before
	// Transactions says that the topic is written in transactions: it is read by
	// internal/stream.
	Transactions bool

	version func(r *stream.Record) (hospital string, version int64)

	begin  func(e *exporter) segmenter
	stream func(e *exporter, w io.Writer) (segmenter, error)
}

// segmenter writes the rows of one segment.
type segmenter interface {
	take(r *stream.Record) error
	finish() (files []File, err error)
	abandon()
}

func tableOf[R any](name string, transactions bool, t *table[R]) Table {
	version := func(*stream.Record) (string, int64) { return "", 0 }
	if t.version != nil {
		version = func(r *stream.Record) (string, int64) {
			hospital, has := t.hospital(r)
			if !has {
				return "", 0
			}
			return hospital, t.version(r)
		}
	}
	return Table{
		Name: name, Topic: t.topic, Transactions: transactions, Columns: dictionary(reflect.TypeFor[R]()), version: version,
		begin: func(e *exporter) segmenter {
			return &segmentOf[R]{exporter: e, table: t, open: map[string]*outFile[R]{}}
		},
		stream: func(e *exporter, w io.Writer) (segmenter, error) {
			rows, err := newSink[R](w, e.Format)
			return &streamOf[R]{exporter: e, table: t, rows: rows}, err
		},
	}
}

// dictionary lists the columns of a row and, after each list, those of its
// elements.
func dictionary(row reflect.Type) (all []Column) {
	for i, c := range columnsOf(row) {
		all = append(all, c)
		if t := row.Field(i).Type; t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
			for _, inner := range columnsOf(t.Elem()) {
				inner.Name = c.Name + "." + inner.Name
				all = append(all, inner)
			}
		}
	}
	return all
}

// Tables returns all that can be exported.
func Tables() []Table {
	return []Table{
		tableOf("observations", false, observations()),
		tableOf("verdicts", true, verdicts()),
		tableOf("deliveries", true, deliveries()),
		tableOf("snapshots", true, snapshots()),
	}
}

// rowsOf makes a row of each element of a list, in the memory of past ones.
func rowsOf[E, R any](past []R, list []E, row func(*E) R) []R {
	rows := past[:0]
	for i := range list {
		rows = append(rows, row(&list[i]))
	}
	return rows
}
