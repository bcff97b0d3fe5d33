package tables

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

// TestParquetKeepsNulls writes rows of each table in which a few, half or most of the nullable columns have values,
// including columns in lists. A reader must find each value and each null in its place.
func TestParquetKeepsNulls(t *testing.T) {
	t.Run("observations", keepsNulls[ObservationRow])
	t.Run("verdicts", keepsNulls[VerdictRow])
	t.Run("deliveries", keepsNulls[DeliveryRow])
	t.Run("snapshots", keepsNulls[SnapshotRow])
}

func keepsNulls[R any](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := make([]R, rapid.IntRange(1, 150).Draw(t, "rows"))
		present := rapid.SampledFrom([]int{2, 50, 98}).Draw(t, "per cent with a value")
		has := rapid.Custom(func(t *rapid.T) bool { return rapid.IntRange(1, 100).Draw(t, "") <= present })
		for i := range rows {
			fill(t, reflect.ValueOf(&rows[i]).Elem(), has)
		}
		var file bytes.Buffer
		sink, err := NewSink[R](&file, Parquet)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]string, len(rows))
		for i := range rows {
			want[i] = text(t, &rows[i])
			row := rows[i]
			if err = sink.Write(&row); err != nil {
				t.Fatal(err)
			}
		}
		if err = sink.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := parquet.Read[R](bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(rows) {
			t.Fatalf("%d rows, want %d", len(got), len(rows))
		}
		for i := range got {
			if got := text(t, &got[i]); got != want[i] {
				t.Fatalf("row %d is\n%s\nwant\n%s", i, got, want[i])
			}
		}
	})
}

// fill sets every column to a value, except that a nullable column gets a value only if the generator draws true.
func fill(t *rapid.T, v reflect.Value, has *rapid.Generator[bool]) {
	switch v.Kind() { //nolint:exhaustive // columns have no other kinds
	case reflect.Struct:
		for f, field := range v.Fields() {
			// The record column is an exception: it has a value in all rows of a file, or in none.
			null := f.Name != "Record" && strings.Contains(f.Tag.Get("parquet"), ",optional")
			if null && field.Kind() != reflect.Pointer {
				t.Fatalf("%s may be null and is no pointer: see some", f.Name)
			}
			if !null || has.Draw(t, f.Name) {
				fill(t, field, has)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), has)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte("record"))
			return
		}
		n := rapid.IntRange(0, 5).Draw(t, "elements")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), has)
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.5)
	default:
		v.SetInt(7)
	}
}

// text returns a row as JSON, so that an empty list equals a missing one.
func text(t *rapid.T, row any) string {
	content, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
