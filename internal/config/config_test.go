package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/cli"
	"svc/internal/testkit/docpage"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/")

const key32 = "0123456789abcdef0123456789abcdef"

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// parseConfig parses flags and the environment as a command with the given needs does.
func parseConfig(t *testing.T, command string, needs Need, args []string, lookup func(string) (string, bool)) (*Config, error) {
	t.Helper()
	c := &Config{}
	cmd := &cobra.Command{Use: strings.Fields(command)[0], RunE: func(*cobra.Command, []string) error { return nil }}
	c.Bind(cmd.Flags(), needs)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return errors.Join(c.Faults(cmd.Flags(), needs)...) }
	var faults bytes.Buffer
	if code := cli.Run(t.Context(), cmd, args, cli.Env{LookupEnv: lookup, Stdout: &faults, Stderr: &faults}); code != 0 {
		return c, errors.New(faults.String())
	}
	return c, nil
}

const everything = NeedHTTP | NeedTopics | NeedRedis | NeedIngest | NeedProcess | NeedNotify

func TestConfigPrecedence(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(secret, []byte(key32+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := parseConfig(t, "run", everything, []string{"--listen", "127.0.0.1:1"}, environment(
		"SVC_LISTEN", "127.0.0.1:2", "SVC_KAFKA", "a:1, b:2", "SVC_COMMIT_EVERY", "0", "SVC_PSEUDONYM_KEY_FILE", secret,
	))
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:1" {
		t.Errorf("the flag does not win over the variable: %s", c.Listen)
	}
	if fmt.Sprint(c.Kafka) != "[a:1 b:2]" || c.CommitEvery != 0 || c.PseudonymKey != key32 || c.Partitions != 48 {
		t.Errorf("config = %+v", c)
	}
	if c.ShutdownWithin != 10*time.Second {
		t.Errorf("default of shutdown-within = %v", c.ShutdownWithin)
	}
}

// TestConfigFaultsTogether: all errors are reported at once, and none of them contains a secret.
func TestConfigFaultsTogether(t *testing.T) {
	_, err := parseConfig(t, "run", everything, []string{"--partitions", "0", "--kafka-tls-cert", "config.go"}, environment(
		"SVC_LISTEN", "nonsense", "SVC_KAFKA", "nohost", "SVC_REDIS", "redis:hunter2", "SVC_PSEUDONYM_KEY", "hunter2",
		"SVC_KAFKA_TLS", "perhaps", "SVC_KAFKA_TLS_CA", "/does/not/exist", "SVC_KAFKA_SASL", "GSSAPI", "SVC_COMMIT_EVERY", "fast",
		"SVC_LOG_LEVEL", "loud", "SVC_SECRETS_KEY", "hunter2", "SVC_SECRETS_KEY_OLD", key32+"\nhunter2", "SVC_EGRESS_ALLOW", "north=hunter2",
	))
	if err == nil {
		t.Fatal("a faulty configuration was taken")
	}
	for _, want := range []string{
		"--partitions: must be a whole number", "SVC_LISTEN: must be host:port", "SVC_KAFKA: must be one or more host:port", "SVC_REDIS: must be redis://",
		"SVC_PSEUDONYM_KEY: must have at least 32", "SVC_KAFKA_TLS: must be true or false", "SVC_KAFKA_TLS_CA: the file does not exist",
		"SVC_KAFKA_SASL: must be one of", "SVC_COMMIT_EVERY: must be a duration", "SVC_LOG_LEVEL: must be one of", "give both or neither",
		"SVC_SECRETS_KEY: must have at least 32", "SVC_SECRETS_KEY_OLD: each key must have", "SVC_EGRESS_ALLOW: entry 1",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret is in the message:\n%v", err)
	}
}

// TestRedisURL: a URL with several hosts must specify whether they are Sentinels or the nodes of a cluster.
func TestRedisURL(t *testing.T) {
	for value, want := range map[string]string{
		"redis://user:hunter2@host:6379/0": "", "rediss://host:6379": "",
		"redis://a:26379/0?master_name=svc&addr=b:26379&password=hunter2": "",
		"redis://user:hunter2@a:6379?addr=b:6379":                         "SVC_REDIS: has several hosts, but neither master_name",
		"redis://a:26379?addr=b:26379&master_name=":                       "SVC_REDIS: has several hosts, but neither master_name",
		"redis://user:hunter2@a:6379?cluster=true&addr=b:6379":            "",
		"rediss://a:6379/0?cluster=true":                                  "",
		"redis://user:hunter2@a:6379/1?cluster=true":                      "SVC_REDIS: must name database 0",
		"redis://user:hunter2@a:6379?cluster=yes":                         "SVC_REDIS: cluster must be true",
		"redis://a:26379?cluster=true&master_name=svc&password=hunter2":   "SVC_REDIS: has both master_name and cluster",
		"http://hunter2": "SVC_REDIS: must be redis://",
	} {
		_, err := parseConfig(t, "run", everything, nil, environment("SVC_REDIS", value))
		if said := fmt.Sprint(err); strings.Contains(said, "SVC_REDIS") != (want != "") || !strings.Contains(said, want) || strings.Contains(said, "hunter2") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// TestKeysAreGood: a key that is too short or not random is refused, whether a flag, a variable or a file supplies
// it. An empty file is refused, too. An older key need not be random, so that a weak key can be replaced.
func TestKeysAreGood(t *testing.T) {
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tt := range map[string]struct{ variable, value, want string }{
		"good":                {"SVC_SECRETS_KEY", key32, ""},
		"none":                {"SVC_SECRETS_KEY", "", ""},
		"a file":              {"SVC_SECRETS_KEY_FILE", file(key32 + "\n"), ""},
		"an empty file":       {"SVC_SECRETS_KEY_FILE", file("\n"), "SVC_SECRETS_KEY_FILE: the file is empty"},
		"a file cut off":      {"SVC_SECRETS_KEY_FILE", file(key32[:9]), "SVC_SECRETS_KEY_FILE: must have at least 32"},
		"one letter":          {"SVC_SECRETS_KEY", strings.Repeat("a", 32), "SVC_SECRETS_KEY: must be random"},
		"one word":            {"SVC_SECRETS_KEY", strings.Repeat("password", 8), "SVC_SECRETS_KEY: must be random"},
		"pseudonyms, empty":   {"SVC_PSEUDONYM_KEY_FILE", file(""), "SVC_PSEUDONYM_KEY_FILE: the file is empty"},
		"pseudonyms, zeros":   {"SVC_PSEUDONYM_KEY_FILE", file(strings.Repeat("\x00", 64)), "SVC_PSEUDONYM_KEY_FILE: must be random"},
		"one that goes":       {"SVC_SECRETS_KEY_OLD", strings.Repeat("a", 32), ""},
		"none that goes":      {"SVC_SECRETS_KEY_OLD_FILE", file(""), ""},
		"one that never came": {"SVC_SECRETS_KEY_FILE", "/does/not/exist", "SVC_SECRETS_KEY_FILE: no such file"},
	} {
		env := []string{tt.variable, tt.value}
		if !strings.HasPrefix(tt.variable, "SVC_PSEUDONYM") {
			env = append(env, "SVC_PSEUDONYM_KEY", key32)
		}
		if strings.HasPrefix(tt.variable, "SVC_SECRETS_KEY_OLD") {
			env = append(env, "SVC_SECRETS_KEY", key32)
		}
		_, err := parseConfig(t, "run", everything, nil, environment(env...))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestConfigKnowsOnlyWhatACommandNeeds(t *testing.T) {
	if _, err := parseConfig(t, "process", NeedTopics|NeedRedis|NeedProcess, nil, environment()); err != nil {
		t.Errorf("process asks for what it does not need: %v", err)
	}
	if _, err := parseConfig(t, "ingest", NeedHTTP|NeedTopics|NeedIngest, nil, environment()); err == nil {
		t.Error("ingest starts without a pseudonym key")
	}
}

// TestOptionsPage compares docs/reference/options.md with the options.
func TestOptionsPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| flag | variable | default | what |\n|---|---|---|---|\n")
	for _, o := range new(Config).options() {
		variable := "`" + o.variable() + "`"
		if o.secret {
			variable += ", `" + o.variable() + "_FILE`"
		}
		preset := ""
		if o.preset != "" {
			preset = "`" + o.preset + "`"
		}
		fmt.Fprintf(&table, "| `--%s` | %s | %s | %s |\n", o.name, variable, preset, strings.ReplaceAll(o.help, "|", `\|`))
	}
	docpage.Hold(t, "../../docs/reference/options.md", "options", table.String(), *update)
}

// TestDocsAddress: the address of the documentation is the configured one or, if there is none, is derived from the
// public URL. If neither is configured, Docs returns "".
func TestDocsAddress(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"--public-url", "https://svc.example/"}, "https://svc.example/docs"},
		{[]string{"--public-url", "https://svc.example", "--docs-url", "https://docs.example/svc"}, "https://docs.example/svc"},
	} {
		c, err := parseConfig(t, "run", everything, tt.args, environment("SVC_PSEUDONYM_KEY", key32))
		if err != nil || c.Docs() != tt.want {
			t.Errorf("%v: %q, %v; want %q", tt.args, c.Docs(), err, tt.want)
		}
	}
}

// TestFrontOptions: --docs-url, --trusted-proxies and --unauthorized-rate are parsed. An error names the invalid option
// and its rule.
func TestFrontOptions(t *testing.T) {
	c, err := parseConfig(t, "run", everything, []string{"--trusted-proxies", "10.0.0.0/8, 192.0.2.1,fd00::/8"}, environment("SVC_PSEUDONYM_KEY", key32))
	if err != nil || fmt.Sprint(c.Proxies) != "[10.0.0.0/8 192.0.2.1/32 fd00::/8]" || c.StrangersRate != 20 {
		t.Errorf("%v %d %v", c.Proxies, c.StrangersRate, err)
	}
	_, err = parseConfig(t, "run", everything, []string{"--docs-url", "/docs", "--trusted-proxies", "gateway", "--unauthorized-rate", "-1"}, environment("SVC_PSEUDONYM_KEY", key32))
	for _, want := range []string{"--docs-url: must be a URL such as https://", "--trusted-proxies: must be networks", "--unauthorized-rate: must be a whole number"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
