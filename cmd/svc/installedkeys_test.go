package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/admin/settings"
	"svc/internal/config"
	"svc/internal/lifecycle"
	"svc/internal/outbound/subscriber"
	"svc/internal/seal"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/schemas"
	"svc/schemas/administration"
)

const (
	oneKey     = "one key of the tests, of 32 characters and more"
	anotherKey = "another key of the tests, of 32 characters and more"
)

// installation is a new embedded Kafka and Redis for the processes of a test.
type installation struct {
	t            *testing.T
	kafka, redis string
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	kafka, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kafka.Close)
	redis, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Close)
	return &installation{t, kafka.Addr(), redis.URL()}
}

// start runs the given roles until the test ends or stop is called.
func (i *installation) start(names string, change func(*config.Config)) (h *service, stop func()) {
	i.t.Helper()
	c := &config.Config{
		Instance: names, Kafka: []string{i.kafka}, Partitions: 1, Redis: i.redis,
		PseudonymKey: oneKey, SecretsKey: oneKey, ShutdownWithin: time.Second, Leave: true,
	}
	if names == "notify" {
		c.PseudonymKey = ""
	}
	if change != nil {
		change(c)
	}
	h = newService(c, slog.New(slog.DiscardHandler), time.Now)
	if err := h.build(i.t.Context(), strings.Split(names, ",")); err != nil {
		i.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- lifecycle.RunAll(ctx, 2*time.Minute, nil, h.Loops) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			i.t.Error(err)
		}
		h.close()
	})
	i.t.Cleanup(stop)
	return h, stop
}

// await waits until the key check of a process has a result. want is a substring of the expected error, or "" if the
// check must succeed.
func (i *installation) await(h *service, want string) {
	i.t.Helper()
	var fault error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		var moved <-chan struct{}
		if moved, fault = h.keyCheck.State(); want == "" && fault == nil || want != "" && fault != nil && strings.Contains(fault.Error(), want) {
			return
		}
		select {
		case <-moved:
		case <-time.After(time.Second):
		}
	}
	i.t.Fatalf("the keys: %v, want %q", fault, want)
}

// allReady reports whether the process is ready to open its public port.
func (h *service) allReady() bool {
	for _, ready := range h.Ready {
		select {
		case <-ready:
		default:
			return false
		}
	}
	return true
}

// TestKeysOfAnInstallation: the first start sets the keys of the installation. A process with a different key does not
// become ready, and reports which key differs.
func TestKeysOfAnInstallation(t *testing.T) {
	i := newInstallation(t)
	first, _ := i.start("ingest", nil)
	i.await(first, "")
	for name, tt := range map[string]struct {
		role   string
		change func(*config.Config)
		want   string
	}{
		"the same":                  {"ingest", nil, ""},
		"another secrets key":       {"ingest", func(c *config.Config) { c.SecretsKey = anotherKey }, "the secrets key ("},
		"another pseudonym key":     {"ingest", func(c *config.Config) { c.PseudonymKey = anotherKey }, "the pseudonym key ("},
		"both":                      {"ingest", func(c *config.Config) { c.PseudonymKey, c.SecretsKey = anotherKey, anotherKey }, "the pseudonym key ("},
		"the right one as an older": {"ingest", func(c *config.Config) { c.SecretsKey, c.SecretsKeyOld = anotherKey, []string{oneKey} }, ""},
		"no secrets key to set any": {"ingest", func(c *config.Config) { c.SecretsKey = "" }, ""},
		"notify":                    {"notify", nil, ""},
		"notify with another":       {"notify", func(c *config.Config) { c.SecretsKey = anotherKey }, "the secrets key ("},
		"notify with none":          {"notify", func(c *config.Config) { c.SecretsKey = "" }, "the secrets key is missing"},
		"process needs none":        {"process", func(c *config.Config) { c.SecretsKey, c.PseudonymKey = "", "" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			one := &installation{t, i.kafka, i.redis}
			h, stop := one.start(tt.role, tt.change)
			one.await(h, tt.want)
			if tt.want != "" && (h.allReady() || strings.Contains(fmt.Sprint(h.Health.Lines(t.Context(), nil)), "key of the tests")) {
				t.Errorf("its port opens, or it tells the key: %v", h.Health.Lines(t.Context(), nil))
			}
			if lines := strings.Join(h.Health.Lines(t.Context(), nil), "\n"); (tt.want != "") != strings.Contains(lines, "keys: ") {
				t.Errorf("/readyz says %s", lines)
			}
			stop()
		})
	}
}

