package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	analysis "svc/internal/analysis/commands"

	"github.com/prometheus/client_golang/prometheus"

	"svc/internal/config"
	"svc/internal/metrics"
	"svc/internal/stream"
	"svc/internal/testkit/docpage"
	"svc/internal/view"
)

// TestMetricsPage compares docs/reference/metrics.md with the metrics of svc verify and of a process with every role.
func TestMetricsPage(t *testing.T) {
	registered := registeredMetrics(t)
	var table strings.Builder
	table.WriteString("| metric | what |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(registered)) {
		labels := ""
		if l := registered[name].labels; l != "" {
			labels = "{" + l + "}"
		}
		fmt.Fprintf(&table, "| `%s%s` | %s |\n", name, labels, registered[name].help)
	}
	docpage.Hold(t, "../../docs/reference/metrics.md", "metrics", table.String(), *update)
}

// TestDeployAsksForMetricsThatExist: each metric in the rules and the dashboards of deploy/ exists.
func TestDeployAsksForMetricsThatExist(t *testing.T) {
	registered := registeredMetrics(t)
	boards, err := filepath.Glob("../../deploy/grafana/*.json")
	if err != nil || len(boards) != 3 {
		t.Errorf("the boards are %v, %v", boards, err)
	}
	files := []string{"prometheus/rules.yaml", "prometheus/rules_test.yaml"}
	for _, board := range boards {
		files = append(files, "grafana/"+filepath.Base(board))
		content := deployFile(t, "grafana/"+filepath.Base(board))
		if !json.Valid([]byte(content)) {
			t.Errorf("%s is no JSON", board)
		}
		if strings.Contains(content, "{job=") { // in Kubernetes, the job is often named after the scrape configuration
			t.Errorf("%s depends on the name of the job", board)
		}
	}
	for _, file := range files {
		names := regexp.MustCompile(`\bsvc_[a-z_]+`).FindAllString(deployFile(t, file), -1)
		if len(names) == 0 {
			t.Errorf("deploy/%s asks for nothing", file)
		}
		for _, name := range names {
			whole := name
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				whole = strings.TrimSuffix(whole, part)
			}
			_, direct := registered[name]
			if _, histogram := registered[whole]; !direct && !histogram {
				t.Errorf("deploy/%s asks for %s, which nothing shows", file, name)
			}
		}
	}
}

// TestAlertsHaveARunbook: each alert in deploy/ has a section in docs/operations.md, and each section belongs to an
// alert.
func TestAlertsHaveARunbook(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	all := func(pattern, text string) (names []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	rules := deployFile(t, "prometheus/rules.yaml")
	alerts := all(`(?m)^ +- alert: (\w+)$`, rules)
	if sections := all(`(?m)^### (Svc\w+)$`, string(page)); len(alerts) == 0 || !slices.Equal(alerts, sections) {
		t.Errorf("the alerts are %v, the sections %v", alerts, sections)
	}
	links, anchors := all(`(?m)runbook: docs/operations\.md#(\w+)$`, rules), make([]string, 0, len(alerts))
	for _, alert := range alerts {
		anchors = append(anchors, strings.ToLower(alert))
	}
	if slices.Sort(anchors); !slices.Equal(anchors, links) {
		t.Errorf("the alerts are %v, their runbooks %v", alerts, links)
	}
}

func deployFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

type metric struct{ help, labels string }

// registeredMetrics returns the metrics of a process with every role, and of svc verify, by name.
func registeredMetrics(t *testing.T) map[string]metric {
	t.Helper()
	kafka, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer kafka.Close()
	redis, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	h := newService(&config.Config{
		Instance: "test", Kafka: []string{kafka.Addr()}, Partitions: 1, Redis: redis.URL(),
		PseudonymKey: key32, SecretsKey: key32, MLLP: config.MLLP{Senders: []config.MLLPSender{{Address: "127.0.0.1:0"}}},
	}, slog.New(slog.DiscardHandler), time.Now)
	defer h.close()
	if err := h.build(ctx, slices.Sorted(maps.Keys(allRoles()))); err != nil {
		t.Fatal(err)
	}
	verify := metrics.New(revision)
	analysis.NewVerifyMetrics(verify)

	all := map[string]metric{}
	for _, registry := range []*prometheus.Registry{h.metrics.Registry, verify.Registry} {
		described := make(chan *prometheus.Desc)
		go func() { registry.Describe(described); close(described) }()
		for d := range described {
			// The client library exposes the name and the help of a Desc only in the result of its String method.
			m := regexp.MustCompile(`fqName: "(svc_\w+)", help: "([^"]*)".* constLabels: {([^}]*)}, variableLabels: {([^}]*)}`).FindStringSubmatch(d.String())
			if m != nil {
				constant := regexp.MustCompile(`="[^"]*"`).ReplaceAllString(m[3], "")
				all[m[1]] = metric{help: m[2], labels: constant + m[4]}
			}
		}
	}
	return all
}
