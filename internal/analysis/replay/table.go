package replay

import (
	"context"
	"io"
	"reflect"

	"svc/internal/stream"
	"svc/schemas"
)

// table describes how the records of a topic become rows.
type table[R any] struct {
	topic schemas.Topic
	// read fills a row; a reason says why the record cannot be read.
	read func(r *stream.Record, row *R) (reason string)
	// hospital returns the hospital of a record, and whether the record becomes a row.
	hospital func(r *stream.Record) (hospital string, has bool)
	// version returns the version of a record within its hospital; nil: the topic has no
	// versions.
	version func(r *stream.Record) int64
}

// Read reads the records of a span: [Log.Read], or the Range of a cluster for topics that are
// written in transactions.
type Read func(ctx context.Context, s stream.Span, each func(stream.Record) error) error

// Table is a topic that can be exported.
type Table struct {
	Name    string // name of the topic without svc.v1.
	Topic   schemas.Topic
	Columns []Column // after a list its fields, named by the list, a dot and the field
	// Transactions says that the topic is written in transactions, so internal/stream must read
	// it.
	Transactions bool

	version func(r *stream.Record) (hospital string, version int64)

	begin  func(e *exporter) segmenter
	stream func(e *exporter, w io.Writer) (segmenter, error)
}

// segmenter writes the rows of one segment.
type segmenter interface {
	// writeRecord writes the row of a record, if it becomes one, and counts the outcome.
	writeRecord(counted *segment, r *stream.Record) error
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

// dictionary lists the columns of a row and, after each list, the columns of its elements.
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

// Tables returns all tables that can be exported.
func Tables() []Table {
	return []Table{
		tableOf("observations", false, observations()),
		tableOf("verdicts", true, verdicts()),
		tableOf("deliveries", true, deliveries()),
		tableOf("snapshots", true, snapshots()),
	}
}

// rowsOf makes a row of each element of a list, in the memory of past rows.
func rowsOf[E, R any](past []R, list []E, row func(*E) R) []R {
	rows := past[:0]
	for i := range list {
		rows = append(rows, row(&list[i]))
	}
	return rows
}