// TestFirstStartsAtOnce: processes with different keys start at the same time on an empty installation. One process
// sets the key, and the others report a difference.
func TestFirstStartsAtOnce(t *testing.T) {
	for range 3 {
		i := newInstallation(t)
		const n = 6
		services := make([]*service, n)
		for at := range services {
			services[at], _ = i.start("ingest", func(c *config.Config) {
				c.Instance = fmt.Sprint(at)
				c.SecretsKey = fmt.Sprintf("%s %d", oneKey, at)
				c.PseudonymKey = fmt.Sprintf("%s %d", anotherKey, at)
			})
		}
		for id, key := range map[string]string{settings.SecretsKey: "secrets key", settings.PseudonymKey: "pseudonym key"} {
			differ := 0
			for _, h := range services {
				i.awaitCompared(h, id, key)
				_, fault := h.keyCheck.State()
				if fault != nil && strings.Contains(fault.Error(), "the "+key+" (") {
					differ++
				}
			}
			if differ != n-1 {
				t.Fatalf("%d of %d processes have another %s", differ, n, key)
			}
		}
	}
}

// awaitCompared waits until a process has compared its keys with the installation's.
func (i *installation) awaitCompared(h *service, id, key string) {
	i.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		moved, fault := h.keyCheck.State()
		known, is := h.settings.Installed(id)
		_, both := h.settings.Installed(settings.PseudonymKey)
		own, err := seal.NewKeyring(map[string]string{settings.SecretsKey: h.config.SecretsKey, settings.PseudonymKey: h.config.PseudonymKey}[id])
		if err != nil {
			i.t.Fatal(err)
		}
		ours := is && known == own.Fingerprint()
		says := fault != nil && strings.Contains(fault.Error(), "the "+key+" (")
		if is && both && ours != says && (fault == nil || strings.Contains(fault.Error(), "is not the key of the installation")) {
			return
		}
		select {
		case <-moved:
		case <-time.After(100 * time.Millisecond):
		}
	}
	_, fault := h.keyCheck.State()
	i.t.Fatalf("it does not settle: %v", fault)
}

