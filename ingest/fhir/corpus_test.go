package fhir

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

var update = flag.Bool("update", false, "write the golden files of the corpus")

var now = time.Date(2026, 3, 4, 15, 30, 0, 0, time.UTC)

// options returns Options whose pseudonyms contain the plain values.
func options() Options {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err)
	}
	return Options{
		Pseudonym: func(kind, value string) string {
			if kind == "event" {
				return "event"
			}
			return kind + "(" + strings.ReplaceAll(value, "\x00", "·") + ")"
		},
		Zone: zone, ReceivedAt: acuity.At(now), Source: "key",
	}
}

// TestCorpus decodes messages that each have one peculiarity, and compares the facts with golden files.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := describeFacts(Decode(body, options()))
			path := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err = os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || got != string(want) {
				t.Errorf("got\n%s\nwant\n%s%v", got, want, err)
			}
		})
	}
}

// describeFacts returns the facts as readable text without empty fields.
func describeFacts(f *Facts, fault *Fault) string {
	if fault != nil {
		text := fmt.Sprintf("refused: %s %s\n", fault.Path, fault.Rule)
		for _, i := range fault.Issues {
			text += fmt.Sprintf("%s %s at %s\n", i.Severity, i.Code, i.Expression)
		}
		return text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "received %d applied %d ignored %d rejected %d\n", f.Received, f.Applied, f.Ignored, f.Rejected)
	fmt.Fprintf(&b, "encounters %d measurements %d conditions %d\n", f.Encounters, f.Measurements, f.Conditions)
	for _, i := range f.Issues {
		fmt.Fprintf(&b, "%s %s at %s\n", i.Severity, i.Code, i.Expression)
	}
	for i := range f.Events {
		e := f.Events[i]
		e.ID, e.Digest = "", ""
		fmt.Fprintf(&b, "event%s\n", fields(reflect.ValueOf(e)))
	}
	for i := range f.Signals {
		fmt.Fprintf(&b, "signal%s\n", fields(reflect.ValueOf(f.Signals[i])))
	}
	for i := range f.References {
		fmt.Fprintf(&b, "referent%s\n", fields(reflect.ValueOf(f.References[i])))
	}
	for _, c := range f.Creates {
		fmt.Fprintf(&b, "only if none of %q is known: events %v signals %v referents %v\n", c.Names, c.Events, c.Signals, c.References)
	}
	return b.String()
}

var names = map[reflect.Type][]string{
	reflect.TypeFor[acuity.EventType]():     {"other", "A01", "A02", "A03", "A04", "A06", "A07", "A08", "A11", "A12", "A13"},
	reflect.TypeFor[acuity.Precision]():     {"ms", "s", "min", "h", "day", "month", "year"},
	reflect.TypeFor[catalogue.SignalKind](): {"", "medication", "observation", "lab", "device", "condition"},
	reflect.TypeFor[acuity.SignalStatus]():  {"active", "ended", "on-hold", "retracted"},
	reflect.TypeFor[codes.ValueKind]():      {"none", "number", "words", "unreadable"},
	reflect.TypeFor[codes.Comparator]():     {"=", "<", "<=", ">", ">="},
}

func fields(v reflect.Value) string {
	var b strings.Builder
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if f.IsZero() && name != "Type" && name != "Status" {
			continue
		}
		switch value := f.Interface().(type) {
		case acuity.Instant:
			fmt.Fprintf(&b, " %s=%s", name, value.Time().Format("2006-01-02T15:04:05.999"))
		case acuity.Reasons:
			fmt.Fprintf(&b, " %s=%v", name, adt.ReasonCodes(value))
		case codes.Milli:
			fmt.Fprintf(&b, " %s=%d/1000", name, value)
		case byte:
			if name == "Class" {
				fmt.Fprintf(&b, " %s=%c", name, value)
			} else {
				fmt.Fprintf(&b, " %s=%d", name, value)
			}
		default:
			switch words, named := names[f.Type()]; {
			case named:
				fmt.Fprintf(&b, " %s=%s", name, words[f.Uint()])
			case f.Kind() == reflect.String:
				fmt.Fprintf(&b, " %s=%q", name, f.String())
			case f.Kind() == reflect.Struct:
				fmt.Fprintf(&b, " %s{%s }", name, fields(f))
			case f.Kind() == reflect.Slice:
				for n := range f.Len() {
					fmt.Fprintf(&b, " %s{%s }", name, fields(f.Index(n)))
				}
			default:
				fmt.Fprintf(&b, " %s=%v", name, f.Interface())
			}
		}
	}
	return b.String()
}

// TestFormMeansNothing: the meaning of a message does not depend on white space, on the order of fields in an object,
// or on escapes.
func TestFormMeansNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := describeFacts(Decode(body, options()))
		if strings.Contains(want, "duplicate_field") || strings.Contains(want, "refused") {
			continue
		}
		for name, form := range forms(t, body) {
			if got := describeFacts(Decode(form, options())); got != want {
				t.Errorf("%s, %s: got\n%s\nwant\n%s", file, name, got, want)
			}
		}
		if !bytes.Contains(body, []byte(`"`)) {
			t.Error("no string in", file)
		}
	}
}

// forms returns a message in other notations that have the same meaning.
func forms(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	var compact, wide bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&wide, body, "\t \r\n", "         \t"); err != nil {
		t.Fatal(err)
	}
	var escaped bytes.Buffer
	inside := false
	for i := 0; i < compact.Len(); i++ {
		c := compact.Bytes()[i]
		switch {
		case c == '\\':
			n := 2
			if compact.Bytes()[i+1] == 'u' {
				n = len(`\u0000`)
			}
			escaped.Write(compact.Bytes()[i : i+n])
			i += n - 1
			continue
		case c == '"':
			inside = !inside
		case inside && c < 0x80 && i%3 == 0:
			fmt.Fprintf(&escaped, `\u%04x`, c)
			continue
		}
		escaped.WriteByte(c)
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"compact": compact.Bytes(), "wide": wide.Bytes(), "escaped": escaped.Bytes(), "sorted": sorted}
}
