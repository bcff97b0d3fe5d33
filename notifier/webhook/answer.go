package webhook

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/internal/outbound"
)

// retryAfterMost bounds the wait that a receiver may ask for.
const retryAfterMost = time.Hour

// answered returns the result for the status and headers of an answer.
func (s *Sender) answered(answer *http.Response) outbound.Result {
	r := outbound.Result{Status: answer.StatusCode, Class: outbound.ClassStatus}
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		r.Class = outbound.ClassOK
	case status >= 300 && status < 400: // not followed, because it may lead anywhere
		r.Class = outbound.ClassRedirect
	case status == http.StatusGone:
		r.Class, r.Final = outbound.ClassGone, true
	case status == http.StatusTooManyRequests:
		r.Class = outbound.ClassThrottled
		r.RetryAfter = retryAfter(answer.Header, s.now())
	case status == http.StatusServiceUnavailable:
		r.RetryAfter = retryAfter(answer.Header, s.now())
	}
	return r
}

// retryAfter reads Retry-After (RFC 9110, 10.2.3): seconds or a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(retryAfterMost/time.Second))) * time.Second
	}
	if text != "" && strings.Trim(text, "0123456789") == "" { // more digits than fit
		return retryAfterMost
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), retryAfterMost)
}

// excerpt reads the allowed part of an answer's body and returns its beginning. It
// calls cancel to end the request if the body takes too long.
func (s *Sender) excerpt(ctx context.Context, cancel context.CancelFunc, body io.Reader) string {
	if body == http.NoBody {
		return ""
	}
	reading, stop := context.WithTimeout(ctx, s.limits.body)
	defer stop()
	defer context.AfterFunc(reading, cancel)()
	head := make([]byte, outbound.MaxResponseKept*utf8.UTFMax)
	n, err := io.ReadFull(body, head)
	if err == nil { // read to its end so that the connection is kept
		io.CopyN(io.Discard, body, int64(bodyMost-n)) //nolint:errcheck // the beginning is all that is wanted
	}
	return text(head[:n])
}

// text returns the beginning of an answer in the form that lists show.
func text(b []byte) string {
	var kept strings.Builder
	characters := 0
	for _, r := range string(b) {
		if characters == outbound.MaxResponseKept {
			break
		}
		if unicode.IsControl(r) {
			r = ' '
		}
		kept.WriteRune(r)
		characters++
	}
	return strings.TrimSpace(kept.String())
}
