package ingest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/ingest"
)

// TestIntakes: every body is counted for its feed, even if nothing was appended, because any body shows that the
// sender is alive.
func TestIntakes(t *testing.T) {
	for name, test := range map[string]struct{ path, body, want string }{
		"kept":                     {"fhir", `{"resourceType":"Encounter","id":"e","status":"arrived"}`, "1 0 0 true"},
		"of no type that is used":  {"fhir", `{"resourceType":"Appointment"}`, "1 0 1 false"},
		"an empty list":            {"fhir", `[]`, "1 0 1 false"},
		"of resources all refused": {"fhir", `[{"resourceType":"Encounter","status":"x"},{"resourceType":"Appointment"}]`, "1 1 0 false"},
		"of events all refused":    {"batch", `{"events":[{},{}]}`, "1 1 0 false"},
		"of events one good":       {"batch", `{"events":[{},` + adtBody + `]}`, "1 0 0 true"},
		"refused":                  {"adt", `{}`, "1 1 0 false"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			var got []string
			d.config.Received = func(in ingest.Intake) {
				got = append(got, fmt.Sprint(in.Received, in.Rejected, in.Ignored, in.Position != nil))
				if in.Hospital != "stmary" || string(in.Channel) != test.path || in.Source == "" || in.At == 0 {
					t.Errorf("%+v", in)
				}
			}
			d.Handler = mounted(d.config)
			d.post(t, test.path, test.body)
			if !slices.Equal(got, []string{test.want}) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// noticed opens a fixture and collects the intakes that it reports.
func noticed(t *testing.T) (d *fixture, intakes *[]ingest.Intake) {
	t.Helper()
	d, intakes = open(t), new([]ingest.Intake)
	d.config.Received = func(in ingest.Intake) { *intakes = append(*intakes, in) }
	d.Handler = mounted(d.config)
	return d, intakes
}

func shownNotice(n ingest.Notice) string {
	kind := "warned"
	if n.Refused {
		kind = "refused"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", kind, n.ControlID, n.Code, n.Path))
}

func telegram(controlID, kind, rest string) string {
	return "MSH|^~\\&|EPIC|STMARY|||20260304093010-0600||" + kind + "|" + controlID + "|P|2.5.1\rEVN||20260304092900-0600\r" + rest
}

const visit = "PV1|1|I|L&D^LDR 4||||||||||||||||VN9001\r"

// TestNotices: the notice of a refusal or a warning names the message, the reason and the location.
func TestNotices(t *testing.T) {
	good := telegram("M1", "ADT^A01", visit)
	for name, test := range map[string]struct {
		path, body, kind string
		want             []string
	}{
		"fine":                {"hl7", good, "text/plain", nil},
		"refused message":     {"hl7", telegram("M2", "ORU^R01", ""), "text/plain", []string{"refused M2 AR 200 MSH-9"}},
		"refused in JSON":     {"hl7", wrapped(telegram("M2", "ADT^A01", "")), "application/json", []string{"refused M2 AE 101 PV1-19"}},
		"warned about":        {"hl7", telegram("M3", "ADT^A06", visit), "text/plain", []string{"warned M3 adt_extension MSH-9"}},
		"no message":          {"hl7", "hello", "text/plain", []string{"refused  required MSH"}},
		"another type":        {"hl7", good, "text/html", []string{"refused  415"}},
		"one of three":        {"hl7", good + telegram("M4", "ORU^R01", "") + telegram("M5", "ADT^A07", visit), "text/plain", []string{"refused M4 AR 200 messages[1].MSH-9", "warned M5 adt_extension messages[2].MSH-9"}},
		"broken rules":        {"adt", `{"eventType":"A01"}`, "", []string{"refused  required visitId", "refused  required occurredAt"}},
		"no JSON":             {"staffing", `{`, "", []string{"refused  json"}},
		"unknown field":       {"staffing", `{"nursesOnDuty":3,"colour":1}`, "", []string{"warned  unknown_field colour"}},
		"event of a batch":    {"batch", `{"events":[` + adtBody + `,{"visitId":"V"}]}`, "", []string{"refused  required events[1].eventType", "refused  required events[1].occurredAt", "warned  field_not_used events[0].cancelsOccurredAt"}},
		"batch without good":  {"batch", `{"events":[{"visitId":"V","occurredAt":"2026-03-04T15:00:00Z"}]}`, "", []string{"refused  required events[0].eventType"}},
		"resource":            {"fhir", `[{"resourceType":"Observation","status":"finished"},{"resourceType":"Encounter","id":"e","status":"arrived"}]`, "", []string{"refused  status_unknown [0].status", "warned  required [1].class", "warned  event_time_missing [1].period.start"}},
		"resource, none good": {"fhir", `[{"resourceType":"Observation","status":"finished"}]`, "", []string{"refused  status_unknown [0].status"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, intakes := noticed(t)
			kind := test.kind
			if kind == "" {
				kind = "application/json"
			}
			const id = "0b54cfa2-9eb3-4c53-9c64-b7a0a2a1a7d0"
			d.post(t, test.path, test.body, "Content-Type", kind, "X-Request-Id", id)
			var got []string
			for _, in := range *intakes {
				if in.Request != id {
					t.Errorf("request %q", in.Request)
				}
				for _, n := range in.Notices {
					got = append(got, shownNotice(n))
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestNoticesWithoutTheSendersID: notices never contain a request id that the sender chose.
func TestNoticesWithoutTheSendersID(t *testing.T) {
	d, intakes := noticed(t)
	d.post(t, "staffing", `{}`, "X-Request-Id", canary)
	if (*intakes)[0].Request != "" {
		t.Errorf("%+v", *intakes)
	}
}

// TestNoticesOfMLLP: messages over MLLP cause the same notices as messages over HTTP, but without a request id.
func TestNoticesOfMLLP(t *testing.T) {
	d, intakes := noticed(t)
	messages := ingest.NewMessages(d.config)
	for _, body := range []string{telegram("M6", "ADT^A06", visit) + telegram("M7", "ORU^R01", ""), "hello"} {
		if _, err := messages.IngestBody(t.Context(), d.key, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, in := range *intakes {
		for _, n := range in.Notices {
			got = append(got, shownNotice(n)+in.Request)
		}
	}
	want := []string{"refused M7 AR 200 messages[1].MSH-9", "warned M6 adt_extension messages[0].MSH-9", "refused  AE 100 MSH"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestNoticesOfApplying: the notice of a warning from applying an observation names the message or field that caused
// the warning. There is no such notice if decoding has already reported the same warning.
func TestNoticesOfApplying(t *testing.T) {
	observation := func(id string) string {
		return `{"resourceType":"Observation","id":"` + id + `","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"11949-4"}]},` +
			`"valueString":"Category II","subject":{"reference":"Patient/p"},"encounter":{"reference":"Encounter/e"}}`
	}
	observations := "[{}," + observation("o1") + "," + observation("o2") + "]"
	for name, test := range map[string]struct {
		path, kind, body string
		warning          acuity.Warning
		want             string
	}{
		"one message":         {"hl7", "text/plain", telegram("M1", "ADT^A08", visit), acuity.Warning{Code: "place_differs"}, "warned M1 place_differs PV1-3"},
		"one of several":      {"hl7", "text/plain", telegram("M1", "ORU^R01", "") + telegram("M2", "ADT^A08", visit), acuity.Warning{Code: "place_differs", Path: "events[0]"}, "warned M2 place_differs messages[1].PV1-3"},
		"told already":        {"hl7", "text/plain", telegram("M1", "ADT^A06", visit), acuity.Warning{Code: "adt_extension", Path: "MSH-9"}, ""},
		"of several, already": {"hl7", "text/plain", telegram("M1", "ORU^R01", "") + telegram("M2", "ADT^A06", visit), acuity.Warning{Code: "adt_extension", Path: "events[0].MSH-9"}, ""},
		"of a batch":          {"batch", "", `{"events":[{},` + adtBody + `]}`, acuity.Warning{Code: "cancel_waiting", Path: "events[0]"}, "warned  cancel_waiting events[1].cancelsOccurredAt"},
		"of a resource":       {"fhir", "", `[{},{"resourceType":"Encounter","id":"e","status":"arrived"}]`, acuity.Warning{Code: "place_differs", Path: "events[0]"}, "warned  place_differs [1]"},
		"of a signal":         {"fhir", "", observations, acuity.Warning{Code: "too_many_statements", Path: "signals[1]"}, "warned  too_many_statements [2]"},
		"of another patient":  {"fhir", "", observations, acuity.Warning{Code: "subject_differs", Path: "signals[1]"}, "warned  subject_differs [2].subject"},
		"of a room":           {"clinical", "", `{"roomId":4,"signals":[]}`, acuity.Warning{Code: "room_not_occupied", Path: "roomId"}, "warned  room_not_occupied roomId"},
	} {
		t.Run(name, func(t *testing.T) {
			d, intakes := noticed(t)
			kind := test.kind
			if kind == "" {
				kind = "application/json"
			}
			d.post(t, test.path, test.body, "Content-Type", kind)
			last := (*intakes)[len(*intakes)-1]
			if last.Places == nil {
				t.Fatalf("nothing was kept: %+v", last)
			}
			n, fresh := last.Places.Notice(test.warning)
			if fresh != (test.want != "") || fresh && shownNotice(n) != test.want {
				t.Errorf("%t %q, want %q", fresh, shownNotice(n), test.want)
			}
		})
	}
}

// TestControlIDs: a control id is stored if it looks like a number; if not, its pseudonym is stored.
func TestControlIDs(t *testing.T) {
	for id, kept := range map[string]bool{
		"1": true, "MSG00001": true, "MSG1": true, "EPIC20260304": true, "20260304081502.123": true, "Q123T456X": true,
		"0b54cfa2-9eb3-4c53-9c64-b7a0a2a1a7d0": true, "{0B54CFA2-9EB3-4C53-9C64-B7A0A2A1A7D0}": true, "deadbeefdeadbeef1": true,
		"MILLER": false, "DOE": false, "MILLER1994": false, canary + "77-1": false, "1 2": false, "DOE^1": false, "1,2": false, "é1": false,
		strings.Repeat("1", 64): true, strings.Repeat("1", 65): false,
	} {
		d, intakes := noticed(t)
		d.post(t, "hl7", telegram(id, "ORU^R01", ""), "Content-Type", "text/plain")
		d.post(t, "hl7", telegram(id, "ADT^A06", visit), "Content-Type", "text/plain")
		got := (*intakes)[0].Notices[0].ControlID
		later, _ := (*intakes)[1].Places.Notice(acuity.Warning{Code: "place_differs"})
		if warned := (*intakes)[1].Notices[0].ControlID; warned != got || later.ControlID != got {
			t.Errorf("%q is kept as %q, %q and %q", id, got, warned, later.ControlID)
		}
		if pseudonym := regexp.MustCompile(`^[a-z2-7]{24}$`).MatchString(got); kept && got != id || !kept && !pseudonym {
			t.Errorf("%q is kept as %q", id, got)
		}
	}
}

// TestControlIDsHoldNoWords: if a control id contains a word, only its pseudonym is stored.
func TestControlIDsHoldNoWords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		around := rapid.StringMatching(`[0-9._:/+=-]{0,8}`)
		word := rapid.StringMatching(`[g-zG-Z]{5,12}`).Draw(rt, "word")
		d, intakes := noticed(t)
		d.post(t, "hl7", telegram(around.Draw(rt, "before")+word+around.Draw(rt, "behind"), "ORU^R01", ""), "Content-Type", "text/plain")
		if got := (*intakes)[0].Notices[0].ControlID; strings.Contains(got, word) {
			rt.Errorf("%q shows %q", got, word)
		}
	})
}
