package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"svc/internal/outbound"
	"svc/notifier/egress"
)

// failed returns the result of an attempt without an answer.
func (s *Sender) failed(ctx context.Context, began time.Time, err error) outbound.Result {
	class, word := classify(ctx, err)
	return outbound.Result{Class: class, Response: word, Took: s.now().Sub(began)}
}

// classify returns how an attempt without an answer ended. It decides by the types of
// the errors, because a library may change its texts. The second result is a stable
// word that administrators see in place of an answer, where it adds something.
//
// The default is reset: the request was under way, and ended before an answer that
// could be read.
func classify(ctx context.Context, err error) (outbound.Class, string) {
	if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		return outbound.ClassBlocked, string(refused.Reason)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return outbound.ClassInterrupted, ""
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return outbound.ClassDNS, ""
	}
	if timedOut(err) {
		return outbound.ClassTimeout, ""
	}
	if fault, ok := errors.AsType[*handshakeError](err); ok {
		return outbound.ClassTLS, certificate(fault.err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && !errors.Is(err, syscall.ECONNRESET) {
		return outbound.ClassRefused, "" // includes "no route to host"
	}
	return outbound.ClassReset, ""
}

func timedOut(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	fault, ok := errors.AsType[net.Error](err)
	return ok && fault.Timeout()
}

// certificate returns one word for a fault of TLS.
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
