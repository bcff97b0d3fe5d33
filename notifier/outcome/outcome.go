// Package outcome classifies the results of send attempts, for all protocols.
package outcome

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"svc/internal/outbound/sending"
)

// MaxResponse is the maximum number of characters of a stored response. Only administrators see stored responses.
const MaxResponse = 512

// maxRetryAfter is the maximum wait that a receiver can request.
const maxRetryAfter = time.Hour

// ClassOf returns the class of an attempt that failed with err and without a response. It relies on error types,
// because libraries may change their error messages.
//
// The default class is reset: the request had started, but ended before a readable response arrived.
func ClassOf(ctx context.Context, err error) sending.Class {
	var (
		dns         *net.DNSError
		timeout     net.Error
		record      tls.RecordHeaderError
		alert       tls.AlertError
		certificate *tls.CertificateVerificationError
		connection  *net.OpError
	)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return sending.ClassInterrupted
	case errors.As(err, &dns):
		return sending.ClassDNS
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return sending.ClassTimeout
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &certificate):
		return sending.ClassTLS
	case errors.As(err, &connection) && connection.Op == "dial" && !errors.Is(err, syscall.ECONNRESET):
		return sending.ClassRefused // includes "no route to host"
	}
	return sending.ClassReset
}

// RetryAfter parses the header Retry-After (RFC 9110, 10.2.3), which contains seconds or a date. The result is at
// most one hour. It is 0 if the header is missing or invalid, or if the date has passed.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if text != "" && strings.Trim(text, "0123456789") == "" { // too large for an integer
		return maxRetryAfter
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), maxRetryAfter)
}

// CleanResponse returns the part of a response to store: one line of at most [MaxResponse] characters. It removes the
// recipient's address or number, which servers often repeat.
func CleanResponse(answer, to string) string {
	if to != "" {
		answer = strings.ReplaceAll(answer, to, "(recipient)")
	}
	var kept strings.Builder
	characters := 0
	for _, c := range answer { // a byte that is not UTF-8 becomes U+FFFD
		if characters++; characters > MaxResponse {
			break
		}
		if unicode.IsControl(c) {
			c = ' '
		}
		kept.WriteRune(c)
	}
	return strings.TrimSpace(kept.String())
}
