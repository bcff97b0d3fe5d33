package httpapi

import (
	"net/http"
	"strings"
)

// OKVersion is [OK] with the entity tag of a version.
func OKVersion(w http.ResponseWriter, r *http.Request, version string, data any) {
	w.Header()["Etag"] = []string{`"` + version + `"`}
	OK(w, r, data)
}

// MatchVersion reports whether If-Match names the version of a resource, or is missing; if false
// it has answered. A resource without a version does not exist, so no header names it. A weak tag
// counts as well: proxies that compress answers make tags weak.
func MatchVersion(w http.ResponseWriter, r *http.Request, version string) bool {
	given := strings.Join(r.Header["If-Match"], ",")
	if given == "" {
		return true
	}
	for tag := range strings.SplitSeq(given, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if version != "" && (tag == "*" || tag == `"`+version+`"`) {
			return true
		}
	}
	Fail(w, r, Problem{Kind: Precondition})
	return false
}
