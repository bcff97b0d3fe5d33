package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver is the endpoint of a partner. It stores its requests.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	status int // status of the responses; 0 means 204
}

type received struct {
	header http.Header
	body   string
	event  struct{ ID, Event, HospitalID, Level string }
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	one := received{header: q.Header, body: string(body)}
	if err == nil {
		err = json.Unmarshal(body, &one.event)
	}
	if err != nil { // not an event; a test that waits for an event reports the error
		http.Error(w, "no event", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got = append(r.got, one); r.status != 0 {
		w.WriteHeader(r.status)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// all returns the requests with the given event type that have arrived so far.
func (r *receiver) all(event string) (some []received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.got {
		if one.event.Event == event {
			some = append(some, one)
		}
	}
	return some
}

// await waits for the n-th request with the given event type.
func (r *receiver) await(t testing.TB, event string, n int) received {
	t.Helper()
	eventually(t, time.Minute, func() error {
		if got := r.all(event); len(got) < n {
			return fmt.Errorf("%d of %d requests of %s", len(got), n, event)
		}
		return nil
	})
	return r.all(event)[n-1]
}

// verifies reports whether a request is signed with a secret, in X-Svc-Signature (plain) and in one of the Standard
// Webhooks signatures (standard). It follows the documentation and does not use the signing code.
func (r *received) verifies(secret string) (plain, standard bool) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(r.body))
	plain = r.header.Get("X-Svc-Signature") == "sha256="+hex.EncodeToString(mac.Sum(nil))
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || !strings.HasPrefix(secret, "whsec_") {
		key = []byte(secret)
	}
	mac = hmac.New(sha256.New, key)
	mac.Write(fmt.Appendf(nil, "%s.%s.%s", r.header.Get("webhook-id"), r.header.Get("webhook-timestamp"), r.body))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for one := range strings.FieldsSeq(r.header.Get("webhook-signature")) {
		standard = standard || one == want
	}
	return plain, standard
}

// desk is an administrator with a command line.
type desk struct {
	t        *testing.T
	p        *partner // client whose key may send feeds and read
	admin    *partner
	args     []string // flags that name the server
	receiver *receiver
}

// run runs a command; wrong reports whether the command failed.
func (d *desk) run(args ...string) (stdout, stderr string, wrong bool) { return d.runIn(nil, args...) }

// runIn is like run, with additional environment variables.
func (d *desk) runIn(env []string, args ...string) (stdout, stderr string, wrong bool) {
	d.t.Helper()
	var out, faults bytes.Buffer
	cmd := exec.Command(binary(d.t), append(args, d.args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &faults
	err := cmd.Run()
	return strings.TrimSpace(out.String()), faults.String(), err != nil
}

// say runs a command and expects success.
func (d *desk) say(args ...string) string {
	d.t.Helper()
	out, faults, wrong := d.run(args...)
	if wrong {
		d.t.Fatalf("svc %s: %s", strings.Join(args, " "), faults)
	}
	return out
}

// TestDevWebhooks tests the life cycle of an endpoint on the command line.
func TestDevWebhooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dev := startDev(t, dir)
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	defer r.Close()
	d := &desk{
		t: t, p: newPartner(dev.BaseURL, dev.HospitalID, dev.APIKey), admin: newPartner(dev.BaseURL, dev.HospitalID, dev.AdminKey),
		args: []string{"--data", dir}, receiver: r,
	}
	secrets := d.life()
	const email, phone = "canary.supervisor@canary.example", "+15550177331"
	d.people(email, phone)

	dev.stop()
	again := startDev(t, dir) // the same key decrypts the sealed secrets
	d.p, d.admin = newPartner(again.BaseURL, again.HospitalID, again.APIKey), newPartner(again.BaseURL, again.HospitalID, again.AdminKey)
	made := d.say("webhooks", "add", r.URL+"/again", "--events", "surge.level_changed")
	before := len(r.all("surge.level_changed"))
	d.p.accepted(t, "staffing", `{"nursesOnDuty":0,"callStaffAvailable":false}`)
	d.p.accepted(t, "staffing", `{"nursesOnDuty":9,"callStaffAvailable":true}`)
	if got := r.await(t, "surge.level_changed", before+1); !both(got.verifies(made)) {
		t.Errorf("after a restart %+v is not signed with the secret", got.header)
	}
	if out := d.say("alerts", "recipients"); !strings.Contains(out, "c***@c***.example") || !strings.Contains(out, "***31") {
		t.Errorf("recipients after a restart:\n%s", out)
	}
	texts := append(secrets, made, email, phone, "0177331", "canary.supervisor")
	canaries(t, again.Kafka, "", texts...)
	u, err := url.Parse(again.Redis)
	if err != nil {
		t.Fatal(err)
	}
	searchRedis(t, u.Host, texts)
	for _, path := range []string{"/api/admin/webhooks", "/api/admin/alerts/recipients", "/api/admin/audit?limit=200", "/api/admin/deliveries?limit=200"} {
		findCanary(t, path, string(d.admin.get(t, path).raw), texts)
	}
	findCanary(t, "the log", dev.logged()+again.logged(), texts)
}

func both(a, b bool) bool { return a && b }

// life follows an endpoint from its creation to its removal: it adds the endpoint, sends test events, rotates the
// secret, retries a delivery, pauses and resumes the endpoint, replays events, and removes the endpoint. It returns
// the secrets that the commands printed.
func (d *desk) life() (secrets []string) {
	t, r := d.t, d.receiver
	t.Helper()
	d.p.accepted(t, "census", `{"totalRooms":4,"rooms":[{"roomId":1,"roomLabel":"LDR 1","status":"occupied","primaryFactor":"labor-standard"},{"roomId":2,"status":"occupied","primaryFactor":"labor-standard"}]}`)
	d.p.accepted(t, "staffing", `{"nursesOnDuty":6,"callStaffAvailable":true}`)

	if out, faults, wrong := d.run("webhooks", "add", "https://169.254.169.254/latest"); !wrong || out != "" || !strings.Contains(faults, "url address_refused") {
		t.Errorf("an address of the cloud: %q %q", out, faults)
	}
	first := d.say("webhooks", "add", r.URL+"/hook?canary=1")
	if !strings.HasPrefix(first, "whsec_") || strings.ContainsAny(first, " \n") {
		t.Fatalf("add prints %q, want the secret alone", first)
	}
	type row struct {
		ID, Status string
		Version    int64
	}
	var list []row
	eventually(t, time.Minute, func() error { // an endpoint's health is known once the notifier has written its lists
		if list = items[row](t, d.say("webhooks", "list", "--json")); len(list) != 1 || list[0].Status != "active" {
			return fmt.Errorf("list %+v", list)
		}
		return nil
	})
	id := list[0].ID

	// Send a test event that the endpoint accepts, and one that it refuses.
	if out := d.say("webhooks", "test", id); !strings.Contains(out, "delivered: ok 204") {
		t.Errorf("test says %q", out)
	}
	if ping := r.await(t, "ping", 1); !both(ping.verifies(first)) || ping.event.HospitalID != d.p.hospital {
		t.Errorf("the ping is not signed: %v %s", ping.header, ping.body)
	}
	r.answer(http.StatusTeapot)
	if out, faults, wrong := d.run("webhooks", "test", id, "--event", "room.rescored"); !wrong || !strings.Contains(faults, "status 418") {
		t.Errorf("a test that is refused: %q %q", out, faults)
	}
	r.answer(0)

	// The list of deliveries must contain the event under the event's id.
	d.p.accepted(t, "staffing", `{"nursesOnDuty":1,"callStaffAvailable":false}`)
	event := r.await(t, "surge.level_changed", 1)
	if !both(event.verifies(first)) || event.event.ID != event.header.Get("webhook-id") {
		t.Errorf("the event is not signed: %v %s", event.header, event.body)
	}
	type delivery struct{ ID, EventID, Event, State string }
	delivered := func(of string) (found delivery) {
		t.Helper()
		eventually(t, time.Minute, func() error {
			all := items[delivery](t, d.say("webhooks", "deliveries", id, "--json", "--event", of, "--state", "delivered"))
			if len(all) == 0 {
				return fmt.Errorf("no %s is listed", of)
			}
			found = all[0]
			return nil
		})
		return found
	}
	one := delivered("surge.level_changed")
	if one.EventID != event.event.ID {
		t.Errorf("listed %+v, received %s", one, event.event.ID)
	}
	if out := d.say("webhooks", "deliveries", one.ID); !strings.Contains(out, "ok") || !strings.Contains(out, "204") {
		t.Errorf("the delivery: %s", out)
	}

	// During the overlap, the Standard Webhooks header contains a signature with each secret. X-Svc-Signature
	// contains only the signature with the old secret.
	second := d.say("webhooks", "rotate", id, "--overlap", "1h")
	if out := d.say("webhooks", "show", id); !strings.Contains(out, "next until") || !strings.Contains(out, "current until") || strings.Contains(out, second) {
		t.Errorf("show after a rotation:\n%s", out)
	}
	d.say("webhooks", "retry", one.ID)
	again := r.await(t, "surge.level_changed", 2)
	oldPlain, oldStandard := again.verifies(first)
	newPlain, newStandard := again.verifies(second)
	if !oldPlain || !oldStandard || newPlain || !newStandard {
		t.Errorf("in the overlap: old %t %t, new %t %t", oldPlain, oldStandard, newPlain, newStandard)
	}
	if again.body != event.body || again.header.Get("webhook-id") != event.header.Get("webhook-id") {
		t.Errorf("a retry is another request: %s", again.body)
	}

	// While paused, the endpoint gets nothing. The missed events are sent once it is enabled again.
	d.say("webhooks", "set", id, "--enabled", "false", "--events", "surge.level_changed", "--if-version", "2")
	if out := d.say("webhooks", "list"); !strings.Contains(out, "disabled (paused)") {
		t.Errorf("list of a paused one:\n%s", out)
	}
	d.p.accepted(t, "staffing", `{"nursesOnDuty":9,"callStaffAvailable":true}`)
	if _, faults, wrong := d.run("webhooks", "set", id, "--enabled", "true", "--if-version", "2"); !wrong || !strings.Contains(faults, "names another version than the current one") {
		t.Errorf("an old version: %s", faults)
	}
	d.say("webhooks", "set", id, "--enabled", "true")
	r.await(t, "surge.level_changed", 3)
	delivered("surge.level_changed")

	// Replay all events, then remove the endpoint.
	seen := len(r.all("surge.level_changed"))
	would := strings.TrimSpace(d.say("webhooks", "replay", id, "--since", "1h", "--events", "surge.level_changed", "--only", "all", "--dry-run"))
	if len(r.all("surge.level_changed")) != seen {
		t.Errorf("a dry run has sent something: %d, then %d", seen, len(r.all("surge.level_changed")))
	}
	var replay struct{ Delivered, Failed, Count int }
	into(t, []byte(d.say("webhooks", "replay", id, "--since", "1h", "--events", "surge.level_changed", "--only", "all", "--wait", "60s", "--json")), &replay)
	if would != strconv.Itoa(replay.Count) {
		t.Errorf("the dry run counts %s: %+v", would, replay)
	}
	if replay.Delivered == 0 || replay.Failed != 0 || replay.Delivered != replay.Count || len(r.all("surge.level_changed")) != seen+replay.Count {
		t.Errorf("replay %+v, received %d and then %d", replay, seen, len(r.all("surge.level_changed")))
	}
	if out := d.say("webhooks", "remove", id); out != "removed "+id {
		t.Errorf("remove says %q", out)
	}
	if _, faults, wrong := d.run("webhooks", "show", id); !wrong || !strings.Contains(faults, "no resource with this id") {
		t.Errorf("a removed one is shown: %s", faults)
	}
	var audit struct {
		Items []struct{ Action, Subject string }
	}
	into(t, d.admin.get(t, "/api/admin/audit?action=webhook.&limit=200").Data, &audit)
	var acts []string
	for _, a := range audit.Items {
		acts = append([]string{a.Action}, acts...)
	}
	const want = "webhook.create webhook.test webhook.test webhook.rotate webhook.change webhook.change webhook.replay webhook.delete"
	if got := strings.Join(acts, " "); got != want {
		t.Errorf("audit %s\nwant  %s", got, want)
	}
	return []string{first, second}
}

// people configures the recipients of alerts.
func (d *desk) people(email, phone string) {
	t := d.t
	t.Helper()
	id := d.say("alerts", "add", "--label", "House supervisor", "--email", email, "--phone", phone)
	if !strings.HasPrefix(id, "rcp_") {
		t.Fatalf("add prints %q", id)
	}
	if out := d.say("alerts", "recipients"); strings.Contains(out, email) || !strings.Contains(out, "c***@c***.example") || !strings.Contains(out, "***31") {
		t.Errorf("recipients:\n%s", out)
	}
	if out := d.say("alerts", "set-tier", "T2", "--recipients", id, "--ack", "7"); !strings.Contains(out, "7 min") || !strings.Contains(out, "30 min") || !strings.Contains(out, id) {
		t.Errorf("set-tier:\n%s", out)
	}
	if out := d.say("alerts", "tiers"); strings.Count(out, "\n") != 3 || !strings.Contains(out, id) {
		t.Errorf("tiers:\n%s", out)
	}
	if _, faults, wrong := d.run("alerts", "remove", id); !wrong || !strings.Contains(faults, "T2 in_use") {
		t.Errorf("remove who is called: %s", faults)
	}
	if out := d.say("alerts", "episodes"); strings.Count(out, "\n") > 20 {
		t.Errorf("episodes:\n%s", out)
	}
}

// TestWebhooksOnServers repeats TestDevWebhooks on a real Kafka and Redis. The endpoint has a
// private address and HTTPS, as in a hospital's network.
func TestWebhooksOnServers(t *testing.T) {
	needServers(t)
	t.Parallel()
	r, allow, ca := privateReceiver(t, "north")
	s := startSystemWith(t, []string{allow, "SVC_SECRETS_KEY=a key for tests, 32 characters and more"}, "north")
	s.processor("p1")
	private := "127.0.0.1:" + mustFreePort(t)
	notify := start(t, "notify", []string{"notify", "--instance", "n1", "--private-listen", private, "--egress-ca-file", ca}, s.env...)
	notify.await("http://" + private + "/readyz")
	key := cli(t, s.env, "keys", "mint", "--hospital", "north", "--name", "admin", "--scopes", "admin", "--rate", "0")
	d := &desk{t: t, p: s.partners[0], admin: newPartner(s.base, "north", key), args: []string{"--api", s.base, "--key", key}, receiver: r}
	d.admin.honored(t)
	secrets := d.life()
	const email, phone = "canary.supervisor@canary.example", "+15550177331"
	d.people(email, phone)
	texts := append(secrets, email, phone, "0177331", "canary.supervisor")
	canaries(t, s.kafka.address, s.prefix, texts...)
	findCanary(t, "the log", s.front.logged()+notify.logged(), append(texts, "canary=1"))
}

// privateReceiver returns a receiver at a private address with HTTPS, as in a hospital's network. allow is the
// environment variable that permits the address; ca is a file with the receiver's certificate, which clients must
// trust.
func privateReceiver(t *testing.T, hospital string) (r *receiver, allow, ca string) {
	t.Helper()
	r = &receiver{}
	r.Server, ca = serveHTTPS(t, r)
	return r, "SVC_EGRESS_ALLOW=" + hospital + "=" + r.Listener.Addr().String(), ca
}
