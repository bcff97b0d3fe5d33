package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWhatAFileHolds: files in all supported forms are split into one payload per message.
func TestWhatAFileHolds(t *testing.T) {
	const one, two = "MSH|^~\\&|1\rPID|1\r", "MSH|^~\\&|2\rPID|2\r"
	for name, tt := range map[string]struct {
		file  string
		want  []string
		fault string
	}{
		"one":                  {one, []string{one}, ""},
		"two":                  {one + two, []string{one, two}, ""},
		"lines of Unix":        {strings.ReplaceAll(one+"\r"+two, "\r", "\n"), []string{one, two}, ""},
		"lines of Windows":     {strings.ReplaceAll(one+two, "\r", "\r\n"), []string{one, two}, ""},
		"no line end":          {one + strings.TrimSuffix(two, "\r"), []string{one, two}, ""},
		"frames":               {"\x0b" + one + "\x1c\r\x0b" + two + "\x1c\r", []string{one, two}, ""},
		"batch":                {"FHS|^~\\&\rBHS|^~\\&\r" + one + two + "BTS|2\rFTS|1\r", []string{one, two}, ""},
		"byte order mark":      {"\xef\xbb\xbf\r\n" + one, []string{one}, ""},
		"files joined, marked": {"\xef\xbb\xbf" + one + "\r\n\xef\xbb\xbf" + two, []string{one, two}, ""},
		"a field over lines":   {"MSH|^~\\&|1\rOBX|a\rmore text\r", []string{"MSH|^~\\&|1\rOBX|a\rmore text\r"}, ""},
		"FHIR":                 {"\n{\n \"resourceType\":\n\"Patient\"}\n", []string{"{\n \"resourceType\":\n\"Patient\"}"}, ""},
		"FHIR, a line each":    {"{\"a\":1}\n{\"a\":2}\n\n", []string{`{"a":1}`, `{"a":2}`}, ""},
		"FHIR, an array":       {`[{"a":1},{"a":2}]`, []string{`[{"a":1},{"a":2}]`}, ""},
		"nothing":              {"", nil, "is empty"},
		"blank":                {"\r\n ", nil, "is empty"},
		"something else":       {"<xml/>", nil, "neither HL7 v2 nor JSON"},
		"no header":            {"PID|1\r" + one, nil, "segment 1: no MSH"},
		"JSON that breaks":     {"{\"a\":1}\n{\"a\":", []string{`{"a":1}`}, "is not JSON"},
		"a line without end":   {one + "PID|" + strings.Repeat("x", 2<<20), nil, "too long"},
		"a word like segment":  {"MSH|^~\\&|1\rMSHAPE of a line\r", []string{"MSH|^~\\&|1\rMSHAPE of a line\r"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := readPayloads(strings.NewReader(tt.file), func(p payload) error {
				got = append(got, string(p.body))
				return nil
			})
			if !slices.Equal(got, tt.want) || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%q, %v\nwant %q, %q", got, err, tt.want, tt.fault)
			}
		})
	}
}

func TestWhatAnAcknowledgmentSays(t *testing.T) {
	for name, tt := range map[string]struct {
		ack, says string
		refused   bool
	}{
		"accepted":         {"MSH|^~\\&|SVC\rMSA|AA|1\r", "AA", false},
		"error":            {"MSH|^~\\&|SVC\rMSA|AE|1\rERR||PV1^1^3|101^Required field missing^HL70357|E\r", "AE: PV1^1^3 101^Required field missing^HL70357", true},
		"error without it": {"MSH|^~\\&|SVC\rMSA|AE|1\rERR|", "AE", true},
		"rejected":         {"MSH|^~\\&|SVC\rMSA|AR\r", "AR", true},
		"enhanced":         {"MSH|^~\\&|SVC\rMSA|CA|1\r", "CA", false},
		"other delimiters": {"MSH$%~\\&$SVC\rMSA$AA$1\r", "AA", false},
		"none":             {"", "no acknowledgment was requested", false},
		"something else":   {"hello", "no acknowledgment", true},
	} {
		if got := ackOutcome([]byte(tt.ack)); got.String() != tt.says || got.refused != tt.refused {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhatARefusalSays(t *testing.T) {
	for name, tt := range map[string]struct{ body, says string }{
		"a message":      {`{"error":{"message":"No."}}`, "No."},
		"places":         {`{"error":{"message":"No.","details":[{"path":"signals[0].code","rule":"required"},{"rule":"not_json"}]}}`, "No: signals[0].code required; not_json"},
		"said to people": {`{"error":{"message":"No.","details":[{"path":"rooms[2].roomId","rule":"unique"}]}}`, "No: rooms[2].roomId is listed twice"},
		"of a proxy":     {`<html>502</html>`, "not a response from svc"},
		"of another":     {`{"fault":"no"}`, "not a response from svc"},
		"nothing there":  {``, "not a response from svc"},
	} {
		if got := problemMessage([]byte(tt.body)); got != tt.says {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWhatAnAnswerToFHIRSays(t *testing.T) {
	for name, tt := range map[string]struct{ body, says string }{
		"all taken":       {`{"data":{"resources":{"rejected":0},"issues":[{"severity":"warning","code":"x","expression":"Bundle"}]}}`, "HTTP 200"},
		"one is rejected": {`{"data":{"resources":{"rejected":1},"issues":[{"severity":"warning","code":"x"},{"severity":"error","code":"required","expression":"Bundle.entry[1].resource.status"}]}}`, "HTTP 200 with rejected resources: Bundle.entry[1].resource.status required"},
		"of another":      {`hello`, "HTTP 200: not a response from svc"},
	} {
		got := fhirOutcome([]byte(tt.body))
		if got.String() != tt.says || got.refused == (tt.says == "HTTP 200") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFromBeyondTheEnd: a command that has nothing to send, because --from exceeds the number of items, does not
// report success.
func TestFromBeyondTheEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "adt.hl7")
	if err := os.WriteFile(file, []byte("MSH|^~\\&|A|B|C|D|20260301120000||ADT^A01|M1|P|2.5.1\r"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"send", file, "--to", "http://127.0.0.1:1", "--key", "svc_1", "--from", "2"},
		{"simulate", "--profile", "census-only", "--for", "1h", "--from", "1000"},
	} {
		if code, stdout, stderr := say(t, args...); code != 1 || !strings.Contains(stderr, "--from: nothing was sent") {
			t.Errorf("%v: code %d, says %q and %q", args, code, stdout, stderr)
		}
	}
}
