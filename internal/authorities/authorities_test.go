package authorities

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// TestRead reads a file with a certificate, a file without certificates, and a file that does not exist.
func TestRead(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, tt := range map[string]struct{ file, fault string }{
		"a certificate":  {good, ""},
		"text":           {write("text.pem", []byte("text")), "the file contains no PEM certificate"},
		"no file":        {filepath.Join(dir, "none.pem"), "read certificate authorities: open " + filepath.Join(dir, "none.pem") + ": no such file or directory"},
		"an empty value": {"", "read certificate authorities: open : no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			pool, err := Read(tt.file)
			if tt.fault != "" {
				if err == nil || err.Error() != tt.fault {
					t.Fatalf("error %v, want %q", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}}}
			defer client.CloseIdleConnections()
			response, err := client.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		})
	}
}

// TestReadWithSystem expects nil without a file, and an error for a file without a certificate.
func TestReadWithSystem(t *testing.T) {
	if pool, err := ReadWithSystem(""); pool != nil || err != nil {
		t.Errorf("without a file: %v, %v", pool, err)
	}
	if _, err := ReadWithSystem("authorities.go"); err == nil {
		t.Error("a file without a certificate is read")
	}
}
