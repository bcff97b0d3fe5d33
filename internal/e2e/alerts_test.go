package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// surge makes the unit red: it reports two patients in labor and only one nurse on duty.
func (d *desk) surge() {
	d.t.Helper()
	d.p.accepted(d.t, "census", `{"totalRooms":4,"rooms":[
		{"roomId":1,"roomLabel":"LDR 1","area":"L&D","status":"occupied","primaryFactor":"labor-standard"},
		{"roomId":2,"roomLabel":"Canary, Anna","area":"L&D","status":"occupied","primaryFactor":"labor-standard"},
		{"roomId":3,"roomLabel":"LDR 3","area":"L&D","status":"empty"}]}`)
	d.p.accepted(d.t, "staffing", `{"nursesOnDuty":1,"callStaffAvailable":true}`)
}

// onDuty adds a charge nurse and a director as recipients. An alert escalates to the director if the charge nurse
// does not acknowledge it within a minute.
func (d *desk) onDuty(hospital string) {
	d.t.Helper()
	charge := d.say("alerts", "add", "--label", "Charge nurse", "--email", "charge@"+hospital+".example", "--phone", "+15550100")
	director := d.say("alerts", "add", "--label", "Director", "--email", "director@"+hospital+".example")
	for _, tier := range []string{"T2", "T3"} {
		d.say("alerts", "set-tier", tier, "--recipients", charge, "--escalate-to", director, "--ack", "1")
	}
}

var ackLink = regexp.MustCompile(`https?://\S+/a/[0-9A-Z]{12}`)

// acknowledge opens the acknowledgment link of an alert, checks that opening the link changes nothing, and then
// acknowledges the alert.
func (d *desk) acknowledge(link string) {
	d.t.Helper()
	open := func(method string) (page string) {
		d.t.Helper()
		eventually(d.t, 20*time.Second, func() error { // on a 503, the page asks the user to try again
			request, err := http.NewRequest(method, link, http.NoBody)
			if err != nil {
				d.t.Fatal(err)
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				d.t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			switch page = string(text); {
			case err != nil:
				return err
			case answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "":
				return fmt.Errorf("%s of the link: %d", method, answer.StatusCode)
			case answer.StatusCode != http.StatusOK:
				d.t.Fatalf("%s of the link: %d", method, answer.StatusCode)
			}
			return nil
		})
		return page
	}
	eventually(d.t, 10*time.Second, func() error {
		if page := open(http.MethodGet); !strings.Contains(page, "has not been acknowledged yet") {
			return fmt.Errorf("the page says %s", page)
		}
		return nil
	})
	if out := d.say("alerts", "episodes"); strings.Contains(out, "by link") {
		d.t.Errorf("a look has answered:\n%s", out)
	}
	page := open(http.MethodPost)
	if !strings.Contains(page, "Acknowledged at") && !strings.Contains(page, "Your acknowledgment was received") || strings.Contains(page, "Canary") {
		d.t.Errorf("the page says %s", page)
	}
	listed := func() error {
		if out := d.say("alerts", "episodes"); !strings.Contains(out, "by link") {
			return fmt.Errorf("episodes:\n%s", out)
		}
		return nil
	}
	// If the page already says "Acknowledged at", the acknowledgment is stored, so the list of episodes must contain
	// it.
	if err := listed(); err != nil && strings.Contains(page, "Acknowledged at") {
		d.t.Error(err)
	}
	eventually(d.t, 10*time.Second, listed)
}

// TestDevAlerts: a new user adds recipients, makes the unit red, and reads in /dev/outbox the messages that a
// production system would send.
func TestDevAlerts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dev := startDev(t, dir, "--ephemeral")
	p := newPartner(dev.BaseURL, dev.HospitalID, dev.APIKey)
	d := &desk{t: t, p: p, args: []string{"--data", dir}}
	d.onDuty("dev")
	d.surge()
	var box struct {
		Items []struct{ Channel, To, Subject, Text, Link string }
	}
	eventually(t, 10*time.Second, func() error {
		answer, err := http.Get(dev.BaseURL + "/dev/outbox.json")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&box); err != nil || len(box.Items) < 2 {
			return fmt.Errorf("%d messages, %w", len(box.Items), err)
		}
		return nil
	})
	for _, m := range box.Items {
		if said := m.Subject + m.Text; m.Link == "" || !strings.Contains(said, "RED") || strings.Contains(said, "Canary") {
			t.Errorf("%s to %s: %q %q", m.Channel, m.To, m.Subject, m.Text)
		}
	}
	page, err := http.Get(dev.BaseURL + "/dev/outbox")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	if html, err := io.ReadAll(page.Body); err != nil || !strings.Contains(string(html), "charge@dev.example") {
		t.Errorf("the page: %v %s", err, html)
	}
	d.acknowledge(box.Items[0].Link)
}

