package ingest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// nothing is a response writer that discards the answer.
type nothing struct{ header http.Header }

func (n nothing) Header() http.Header         { return n.header }
func (n nothing) Write(b []byte) (int, error) { return len(b), nil }
func (n nothing) WriteHeader(int)             {}

// BenchmarkHandler sends requests through the whole handler, with a log that acknowledges each observation
// immediately.
func BenchmarkHandler(b *testing.B) {
	for name, test := range map[string]struct{ path, body, kind string }{
		"clinical": {"clinical", clinicalBody, "application/json"},
		"adt":      {"adt", adtBody, "application/json"},
		"hl7":      {"hl7", admission, "text/plain"},
		"batch500": {"batch", `{"events":[` + strings.Repeat(adtBody+",", 499) + adtBody + `]}`, "application/json"},
	} {
		b.Run(name, func(b *testing.B) {
			d := open(b)
			b.SetBytes(int64(len(test.body)))
			b.ReportAllocs()
			for b.Loop() {
				d.stored = d.stored[:0]
				r := httptest.NewRequest(http.MethodPost, "/api/ingest/"+test.path, strings.NewReader(test.body))
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Content-Type", test.kind)
				d.ServeHTTP(nothing{http.Header{}}, r)
				if len(d.stored) != 1 {
					b.Fatal("refused")
				}
				d.logged.Reset()
				d.viewed = d.viewed[:0]
			}
		})
	}
}
