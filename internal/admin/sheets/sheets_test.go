package sheets

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc/internal/analysis/spreadsheet"

	"pgregory.net/rapid"
)

// texts returns the messages of faults.
func texts(faults []*spreadsheet.Fault) (all []string) {
	for _, f := range faults {
		all = append(all, f.Error())
	}
	return all
}

// TestThanIsANumberOfJSON: if a value is not a JSON number, the fault names its line.
func TestThanIsANumberOfJSON(t *testing.T) {
	rows, faults, err := ReadMappings(strings.NewReader("system,code,factorId,op,than\n"+
		"local,A,high-mag,>=,4\nlocal,B,high-mag,>=,nan\nlocal,C,high-mag,>=,0x10\nlocal,D,high-mag,>=,-2.5e1\nlocal,E,high-mag,>=,\n"), 0)
	want := []string{"line 3: than: type:number", "line 4: than: type:number", "line 6: than: type:number"}
	if err != nil || len(rows) != 2 || !slices.Equal(texts(faults), want) {
		t.Errorf("%d rows, %q, %v", len(rows), faults, err)
	}
}

// TestFaultsOfLocations: a fault names the line and the column.
func TestFaultsOfLocations(t *testing.T) {
	rows, faults, err := ReadLocations(strings.NewReader("pointOfCare,room,roomId,outside\nA,1,7,\nB,,x,\nC,,-1,\nD,,,yes\nE,,,TRUE\n"), 0)
	want := []string{"line 3: roomId: range:0-2147483647", "line 4: roomId: range:0-2147483647", "line 5: outside: enum:true|false"}
	if err != nil || len(rows) != 2 || !slices.Equal(texts(faults), want) || rows[1].Line != 6 || !rows[1].Row.Outside {
		t.Errorf("%+v, %q, %v", rows, faults, err)
	}
}

// TestUnknownColumn: a file with an unknown column is refused as a whole. The fault contains the number of the column
// instead of its name, because a file without a header begins with values.
func TestUnknownColumn(t *testing.T) {
	_, _, err := ReadLocations(strings.NewReader("pointOfCare,rooom\nA,1\n"), 0)
	if err == nil || !strings.HasPrefix(err.Error(), "line 1: column 2 must be one of pointOfCare, ") || strings.Contains(err.Error(), "rooom") {
		t.Errorf("the fault is %v", err)
	}
	if _, _, err := ReadMappings(strings.NewReader("system,code\nlocal,1\n"), 0); err == nil {
		t.Error("no error without factorId")
	}
}

// TestSheetsRoundTrip: for any text, reading a written sheet returns its rows.
func TestSheetsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([-=+@'",;A-Za-z0-9&ñ][-=+@'",; A-Za-z0-9&ñ]{0,10}[A-Za-z0-9'"])?`)
		mappings := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Mapping {
			m := Mapping{System: text.Draw(t, "system"), Code: text.Draw(t, "code"), FactorID: "high-mag", Comment: text.Draw(t, "comment")}
			if rapid.Bool().Draw(t, "kind") {
				kind := "lab"
				m.Kind = &kind
			}
			if rapid.Bool().Draw(t, "value") {
				m.Value = &Limit{">=", json.Number("-2.5")}
			}
			return m
		}), 0, 5).Draw(t, "mappings")
		var file bytes.Buffer
		if err := WriteMappings(&file, mappings); err != nil {
			t.Fatal(err)
		}
		read, faults, err := ReadMappings(&file, 0)
		if err != nil || len(faults) > 0 || len(read) != len(mappings) {
			t.Fatalf("%d of %d rows, %q, %v", len(read), len(mappings), faults, err)
		}
		for i := range read {
			if !reflect.DeepEqual(read[i].Row, mappings[i]) {
				t.Fatalf("%+v, was %+v", read[i].Row, mappings[i])
			}
		}
		locations := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Location {
			l := Location{PointOfCare: text.Draw(t, "pointOfCare"), Room: text.Draw(t, "room"), Area: text.Draw(t, "area"), Outside: rapid.Bool().Draw(t, "outside")}
			if rapid.Bool().Draw(t, "has") {
				id := rapid.Int32Min(0).Draw(t, "roomId")
				l.RoomID = &id
			}
			return l
		}), 0, 5).Draw(t, "locations")
		file.Reset()
		if err = WriteLocations(&file, locations); err != nil {
			t.Fatal(err)
		}
		again, faults, err := ReadLocations(&file, 0)
		if err != nil || len(faults) > 0 || len(again) != len(locations) {
			t.Fatalf("%d of %d rows, %q, %v", len(again), len(locations), faults, err)
		}
		for i := range again {
			if !reflect.DeepEqual(again[i].Row, locations[i]) {
				t.Fatalf("%+v, was %+v", again[i].Row, locations[i])
			}
		}
	})
}
