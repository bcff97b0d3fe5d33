package ingest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"svc/ingest"
	"svc/internal/httpapi/access"
)

// TestMessages expects for every body the acknowledgment and the observation that POST
// /api/ingest/hl7 makes of it.
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
			ack, err := ingest.NewMessages(d.config).TakeBody(t.Context(), d.key, []byte(body))
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

// TestMessagesThatAreNone: even a body without a message gets an acknowledgment, because
// its sender must not wait forever.
func TestMessagesThatAreNone(t *testing.T) {
	d := open(t)
	for name, body := range map[string]string{"no header": "PID|1", "no delimiters": "MSH|^^\r", "too many": strings.Repeat("MSH|^~\\&|\r", 1001)} {
		ack, err := ingest.NewMessages(d.config).TakeBody(t.Context(), d.key, []byte(body))
		if err != nil || !strings.Contains(string(ack), "\rMSA|AE|\rERR||MSH^1|100^") {
			t.Errorf("%s: %q %v", name, ack, err)
		}
	}
	if len(d.stored) > 0 {
		t.Errorf("kept %+v", d.stored)
	}
}

// TestMessagesNotKept: a message that is not in the log gets no acknowledgment.
func TestMessagesNotKept(t *testing.T) {
	d := open(t)
	for name, tt := range map[string]struct {
		key  access.Key
		fail error
		want error
		ack  string
	}{
		"the log is away": {d.key, ingest.ErrAway, ingest.ErrAway, ""},
		"no scope":        {d.narrow, nil, ingest.ErrForbidden, ""},
		"too large":       {d.key, ingest.ErrTooLarge, nil, "MSA|AE|"},
	} {
		d.fail = tt.fail
		ack, err := ingest.NewMessages(d.config).TakeBody(context.Background(), tt.key, []byte(admission))
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
	if ack, err := ingest.NewMessages(d.config).TakeBody(t.Context(), d.key, []byte(everyField())); err != nil || len(ack) == 0 || len(d.stored) != 1 {
		t.Fatal(string(ack), err)
	}
	d.logged.WriteString("nothing is logged here") // search needs a log line; over MLLP the connection writes it
	d.search(t)
}
