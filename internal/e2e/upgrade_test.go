package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/testkit/runtimes"
)

// releaseHeading matches the heading of a release in the changelog.
var releaseHeading = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) `)

// buildBefore returns the path of svc built from an earlier commit, and the commit. E2E_BEFORE names the commit. If
// E2E_BEFORE is not set, the commit is the one that added the latest release to the changelog.
func buildBefore(t *testing.T) (program, commit string) {
	t.Helper()
	commit = os.Getenv("E2E_BEFORE")
	if commit == "" {
		release, err := newestRelease()
		if err != nil {
			t.Fatal(err)
		}
		out, err := git("log", "--reverse", "--format=%H", "-S", "## "+release+" ", "--", "CHANGELOG.md")
		first, _, _ := strings.Cut(out, "\n")
		if err != nil || first == "" {
			t.Skipf("needs the history of the repository since %s: %v", release, err)
		}
		commit = first
	}
	hash, err := git("rev-parse", "--verify", commit+"^{commit}")
	if err != nil {
		t.Fatalf("%v: %s", err, hash)
	}
	return runtimes.Commit(t, filepath.Join("..", ".."), hash, "svc"), hash
}

func newestRelease() (string, error) {
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		return "", err
	}
	found := releaseHeading.FindSubmatch(changelog)
	if found == nil {
		return "", errors.New("the changelog has no release")
	}
	return string(found[1]), nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", "../.."}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestUpgrade replaces every process of the latest release with this build under load, in the order of
// docs/operations.md#starting-upgrading-and-stopping. Both builds run side by side at each step. No input may be lost
// or applied twice, the served state must follow from the log, and every endpoint must receive every event.
func TestUpgrade(t *testing.T) {
	kafka, redis := needServers(t)
	t.Parallel()
	before, commit := buildBefore(t)
	t.Logf("the build before is that of %s", commit)
	hospitals := []string{"north", "south", "west"}
	p := receive(t, hospitals...)
	s := startSystemOf(t, before, kafka, redis, p.env, hospitals...)
	for _, h := range hospitals {
		p.hook(t, s, h, "/"+h+"/a")
		p.hook(t, s, h, "/"+h+"/b")
	}
	processors := []*node{s.processor("p1"), s.processor("p2")}
	notifiers := []*node{s.notifier("n1"), s.notifier("n2")}
	l := feed(t, 60, s.partners...)
	for _, n := range processors {
		<-n.says(restored)
	}
	l.awaitMore(t, 200)
	upgrade := func(of []*node, again func(instance string) *node, says string) {
		for i, n := range of {
			n.stop()
			of[i] = again(n.name)
			if says != "" {
				<-of[i].says(says)
			}
			l.awaitMore(t, 100)
		}
	}

	s.program = ""
	upgrade(processors, s.processor, restored)
	old := s.front
	s.startFront("front of this build")
	newer := make([]*partner, len(s.partners))
	for i, one := range s.partners {
		newer[i] = newPartner(s.base, one.hospital, one.key)
		newer[i].honored(t)
	}
	beside := feed(t, 60, newer...) // both builds ingest, but only this build processes
	beside.awaitMore(t, 100)
	acked := l.finish()
	old.stop()
	s.partners, l = newer, beside
	upgrade(notifiers, s.notifier, "")
	acked = append(acked, l.finish()...)

	s.verify(acked)
	for _, h := range hospitals {
		for _, path := range []string{"/" + h + "/a", "/" + h + "/b"} {
			eventually(t, 2*time.Minute, func() error { return everyEvent(t, s, p, h, path) })
		}
	}
	t.Log(s.cli("verify", "--all")) // fails if anything differs
	for _, one := range s.partners {
		admin := newPartner(s.base, one.hospital, s.cli("keys", "mint", "--hospital", one.hospital, "--name", "admin", "--scopes", "admin", "--rate", "0"))
		admin.honored(t)
		var found struct{ Webhooks []struct{ ID string } }
		if into(t, admin.get(t, "/api/admin/webhooks").Data, &found); len(found.Webhooks) != 2 {
			t.Errorf("%s: %d webhooks", one.hospital, len(found.Webhooks))
		}
	}
}

// everyEvent returns an error if an endpoint did not receive every event of a hospital in order. Bodies from the
// earlier build may be worded differently.
func everyEvent(t *testing.T, s *system, p *partnerSide, hospital, path string) error {
	t.Helper()
	log := readSettled(t, s.partners, s.kafka.address, s.prefix)
	changes := log.changes[hospital]
	ids, _ := log.expected(t, hospital, changes[len(changes)-1].AppliedAt)
	seen, bodies := p.at(path), map[string]string{}
	for i := range seen {
		seen[i].body = ""
	}
	for _, id := range ids {
		bodies[id] = ""
	}
	_, err := complete(seen, ids, bodies)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
