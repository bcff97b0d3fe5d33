package readapi

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// rendered is the data of an answer with its entity tag, which is weak because
// the envelope around the data has the time of the request.
type rendered struct {
	pieces [][]byte // in order
	etag   []string // one, as a header value

	asked atomic.Bool            // before
	whole func() json.RawMessage // the pieces as one, made at most once
}

// tagged names the data by a hash of 64 bits, the same in every process. It
// need not stand up to an adversary: who asks names what we answered before.
func tagged(pieces ...[]byte) *rendered {
	var sum xxhash.Digest
	sum.Reset()
	for _, piece := range pieces {
		sum.Write(piece) //nolint:errcheck // never fails
	}
	tag := append(make([]byte, 0, 20), `W/"`...)
	tag = append(hex.AppendEncode(tag, binary.BigEndian.AppendUint64(nil, sum.Sum64())), '"')
	return &rendered{
		pieces: pieces, etag: []string{string(tag)},
		whole: sync.OnceValue(func() json.RawMessage { return bytes.Join(pieces, nil) }),
	}
}

// lend hands over the data in one piece, for as long as the call takes and no longer.
// The first who asks gets it in memory that others used before: to allocate the 65 kB
// of a large unit takes about ten times as long as to fill them, and of a unit that
// changes many a state is asked for once.
func (r *rendered) lend(do func(json.RawMessage)) {
	switch {
	case len(r.pieces) == 1:
		do(r.pieces[0])
	case r.asked.Swap(true):
		do(r.whole())
	default:
		buffer := buffers.Get().(*bytes.Buffer) //nolint:errcheck,forcetypeassert // see New
		buffer.Reset()
		for _, piece := range r.pieces {
			buffer.Write(piece)
		}
		do(buffer.Bytes())
		buffers.Put(buffer) // not if it panics: who has the data then is not known
	}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

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
