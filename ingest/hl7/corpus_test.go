package hl7_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/ingest/hl7"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestCorpus decodes messages as senders write them, each with one peculiarity. It compares the facts and the
// acknowledgments with golden files.
func TestCorpus(t *testing.T) {
	files := must(filepath.Glob("testdata/*.hl7"))
	if len(files) < 60 {
		t.Fatalf("%d messages", len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".hl7")
		t.Run(name, func(t *testing.T) {
			got := readable(t, must(os.ReadFile(file)))
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(must(os.ReadFile(golden))); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// readable returns the result for a body as text without empty fields.
func readable(t *testing.T, body []byte) string {
	t.Helper()
	batch, err := hl7.Split(body, hl7.Charset{})
	if err != nil {
		return err.Error() + "\n"
	}
	var out strings.Builder
	line := func(name, format string, values ...any) {
		fmt.Fprintf(&out, "%-10s "+format+"\n", append([]any{name}, values...)...)
	}
	for _, w := range batch.Warnings {
		line("warning", "%s %s", w.Code, w.Path)
	}
	a := hl7.Acknowledgment{Hospital: "stmary", At: received.Time().In(chicago), ID: "A1"}
	var acks [][]byte
	var m hl7.Message
	for i, raw := range batch.Messages {
		if len(batch.Messages) > 1 {
			fmt.Fprintf(&out, "-- message %d\n", i+1)
		}
		if err := m.Scan(raw, batch.Charset); err != nil {
			line("error", "%v", err)
			a.Fault = &hl7.Fault{Code: hl7.AE, Condition: 100, Segment: "MSH"}
			controlID := ""
			if bad, ok := errors.AsType[*hl7.HeaderError](err); ok {
				a.Fault, controlID = bad.Fault(), bad.ControlID
			}
			acks = append(acks, hl7.AppendError(nil, a, controlID))
			continue
		}
		var e acuity.Event
		if e, a.Fault = m.Facts(options); a.Fault == nil {
			event(line, &e)
		}
		acks = append(acks, m.Ack(nil, a))
	}
	answer := acks[0]
	if batch.Framed || len(acks) > 1 {
		answer = hl7.AppendBatch(nil, batch, a, acks)
	}
	if len(answer) == 0 {
		line("answer", "none")
	}
	for text := range strings.SplitSeq(strings.TrimSuffix(string(answer), "\r"), "\r") {
		if text != "" {
			line("answer", "%s", text)
		}
	}
	return out.String()
}

var eventNames = map[acuity.EventType]string{
	acuity.EventOther: "no effect", acuity.A01: "A01", acuity.A02: "A02", acuity.A03: "A03", acuity.A04: "A04", acuity.A06: "A06",
	acuity.A07: "A07", acuity.A08: "A08", acuity.A11: "A11", acuity.A12: "A12", acuity.A13: "A13",
}

var precisions = [...]string{"millisecond", "second", "minute", "hour", "day", "month", "year"}

// event writes the facts of one event.
func event(line func(name, format string, values ...any), e *acuity.Event) {
	moment := func(name string, at acuity.Instant, precision string) {
		if at != 0 {
			line(name, "%s%s", at.Time().Format(time.RFC3339Nano), precision)
		}
	}
	text := func(name, value string) {
		if value != "" {
			line(name, "%s", value)
		}
	}
	place := func(name string, l acuity.Location) {
		if !l.IsZero() {
			line(name, "point of care %q, room %q, bed %q, facility %q", l.PointOfCare, l.Room, l.Bed, l.Facility)
		}
	}
	letter := func(name string, c byte) {
		if c != 0 {
			line(name, "%c", c)
		}
	}
	line("event", "%s", eventNames[e.Type])
	moment("at", e.At, " to the "+precisions[e.Precision])
	moment("recorded", e.RecordedAt, "")
	moment("cancels", e.Cancels, " to the "+precisions[e.CancelsPrecision])
	text("visit", e.Visit)
	text("account", e.Account)
	text("patient", e.Patient)
	text("mother", e.MotherPatient)
	place("place", e.Place)
	if e.PlaceNull {
		line("place", "taken away")
	}
	place("prior", e.Prior)
	letter("class", e.Class)
	letter("admission", e.AdmissionType)
	text("service", e.Service)
	if e.Newborn {
		line("newborn", "yes")
	}
	if e.Babies > 0 {
		line("babies", "%d", e.Babies)
	}
	text("reasons", strings.Join(adt.ReasonCodes(e.Reasons), " "))
	text("diagnoses", [...]string{"", "snapshot", "delta", "clear"}[e.DiagnosisMode])
	for _, d := range e.Diagnoses {
		sign := "+"
		if d.Delete {
			sign = "-"
		}
		onset := ""
		if d.OnsetAt != 0 {
			onset = " since " + d.OnsetAt.Time().Format(time.RFC3339Nano)
		}
		line("", "%s %s %s %q%s", sign, d.System, d.Code, d.Display, onset)
	}
	for _, w := range e.Warnings {
		line("warning", "%s %s", w.Code, w.Path)
	}
}