// TestDevLastWord: the level of a unit changes several times within seconds and ends at red. A digest of the changes
// must be sent, and the last e-mail to the charge nurse must say that the unit is red.
func TestDevLastWord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dev := startDev(t, dir, "--ephemeral")
	p := newPartner(dev.BaseURL, dev.HospitalID, dev.APIKey)
	d := &desk{t: t, p: p, args: []string{"--data", dir}}
	d.onDuty("dev")
	d.surge()
	for _, nurses := range []int{9, 1, 9, 1, 9, 1, 9, 1} {
		p.accepted(t, "staffing", fmt.Sprintf(`{"nursesOnDuty":%d}`, nurses))
	}
	var level struct{ Level string }
	into(t, p.get(t, "/api/v1/level").Data, &level)
	if level.Level != "red" {
		t.Fatalf("the unit is %s", level.Level)
	}
	var box struct {
		Items []struct {
			Channel, To, Subject string
			At                   time.Time
		}
	}
	eventually(t, 10*time.Second, func() error {
		answer, err := http.Get(dev.BaseURL + "/dev/outbox.json")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&box); err != nil {
			return err
		}
		last, digest := "", false
		for _, m := range box.Items { // newest first
			digest = digest || strings.Contains(m.Subject, "Level changing often") && strings.Contains(m.Subject, "(worst RED)")
			if m.Channel == "email" && last == "" && m.To == "charge@dev.example" {
				last = m.Subject
			}
		}
		if !digest { // a red subject alone proves nothing, because the first alert was red, too
			return fmt.Errorf("no digest that says how bad it was: %+v", box.Items)
		}
		if !strings.HasPrefix(last, "[RED]") {
			return fmt.Errorf("the last word is %q of %+v", last, box.Items)
		}
		return nil
	})
}

// TestAlertsOnServers repeats TestDevAlerts on a real Kafka and Redis, with a real SMTP server and an SMS gateway.
// One unit acknowledges its alert; the alert of the other unit escalates to the director.
func TestAlertsOnServers(t *testing.T) {
	needServers(t)
	t.Parallel() // the test waits until an alert is escalated
	relay := startRelay(t)
	gateway := &smsGateway{t: t}
	provider := httptest.NewServer(gateway)
	defer provider.Close()
	s := startSystemWith(t, []string{
		"SVC_SECRETS_KEY=a key for tests, 32 characters and more",
		"SVC_SMS_DRIVER=http", "SVC_SMS_URL=" + provider.URL + "/send", "SVC_SMS_TOKEN=" + gatewayToken,
	}, "north", "south")
	s.processor("p1")
	private := "127.0.0.1:" + mustFreePort(t)
	notify := start(t, "notify", []string{
		"notify", "--instance", "n1", "--private-listen", private, "--public-url", s.base,
		"--smtp-host", "127.0.0.1", "--smtp-port", relay.port, "--smtp-ca", relay.ca, "--smtp-from", "svc@north.example", "--smtp-user", "svc", "--smtp-password", "secret",
	}, s.env...)
	notify.await("http://" + private + "/readyz")
	desks := map[string]*desk{}
	for i, hospital := range []string{"north", "south"} {
		key := cli(t, s.env, "keys", "mint", "--hospital", hospital, "--name", "admin", "--scopes", "admin", "--rate", "0")
		d := &desk{t: t, p: s.partners[i], admin: newPartner(s.base, hospital, key), args: []string{"--api", s.base, "--key", key}}
		d.admin.honored(t)
		d.onDuty(hospital)
		d.surge()
		desks[hospital] = d
	}
	raise := relay.await(t, "charge@north.example", time.Minute)
	sms := gateway.await(t, "Test north")
	link := ackLink.FindString(raise)
	if link == "" || !strings.Contains(sms.Text, link) {
		t.Fatalf("no link in the e-mail, or another in the SMS %q:\n%s", sms.Text, raise)
	}
	desks["north"].acknowledge(link)
	if relay.login() != "svc:secret" {
		t.Error("no login at the relay")
	}

	// The provider reports later that the SMS did not arrive.
	gateway.receipt(t, s.base, sms, "failed")
	eventually(t, 10*time.Second, func() error {
		var list struct {
			Items []struct{ Channel, State, Reason string }
		}
		into(t, desks["north"].admin.get(t, "/api/admin/deliveries?channel=sms").Data, &list)
		if len(list.Items) == 0 || list.Items[0].State != "failed" || list.Items[0].Reason != "receipt" {
			return fmt.Errorf("listed %+v", list.Items)
		}
		return nil
	})

	// South's alert was raised after north's. By the time south's alert escalates, an escalation of north's alert
	// would have been sent, too.
	relay.await(t, "director@south.example", 2*time.Minute)
	if n := relay.count("director@north.example"); n != 0 {
		t.Errorf("escalated %d times though answered", n)
	}
	if n := relay.count("charge@north.example"); n != 1 {
		t.Errorf("%d e-mails to one recipient of one raise", n)
	}
	texts := []string{"charge@", "director@", "15550100"}
	canaries(t, s.kafka.address, s.prefix, texts...)
	findCanary(t, "the log", s.front.logged()+notify.logged(), append(texts, "Canary", link[strings.LastIndexByte(link, '/')+1:]))
	findCanary(t, "an e-mail", strings.Join(relay.all(), "\n"), []string{"Canary"})
}
