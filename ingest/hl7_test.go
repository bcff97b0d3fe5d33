package ingest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/httpapi/access"
	explained "svc/internal/httpapi/rules"
)

const admission = "MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304093010-0600||ADT^A01^ADT_A01|M1|P|2.5.1\r" +
	"EVN|A01|20260304092900-0600\rPID|1||MRN1^^^STMARY^MR\rPV1|1|I|L\\T\\D^LDR04^01^STMARY|||||||OBS|||||||||VN1\r"

var (
	noControlID = strings.Replace(admission, "|M1|", "||", 1)
	result      = strings.Replace(admission, "ADT^A01^ADT_A01", "ORU^R01", 1)
	other       = strings.Replace(admission, "ADT^A01^ADT_A01", "ADT^A60", 1)
	ackIDs      = regexp.MustCompile(`[0-9a-f]{20}`)
)

// plain replaces the random id of an acknowledgment, so that acknowledgments can be compared.
func plain(ack string) string { return ackIDs.ReplaceAllString(ack, "ID") }

const (
	ackHead = `MSH|^~\&|SVC|STMARY|EPIC|STMARY|20260304093000-0600||ACK^A01^ACK|ID|P|2.5.1` + "\r"
	ackAA   = ackHead + "MSA|AA|M1\r"
)

