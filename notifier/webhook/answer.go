package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"svc/internal/outbound/sending"
	"svc/notifier/egress"
	"svc/notifier/outcome"
)

// answered returns the result of an attempt from the status and headers of the response.
func (s *Sender) answered(answer *http.Response) sending.Result {
	r := sending.Result{Status: answer.StatusCode, Class: sending.ClassStatus}
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		r.Class = sending.ClassOK
	case status >= 300 && status < 400: // not followed, because the target is untrusted
		r.Class = sending.ClassRedirect
	case status == http.StatusGone:
		r.Class, r.Final = sending.ClassGone, true
	case status == http.StatusTooManyRequests:
		r.Class = sending.ClassThrottled
		r.RetryAfter = outcome.RetryAfter(answer.Header, s.now())
	case status == http.StatusServiceUnavailable:
		r.RetryAfter = outcome.RetryAfter(answer.Header, s.now())
	}
	return r
}

// redirected returns the text to display for a redirect: the Location header, which says where the endpoint has
// moved, and the start of the body. The location's user, query and fragment are removed, because they may contain
// secrets.
func redirected(answer *http.Response, body string) string {
	if answer.Header.Get("Location") == "" {
		return body
	}
	to, err := answer.Location() // resolves relative locations
	if err != nil {
		return outcome.CleanResponse("Location: not a URL. "+body, "")
	}
	to.User, to.RawQuery, to.ForceQuery, to.Fragment = nil, "", false, ""
	return outcome.CleanResponse("Location: "+to.String()+" "+body, "")
}

// readExcerpt reads at most bodyMost bytes of a response's body and returns the first [outcome.MaxResponse]
// characters. If the body takes too long, readExcerpt aborts the request by calling cancel.
func (s *Sender) readExcerpt(ctx context.Context, cancel context.CancelFunc, body io.Reader) string {
	if body == http.NoBody {
		return ""
	}
	reading, stop := context.WithTimeout(ctx, s.limits.body)
	defer stop()
	defer context.AfterFunc(reading, cancel)()
	head := make([]byte, outcome.MaxResponse*utf8.UTFMax)
	n, err := io.ReadFull(body, head)
	if err == nil { // read to the end, so that the connection can be reused
		io.CopyN(io.Discard, body, int64(bodyMost-n)) //nolint:errcheck // only the beginning is needed
	}
	return outcome.CleanResponse(string(head[:n]), "")
}

// failed returns the result of an attempt without a response.
func (s *Sender) failed(ctx context.Context, began time.Time, err error) sending.Result {
	class, word := classify(ctx, err)
	return sending.Result{Class: class, Response: word, Took: s.now().Sub(began)}
}

// classify returns the class of an attempt without a response. The second result is a stable code that administrators
// see in place of the response, or "" if it would add nothing.
func classify(ctx context.Context, err error) (sending.Class, string) {
	if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		return sending.ClassBlocked, string(refused.Reason)
	}
	class := outcome.ClassOf(ctx, err)
	fault, ok := errors.AsType[*handshakeError](err)
	if ok && class != sending.ClassInterrupted && class != sending.ClassTimeout {
		return sending.ClassTLS, certificate(fault.err)
	}
	return class, ""
}

// certificate returns a stable code for a TLS error.
func certificate(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "certificate_of_another_name"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "certificate_untrusted"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return "certificate_expired"
		}
		return "certificate_invalid"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "certificate_invalid"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "no_tls"
	}
	return "handshake_failed"
}
