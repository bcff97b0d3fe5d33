package main

import (
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/internal/config"
	"svc/internal/testkit/certificate"
)

// TestExpiryOfTheLoadedCertificate: after a certificate file has been renewed, the metric still has the expiry of the
// certificate that the process uses until its restart.
func TestExpiryOfTheLoadedCertificate(t *testing.T) {
	until := time.Date(2031, 4, 5, 0, 0, 0, 0, time.UTC)
	loaded, _ := certificate.SelfSigned(t, "svc.test", until)
	file := filepath.Join(t.TempDir(), "mllp.pem")
	block := pem.Block{Type: "CERTIFICATE", Bytes: loaded.Certificate[0]}
	if err := os.WriteFile(file, pem.EncodeToMemory(&block), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newService(&config.Config{MLLP: config.MLLP{Cert: file}}, slog.New(slog.DiscardHandler), time.Now)
	if err := os.WriteFile(file, []byte("renewed"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	want := fmt.Sprintf(`svc_certificate_expiry_timestamp_seconds{option="mllp-tls-cert"} %v`, float64(until.Unix()))
	if !strings.Contains(w.Body.String(), want) {
		t.Errorf("there is no %s", want)
	}
}
