package ingest

import (
	"bytes"
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"svc/internal/httpapi"
	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/syntax"
)

// The limits of request bodies, in bytes as sent. After decompression, a body may have up to four times its limit,
// but at most a hundred times the bytes sent.
const (
	maxBody      = 1 << 20
	maxBatchBody = 8 << 20
	maxFHIRBody  = 16 << 20
	unpackFactor = 4
	unpackRatio  = 100
	growAtMost   = 64 << 10 // maximum memory to allocate before the first byte of a body has arrived
)

const (
	jsonType = "application/json"
	fhirType = httpapi.FHIRType
)

// media is the content type of a request.
type media struct {
	name    string
	charset string
}

// contentType returns the content type of a request if it is one of the accepted types. A request without the header
// is assumed to have the first accepted type.
func contentType(r *http.Request, taken ...string) (media, *httpapi.Problem) {
	headers := r.Header["Content-Type"]
	if len(headers) == 0 || len(headers) == 1 && headers[0] == "" {
		return media{name: taken[0]}, nil
	}
	name, params, err := mime.ParseMediaType(headers[0])
	if err != nil || len(headers) > 1 || !slices.Contains(taken, name) {
		return media{}, &httpapi.Problem{
			Kind: problem.UnsupportedMedia, Message: "The endpoint accepts only " + strings.Join(taken, ", ") + ".",
		}
	}
	m := media{name: name, charset: params["charset"]}
	if (name == jsonType || name == fhirType) && m.charset != "" && !strings.EqualFold(m.charset, "utf-8") {
		return media{}, &httpapi.Problem{Kind: problem.UnsupportedMedia, Message: "JSON is accepted only in UTF-8."}
	}
	return m, nil
}

// readBody reads a body up to a limit and decompresses it.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *httpapi.Problem) {
	packed := false
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header["Content-Encoding"], ","))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		packed = true
	default:
		return nil, &httpapi.Problem{Kind: problem.UnsupportedMedia, Message: "The supported content encodings are gzip and identity."}
	}
	if r.ContentLength > limit {
		return nil, &httpapi.Problem{Kind: problem.TooLarge}
	}
	var body bytes.Buffer
	if r.ContentLength > 0 { // a large Content-Length alone must not reserve memory
		body.Grow(int(min(r.ContentLength, growAtMost)) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, limit)); err != nil {
		refusal := httpapi.Unread(err)
		return nil, &refusal
	}
	content := body.Bytes()
	if packed {
		var refusal *httpapi.Problem
		if content, refusal = unpack(content, limit); refusal != nil {
			return nil, refusal
		}
	}
	return content, spendBytes(r, len(content))
}

func unpack(packed []byte, limit int64) ([]byte, *httpapi.Problem) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, notGzip
	}
	most := min(limit*unpackFactor, int64(len(packed))*unpackRatio)
	body, err := io.ReadAll(io.LimitReader(z, most+1))
	switch {
	case int64(len(body)) > most:
		return nil, &httpapi.Problem{Kind: problem.TooLarge, Message: "The uncompressed body is larger than the endpoint accepts; send it " +
			"in parts."}
	case err != nil:
		return nil, notGzip
	default:
		return body, nil
	}
}

var notGzip = &httpapi.Problem{
	Kind: problem.Invalid, Message: "The body is not valid gzip.", Details: []httpapi.Detail{{Path: "", Rule: "gzip"}},
}

// readTyped reads a body with one of the given content types. If it returns false, it has already sent an error
// response.
func readTyped(w http.ResponseWriter, r *http.Request, limit int64, taken ...string) (media, []byte, bool) {
	kind, refusal := contentType(r, taken...)
	var body []byte
	if refusal == nil {
		body, refusal = readBody(w, r, limit)
	}
	if refusal != nil {
		httpapi.Fail(w, r, *refusal)
	}
	if kind.name == jsonType || kind.name == fhirType {
		body = syntax.TrimBOM(body)
	}
	return kind, body, refusal == nil
}

// readJSON reads a JSON body. If it returns false, it has already sent an error response.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	_, body, ok := readTyped(w, r, limit, jsonType)
	if !ok {
		return nil, false
	}
	if refusal := httpapi.CheckJSON(body); refusal != nil {
		httpapi.Fail(w, r, *refusal)
		return nil, false
	}
	return body, true
}
