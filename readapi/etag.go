package readapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"svc/internal/api"
)

// rendered is the data of an answer with its entity tag, which is weak because
// the envelope around the data has the time of the request.
type rendered struct {
	data json.RawMessage
	etag []string // one, as a header value
}

func render(data any) (rendered, error) {
	raw, err := api.Marshal(data)
	if err != nil {
		return rendered{}, err //nolint:wrapcheck // nothing to add
	}
	sum := sha256.Sum256(raw)
	return rendered{raw, []string{`W/"` + hex.EncodeToString(sum[:12]) + `"`}}, nil
}

// matches reports whether If-None-Match lists the tag, in the weak comparison
// of RFC 9110, section 8.8.3.2. Our tags hold no comma.
func matches(ifNoneMatch []string, etag string) bool {
	for _, list := range ifNoneMatch {
		for tag := range strings.SplitSeq(list, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag[2:] {
				return true
			}
		}
	}
	return false
}
