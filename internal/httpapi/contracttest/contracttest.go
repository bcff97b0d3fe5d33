// Package contracttest compares responses with the declaration of their operation.
package contracttest

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"

	"svc/internal/httpapi/contract"
)

var parameter = regexp.MustCompile(`\\\{\w+\\\}`)

// CheckTag reports an error if a success has an entity tag but its operation does not declare one, or the reverse.
func CheckTag(t testing.TB, operations []contract.Operation, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	at := slices.IndexFunc(operations, func(o contract.Operation) bool {
		path := parameter.ReplaceAllString(regexp.QuoteMeta(o.Path), "[^/]+")
		return o.Method == r.Method && regexp.MustCompile("^"+path+"$").MatchString(r.URL.Path)
	})
	if at >= 0 && w.Code == http.StatusOK && operations[at].Tagged != (w.Header().Get("Etag") != "") {
		t.Errorf("%s %s: ETag %q, declared: %t", r.Method, r.URL.Path, w.Header().Get("Etag"), operations[at].Tagged)
	}
}
