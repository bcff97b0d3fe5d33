package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/schemas"
)

// TestDevDeadLetters: an administrator finds unreadable records over HTTP and on the command line.
func TestDevDeadLetters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	admin := newPartner(d.BaseURL, d.HospitalID, d.AdminKey)
	if out, ok := svcIn(t, dir, "dead-letters", "list"); !ok || strings.Count(out, "\n") != 1 {
		t.Errorf("list of none: %v %s", ok, out)
	}
	cli(t, nil, "hospitals", "create", "--data", dir, "--id", "other", "--name", "Other", "--timezone", "America/Chicago")
	key := cli(t, nil, "keys", "mint", "--data", dir, "--hospital", "other", "--name", "administrator", "--scopes", "admin")
	at := deadLetters(t, d.Kafka, "", p, admin, newPartner(d.BaseURL, "other", key))

	out, ok := svcIn(t, dir, "dead-letters", "list")
	if !ok || !strings.Contains(out, at[0]) || strings.Index(out, at[1]+" ") > strings.Index(out, at[0]+" ") {
		t.Errorf("list: %v %s", ok, out)
	}
	if out, ok := svcIn(t, dir, "dead-letters", "show", at[1]); !ok || !strings.Contains(out, "16909060") {
		t.Errorf("show: %v %s", ok, out)
	}
	if out, ok := svcIn(t, dir, "dead-letters", "retry", at[1]); ok || !strings.Contains(out, "unknown_schema") {
		t.Errorf("retry: %v %s", ok, out)
	}
	if out, ok := svcIn(t, dir, "dead-letters", "show", "9:999"); ok {
		t.Errorf("show of none: %s", out)
	}
	findCanary(t, "the log", d.logged(), []string{unreadable})
}

// TestDeadLettersOnServers repeats TestDevDeadLetters on a real Kafka, whose log has transaction
// markers between its records.
func TestDeadLettersOnServers(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north", "south")
	s.processor("one")
	admin := func(hospital string) *partner {
		key := cli(t, s.env, "keys", "mint", "--hospital", hospital, "--name", "administrator", "--scopes", "admin", "--rate", "0")
		return newPartner(s.base, hospital, key)
	}
	deadLetters(t, s.kafka.address, s.prefix, s.partners[0], admin("north"), admin("south"))
}

// unreadable is a string that no list may show.
const unreadable = "CANARYNAME"

// deadLetters appends unreadable records to the log. An administrator must find them over HTTP, and an administrator of
// another hospital must not. deadLetters returns their positions, oldest first.
func deadLetters(t *testing.T, kafka, prefix string, p, admin, other *partner) (at []string) {
	t.Helper()
	p.accepted(t, "staffing", `{"nursesOnDuty":4}`)
	newer := append([]byte{0, 1, 2, 3, 4}, unreadable...)
	topic := prefix + schemas.Observations().Name
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	partition, first := int32(-1), int64(-1) // partition and offset of the hospital's newest record
	readTopic(t, kafka, topic, func(r *kgo.Record) {
		if string(r.Key) == p.hospital {
			partition, first = r.Partition, r.Offset
		}
	})
	for _, value := range [][]byte{[]byte(unreadable), newer} {
		r := &kgo.Record{Topic: topic, Partition: partition, Key: []byte(p.hospital), Value: value}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		at = append(at, fmt.Sprintf("%d:%d", r.Partition, r.Offset))
	}

	type item struct {
		ID, Topic, Reason string
		SchemaID          *int32
		Version           int64
		At                time.Time
	}
	ask := func(by *partner, method, path string, want int) *answer {
		t.Helper()
		a, err := by.do(method, "/api/admin/dead-letters"+path, "", "")
		if err != nil || a.status != want {
			t.Fatalf("%s %s: %v %+v, want %d", method, path, err, a, want)
		}
		findCanary(t, "the answer of "+path, string(a.raw), []string{unreadable})
		return a
	}
	var page struct{ Items []item }
	eventually(t, 10*time.Second, func() error {
		if into(t, ask(admin, http.MethodGet, "", http.StatusOK).Data, &page); len(page.Items) != 2 {
			return fmt.Errorf("%d dead letters", len(page.Items))
		}
		return nil
	})
	newest, oldest := page.Items[0], page.Items[1]
	if newest.ID != at[1] || newest.Reason != "unknown_schema" || newest.SchemaID == nil || *newest.SchemaID != 16909060 || time.Since(newest.At) > time.Minute ||
		oldest.ID != at[0] || oldest.Reason != "malformed_record" && oldest.Reason != "unknown_schema" || newest.Version <= oldest.Version || oldest.Topic != schemas.Observations().Name {
		t.Errorf("listed %+v, at %v", page.Items, at)
	}
	var shown item
	if into(t, ask(admin, http.MethodGet, "/"+at[0], http.StatusOK).Data, &shown); shown.ID != oldest.ID || shown.Reason != oldest.Reason {
		t.Errorf("shown %+v", shown)
	}
	a := ask(admin, http.MethodPost, "/"+at[1]+"/retry", http.StatusUnprocessableEntity)
	if a.Error.Code != "unprocessable" || !strings.Contains(string(a.raw), `"rule":"unknown_schema"`) {
		t.Errorf("retry: %s", a.raw)
	}
	ask(p, http.MethodGet, "", http.StatusForbidden)
	ask(p, http.MethodPost, "/"+at[1]+"/retry", http.StatusForbidden)

	// The record before the unreadable ones was applied, so it is not a dead letter.
	ask(admin, http.MethodGet, fmt.Sprintf("/%d:%d", partition, first), http.StatusNotFound)
	ask(admin, http.MethodPost, fmt.Sprintf("/%d:%d/retry", partition, first), http.StatusNotFound)

	// Another hospital must not see the dead letters of this one.
	other.honored(t)
	if into(t, ask(other, http.MethodGet, "", http.StatusOK).Data, &page); len(page.Items) != 0 {
		t.Errorf("another hospital is told %+v", page.Items)
	}
	ask(other, http.MethodGet, "/"+at[0], http.StatusNotFound)
	ask(other, http.MethodPost, "/"+at[0]+"/retry", http.StatusNotFound)

	var audit struct{ Items []struct{ Action string } }
	if into(t, admin.get(t, "/api/admin/audit?action=dead-letter.").Data, &audit); len(audit.Items) != 0 {
		t.Errorf("on record, though nothing was done: %+v", audit.Items)
	}
	return at
}
