package facts

import (
	"slices"
	"testing"
)

// TestTable: each changed row is written exactly once, with its value at the time of writing.
func TestTable(t *testing.T) {
	table := Table[string, *CodeState]{Rows: map[string]*CodeState{}, Key: func(k string) []byte { return []byte(k) }}
	written := func() (list []string) {
		table.WriteDirty(func(key []byte, s Record) {
			what := "deleted"
			if c, ok := s.(*CodeState); ok {
				what = c.Display
			}
			list = append(list, string(key)+" "+what)
		})
		return list
	}
	table.Set("a", &CodeState{Display: "first"})
	table.Set("b", &CodeState{Display: "other"})
	table.Rows["a"].Display = "second"
	table.Touch("a")
	table.Delete("b")
	if got := written(); !slices.Equal(got, []string{"a second", "b deleted"}) {
		t.Errorf("written %q", got)
	}
	if got := written(); len(got) != 0 {
		t.Errorf("written again: %q", got)
	}
	table.Delete("a")
	table.Set("a", &CodeState{Display: "third"})
	if got := written(); !slices.Equal(got, []string{"a third"}) {
		t.Errorf("written %q", got)
	}
	all := 0
	table.Write(func([]byte, Record) { all++ })
	if all != 1 {
		t.Errorf("%d records", all)
	}
	if table.Erase("a"); len(table.Rows) != 0 || len(written()) != 0 {
		t.Error("a record with a tombstone is kept or written")
	}
}