// TestNotifyWithAnotherKeyTakesNothing: a notifier with a wrong key owns no partitions, so that a
// notifier with the right key can own them.
func TestNotifyWithAnotherKeyTakesNothing(t *testing.T) {
	i := newInstallation(t)
	front, _ := i.start("ingest", nil)
	i.await(front, "")
	wrong, _ := i.start("notify", func(c *config.Config) { c.Instance, c.SecretsKey = "wrong", anotherKey })
	i.await(wrong, "the secrets key (")
	right, _ := i.start("notify", func(c *config.Config) { c.Instance = "right" })
	took := func(h *service) bool {
		return !strings.Contains(strings.Join(h.Health.Lines(t.Context(), nil), "\n"), "no partition acquired")
	}
	for end := time.Now().Add(time.Minute); !took(right); {
		if time.Now().After(end) {
			t.Fatal("the right one takes up nothing")
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
	if took(wrong) {
		t.Error("the wrong one has taken up a partition")
	}
}

// TestPseudonymKeyIsWrapped: pseudonyms do not change when the pseudonym key changes.
func TestPseudonymKeyIsWrapped(t *testing.T) {
	i := newInstallation(t)
	first, stop := i.start("ingest", nil)
	i.await(first, "")
	before := first.pseudonyms.Pseudonym("north", "visit", "VN1")
	stop()
	h, stop := i.start("ingest", func(c *config.Config) { c.PseudonymKey, c.PseudonymsOld = anotherKey, []string{oneKey} })
	i.await(h, "")
	if got := h.pseudonyms.Pseudonym("north", "visit", "VN1"); got != before {
		t.Errorf("one visit is %s and %s", before, got)
	}
	stop()
}

// secrets runs a subcommand of svc secrets on the installation.
func (i *installation) secrets(verb string, lookup ...string) (code int, said string) {
	i.t.Helper()
	var out bytes.Buffer
	code = run(i.t.Context(), append([]string{"secrets"}, strings.Fields(verb)...), env{
		LookupEnv: environment(append(lookup, "SVC_KAFKA", i.kafka)...), Stdout: &out, Stderr: &out, Now: time.Now,
	})
	return code, out.String()
}

// TestRotationOfTheSecretsKey: during a rotation, processes that have both keys keep working. svc secrets reseal
// makes the new key the installation's key and reseals all settings with it. After that, the old key is no longer
// needed.
func TestRotationOfTheSecretsKey(t *testing.T) {
	i := newInstallation(t)
	address := func(h *service) string {
		p, ok := h.settings.Subscribers.Recipient("north", "rcp_1")
		if !ok {
			return "none"
		}
		return p.Email
	}
	both := func(c *config.Config) {
		c.Instance, c.SecretsKey, c.SecretsKeyOld = "both", anotherKey, []string{oneKey}
	}
	before, _ := i.start("ingest", nil)
	i.await(before, "")
	if err := before.settings.PutRecipient(t.Context(), math.MaxInt64, &subscriber.Recipient{
		ID: "rcp_1", Hospital: "north", Label: "Charge nurse", Email: "charge@north.example", EmailShown: "c***", Version: 1, CreatedAt: time.UnixMilli(1),
	}); err != nil {
		t.Fatal(err)
	}
	during, _ := i.start("ingest", both)
	i.await(during, "")
	// Until the reseal, a process with both keys seals with the old key, so processes without the new key can open
	// the values.
	if err := during.settings.PutRecipient(t.Context(), math.MaxInt64, &subscriber.Recipient{
		ID: "rcp_1", Hospital: "north", Label: "Charge nurse", Email: "nurse@north.example", EmailShown: "n***", Version: 2, CreatedAt: time.UnixMilli(1),
	}); err != nil {
		t.Fatal(err)
	}
	third, stop := i.start("ingest", func(c *config.Config) { c.Instance = "third" })
	i.await(third, "")
	if got := address(third); got != "nurse@north.example" {
		t.Errorf("without the new key it reads %q", got)
	}
	stop()
	if code, said := i.secrets("reseal", "SVC_SECRETS_KEY", anotherKey); code == 0 || !strings.Contains(said, "add it with --secrets-key-old") {
		t.Errorf("without the old key: %d, %s", code, said)
	}
	if code, said := i.secrets("reseal", "SVC_SECRETS_KEY", anotherKey, "SVC_SECRETS_KEY_OLD", oneKey); code != 0 || said != "re-encrypted: 1 of 1 webhooks and recipients\n" {
		t.Fatalf("%d, %s", code, said)
	}
	if code, said := i.secrets("status", "SVC_SECRETS_KEY", anotherKey); code != 0 {
		t.Errorf("%d, %s", code, said)
	}
	i.await(before, "the secrets key (")
	i.await(during, "")
	after, _ := i.start("ingest", func(c *config.Config) { c.Instance, c.SecretsKey = "after", anotherKey })
	i.await(after, "")
	if got := address(after); got != "nurse@north.example" {
		t.Errorf("with the new key alone it reads %q", got)
	}
	// If the installation's key is lost, svc secrets reseal --lost sets a different key, and the sealed values must
	// be entered again.
	const lastKey = "a third key of the tests, of 32 characters and more"
	if code, said := i.secrets("reseal --lost", "SVC_SECRETS_KEY", lastKey); code != 1 || !strings.Contains(said, "encrypted with a key that is not configured: 1") {
		t.Errorf("lost: %d, %s", code, said)
	}
	lost, _ := i.start("ingest", func(c *config.Config) { c.Instance, c.SecretsKey = "lost", lastKey })
	i.await(lost, "")
	i.await(after, "the secrets key (")
	if p, ok := lost.settings.Subscribers.Recipient("north", "rcp_1"); !ok || p.Email != "" || p.EmailShown != "n***" {
		t.Errorf("recipient %+v", p)
	}
}

// TestRotationOfThePseudonymKey: pseudonyms do not change, so a visit that spans the rotation remains one visit.
func TestRotationOfThePseudonymKey(t *testing.T) {
	i := newInstallation(t)
	visit := func(h *service) string { return h.pseudonyms.Pseudonym("north", "visit", "VN1") }
	before, _ := i.start("ingest", nil)
	i.await(before, "")
	if code, said := i.secrets("rewrap", "SVC_PSEUDONYM_KEY", anotherKey); code != 1 || !strings.Contains(said, "give the current key of the installation with --pseudonym-key-old") {
		t.Errorf("without the old key: %d, %s", code, said)
	}
	if code, said := i.secrets("rewrap", "SVC_PSEUDONYM_KEY", anotherKey, "SVC_PSEUDONYM_KEY_OLD", oneKey); code != 0 || strings.Contains(said, "tests") {
		t.Fatalf("%d, %s", code, said)
	}
	i.await(before, "the pseudonym key (") // the process reports its outdated key, but computes the same pseudonyms
	after, _ := i.start("ingest", func(c *config.Config) { c.Instance, c.PseudonymKey = "after", anotherKey })
	i.await(after, "")
	if visit(before) != visit(after) {
		t.Errorf("one visit is %s and %s", visit(before), visit(after))
	}
	// If an older release used a key without storing its fingerprint, the first start with both keys uses the old key
	// for pseudonyms.
	old := newInstallation(t)
	upgraded, _ := old.start("ingest", func(c *config.Config) { c.PseudonymKey, c.PseudonymsOld = anotherKey, []string{oneKey} })
	old.await(upgraded, "")
	if visit(upgraded) != visit(before) {
		t.Error("a first start with both keys takes the new one for what was used before")
	}
}

// TestSettingsOfAnotherRelease: a different release wrote the settings in a form that this release cannot read. The
// process does not become ready, and does not ask for a different key.
func TestSettingsOfAnotherRelease(t *testing.T) {
	i := newInstallation(t)
	first, stop := i.start("ingest", nil)
	i.await(first, "")
	key := []byte(administration.InstalledKeys + settings.SecretsKey)
	if _, err := first.cluster.Publisher(first.config.Topic(schemas.Settings())).Append(t.Context(), key, []byte("\xC3\x01 as single objects"), 0); err != nil {
		t.Fatal(err)
	}
	stop()
	later, _ := i.start("ingest", nil)
	i.await(later, "written by another release")
	if later.allReady() {
		t.Error("it is ready")
	}
}
