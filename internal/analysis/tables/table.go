package tables

import (
	"svc/internal/stream"
	"svc/schemas"
)

// Table describes how the records of a topic become rows.
type Table[R any] struct {
	Topic schemas.Topic
	// Read fills a row; a reason says why the record cannot be read.
	Read func(r *stream.Record, row *R) (reason string)
	// Hospital returns the hospital of a record, and whether the record becomes a row.
	Hospital func(r *stream.Record) (hospital string, has bool)
	// Version returns the version of a record within its hospital; nil: the topic has no
	// versions.
	Version func(r *stream.Record) int64
}

// rowsOf makes a row of each element of a list.
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
