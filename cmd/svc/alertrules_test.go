package main

import (
	"regexp"
	"slices"
	"testing"
)

// TestAlertRulesAreTried: each alert has a case in which it fires and one in which it does not.
func TestAlertRulesAreTried(t *testing.T) {
	t.Parallel()
	cases := deployFile(t, "prometheus/rules_test.yaml")
	found := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(deployFile(t, "prometheus/rules.yaml"), -1)
	if len(found) == 0 {
		t.Error("there are no alerts")
	}
	for _, alert := range found {
		for how, pattern := range map[string]string{
			"fires":        `alertname: ` + alert[1] + `\n +eval_time: \w+\n +exp_alerts:\n +- exp_labels`,
			"stays silent": `\{alertname: ` + alert[1] + `, eval_time: \w+, exp_alerts: \[\]\}`,
		} {
			if !regexp.MustCompile(pattern).MatchString(cases) {
				t.Errorf("no case in which %s %s", alert[1], how)
			}
		}
	}
}

// TestEachHealthCheckHasAnAlert: each health check has exactly one rule, and each rule names an
// existing health check.
func TestEachHealthCheckHasAnAlert(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	for _, rule := range regexp.MustCompile(`svc_healthy\{check=~?"([a-z|]+)"\} == 0`).FindAllStringSubmatch(deployFile(t, "prometheus/rules.yaml"), -1) {
		for _, name := range regexp.MustCompile(`[a-z]+`).FindAllString(rule[1], -1) {
			asked[name]++
		}
	}
	for _, c := range healthChecks {
		if asked[c.name] != 1 {
			t.Errorf("%d alerts ask for %s", asked[c.name], c.name)
		}
	}
	for name := range asked {
		if !slices.ContainsFunc(healthChecks, func(c healthCheck) bool { return c.name == name }) {
			t.Errorf("an alert asks for the check %s, which there is not", name)
		}
	}
}
