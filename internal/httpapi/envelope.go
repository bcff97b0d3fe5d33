package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Protocol is the version that every envelope carries.
const Protocol = "svc.v1"

// stamp is RFC 3339 in UTC with milliseconds, the form of every time in an answer.
const stamp = "2006-01-02T15:04:05.000Z"

// Time is an instant in the JSON of an answer: RFC 3339, UTC, milliseconds. The zero time is
// null.
type Time time.Time

// MarshalJSON writes the time as a JSON string, or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	b := append(make([]byte, 0, len(stamp)+2), '"')
	return append(t.Append(b), '"'), nil
}

// Append appends the time in the form of its JSON, without quotes. It is faster than
// time.Format, because an answer may hold hundreds of times.
func (t Time) Append(b []byte) []byte {
	at := time.Time(t).UTC()
	year, month, day := at.Date()
	if year < 0 || year > 9999 {
		return at.AppendFormat(b, stamp)
	}
	hour, minute, second := at.Clock()
	b = appendDigits(b, year, 1000)
	b = appendDigits(append(b, '-'), int(month), 10)
	b = appendDigits(append(b, '-'), day, 10)
	b = appendDigits(append(b, 'T'), hour, 10)
	b = appendDigits(append(b, ':'), minute, 10)
	b = appendDigits(append(b, ':'), second, 10)
	b = appendDigits(append(b, '.'), at.Nanosecond()/1e6, 100)
	return append(b, 'Z')
}

// appendDigits appends n with as many digits as place has: 1000 means four.
func appendDigits(b []byte, n, place int) []byte {
	for ; place > 0; place /= 10 {
		b = append(b, byte('0'+n/place%10))
	}
	return b
}

// OK answers 200 with data in the success envelope. A [json.RawMessage] is copied as it
// is.
func OK(w http.ResponseWriter, r *http.Request, data any) {
	q := from(r.Context())
	raw, done := data.(json.RawMessage)
	if !done {
		var err error
		if raw, err = Marshal(data); err != nil {
			q.log.ErrorContext(r.Context(), "answer cannot be encoded", "error", err)
			Fail(w, r, Problem{Kind: Internal})
			return
		}
	}
	parts := make([]byte, 0, 384)
	parts = append(parts, `{"protocol":"`+Protocol+`","ok":true,"data":`...)
	head := len(parts)
	if small := len(raw) <= copyAtMost; small {
		parts = append(parts, raw...)
		head = len(parts)
		raw = nil
	}
	parts = append(parts, `,"meta":{"requestId":`...)
	parts = appendText(parts, q.id)
	parts = append(parts, `,"generatedAt":"`...)
	parts = Time(q.now()).Append(parts)
	parts = append(parts, `","hospitalId":`...)
	parts = appendText(parts, q.key.Hospital)
	parts = append(parts, "}}\n"...)
	if raw == nil {
		write(w, http.StatusOK, parts)
		return
	}
	write(w, http.StatusOK, parts[:head], raw, parts[head:])
}

// copyAtMost is how many bytes of data are copied into one write with the envelope.
// Larger data has its own write.
const copyAtMost = 2 << 10

// Marshal encodes data for an answer: it does not escape <, > and &.
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

// write sends a whole answer, in one or several pieces.
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
			return // the client is gone, nobody can be told
		}
	}
}
