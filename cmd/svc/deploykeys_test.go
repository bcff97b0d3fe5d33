package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keysOf are the keys that each part of an installation needs. Each part gets only the keys in its entry.
var keysOf = map[string]string{
	"ingest": "pseudonym secrets", "notify": "secrets", "admin": "secrets", "process": "", "read": "secrets", "verify": "",
}

// TestDeployGivesEachRoleItsKeys: Kubernetes, systemd and Compose give each role its own secret with only the keys that
// the role needs.
func TestDeployGivesEachRoleItsKeys(t *testing.T) {
	t.Parallel()
	named := func(pattern, text string) string {
		found := map[string]bool{}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found[strings.ToLower(m[1])] = true
		}
		return strings.Join(slices.Sorted(maps.Keys(found)), " ")
	}
	same := func(where, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s has %q, want %q", where, got, want)
		}
	}
	made := deployFile(t, "kubernetes/kustomization.yaml")
	compose := deployFile(t, "compose.yaml")
	for role, keys := range keysOf {
		manifest := "kubernetes/" + role + ".yaml"
		if role == "admin" {
			manifest = "kubernetes/admin/job.yaml"
		}
		text := deployFile(t, manifest)
		same(manifest+": secrets", named(`secretName: ([\w-]+)`, text), "svc-"+role)
		same(manifest+": secrets by variable", named(`(secretKeyRef|secretRef)`, text), "")
		same(manifest, named(`name: SVC_(PSEUDONYM|SECRETS)_KEY`, text), keys)
		own := regexp.MustCompile(`secret svc-` + role + `\b[^;\n]*`).FindString(made)
		if own == "" {
			t.Errorf("kustomization.yaml makes no secret of %s", role)
		}
		same("kustomization.yaml: "+role, named(`--from-literal=(pseudonym|secrets)\.key`, own), keys)
		service := regexp.MustCompile(`(?m)^  ` + role + `(?:-1)?:\n(    .*\n)+`).FindString(compose)
		if service == "" {
			t.Errorf("compose.yaml has no %s", role)
		}
		same("compose.yaml: "+role, named(`\*(pseudonym|secrets)`, service), keys)
	}
	same("config.env", named(`(PSEUDONYM|SECRETS)_KEY`, deployFile(t, "kubernetes/config.env")), "")
	same("svc@.service", named(`(LoadCredential|SVC_PSEUDONYM_KEY|SVC_SECRETS_KEY)`, deployFile(t, "systemd/svc@.service")), "")
	for _, role := range []string{"ingest", "notify", "read"} {
		text := deployFile(t, "systemd/svc@"+role+".service.d/keys.conf")
		same("systemd: "+role, named(`LoadCredential=(pseudonym|secrets)\.key`, text), keysOf[role])
		same("systemd: variables of "+role, named(`SVC_(PSEUDONYM|SECRETS)_KEY_FILE=%d`, text), keysOf[role])
	}
}

// TestSystemdNeverGivesUp: systemd restarts a role no matter how quickly or how often it fails.
func TestSystemdNeverGivesUp(t *testing.T) {
	t.Parallel()
	unit, service, _ := strings.Cut(deployFile(t, "systemd/svc@.service"), "[Service]")
	if !strings.Contains(unit, "\nStartLimitIntervalSec=0\n") || !strings.Contains(service, "\nRestart=always\n") {
		t.Error("systemd gives up")
	}
}