var (
	ackAE     = ackHead + "MSA|AE|\rERR||MSH^1^10|101^Required field missing^HL70357|E||||" + explained.Message("AE 101") + "\r"
	noHeadACK = "MSH|^~\\&|SVC|stmary|||20260304093000-0600||ACK|ID|P|2.5.1\rMSA|AE|%s\rERR||MSH^1%s^HL70357|E||||%s\r"
	shortMSH2 = strings.NewReplacer("^", `\S\`, "~", `\R\`, `\`, `\E\`, "&", `\T\`).Replace(explained.Message("encoding_short"))
)

func TestHL7Text(t *testing.T) {
	for name, test := range map[string]struct {
		body, kind string
		events     int
		want       string
		answer     string // content type of the answer
	}{
		"accepted":         {admission, "text/plain", 1, ackAA, "text/plain; charset=utf-8"},
		"hl7-v2":           {admission, "application/hl7-v2; charset=ascii", 1, ackAA, "application/hl7-v2; charset=utf-8"},
		"no content type":  {admission, "", 1, ackAA, "text/plain; charset=utf-8"},
		"other event":      {other, "text/plain", 1, strings.Replace(ackAA, "ACK^A01", "ACK^A60", 1), "text/plain; charset=utf-8"},
		"refused":          {noControlID, "text/plain", 0, ackAE, "text/plain; charset=utf-8"},
		"several":          {admission + noControlID, "text/plain", 1, "BHS|^~\\&|SVC|stmary|||20260304093000-0600||||ID\r" + ackAA + ackAE + "BTS|2\r", "text/plain; charset=utf-8"},
		"batch of one":     {"BHS|^~\\&|||||||||9\r" + admission + "BTS|1\r", "text/plain", 1, "BHS|^~\\&|SVC|stmary|||20260304093000-0600||||ID|9\r" + ackAA + "BTS|1\r", "text/plain; charset=utf-8"},
		"nothing to send":  {strings.Replace(admission, "|2.5.1\r", "|2.5.1|||NE|NE\r", 1), "text/plain", 1, "", "text/plain; charset=utf-8"},
		"one without head": {admission + "MSH|^^\r", "text/plain", 1, "BHS|^~\\&|SVC|stmary|||20260304093000-0600||||ID\r" + ackAA + fmt.Sprintf(noHeadACK, "", "^2|102^Data type error", shortMSH2) + "BTS|2\r", "text/plain; charset=utf-8"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			a := d.post(t, "hl7", test.body, "Content-Type", test.kind)
			if a.status != http.StatusOK || plain(a.raw) != test.want || a.header.Get("Content-Type") != test.answer {
				t.Errorf("got %d %s\n%q\nwant\n%q", a.status, a.header.Get("Content-Type"), plain(a.raw), test.want)
			}
			events := 0
			for _, o := range d.stored {
				events += len(o.Events)
			}
			if events != test.events || len(d.stored) > 1 {
				t.Errorf("%d events in %d observations", events, len(d.stored))
			}
		})
	}
	t.Run("acknowledged alike while pending", func(t *testing.T) {
		d := open(t)
		d.pending = true
		if a := d.post(t, "hl7", admission, "Content-Type", "text/plain"); plain(a.raw) != ackAA {
			t.Error(a.raw)
		}
	})
	for name, refused := range map[string]struct{ body, want string }{
		"empty": {"", "MSH required"}, "no MSH": {"PID|1", "MSH required"}, "an empty batch": {"BHS|^~\\&\rBTS|0\r", "MSH required"},
		"unusable MSH": {"MSH|^^\r", "MSH-2 minLength:3"}, "equal delimiters": {"MSH|^^\\&|EPIC\r", "MSH-2 unique"},
		"two encoding characters": {strings.Replace(admission, `^~\&`, "^~", 1), "MSH-2 minLength:3"},
		"six encoding characters": {strings.Replace(admission, `^~\&`, `^~\&#%`, 1), "MSH-2 maxLength:5"},
		"a letter":                {strings.Replace(admission, `^~\&`, `^~\A`, 1), "MSH-2 format:hl7"},
		"HTML":                    {strings.Replace(admission, `^~\&`, `^~\&amp;`, 1), "MSH-2 format:hl7"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.wantRefused(t, d.post(t, "hl7", refused.body, "Content-Type", "text/plain"), 400, "invalid_request", refused.want)
		})
	}
	t.Run("joined segments", func(t *testing.T) {
		d := open(t)
		a := d.post(t, "hl7", wrapped(strings.ReplaceAll(admission, "\r", `\r`)))
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.raw, `not with the two characters \\r.`) {
			t.Errorf("%d %s", a.status, a.raw)
		}
	})
	t.Run("too many messages", func(t *testing.T) {
		d := open(t)
		d.wantRefused(t, d.post(t, "hl7", strings.Repeat("MSH|^~\\&|\r", 1001), "Content-Type", "text/plain"), 400, "invalid_request", "maxItems:1000")
	})
	t.Run("charset of HTTP", func(t *testing.T) {
		d := open(t)
		o := d.wantApplied(t, d.post(t, "hl7", strings.Replace(admission, "LDR04", "S\xe4le", 1), "Content-Type", "text/plain; charset=ISO-8859-1"))
		if e := o.Events[0]; e.Place.Room != "Säle" || len(e.Warnings) > 0 {
			t.Errorf("%+v", e)
		}
	})
}

