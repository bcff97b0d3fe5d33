package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/internal/httpapi/problem"
)

// Protocol is the version that every envelope carries.
const Protocol = "svc.v1"

// stamp is RFC 3339 in UTC with milliseconds, the format of every time in a response.
const stamp = "2006-01-02T15:04:05.000Z"

// Time is an instant in a JSON response: RFC 3339, UTC, milliseconds. The zero time is null.
type Time time.Time

// MarshalJSON writes the time as a JSON string, or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return t.append(make([]byte, 0, 32)), nil // 32 bytes suffice: AppendFormat appends nine fractional digits before it removes six
}

// append appends the time as a JSON string.
func (t Time) append(b []byte) []byte {
	return time.Time(t).UTC().AppendFormat(b, `"`+stamp+`"`)
}

// OK responds with 200 and data in the success envelope. A [json.RawMessage] is copied unchanged.
func OK(w http.ResponseWriter, r *http.Request, data any) {
	q := from(r.Context())
	raw, done := data.(json.RawMessage)
	if !done {
		var err error
		if raw, err = Marshal(data); err != nil {
			q.shell.Log.ErrorContext(r.Context(), "response not encoded", "error", err)
			Fail(w, r, Problem{Kind: problem.Internal})
			return
		}
	}
	head := []byte(`{"protocol":"` + Protocol + `","ok":true,"data":`)
	meta := append(make([]byte, 0, 256), `,"meta":{"requestId":`...)
	meta = appendText(meta, q.id)
	meta = append(meta, `,"generatedAt":`...)
	meta = Time(q.shell.Now()).append(meta)
	meta = append(meta, `,"hospitalId":`...)
	meta = appendText(meta, q.key.Hospital)
	meta = append(meta, "}}\n"...)
	write(w, http.StatusOK, head, raw, meta)
}

// Marshal encodes data for a response, without escaping <, > and &.
func Marshal(data any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// appendText appends visible ASCII as a JSON string.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// write sends a JSON response whose body consists of the given slices.
func write(w http.ResponseWriter, status int, body ...[]byte) {
	writeAs(w, status, contentType, body...)
}

func writeAs(w http.ResponseWriter, status int, kind []string, body ...[]byte) {
	length := 0
	for _, part := range body {
		length += len(part)
	}
	h := w.Header()
	h["Content-Type"] = kind
	h["Content-Length"] = []string{strconv.Itoa(length)}
	w.WriteHeader(status)
	for _, part := range body {
		if _, err := w.Write(part); err != nil {
			return // the client has disconnected
		}
	}
}

// OKVersion is like [OK], but also sends a version as the entity tag.
func OKVersion(w http.ResponseWriter, r *http.Request, version string, data any) {
	w.Header()["Etag"] = []string{`"` + version + `"`}
	OK(w, r, data)
}

// MatchVersion reports whether If-Match is missing, is *, or names the version of a resource. If MatchVersion returns
// false, it has sent an error response. A resource without a version does not exist, so no If-Match header matches
// it. A weak tag is malformed: it never matches (RFC 9110, section 13.1.1), because an equal weak tag does not prove
// that the resource is unchanged.
func MatchVersion(w http.ResponseWriter, r *http.Request, version string) bool {
	given := strings.Join(r.Header["If-Match"], ",")
	if given == "" {
		return true
	}
	refusal := Problem{Kind: problem.Invalid, Details: []Detail{{Path: "If-Match", Rule: "version"}}}
	for tag := range strings.SplitSeq(given, ",") {
		tag = strings.TrimSpace(tag)
		if version != "" && (tag == "*" || tag == `"`+version+`"`) {
			return true
		}
		if tag == "*" || len(tag) > 1 && tag[0] == '"' && tag[len(tag)-1] == '"' {
			refusal = Problem{Kind: problem.Precondition} // the header has a well-formed tag that does not match; without one, it is malformed
		}
	}
	Fail(w, r, refusal)
	return false
}
