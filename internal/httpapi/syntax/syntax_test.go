package syntax

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFaultNamesPlace: the response contains the location of the fault, because no one can search a body of 16 MiB
// for one bracket.
func TestFaultNamesPlace(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 40)
	for text, want := range map[string]string{
		`{"entry":[{"a":1},{"value":065.8}]}`:      "json entry[1].value: a number with a leading zero at byte 29, line 1",
		"{\"entry\":[\n{\"a\":1},\n{\"b\":[1,2}]}": "json entry[1].b[1]: unexpected `}` at byte 30, line 3",
		`{"rooms":[1,2}`:                           "json rooms[1]: unexpected `}` at byte 14, line 1",
		`{"rooms":[1,x]}`:                          "json rooms[1]: an unexpected word or character at byte 13, line 1",
		`{"rooms":[1,{"x" 1}]}`:                    "json rooms[1].x: an unexpected number at byte 18, line 1",
		`{"rooms":[1,`:                             "json rooms[1]: the text ends before its last bracket or quote is closed at byte 13, line 1",
		`{"a":1,}`:                                 "json a: a comma with nothing after it at byte 7, line 1",
		`{"a":[1,]}`:                               "json a[0]: a comma with nothing after it at byte 8, line 1",
		`{'a':1}`:                                  "json : a single quote where JSON requires double quotes at byte 2, line 1",
		"{\"a\":\"x\ny\"}":                         "json a: a line break or tab inside a string at byte 8, line 1",
		"{\"a\":\"x\x01\"}":                        "json a: a control character at byte 8, line 1",
		`{"a":"\q"}`:                               "json a: an escape sequence that JSON does not have at byte 7, line 1",
		`{"a":tru}`:                                "json a: unexpected `}` at byte 9, line 1",
		`{"a":NaN}`:                                "json a: an unexpected word or character at byte 6, line 1",
		`{"a":.5}`:                                 "json a: an unexpected number at byte 6, line 1",
		`{} {}`:                                    "json : unexpected `{` at byte 4, line 1",
		`{"a":1} // why`:                           "json : a comment, which JSON does not allow, at byte 9, line 1",
		``:                                         "json : nothing was sent: the text is empty at byte 1, line 1",
		"\n \n":                                    "json : nothing was sent: the text is empty at byte 4, line 3",
		"{\"a\":\n[{\"b\":\"\xff\"}]}":             "utf-8 a[0].b: a byte that is not valid UTF-8 at byte 14, line 2",
		`{"MRN 4711":[1 2]}`:                       "json ?[0]: an unexpected number at byte 16, line 1",
		`{"Ann Smith":{"a":[1 2]}}`:                "json ?.a[0]: an unexpected number at byte 22, line 1",
		`{"4711":[1 2]}`:                           "json ?[0]: an unexpected number at byte 12, line 1",
		deep: "depth:64 " + strings.TrimPrefix(strings.Repeat(".a[0]", 6), ".") +
			": more than 64 nested objects and lists at byte 193, line 1",
	} {
		f := Check([]byte(text))
		got := f.String()
		if f.Path != "" {
			got = strings.TrimSuffix(got, ", "+f.Path)
		}
		if got = f.Rule + " " + f.Path + ": " + got; got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

// FuzzCheck: any text that is not valid JSON causes a fault with a location.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":[1,2]}`, `{"a":01}`, "{\"a\":\"\xff\"}", `[[[`, `{"a":"\ud800"}`, "\ufeff{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if json.Valid(text) && utf8.Valid(text) {
			return
		}
		fault := Check(text)
		if fault.Byte < 1 || fault.Byte > len(text)+1 || fault.Line < 1 || fault.What == "" {
			t.Fatalf("%q: %+v", text, fault)
		}
	})
}

func TestNumbersAreGrouped(t *testing.T) {
	for n, want := range map[int]string{7: "7", 999: "999", 1204: "1,204", 16777216: "16,777,216"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s, want %s", n, got, want)
		}
	}
}
