package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi"
)

func TestMatchVersion(t *testing.T) {
	shell := &httpapi.Shell{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	for name, tt := range map[string]struct {
		given   []string
		version string
		want    int
	}{
		"none":                 {nil, "7", 200},
		"none, none there":     {nil, "", 200},
		"the version":          {[]string{`"7"`}, "7", 200},
		"another":              {[]string{`"8"`}, "7", 412},
		"one of several":       {[]string{`"8", "7"`}, "7", 200},
		"in another header":    {[]string{`"8"`, `"7"`}, "7", 200},
		"weak":                 {[]string{`W/"7"`}, "7", 400},
		"any":                  {[]string{"*"}, "7", 200},
		"any, none there":      {[]string{"*"}, "", 412},
		"nothing, none there":  {[]string{`""`}, "", 412},
		"one is malformed":     {[]string{`7, "8"`}, "7", 412},
		"never closed":         {[]string{`"7`}, "7", 400},
		"without quotes":       {[]string{"7"}, "7", 400},
		"part of the version":  {[]string{`"7"`}, "77", 412},
		"the version and more": {[]string{`"77"`}, "7", 412},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/", http.NoBody)
			r.Header["If-Match"] = tt.given
			got := false
			shell.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = httpapi.MatchVersion(w, r, tt.version) })).ServeHTTP(w, r)
			if got != (tt.want == http.StatusOK) || w.Code != tt.want {
				t.Errorf("%t, answered %d, want %d: %s", got, w.Code, tt.want, w.Body)
			}
		})
	}
}

func TestPeriod(t *testing.T) {
	shell := &httpapi.Shell{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	for query, want := range map[string]string{
		"":                 "",
		"since=2026-03-04": "",
		"until=2026-03-04": "",
		"since=2026-03-04&until=2026-03-04T00:01":                "",
		"since=2026-03-04&until=2026-03-04":                      `[{"path":"until","rule":"after:since"}]`,
		"since=2026-03-05&until=2026-03-04":                      `[{"path":"until","rule":"after:since"}]`,
		"since=2026-03-04T00:00:00Z&until=2026-03-03T18:00":      `[{"path":"until","rule":"after:since"}]`,
		"since=2026-03-04T00:00:00Z&until=2026-03-03T18:00:01":   "",
		"since=2026-03-04T00:00:00Z&until=2026-03-03T18:00:01am": `[{"path":"until","rule":"date-time"}]`,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/?"+query, http.NoBody)
		shell.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := httpapi.QueryOf(r)
			q.Period(time.FixedZone("west", -6*3600))
			q.Refused(w, r)
		})).ServeHTTP(w, r)
		if body := w.Body.String(); body != "" != (want != "") || !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", query, body, want)
		}
	}
}

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
