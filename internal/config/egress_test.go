package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEgressConfiguration(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := parseConfig(t, "notify", NeedNotify, nil, environment(
		"SVC_EGRESS_ALLOW", "mercy=10.20.0.0/16,mercy=127.0.0.1", "SVC_EGRESS_CA_FILE", empty,
	))
	if err == nil {
		t.Fatal("a faulty configuration was taken")
	}
	for _, want := range []string{"SVC_EGRESS_ALLOW: entry 2: the network is never allowed", "SVC_EGRESS_CA_FILE: the file contains no PEM certificate"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}
