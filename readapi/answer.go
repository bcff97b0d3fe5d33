package readapi

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/internal/httpapi"
)

// rendered is the data of a response with its entity tag. The tag is weak, because the envelope around the data
// contains the time of the request.
type rendered struct {
	pieces [][]byte // parts of the data, in the order of the response
	etag   []string // a single tag, as a header value

	asked atomic.Bool            // whether an earlier request has received the data
	whole func() json.RawMessage // joins the pieces, at most once
}

// newRendered computes the tag of the data: a 64-bit hash that is the same in every process. The hash need not resist
// attacks, because a client only sends back the tag of a response that it received.
func newRendered(pieces ...[]byte) *rendered {
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

// lend passes the data to the function do as one slice, which is valid only during the call.
//
// For the first request, the slice is in reused memory, because allocating the 65 kB of a large unit takes about ten
// times as long as filling it, and most states of a busy unit are requested only once.
func (r *rendered) lend(do func(json.RawMessage)) {
	switch {
	case len(r.pieces) == 1:
		do(r.pieces[0])
	case r.asked.Swap(true):
		do(r.whole())
	default:
		buffer := buffers.Get().(*bytes.Buffer) //nolint:errcheck,forcetypeassert // the pool holds only buffers
		buffer.Reset()
		for _, piece := range r.pieces {
			buffer.Write(piece)
		}
		do(buffer.Bytes())
		buffers.Put(buffer) // not deferred: if do panics, the data may still be in use
	}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// matches reports whether If-None-Match lists the tag, using the weak comparison of RFC 9110, section 8.8.3.2. Tags
// of this package never contain a comma.
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

// answer sends a rendered response, or 304 if the client already has it.
func answer(w http.ResponseWriter, r *http.Request, body *rendered) {
	h := w.Header()
	h["Etag"] = body.etag
	h["Cache-Control"] = privateNoCache
	httpapi.AddVary(h, "Authorization")
	if matches(r.Header["If-None-Match"], body.etag[0]) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.ProtoMajor != 1 { // HTTP/2 may send the bytes after Write has returned
		httpapi.OK(w, r, body.whole())
		return
	}
	body.lend(func(data json.RawMessage) { httpapi.OK(w, r, data) })
}

// privateNoCache is a header value that all responses share to avoid allocations.
var privateNoCache = []string{"private, no-cache"}

// encode returns the JSON of a response.
func encode(answer any) raw {
	b, err := httpapi.Marshal(answer)
	if err != nil {
		panic(err) // the response structs can always be encoded
	}
	return b
}

// decimal is a number with a fixed number of decimal places, formatted without trailing zeros: {850, 2} is 8.5.
type decimal struct {
	units  int64
	places int
}

// MarshalJSON formats the number. If there are fewer than 2^53 units, the shortest decimal form of the floating-point
// quotient is exact.
func (d decimal) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(d.units)/math.Pow10(d.places), 'f', -1, 64), nil
}

// nurses converts a demand to nurses, rounded half up to two places.
func nurses(d catalogue.Demand) decimal {
	return decimal{(int64(d)*100 + int64(catalogue.Nurse)/2) / int64(catalogue.Nurse), 2}
}

func instant(i acuity.Instant) httpapi.Time { return httpapi.Time(i.Time()) }

// known returns a number of nurses, or nil if it is negative, which means unknown.
func known(n int32) *int32 {
	if n < 0 {
		return nil
	}
	return &n
}

// some returns a text, or nil if it is empty.
func some(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