func wrapped(message string) string {
	b, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestHL7JSON(t *testing.T) {
	d := open(t)
	a := d.post(t, "hl7", wrapped(strings.Replace(admission, "|P|", "|T|", 1)))
	o := d.wantApplied(t, a)
	if o.Channel != acuity.ChannelHL7 || len(o.Events) != 1 || o.Events[0].Place.PointOfCare != "L&D" {
		t.Errorf("%+v", o)
	}
	if plain(a.Data.Ack) != strings.Replace(ackAA, "|P|", "|T|", 1) || a.Data.AckCode != "AA" || *a.Data.ControlID != "M1" || a.Data.EventType != "A01" ||
		a.warnings() != "not_production@MSH-11" || strings.Contains(a.raw, `"acks"`) {
		t.Error(a.raw)
	}
	t.Run("enhanced", func(t *testing.T) {
		for mode, ack := range map[string]string{"|||AL|NE": "MSA|CA|M1", "|||NE|NE": "", "|||XX|NE": "MSA|CA|M1"} {
			d := open(t)
			a := d.post(t, "hl7", wrapped(strings.Replace(admission, "|2.5.1", "|2.5.1"+mode, 1)))
			d.wantApplied(t, a)
			if a.Data.AckCode != "CA" || !strings.Contains(a.Data.Ack, ack) || (ack == "") != (a.Data.Ack == "") {
				t.Errorf("%s: %s", mode, a.raw)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		for body, code := range map[string]string{noControlID: "AE", result: "AR"} {
			d := open(t)
			a := d.post(t, "hl7", wrapped(body))
			d.wantRefused(t, a, 422, "unprocessable", map[string]string{"AE": "MSH-10 AE 101", "AR": "MSH-9 AR 200"}[code])
			if a.Error.AckCode != code || !strings.Contains(a.Error.Ack, "MSA|"+code) || code == "AR" && a.Error.ControlID != "M1" {
				t.Error(a.raw)
			}
		}
	})
	t.Run("several", func(t *testing.T) {
		d := open(t)
		d.change = func(o *acuity.Observation) acuity.Change {
			c := applyAll(o)
			c.Items[1].Outcome = acuity.Ignored
			return c
		}
		a := d.post(t, "hl7", wrapped(admission+result+other+noControlID))
		if o := d.wantApplied(t, a); len(o.Events) != 2 {
			t.Fatal(len(o.Events))
		}
		got := a.Data.AckCode
		for _, one := range a.Data.Acks {
			got += " " + one.AckCode + ":" + one.ControlID + ":" + one.EventType + ":" + *one.Outcome
		}
		if got != "AE AA:M1:A01:applied AR:M1:R01:rejected AA:M1:A60:ignored AE::A01:rejected" || a.Data.ControlID != nil || !strings.HasPrefix(a.Data.Ack, "BHS|") ||
			!strings.Contains(a.raw, `"refused":[{"path":"messages[1].MSH-9","rule":"AR 200"},{"path":"messages[3].MSH-10","rule":"AE 101"}]`) {
			t.Error(got, a.raw)
		}
	})
	t.Run("every one refused", func(t *testing.T) {
		d := open(t)
		a := d.post(t, "hl7", wrapped(noControlID+result))
		d.wantRefused(t, a, 422, "unprocessable", "messages[0].MSH-10 AE 101, messages[1].MSH-9 AR 200")
		if a.Error.AckCode != "AE" || !strings.HasPrefix(a.Error.Ack, "BHS|") {
			t.Error(a.raw)
		}
	})
	for name, test := range map[string][2]string{
		"missing": {`{}`, "message required"}, "null": {`{"message":null}`, "message required"}, "type": {`{"message":7}`, "message type:string"},
		"empty": {`{"message":""}`, "MSH required"}, "list": {`[]`, "type:object"}, "no MSH": {`{"message":"hello"}`, "MSH required"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.wantRefused(t, d.post(t, "hl7", test[0]), 400, "invalid_request", test[1])
		})
	}
}

// TestMessages checks that IngestBody stores the same observation and returns the same acknowledgment as POST
// /api/ingest/hl7, and that it does not wait until reads include the observation.
func TestMessages(t *testing.T) {
	for name, body := range map[string]string{
		"accepted":        admission,
		"refused":         noControlID,
		"not taken":       result,
		"ignored":         other,
		"several":         admission + noControlID,
		"batch":           "BHS|^~\\&|||||||||9\r" + admission + "BTS|1\r",
		"nothing to send": strings.Replace(admission, "|2.5.1\r", "|2.5.1|||NE|NE\r", 1),
	} {
		t.Run(name, func(t *testing.T) {
			overHTTP := open(t)
			want := overHTTP.post(t, "hl7", body, "Content-Type", "text/plain")
			d := open(t)
			ack, err := ingest.NewMessages(d.config).IngestBody(t.Context(), d.key, []byte(body))
			if err != nil || plain(string(ack)) != plain(want.raw) {
				t.Errorf("%q, %v, want %q", ack, err, want.raw)
			}
			if len(d.stored) != len(overHTTP.stored) {
				t.Fatalf("%d kept, %d over HTTP", len(d.stored), len(overHTTP.stored))
			}
			for i, o := range d.stored {
				if w := overHTTP.stored[i]; len(o.Events) != len(w.Events) || o.Events[0].ID != w.Events[0].ID || o.Hospital != w.Hospital || o.Channel != w.Channel || o.Source != d.key.ID {
					t.Errorf("%+v, want %+v", o, w)
				}
			}
			if len(d.viewed) > 0 {
				t.Error("it waits until the message shows")
			}
		})
	}
}

// TestMessagesThatAreNone: a body without a usable header, or with too many messages, gets an acknowledgment, so that
// its sender does not wait forever. Nothing from the body is stored.
func TestMessagesThatAreNone(t *testing.T) {
	d := open(t)
	for name, test := range map[string]struct{ body, want string }{
		"no header":     {"PID|1", fmt.Sprintf(noHeadACK, "", "|100^Segment sequence error", explained.Message("AE 100"))},
		"no delimiters": {"MSH|^^\r", fmt.Sprintf(noHeadACK, "", "^2|102^Data type error", shortMSH2)},
		"two":           {strings.Replace(admission, `^~\&`, "^~", 1), fmt.Sprintf(noHeadACK, "M1", "^2|102^Data type error", shortMSH2)},
		"too many":      {strings.Repeat("MSH|^~\\&|\r", 1001), fmt.Sprintf(noHeadACK, "", "|102^Data type error", explained.Message("AE 102"))},
	} {
		ack, err := ingest.NewMessages(d.config).IngestBody(t.Context(), d.key, []byte(test.body))
		if err != nil || plain(string(ack)) != test.want {
			t.Errorf("%s: %q %v", name, ack, err)
		}
	}
	if len(d.stored) > 0 {
		t.Errorf("kept %+v", d.stored)
	}
}

// TestMessagesNotKept: a message that was not appended to the log is never acknowledged as accepted. A message that
// is too large gets an error acknowledgment, because a retry would not help; in the other cases, the sender gets
// none.
func TestMessagesNotKept(t *testing.T) {
	d := open(t)
	for name, tt := range map[string]struct {
		key  access.Key
		fail error
		want error
		ack  string
	}{
		"Kafka does not respond": {d.key, ingest.ErrAway, ingest.ErrAway, ""},
		"no scope":               {d.narrow, nil, ingest.ErrForbidden, ""},
		"too large":              {d.key, ingest.ErrTooLarge, nil, "MSA|AE|"},
	} {
		d.fail = tt.fail
		ack, err := ingest.NewMessages(d.config).IngestBody(context.Background(), tt.key, []byte(admission))
		if !errors.Is(err, tt.want) || !strings.Contains(string(ack), tt.ack) || tt.ack == "" && len(ack) > 0 {
			t.Errorf("%s: %q %v", name, ack, err)
		}
	}
	if len(d.stored) > 0 {
		t.Errorf("kept %+v", d.stored)
	}
}

func TestCanariesInMessages(t *testing.T) {
	d := open(t)
	if ack, err := ingest.NewMessages(d.config).IngestBody(t.Context(), d.key, []byte(everyField())); err != nil || len(ack) == 0 || len(d.stored) != 1 {
		t.Fatal(string(ack), err)
	}
	d.logged.WriteString("nothing is logged here") // search requires a log line; over MLLP, only the connection writes one
	d.search(t)
}

// TestManyWarningsHideNone: if a message has so many warnings that the response cannot list them, the response says so.
func TestManyWarningsHideNone(t *testing.T) {
	for guessed, want := range map[int]string{60: "code_unreadable@DG1[61]-3", 120: "more_not_listed@"} {
		text := admission + strings.Repeat("DG1|1||O14.13\r", guessed) + "DG1|1||" + strings.Repeat("O", 65) + "\r"
		a := open(t).post(t, "hl7", writeTree(t, map[string]string{"message": text}))
		if got := strings.Fields(a.warnings()); got[len(got)-1] != want {
			t.Errorf("%d guessed systems: the last of %d warnings is %s, want %s", guessed, len(got), got[len(got)-1], want)
		}
	}
}
