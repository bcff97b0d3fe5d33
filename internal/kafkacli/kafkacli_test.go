package kafkacli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/internal/cli"
	"svc/internal/config"
)

// TestSecretsOfSvcDev: a command that needs the secrets key reads the key from the data folder of the running svc
// dev.
func TestSecretsOfSvcDev(t *testing.T) {
	const key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	dir := t.TempDir()
	kafka := httptest.NewServer(nil) // accepts connections
	defer kafka.Close()
	content, err := json.Marshal(&cli.DevFile{Kafka: strings.TrimPrefix(kafka.URL, "http://")})
	if err == nil {
		err = os.WriteFile(cli.DevFilePath(dir), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets.key"), []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	w := cli.Env{LookupEnv: func(string) (string, bool) { return "", false }, Stdout: &said, Stderr: &said, Now: time.Now}
	c := New(w, config.NeedSecrets)
	cmd := c.Cobra("status", "", func(context.Context, []string) error { return nil })
	if code := cli.Run(t.Context(), cmd, []string{"--data", dir}, w); code != 0 || !c.IsDev || c.Config.SecretsKey != key {
		t.Errorf("code %d, says %q, key %q", code, &said, c.Config.SecretsKey)
	}
}
