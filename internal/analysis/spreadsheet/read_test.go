package spreadsheet

import (
	"errors"
	"strings"
	"testing"
)

// TestFaults: a fault in a file names the line, the column and the rule, but contains no value from the file.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, rule, says string }{
		"empty":             {"", EmptyFile, "the file is empty"},
		"a column nobody":   {"a,canary\n1,2\n", UnknownColumn, "line 1: column 2 must be one of a, b"},
		"a column is gone":  {"b\n1\n", MissingColumn, "line 1: the column a is missing"},
		"a quote inside":    {"a,b\n1,2\n3,can\"ary\n", StrayQuote, "line 3: a quotation mark is not closed, or is inside an unquoted field"},
		"a quote goes on":   {"a,b\n1,\"canary\n2,3\n4,5\n", StrayQuote, "line 2: a quotation mark is not closed, or is inside an unquoted field"},
		"a row too many":    {"a,b\n1,2\n3,4\n5,6\n7,8\n9,can\"ary\n", TooManyRows, "line 5: a file may have at most 3 rows"},
		"a field too many":  {"a,b\n1,2\n3" + strings.Repeat(",", MostFields), TooManyFields, "line 3: a line may have at most 1000 fields"},
		"fields in a head":  {strings.Repeat(",", 3*MostFields), TooManyFields, "line 1: a line may have at most 1000 fields"},
		"fields with lines": {"a,b\n" + strings.Repeat("\"\n\",", MostFields), TooManyFields, "line 2: a line may have at most 1000 fields"},
		"a quote in a head": {"a,\"b\n", StrayQuote, "line 1: a quotation mark is not closed, or is inside an unquoted field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Read(strings.NewReader(tt.file), []string{"a", "b"}, []string{"a"}, 3, func(int, func(string) string) {})
			var fault *Fault
			if !errors.As(err, &fault) || fault.Rule != tt.rule || err.Error() != tt.says {
				t.Errorf("%#v: %v", fault, err)
			}
		})
	}
}

// TestCommasInText: commas in a quoted text separate no fields.
func TestCommasInText(t *testing.T) {
	t.Parallel()
	commas, got := "say \"\""+strings.Repeat(",\n", 2*MostFields)+"\"\"", ""
	file := strings.NewReader("a,b\n1,\"" + commas + "\"\n" + strings.Repeat("1,2\n", MostFields))
	err := Read(file, []string{"a", "b"}, nil, 0, func(line int, field func(string) string) {
		if line == 2 {
			got = field("b")
		}
	})
	if want := strings.ReplaceAll(commas, "\"\"", "\""); err != nil || got != want {
		t.Errorf("%v: %d characters, want %d", err, len(got), len(want))
	}
}
