package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/schemas"
)

// flowHook receives webhooks, and refuses requests to the paths that are set with its method refuse.
type flowHook struct {
	*httptest.Server
	mu      sync.Mutex
	refuses map[string]bool
	got     map[string]int
}

func newFlowHook(t *testing.T) *flowHook {
	t.Helper()
	h := &flowHook{refuses: map[string]bool{}, got: map[string]int{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *flowHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got[r.URL.Path]++
	if h.refuses[r.URL.Path] {
		w.WriteHeader(http.StatusBadRequest)
	}
}

// count returns the number of requests to a path.
func (h *flowHook) count(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got[path]
}

func (h *flowHook) refuse(path string, refuses bool) step {
	return func(*flowing) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.refuses[path] = refuses
	}
}

// flows returns the tasks of an administrator, in an order in which each task finds the data that it needs.
func flows(f *flowing) []flow {
	path := "/" + f.hand.name
	address := f.hook.URL + path
	return []flow{
		{"first run", []step{at(""), has("4 of 6 done"), link("New webhook"), has("Add webhook"), at(""), link("Wall displays"), has("No wall displays yet.")}},
		{"mint", []step{
			at("/keys"), link("New key"), link("EHR interface"), link("HR roster"),
			fill("Name", "Night engine"), fill("Expiration date", "2031-12-31"), fill("Requests per second", "many"),
			pressRefused("Create key"), has("Enter a number"), fill("Requests per second", "5"), press("Create key"), secret("svc_", "/keys"), has("Night engine"),
		}},
		{"rotate", []step{
			at("/keys"), link("Rotate: Night engine"), pick("No overlap"), press("Rotate"), secret("svc_", "/keys"),
		}},
		{"revoke", []step{
			at("/keys"), link("Revoke: Night engine"), fill("Enter the key name to confirm", "Day engine"), pressRefused("Revoke"), has("Your entry does not match"),
			fill("Enter the key name to confirm", "Night engine"), press("Revoke"), has("API key for Night engine revoked."), link("Expired and revoked keys"), has("Night engine"),
		}},
		{"webhook", []step{
			at("/webhooks"), link("New webhook"), fill("Address", "ftp://nobody.example"), pressRefused("Add webhook"), fill("Address", address),
			tick("Ping (test event)"), fill("Rooms", "1, 2"), press("Add webhook"), secret("whsec_", "/webhooks/"), has("active"),
			link("Edit"), fill("Rooms", "3"), press("Save"), has("Webhook saved."),
			link("Rotate secret"), pick("1 hour"), press("Rotate secret"), secret("whsec_", "/webhooks/"), has("also used to sign"),
		}},
		{"test", []step{
			at("/webhooks"), link(address), choose("Test event", "ping"), press("Send test"), has("1 of 1 delivered"), has("webhook-signature"), link(address), choose("Status", "delivered"), press("Show"), has("ping"),
		}},
		{"retry", []step{
			f.hook.refuse(path, true), at("/webhooks"), link(address), choose("Test event", "ping"), press("Send test"), has("1 failed"),
			f.hook.refuse(path, false), link(address), press("Retry: ping*"), has("1 of 1 delivered"),
		}},
		{"replay", []step{
			at("/webhooks"), link(address), link("Replay"), fill("Start", time.Now().Add(-24*time.Hour).UTC().Format("2006-01-02T15:04")), pick("All"),
			press("Count deliveries"), press("Start replay"), has("Complete."),
		}},
		{"recipient", []step{
			at("/alerts"), link("Add recipient"), fill("Role", "Charge nurse"), fill("E-mail", "nobody"), pressRefused("Save"), fill("E-mail", "charge@north.example"),
			press("Save"), has("Charge nurse saved."), link("Charge nurse"), fill("Role", "Head nurse"), fill("Phone number for SMS", "+15555550100"), press("Save"),
			has("Head nurse saved."), press("Test: Head nurse, e-mail"), has("Test sent and accepted."),
		}},
		{"tier", []step{
			at("/alerts"), link("T3"), tick("Notify > Head nurse"), fill("Acknowledge within", "soon"), pressRefused("Save"), fill("Acknowledge within", "7"), press("Save"), has("T3 saved."), has("Head nurse"),
		}},
		{"episode", []step{surgeNow, press("Acknowledge: *"), has("Alert acknowledged.")}},
		{"recipient goes", []step{
			at("/alerts"), link("T3"), tick("Notify > Head nurse"), press("Save"), has("T3 saved."), link("Head nurse"), press("Remove recipient"), has("Recipient removed."),
		}},
		{"feeds", []step{at("/feeds"), link("Census: *"), has("Source: "), link("Feeds"), link("Connect a feed"), link("Create a key"), has("Permissions")}},
		{"dead letters", []step{deadLetterOf, pressRefused("Retry: *"), has("was not applied"), link("Feeds")}},
		{"code", []step{
			at("/terminology"), fill("Search by code", "HIGH_MAG"), press("Search"), link("HIGH_MAG"), pick("high-mag"), press("Preview"), has("Immediate effect of this change"), has("LDR 1"),
			press("Apply"), has("HIGH_MAG now maps to"), press("Undo"), has("Mapping for HIGH_MAG removed."),
		}},
		{"ignored code", []step{
			at("/terminology"), link("QBL"), press("Ignore code"), has("QBL is now ignored."), link("Ignored"), link("QBL"), press("Return to worklist"), has("QBL is back on the worklist."),
		}},
		{"map as a file", []step{
			at("/terminology/map"), link("Import codes"), rows("system,code,factorId", "local,QBL,no-such-factor"), pressRefused("Preview"), has("line 2: factorId"),
			rows("system,code,kind,factorId", "local,QBL,lab,high-mag"), press("Preview"), has("1 row is ready to import."), press("Apply"), has("1 row imported."),
			file("Export as CSV", "QBL", "HIGH_MAG"), link("QBL"), unfold("Conditions and comment"), fill("Comment", "by our laboratory"), press("Apply"), has("by our laboratory"),
			at("/terminology/map"), link("QBL"), press("Preview removal"), has("Immediate effect of this change"), press("Remove mapping"), has("Mapping for QBL removed."),
		}},
		{"location", []step{
			at("/terminology/locations"), link("Confirm: BIRTHCENTER / B9"), fill("Room number", "nine"), pressRefused("Preview"), fill("Room number", "9"),
			press("Preview"), has("Immediate effect of this change"), press("Apply"), has("Location saved."), file("Export as CSV", "BIRTHCENTER", ""),
			link("BIRTHCENTER / B9"), fill("Room label", "Birth 9"), choose("Primary factor for patients here", "Initial triage"), press("Apply"), has("Birth 9"),
			link("BIRTHCENTER / B9"), press("Remove location"), has("Location removed."),
		}},
		{"locations as a file", []step{
			at("/terminology/locations"), link("Import locations"), rows("pointOfCare,room,roomId", "WARD,1,none"), pressRefused("Preview"), has("line 2"),
			rows("pointOfCare,room,roomId", "WARD,1,1"), press("Preview"), has("1 row is ready to import."), press("Apply"), has("1 location saved."), has("WARD / 1"),
		}},
		{"rule", []step{
			at("/rules"), choose("Factor", "Labor"), press("Edit"), fill("Nurses needed", "many"), pressRefused("Preview"), fill("Nurses needed", "2"), press("Preview"),
			has("Immediate effect of this change"), link("Test these values on the last 28 days"), has("Recorded data is replayed twice"), press("Apply"), has("new values saved."),
			at("/rules"), link("Labor"), press("Preview defaults"), has("Immediate effect of this change"), press("Restore defaults"), has("uses its default values again."),
		}},
		{"wall", []step{
			at("/walls"), fill("Display location", "Station 4"), press("Create link"), secret(f.base+"/board/", "/walls"), link("Revoke: Station 4"), press("Revoke"), has("Wall display Station 4 revoked."),
		}},
		{"person", []step{
			dayDesk, link("Edit: day desk"), fill("Name", "evening desk"), choose("Role", "charge nurse"), tick("Block sign-in"), tick("End all sessions now"),
			press("Save"), has("evening desk saved."), has("blocked"),
		}},
		{"invitation", []step{
			at("/users"), fill("Name", "night desk"), press("Create link"), secret(f.base+"/signin/", "/users"), has("Pending invitations"),
			link("Revoke: night desk"), press("Revoke"), has("Invitation for night desk revoked."),
		}},
		{"audit", []step{
			at("/audit"), choose("Action", "API keys"), press("Show"), has("key.mint"), file("Export as CSV", "key.mint", "webhook."), fill("From", "2031-01-01"), press("Show"), has("No audit entries match these filters."),
		}},
		{"webhook goes", []step{
			at("/webhooks"), link(address), link("Delete"), fill("Enter the webhook address to confirm", "http://nobody.example"), pressRefused("Delete"), fill("Enter the webhook address to confirm", address), press("Delete"), has("deleted."), has("No webhooks yet."),
		}},
	}
}

// dayDesk signs in with an operator's link, so that the hospital has a user.
func dayDesk(f *flowing) {
	url := cli(f.t, f.ward.env, append([]string{"admin", "link", "--hospital", f.ward.hospital, "--role", "viewer", "--label", "day desk"}, f.ward.args...)...)
	v := f.b.window(f.t, f.base, viewing{width: 390, height: 844})
	v.signIn(url[strings.Index(url, "/signin/"):])
	at("/users")(f)
}

// surgeNow makes the unit red, and waits for its alert.
func surgeNow(f *flowing) {
	f.ward.accepted(f.t, "staffing", staffing(0, false))
	eventually(f.t, 20*time.Second, func() error {
		at("/alerts/episodes")(f)
		if !strings.Contains(f.main(), "Acknowledge") {
			return fmt.Errorf("no alert: %s", f.main())
		}
		return nil
	})
}

// deadLetterOf writes a record that cannot be applied, and waits until the pages show the dead letter.
func deadLetterOf(f *flowing) {
	writeDeadLetter(f.t, f.kafka, f.prefix, f.ward.hospital)
	eventually(f.t, 20*time.Second, func() error {
		at("/feeds/letters")(f)
		if !strings.Contains(f.main(), "unknown schema") {
			return fmt.Errorf("no dead letter: %s", f.main())
		}
		return nil
	})
	link("unknown schema")(f)
}

// writeDeadLetter appends an unreadable record of a hospital to the log.
func writeDeadLetter(t testing.TB, kafka, prefix, hospital string) {
	t.Helper()
	topic := prefix + schemas.Observations().Name
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r := &kgo.Record{Topic: topic, Key: []byte(hospital), Value: append([]byte{0, 1, 2, 3, 4}, unreadable...), Partition: -1}
	readTopic(t, kafka, topic, func(one *kgo.Record) {
		if string(one.Key) == hospital {
			r.Partition = one.Partition
		}
	})
	if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
}
