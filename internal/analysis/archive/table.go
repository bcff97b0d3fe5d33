package archive

import (
	"io"

	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/schemas"
)

// Table is a topic that can be exported.
type Table struct {
	Name  string // name of the topic without svc.v1.
	Topic schemas.Topic
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

func tableOf[R any](name string, transactions bool, t *tables.Table[R]) Table {
	version := func(*stream.Record) (string, int64) { return "", 0 }
	if t.Version != nil {
		version = func(r *stream.Record) (string, int64) {
			hospital, has := t.Hospital(r)
			if !has {
				return "", 0
			}
			return hospital, t.Version(r)
		}
	}
	return Table{
		Name: name, Topic: t.Topic, Transactions: transactions, version: version,
		begin: func(e *exporter) segmenter {
			return &segmentOf[R]{exporter: e, table: t, open: map[string]*outFile[R]{}}
		},
		stream: func(e *exporter, w io.Writer) (segmenter, error) {
			rows, err := tables.NewSink[R](w, e.Format)
			return &streamOf[R]{exporter: e, table: t, rows: rows}, err
		},
	}
}

// Tables returns all tables that can be exported.
func Tables() []Table {
	return []Table{
		tableOf("observations", false, tables.Observations()),
		tableOf("verdicts", true, tables.Verdicts()),
		tableOf("deliveries", true, tables.Deliveries()),
		tableOf("snapshots", true, tables.Snapshots()),
	}
}
