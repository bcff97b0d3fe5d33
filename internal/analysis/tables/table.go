package tables

import (
	"reflect"

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

// Dictionary lists the columns of a row and, after each list, the columns of its elements.
func Dictionary(row reflect.Type) (all []Column) {
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
