package httpapi_test

import (
	"testing"
	"time"

	"svc/internal/httpapi"
)

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("west", -6*3600)
	for text, want := range map[string]string{
		"2026-03-04T15:00:00Z":      "2026-03-04T15:00:00Z",
		"2026-03-04T15:00:00+02:00": "2026-03-04T13:00:00Z",
		"2026-03-04T15:00:00.1239Z": "2026-03-04T15:00:00.123Z",
		"2026-03-04T15:00:00":       "2026-03-04T21:00:00Z",
		"2026-03-04T15:00":          "2026-03-04T21:00:00Z",
		"2026-03-04":                "2026-03-04T06:00:00Z",
		"soon":                      "",
		"":                          "",
		"2026-02-29":                "",
		"15:00":                     "",
	} {
		at, ok := httpapi.ParseTime(text, zone)
		if ok != (want != "") || ok && at.Format(time.RFC3339Nano) != want {
			t.Errorf("%q is %v, %t; want %s", text, at, ok, want)
		}
	}
}
