package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/testkit/runtimes"
)

// TestPrometheus starts a real Prometheus with the configuration and the rules of deploy/ and runs the roles that the
// configuration names. Prometheus must scrape each role, and evaluate each rule without an error.
func TestPrometheus(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	program := runtimes.Debian(t, "prometheus", "usr/bin/prometheus")
	kafka, redis := embedServers(t, func(string, []string) string { return "" })
	env := []string{
		"SVC_KAFKA=" + kafka.address, "SVC_REDIS=redis://" + redis.address + "/0", "SVC_PARTITIONS=3",
		"SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef",
	}
	content, err := os.ReadFile("../../deploy/prometheus/prometheus.yaml")
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`"(ingest|process|read|notify|verify)(-\d)?:\d+"`)
	named := len(targets.FindAll(content, -1))
	conf := targets.ReplaceAllStringFunc(string(content), func(target string) string {
		name, _, _ := strings.Cut(strings.Trim(target, `"`), ":")
		role, _, _ := strings.Cut(name, "-")
		private := "127.0.0.1:" + mustFreePort(t)
		args := []string{role, "--private-listen", private}
		switch role {
		case "ingest", "read":
			args = append(args, "--listen", "127.0.0.1:"+mustFreePort(t))
		case "verify":
			args = []string{role, "--continuous", "--metrics", private}
		default:
			args = append(args, "--instance", name)
		}
		start(t, name, args, env...)
		return `"` + private + `"`
	})
	conf = strings.ReplaceAll(conf, "15s", "1s")
	dir := t.TempDir()
	rules, err := filepath.Abs("../../deploy/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	conf = strings.Replace(conf, "[rules.yaml]", "["+rules+"]", 1)
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + mustFreePort(t)
	startProgram(t, "prometheus", program, []string{
		"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address,
		"--web.console.templates=" + dir, "--web.console.libraries=" + dir,
	})
	eventually(t, 3*time.Minute, func() error {
		var scraped struct {
			ActiveTargets []struct{ Health, LastError, ScrapeURL string }
		}
		if err := askPrometheus(address, "targets", &scraped); err != nil {
			return err
		}
		if len(scraped.ActiveTargets) != named || named == 0 {
			return fmt.Errorf("%d targets, want %d", len(scraped.ActiveTargets), named)
		}
		for _, one := range scraped.ActiveTargets {
			if one.Health != "up" {
				return fmt.Errorf("%s is %s: %s", one.ScrapeURL, one.Health, one.LastError)
			}
		}
		return nil
	})
	eventually(t, time.Minute, func() error {
		var evaluated struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := askPrometheus(address, "rules", &evaluated); err != nil {
			return err
		}
		if len(evaluated.Groups) == 0 || len(evaluated.Groups[0].Rules) == 0 {
			return fmt.Errorf("no rules")
		}
		for _, group := range evaluated.Groups {
			for _, rule := range group.Rules {
				if rule.Health != "ok" {
					return fmt.Errorf("%s is %s: %s", rule.Name, rule.Health, rule.LastError)
				}
			}
		}
		return nil
	})
}

// TestAlertRules runs the test cases of each alert with promtool: some series must make the alert fire, and others must
// not.
func TestAlertRules(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), runtimes.Debian(t, "prometheus", "usr/bin/promtool"), "test", "rules", "rules_test.yaml")
	cmd.Dir = "../../deploy/prometheus"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// askPrometheus decodes the data of a response from Prometheus.
func askPrometheus(address, what string, into any) error {
	response, err := http.Get("http://" + address + "/api/v1/" + what)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct{ Data json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	return json.Unmarshal(answer.Data, into)
}
