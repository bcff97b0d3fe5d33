package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDevHook follows the steps of a new user: it adds one webhook to the receiver of svc dev and one to svc listen,
// and changes the verdict. Both receivers must show the delivery with a verified signature.
func TestDevHook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dev := startDev(t, dir, "--ephemeral")
	p := newPartner(dev.BaseURL, dev.HospitalID, dev.APIKey)
	d := &desk{t: t, p: p, args: []string{"--data", dir}}
	port := mustFreePort(t)
	secret := d.say("webhooks", "add", "http://127.0.0.1:"+port+"/mine", "--events", "surge.level_changed")
	listener := start(t, "listen", []string{"listen", "--addr", "127.0.0.1:" + port}, "SVC_SECRET="+secret)
	<-listener.says("listening on")
	d.say("webhooks", "add", dev.BaseURL+"/dev/hook")

	p.accepted(t, "census", `{"totalRooms":4,"rooms":[{"roomId":1,"roomLabel":"LDR 1","status":"occupied","primaryFactor":"labor-standard"}]}`)
	p.accepted(t, "staffing", `{"nursesOnDuty":0,"callStaffAvailable":false}`)
	level := p.unitState(t).Level

	type shown struct {
		Items []struct {
			Signature, XSvcSignature, WebhookSignature string
			Times                                      int
			Payload                                    struct{ ID, Event, Level string }
		}
	}
	var page shown
	seen := map[string]string{} // level in the newest delivery, by event type
	eventually(t, time.Minute, func() error {
		answer := p.get(t, "/dev/hook.json")
		if page = (shown{}); answer.status != http.StatusOK {
			return fmt.Errorf("%d %s", answer.status, answer.raw)
		}
		into(t, answer.raw, &page)
		clear(seen)
		for _, item := range slices.Backward(page.Items) {
			seen[item.Payload.Event] = item.Payload.Level
		}
		if seen["surge.level_changed"] != level || seen["room.rescored"] == "" {
			return fmt.Errorf("the page has told %v, the unit is %s", seen, level)
		}
		return nil
	})
	for _, item := range page.Items {
		if item.Signature != "verified" || item.XSvcSignature != "valid" || item.WebhookSignature != "valid" || item.Times != 1 {
			t.Errorf("%+v", item)
		}
	}
	<-listener.says("Level " + level)
	lines := strings.Split(strings.TrimSpace(listener.logged()), "\n")[1:]
	for _, line := range lines {
		if !regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3}  verified  surge\.level_changed  evt_[0-9a-f]{32}  Level `).MatchString(line) {
			t.Errorf("svc listen prints %q", line)
		}
	}
	if html := string(p.get(t, "/dev/hook").raw); !strings.Contains(html, `<span class="verified">`) || strings.Contains(html, secret) {
		t.Error("the page does not show what came, or shows a secret")
	}
	// A replayed delivery is shown as a duplicate.
	eventually(t, time.Minute, func() error {
		out, faults, wrong := d.run("webhooks", "deliveries", "--event", "surge.level_changed", "--state", "delivered", "--json")
		if wrong || !strings.Contains(out, "dlv_") {
			return fmt.Errorf("nothing is listed: %s%s", out, faults)
		}
		d.say("webhooks", "retry", regexp.MustCompile(`dlv_[0-9a-f]{32}`).FindString(out))
		return nil
	})
	eventually(t, time.Minute, func() error {
		if strings.Contains(listener.logged(), "DUPLICATE, 2 times") || strings.Contains(string(p.get(t, "/dev/hook").raw), "received 2 times") {
			return nil
		}
		return fmt.Errorf("no duplicate is shown:\n%s", listener.logged())
	})
	listener.stop()
}
