package e2e

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/internal/testkit/runtimes"
)

// composed is an installation from deploy/compose.yaml with its own project, network and port.
type composed struct {
	t   *testing.T
	env []string
}

// TestCompose runs the commands of docs/deployment.md for Docker Compose, and then the quickstart in the README
// against the address that these commands export. All API roles must respond at that address. Each process in the
// Prometheus configuration must serve metrics, but no profiles to other machines. svc verify must find no difference.
func TestCompose(t *testing.T) {
	kafka, _ := needServers(t)
	if kafka.pool == nil && os.Getenv("CI") != "true" {
		t.Skip("needs Docker, which E2E_KAFKA replaces")
	}
	t.Parallel()
	c := newComposed(t, mustFreePort(t))
	base, key := c.asDocumented()
	north := func(id string) *partner {
		c.admin("hospitals", "create", "--id", id, "--name", "North", "--timezone", "America/Chicago")
		p := newPartner(base, id, c.admin("keys", "mint", "--hospital", id, "--name", "test", "--scopes", "all", "--rate", "0"))
		p.honored(t)
		return p
	}
	// On a busy machine, the first inputs are applied late, but the quickstart shows responses to applied inputs.
	north("early").accepted(t, "staffing", `{"nursesOnDuty":1}`)
	runDocumented(t, "../../README.md", 3, "SVC="+base, "KEY="+key)

	for path, body := range map[string]string{
		"/app": "<html", "/docs": "<html", "/api/openapi.json": "openapi", "/api/public/integration-capabilities": "svc.v1",
	} {
		if got := c.get(base + path); !strings.Contains(got, body) {
			t.Errorf("%s does not answer %s: %.200s", path, body, got)
		}
	}
	tour(t, north("north"))

	scraped := c.scraped()
	if len(scraped) != 7 {
		t.Errorf("Prometheus scrapes %v, want seven processes", scraped)
	}
	for _, target := range scraped {
		service, port, _ := strings.Cut(target, ":")
		address := c.address(service) + ":" + port
		if got := c.get("http://" + address + "/metrics"); !strings.Contains(got, "svc_build_info") {
			t.Errorf("%s has no metrics of svc: %.200s", target, got)
		}
		answer, err := http.Get("http://" + address + "/debug/pprof/")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s serves profiles to other machines: %s", target, answer.Status)
		}
	}
	eventually(t, time.Minute, func() error {
		metrics := c.get("http://" + c.address("verify") + ":9190/metrics")
		if !regexp.MustCompile(`(?m)^svc_verify_hospitals [123]$`).MatchString(metrics) || !strings.Contains(metrics, "\nsvc_verify_differences 0\n") {
			return fmt.Errorf("verify has compared no hospital, or found a difference:\n%s", strings.Join(regexp.MustCompile(`(?m)^svc_verify.*$`).FindAllString(metrics, -1), "\n"))
		}
		return nil
	})
}

// newComposed prepares an installation on a port of this machine. When the test ends, the
// installation is removed with its data.
func newComposed(t *testing.T, port string) *composed {
	t.Helper()
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	c := &composed{t, append(runtimes.Compose(t, "../../deploy/tools/compose"),
		"COMPOSE_PROJECT_NAME=svc-e2e-"+port, "API_PORT="+port, "SVC_IMAGE="+builtImage(t),
		fmt.Sprintf("SUBNET=172.31.%d.0/24", n%249), // the default in the Compose file is 172.31.250.0/24
	)}
	t.Cleanup(func() {
		if t.Failed() {
			out, err := c.command("logs", "--no-color", "--tail", "15").CombinedOutput()
			t.Logf("logs: %v\n%s", err, withoutAnswers(string(out)))
		}
		if out, err := c.command("--profile", "admin", "down", "--volumes", "--timeout", "5").CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return c
}

// command returns a docker compose command that uses this repository's Compose file.
func (c *composed) command(args ...string) *exec.Cmd {
	cmd := exec.Command("docker", append([]string{"compose", "-f", "deploy/compose.yaml"}, args...)...)
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), c.env...)
	return cmd
}

// asDocumented runs the commands in docs/deployment.md, and returns the address and the key that these commands
// export.
func (c *composed) asDocumented() (base, key string) {
	c.t.Helper()
	page, err := os.ReadFile("../../docs/deployment.md")
	if err != nil {
		c.t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "<!-- compose -->\n```\n")
	block, _, whole := strings.Cut(block, "```\n<!-- /compose -->")
	if !whole {
		c.t.Fatal("docs/deployment.md has no commands for Compose")
	}
	block = strings.Replace(block, "make image\n", "", 1) // the image exists under another name
	block = strings.Replace(block, ":8080", ":$API_PORT", 1)
	block = strings.ReplaceAll(block, "export KEY=$(", "KEY=$(") // the status of export is not that of the command
	out := shell(c.t, "set -e; cd ../..\n"+block+`printf '%s %s' "$SVC" "$KEY"`, c.env...)
	last := strings.TrimSpace(out[strings.LastIndexByte(out, '\n')+1:])
	base, key, _ = strings.Cut(last, " ")
	if !strings.HasPrefix(key, "svc_") {
		c.t.Fatalf("no key is printed: %s", out)
	}
	return base, key
}

// admin runs an administration command and returns its output.
func (c *composed) admin(args ...string) string {
	c.t.Helper()
	cmd := c.command(append([]string{"run", "--rm", "admin"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("svc %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// get returns the body of a page.
func (c *composed) get(url string) string {
	c.t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(body)
}

// address returns the address of a service's container on the Docker bridge, which this machine can
// reach.
func (c *composed) address(service string) string {
	c.t.Helper()
	id, err := c.command("ps", "--quiet", service).Output()
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := exec.Command("docker", "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", strings.TrimSpace(string(id))).Output()
	if err != nil {
		c.t.Fatalf("%s: %v", service, err)
	}
	return strings.TrimSpace(string(out))
}

// scraped returns the targets in the Prometheus configuration.
func (c *composed) scraped() []string {
	c.t.Helper()
	content, err := os.ReadFile("../../deploy/prometheus/prometheus.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z0-9-]+:\d+)"`).FindAllStringSubmatch(string(content), -1) {
		targets[m[1]] = true
	}
	return slices.Sorted(maps.Keys(targets))
}
