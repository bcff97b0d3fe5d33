package ingest_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/ingest"
)

// TestShapesAreRead sends a body with every documented field to each JSON feed. If the decoder did
// not read a documented field, the answer would warn about an unknown field.
func TestShapesAreRead(t *testing.T) {
	for path, channel := range map[string]acuity.Channel{
		"/api/ingest/adt": acuity.ChannelADT, "/api/ingest/census": acuity.ChannelCensus, "/api/ingest/clinical": acuity.ChannelClinical,
		"/api/ingest/roster": acuity.ChannelRoster, "/api/ingest/staffing": acuity.ChannelStaffing,
	} {
		body, err := json.Marshal(full(reflect.TypeOf(bodyOf(t, path)), ""))
		if err != nil {
			t.Fatal(err)
		}
		at := acuity.At(time.Date(2026, 3, 4, 16, 0, 0, 0, time.UTC))
		o := &acuity.Observation{Channel: channel, Hospital: "h", ReceivedAt: at}
		warnings, err := ingest.Decode(o, body, time.UTC, ingest.NewPseudonyms([]byte(strings.Repeat("k", 32))))
		warnings = slices.DeleteFunc(warnings, func(w acuity.Warning) bool { return w.Code == "field_not_used" }) // cancel fields of an A01
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, warnings %v\n%s", path, err, warnings, body)
		}
	}
}

func bodyOf(t *testing.T, path string) any {
	t.Helper()
	for _, o := range ingest.Operations() {
		if o.Path == path {
			return o.Bodies[0].Shape
		}
	}
	t.Fatalf("no operation %s", path)
	return nil
}

// full returns a value of a type in which each field has a value.
func full(of reflect.Type, tag reflect.StructTag) any {
	word, _, _ := strings.Cut(tag.Get("enum"), ",")
	name, _, _ := strings.Cut(tag.Get("json"), ",")
	switch {
	case word != "":
		return word
	case tag.Get("pattern") == "time":
		return "2026-03-04T15:00:00Z"
	case tag.Get("pattern") == "day":
		return "2020-03-04"
	case name == "fetus":
		return "A"
	case name == "primaryFactor":
		return "labor-standard"
	case name == "modifiers":
		return []string{"high-mag"}
	case name == "system":
		return "LOINC"
	case name == "status":
		return "active"
	}
	switch of.Kind() { //nolint:exhaustive // all other kinds are strings
	case reflect.Pointer:
		return full(of.Elem(), tag)
	case reflect.Slice:
		return []any{full(of.Elem(), "")}
	case reflect.Struct:
		all := map[string]any{}
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			all[name] = full(f.Type, f.Tag)
		}
		return all
	case reflect.Bool:
		return true
	case reflect.Int, reflect.Int32:
		return 1
	default:
		return "x"
	}
}
