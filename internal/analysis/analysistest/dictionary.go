package analysistest

import (
	"reflect"
	"strings"

	"svc/internal/analysis/replay"
	"svc/internal/analysis/tables"
)

// rowTypes maps the name of each table to the type of its rows.
var rowTypes = map[string]reflect.Type{
	"observations":  reflect.TypeFor[tables.ObservationRow](),
	"verdicts":      reflect.TypeFor[tables.VerdictRow](),
	"deliveries":    reflect.TypeFor[tables.DeliveryRow](),
	"snapshots":     reflect.TypeFor[tables.SnapshotRow](),
	"replay --diff": reflect.TypeFor[replay.DiffRow](),
}

// Columns lists the columns of a table, as docs/reference/columns.md does. A list is followed by its fields; the name
// of such a field is the list's name, a dot and the field's name.
func Columns(table string) (all []Column) {
	row := rowTypes[table]
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

// Column is one column of a table, as the dictionary lists it.
type Column struct {
	Name  string // for a field inside a list: the list's name, a dot and the field's name
	Type  string
	About string
}

// columnsOf reads the columns from the struct tags of a row type.
func columnsOf(row reflect.Type) (columns []Column) {
	for f := range row.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		columns = append(columns, Column{Name: name, Type: typeName(f.Type, options), About: f.Tag.Get("about")})
	}
	return columns
}

// typeName returns the DuckDB type of a column, followed by ", may be null" if the column is nullable.
func typeName(t reflect.Type, options string) string {
	null := ""
	if strings.Contains(options, "optional") {
		null = ", may be null"
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[tables.Moment]():
		return "TIMESTAMP WITH TIME ZONE" + null
	case t == reflect.TypeFor[[]byte]():
		return "BLOB" + null
	case t == reflect.TypeFor[[]string]():
		return "VARCHAR[]"
	case t == reflect.TypeFor[[]int32]():
		return "INTEGER[]"
	case t.Kind() == reflect.Slice:
		return "STRUCT[]"
	}
	names := map[reflect.Kind]string{
		reflect.String: "VARCHAR", reflect.Int32: "INTEGER", reflect.Int64: "BIGINT", reflect.Bool: "BOOLEAN", reflect.Float64: "DOUBLE",
	}
	return names[t.Kind()] + null
}
