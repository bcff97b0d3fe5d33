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

// flowHook receives webhooks. It refuses what comes to a path once it was told to.
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

// count is how many requests have come to a path.
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

// flows are what an administrator does, in an order in which each finds what it needs.
func flows(f *flowing) []flow {
	path := "/" + f.hand.name
	address := f.hook.URL + path
	return []flow{
		{"first run", []step{at(""), see("4 of 6 done"), link("New webhook"), see("Add the webhook"), at(""), link("Wall links"), see("No wall links yet.")}},
		{"mint", []step{
			at("/keys"), link("New key"), link("EHR bridge"), link("HR roster"),
			fill("Name", "Night engine"), fill("Expiration date", "2031-12-31"), fill("Requests per second", "many"),
			pressRefused("Create key"), see("(type"), fill("Requests per second", "5"), press("Create key"), secret("svc_", "/keys"), see("Night engine"),
		}},
		{"rotate", []step{
			at("/keys"), link("Rotate: Night engine"), pick("no time"), press("Rotate"), secret("svc_", "/keys"),
		}},
		{"revoke", []step{
			at("/keys"), link("Revoke: Night engine"), fill("Type the name of the key", "Day engine"), pressRefused("Revoke"), see("The name does not match"),
			fill("Type the name of the key", "Night engine"), press("Revoke"), see("The key of Night engine is revoked."), link("Expired and revoked keys"), see("Night engine"),
		}},
		{"webhook", []step{
			at("/webhooks"), link("New webhook"), fill("Address", "ftp://nobody.example"), pressRefused("Add the webhook"), fill("Address", address),
			tick("Pings"), fill("Rooms", "1, 2"), press("Add the webhook"), secret("whsec_", "/webhooks/"), see("active"),
			link("Change"), fill("Rooms", "3"), press("Save"), see("The webhook is changed."),
			link("Rotate secret"), pick("An hour"), press("Rotate secret"), secret("whsec_", "/webhooks/"), see("signs, too"),
		}},
		{"test", []step{
			at("/webhooks"), link(address), choose("Event to send", "ping"), press("Send test"), see("1 of 1 delivered"), see("webhook-signature"), link(address), choose("State", "delivered"), press("Show"), see("ping"),
		}},
		{"retry", []step{
			f.hook.refuse(path, true), at("/webhooks"), link(address), choose("Event to send", "ping"), press("Send test"), see("1 failed"),
			f.hook.refuse(path, false), link(address), press("Retry: ping*"), see("1 of 1 delivered"),
		}},
		{"replay", []step{
			at("/webhooks"), link(address), link("Replay"), fill("From", time.Now().Add(-24*time.Hour).UTC().Format("2006-01-02T15:04")), pick("Everything"),
			press("Count"), press("Begin the replay"), see("Done."),
		}},
		{"recipient", []step{
			at("/alerts"), link("Add recipient"), fill("Role", "Charge nurse"), fill("E-mail", "nobody"), pressRefused("Save"), fill("E-mail", "charge@north.example"),
			press("Save"), see("Charge nurse is saved."), link("Charge nurse"), fill("Role", "Head nurse"), fill("Number for SMS", "+15555550100"), press("Save"),
			see("Head nurse is saved."), press("Test: Head nurse, e-mail"), see("The channel accepted the test."),
		}},
		{"tier", []step{
			at("/alerts"), link("T3"), tick("Notify > Head nurse"), fill("Acknowledge within", "soon"), pressRefused("Save"), fill("Acknowledge within", "7"), press("Save"), see("T3 is saved."), see("Head nurse"),
		}},
		{"episode", []step{surgeNow, press("Acknowledge: *"), see("The alert is acknowledged.")}},
		{"recipient goes", []step{
			at("/alerts"), link("T3"), tick("Notify > Head nurse"), press("Save"), see("T3 is saved."), link("Head nurse"), press("Remove recipient"), see("The recipient is removed."),
		}},
		{"feeds", []step{at("/feeds"), link("Census: *"), see("Source: "), link("Feeds"), link("Connect a feed"), link("Make a key"), see("Permissions")}},
		{"dead letters", []step{deadLetterOf, pressRefused("Retry: *"), see("was not applied"), link("Feeds")}},
		{"code", []step{
			at("/terminology"), fill("Code", "HIGH_MAG"), press("Find"), link("HIGH_MAG"), pick("high-mag"), press("Preview"), see("What would change now"), see("LDR 1"),
			press("Apply"), see("HIGH_MAG now maps to"), press("Undo"), see("The mapping of HIGH_MAG is taken back."),
		}},
		{"ignored code", []step{
			at("/terminology"), link("QBL"), press("Ignore code"), see("QBL is ignored."), link("Ignored"), link("QBL"), press("Put back on the list"), see("QBL is on the list again."),
		}},
		{"map as a file", []step{
			at("/terminology/map"), link("Import codes"), rows("system,code,factorId", "local,QBL,no-such-factor"), pressRefused("Preview"), see("line 2: factorId"),
			rows("system,code,kind,factorId", "local,QBL,lab,high-mag"), press("Preview"), see("One row can be applied."), press("Apply"), see("One row is applied."),
			file("Export as CSV", "QBL", "HIGH_MAG"), link("QBL"), unfold("Only under a condition"), fill("Comment", "by our laboratory"), press("Apply"), see("by our laboratory"),
			at("/terminology/map"), link("QBL"), press("Preview without it"), see("What would change now"), press("Take the mapping back"), see("The mapping of QBL is taken back."),
		}},
		{"location", []step{
			at("/terminology/locations"), link("Confirm: BIRTHCENTER / B9"), fill("Number of our room", "nine"), pressRefused("Preview"), fill("Number of our room", "9"),
			press("Preview"), see("What would change now"), press("Apply"), see("The location is set."), file("Export as CSV", "BIRTHCENTER", ""),
			link("BIRTHCENTER / B9"), fill("Label", "Birth 9"), choose("Factor of whoever is placed here", "Initial triage"), press("Apply"), see("Birth 9"),
			link("BIRTHCENTER / B9"), press("Take the row back"), see("The row is taken back."),
		}},
		{"locations as a file", []step{
			at("/terminology/locations"), link("Import locations"), rows("pointOfCare,room,roomId", "WARD,1,none"), pressRefused("Preview"), see("line 2"),
			rows("pointOfCare,room,roomId", "WARD,1,1"), press("Preview"), see("One row can be applied."), press("Apply"), see("One location is set."), see("WARD / 1"),
		}},
		{"rule", []step{
			at("/rules"), choose("Factor", "Labor"), press("Open"), fill("demand", "many"), pressRefused("Preview"), fill("demand", "2"), press("Preview"),
			see("What would change now"), link("The last 28 days under these values"), see("is replayed under these values"), press("Apply"), see("has its new values."),
			at("/rules"), link("Labor"), press("Preview the catalogue"), see("What would change now"), press("Back to the catalogue"), see("has the values of the catalogue again."),
		}},
		{"wall", []step{
			at("/walls"), fill("Where the screen is", "Station 4"), press("Make a link"), secret(f.base+"/board/", "/walls"), link("Revoke: Station 4"), press("Revoke"), see("The link of Station 4 is revoked."),
		}},
		{"person", []step{
			dayDesk, link("Change: day desk"), fill("Name", "evening desk"), choose("Role", "charge nurse"), tick("Block sign-in"), tick("End all sessions"),
			press("Save"), see("evening desk is changed."), see("blocked"),
		}},
		{"invitation", []step{
			at("/users"), fill("Name", "night desk"), press("Make a link"), secret(f.base+"/signin/", "/users"), see("Open invitations"),
			link("Withdraw: night desk"), press("Withdraw"), see("The invitation of night desk is withdrawn."),
		}},
		{"audit", []step{
			at("/audit"), choose("Action", "key."), press("Show"), see("key.mint"), file("As CSV", "key.mint", "webhook."), fill("From", "2031-01-01"), press("Show"), see("No entries."),
		}},
		{"webhook goes", []step{
			at("/webhooks"), link(address), link("Delete"), fill("Type the address", "http://nobody.example"), pressRefused("Delete"), fill("Type the address", address), press("Delete"), see("is deleted."), see("No webhooks yet."),
		}},
	}
}

// dayDesk has somebody sign in by a link that an operator made, so that there is a person.
func dayDesk(f *flowing) {
	url := cli(f.t, f.ward.env, append([]string{"admin", "link", "--hospital", f.ward.hospital, "--role", "viewer", "--label", "day desk"}, f.ward.args...)...)
	v := f.b.window(f.t, f.base, viewing{width: 390, height: 844})
	v.signIn(url[strings.Index(url, "/signin/"):])
	at("/users")(f)
}

// surgeNow makes the unit red, and waits for the alert of it.
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

// deadLetterOf shows a record that could not be applied.
func deadLetterOf(f *flowing) {
	writeDeadLetter(f.t, f.kafka, f.prefix, f.ward.hospital)
	eventually(f.t, 20*time.Second, func() error {
		at("/feeds/letters")(f)
		if !strings.Contains(f.main(), "written by a schema that is not known") {
			return fmt.Errorf("no dead letter: %s", f.main())
		}
		return nil
	})
	link("written by a schema that is not known")(f)
}

// writeDeadLetter puts a record of a hospital into the log that nothing understands.
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
