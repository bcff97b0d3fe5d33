package outcome_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/internal/outbound/sending"
	"svc/notifier/outcome"
)

func TestClassOf(t *testing.T) {
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	dial := func(err error) error {
		return fmt.Errorf("send: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)})
	}
	for name, tt := range map[string]struct {
		ctx  context.Context //nolint:containedctx // context of one test case
		err  error
		want sending.Class
	}{
		"stopped by ourselves": {stopped, dial(syscall.ECONNREFUSED), sending.ClassInterrupted},
		"no such name":         {t.Context(), dial(&net.DNSError{IsNotFound: true}), sending.ClassDNS},
		"late":                 {late, errors.New("use of closed connection"), sending.ClassTimeout},
		"the answer is late":   {t.Context(), &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, sending.ClassTimeout},
		"connection is late":   {t.Context(), dial(syscall.ETIMEDOUT), sending.ClassTimeout},
		"no TLS":               {t.Context(), tls.RecordHeaderError{}, sending.ClassTLS},
		"alert":                {t.Context(), &net.OpError{Op: "remote error", Err: tls.AlertError(40)}, sending.ClassTLS},
		"certificate":          {t.Context(), &tls.CertificateVerificationError{Err: x509.HostnameError{}}, sending.ClassTLS},
		"nobody listens":       {t.Context(), dial(syscall.ECONNREFUSED), sending.ClassRefused},
		"no route":             {t.Context(), dial(syscall.EHOSTUNREACH), sending.ClassRefused},
		"reset while dialling": {t.Context(), dial(syscall.ECONNRESET), sending.ClassReset},
		"broken off":           {t.Context(), &net.OpError{Op: "read", Err: syscall.ECONNRESET}, sending.ClassReset},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outcome.ClassOf(tt.ctx, tt.err); got != tt.want {
				t.Errorf("class %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "86400": time.Hour, strings.Repeat("9", 30): time.Hour,
		"Sun, 01 Mar 2026 20:01:00 GMT": time.Minute, "Sun, 01 Mar 2026 19:00:00 GMT": 0,
	} {
		if got := outcome.RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestCleanResponse(t *testing.T) {
	if got := outcome.CleanResponse(" 550 <a@b.example>\r\n no such user\x00\xff", "a@b.example"); got != "550 <(recipient)>   no such user \uFFFD" {
		t.Errorf("%q", got)
	}
}
