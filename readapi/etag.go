package readapi

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// rendered is the data of an answer with its entity tag, which is weak because
// the envelope around the data has the time of the request.
type rendered struct {
	data json.RawMessage
	etag []string // one, as a header value
}

// tagged names the data by a hash of 64 bits, the same in every process. It
// need not stand up to an adversary: who asks names what we answered before.
func tagged(data []byte) rendered {
	tag := append(make([]byte, 0, 20), `W/"`...)
	tag = append(hex.AppendEncode(tag, binary.BigEndian.AppendUint64(nil, xxhash.Sum64(data))), '"')
	return rendered{data, []string{string(tag)}}
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
