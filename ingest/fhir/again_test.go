package fhir

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// TestFactsAgain writes the facts of each message in the corpus as resources, and checks that these resources decode
// to the same facts.
func TestFactsAgain(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string][]byte{"a bundle of 100 kB": largeBundle(7, 100_000)}
	for _, file := range files {
		if bodies[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	o := options()
	o.Pseudonym = func(kind, value string) string {
		if kind == "event" {
			return ""
		}
		return value
	}
	written := 0
	for name, body := range bodies {
		facts, fault := Decode(body, o)
		if fault != nil {
			continue
		}
		w := writer{zone: o.Zone, resources: []any{}}
		w.facts(facts)
		written += len(w.resources)
		again, fault := Decode(w.body(t), o)
		if fault != nil {
			t.Fatal(name, fault)
		}
		w.keep(facts)
		if got, want := lines(again), lines(facts); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s\nfrom %s", name, got, want, w.body(t))
		}
	}
	if written < 200 {
		t.Errorf("only %d resources were written", written)
	}
}

// lines describes the events and the signals in f, without other facts. It omits the intervals of times, because
// [writer] writes instants. It also omits whether a patient may be a fetus, because that depends on whether the body
// contains the Encounter.
func lines(f *Facts) string {
	for i := range f.Signals {
		s := &f.Signals[i]
		s.ObservedFrom, s.StartedFrom = 0, 0
		if strings.HasPrefix(s.Fetus, acuity.PerhapsFetus) {
			s.Fetus = ""
		}
	}
	_, text, _ := strings.Cut(describeFacts(&Facts{Events: f.Events, Signals: f.Signals}, nil), "conditions 0\n")
	return text
}

type object = map[string]any

// writer writes facts as resources. It omits facts that no single resource can express.
type writer struct {
	zone      *time.Location
	resources []any
	left      map[string]bool // omitted facts, by Resource
}

func (w *writer) body(t *testing.T) []byte {
	t.Helper()
	body, err := json.Marshal(w.resources)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// keep removes from f everything that the writer did not write.
func (w *writer) keep(f *Facts) {
	var events []acuity.Event
	for _, e := range f.Events {
		if !w.left[e.Resource] {
			e.Reasons = 0 // the reason's text was not written
			if e.AtFrom != 0 {
				e.AtFrom, e.AtTo, e.Precision = 0, 0, acuity.Millisecond // as [writer.when] writes it
			}
			events = append(events, e)
		}
	}
	var signals []acuity.Signal
	for _, s := range f.Signals {
		if !w.left[s.Resource] {
			signals = append(signals, s)
		}
	}
	f.Events, f.Signals = events, signals
}

func (w *writer) facts(f *Facts) {
	w.left = map[string]bool{}
	for i := 0; i < len(f.Events); {
		n := i + 1
		for n < len(f.Events) && f.Events[n].Resource == f.Events[i].Resource {
			n++
		}
		w.encounter(f.Events[i:n])
		i = n
	}
	for i := range f.Signals {
		w.signal(&f.Signals[i])
	}
}

// named returns a new resource with its type and its id or identifier. It returns false if only the content identifies
// the resource.
func (w *writer) named(resource string) (object, bool) {
	_, key, _ := strings.Cut(resource, "\x00")
	if kind, value, ok := strings.Cut(key, "?identifier="); ok {
		return object{"resourceType": kind, "identifier": []any{object{"value": value}}}, true
	}
	if kind, id, ok := strings.Cut(key, "/"); ok && kindOf([]byte(kind)) != otherKind && !strings.ContainsRune(key, 0) {
		return object{"resourceType": kind, "id": id}, true
	}
	w.left[resource] = true
	return nil, false
}

// when returns the time of an event. A coarse time is written as the resolved instant, because the information that
// made it exact may be missing when it is decoded again.
func (w *writer) when(e *acuity.Event) string {
	if e.AtFrom != 0 {
		return w.at(e.At, acuity.Millisecond)
	}
	return w.at(e.At, e.Precision)
}

func (w *writer) at(i acuity.Instant, p acuity.Precision) string {
	layout := map[acuity.Precision]string{
		acuity.Second: "2006-01-02T15:04:05-07:00", acuity.Minute: "2006-01-02T15:04-07:00",
		acuity.Day: "2006-01-02", acuity.Month: "2006-01", acuity.Year: "2006",
	}[p]
	if layout == "" {
		layout = "2006-01-02T15:04:05.000Z07:00"
	}
	return i.Time().In(w.zone).Format(layout)
}

func subject(patient, person string) object {
	f := object{"identifier": object{"value": patient}}
	if person != "" {
		f["reference"] = person
	}
	return f
}

var uris = map[codes.System]string{
	codes.SNOMED: "http://snomed.info/sct", codes.LOINC: "http://loinc.org", codes.ICD10CM: "http://hl7.org/fhir/sid/icd-10-cm",
	codes.RxNorm: "urn:oid:2.16.840.1.113883.6.88", codes.SystemLocal: "http://hospital.example",
}

func (w *writer) signal(s *acuity.Signal) {
	r, ok := w.named(s.Resource)
	if !ok {
		return
	}
	if len(s.Fetus) > 1 && !strings.HasPrefix(s.Fetus, acuity.PerhapsFetus) { // a pseudonym cannot be written as a reference
		w.left[s.Resource] = true
		return
	}
	w.meta(r, s.UpdatedAt, s.VersionID)
	if len(s.Fetus) == 1 {
		r["bodySite"] = object{"text": "Fetus " + s.Fetus}
	}
	if s.Patient != "" {
		r["subject"] = subject(s.Patient, s.Subject)
	}
	if s.Visit != "" {
		r["encounter"] = object{"identifier": object{"value": s.Visit}}
	}
	var codings []any
	for _, c := range append([]acuity.Coding{{System: s.System, Code: s.Code, Display: s.Display}}, s.Also...) {
		if c.Code != "" {
			codings = append(codings, object{"system": uris[c.System], "code": c.Code, "display": c.Display})
		} else if c.Display != "" {
			codings = append(codings, object{"display": c.Display})
		}
	}
	code := "code"
	switch s.Kind { //nolint:exhaustive // the others are Observations
	case catalogue.KindCondition:
		r["clinicalStatus"] = []string{"active", "resolved", "", ""}[s.Status]
		if s.Status == acuity.SignalRetracted {
			r["verificationStatus"] = "entered-in-error"
		}
		end := "abatementDateTime"
		if s.Status != acuity.SignalEnded {
			end = "recordedDate"
		}
		if s.StartedAt != 0 {
			r["onsetDateTime"] = w.at(s.StartedAt, 0)
		}
		if s.ObservedAt != 0 {
			r[end] = w.at(s.ObservedAt, 0)
		}
	case catalogue.KindMedication:
		code = "medicationCodeableConcept"
		r["status"] = []string{"in-progress", "completed", "on-hold", "entered-in-error"}[s.Status]
		during := object{}
		if s.StartedAt != 0 {
			during["start"] = w.at(s.StartedAt, 0)
		}
		if s.Status == acuity.SignalEnded && s.ObservedAt != 0 {
			during["end"] = w.at(s.ObservedAt, 0)
		}
		r["effectivePeriod"] = during
	default:
		r["status"] = []string{"final", "", "", "entered-in-error"}[s.Status]
		if s.Kind == catalogue.KindLab {
			r["category"] = []any{object{"coding": []any{object{"code": "laboratory"}}}}
		}
		if s.ObservedAt != 0 {
			r["effectiveDateTime"] = w.at(s.ObservedAt, 0)
		}
		w.value(r, &s.Value)
	}
	if len(codings) > 0 {
		r[code] = object{"coding": codings}
	}
	w.resources = append(w.resources, r)
}

// meta writes the version of a resource.
func (w *writer) meta(r object, updated acuity.Instant, id int64) {
	meta := object{}
	if updated != 0 {
		meta["lastUpdated"] = w.at(updated, 0)
	}
	if id != 0 {
		meta["versionId"] = strconv.FormatInt(id, 10)
	}
	r["meta"] = meta
}

func (w *writer) value(r object, v *codes.Value) {
	switch v.Kind {
	case codes.ValueNumber:
		q := object{"value": json.Number(fmt.Sprintf("%de-3", v.Number)), "code": v.Unit}
		if v.Op != codes.Equal {
			q["comparator"] = []string{"", "<", "<=", ">", ">="}[v.Op]
		}
		r["valueQuantity"] = q
	case codes.ValueWords:
		r["valueString"] = v.Words
	case codes.ValueUnreadable:
		r["valueRatio"] = object{}
	case codes.ValueNone:
	}
}

func (w *writer) encounter(events []acuity.Event) {
	e := &events[0]
	r, ok := w.named(e.Resource)
	if !ok || e.Newborn || e.Babies != 0 || e.Encounter != "" && r["id"] == nil {
		w.left[e.Resource] = true
		return
	}
	w.meta(r, e.UpdatedAt, e.VersionID)
	if e.Patient != "" {
		r["subject"] = subject(e.Patient, e.Subject)
	}
	if e.Encounter != "" {
		r["identifier"] = []any{object{"value": e.Visit}}
	}
	if e.MotherVisit != "" {
		r["partOf"] = object{"identifier": object{"value": e.MotherVisit}}
	}
	if class := map[byte]string{'I': "IMP", 'E': "EMER", 'P': "PRENC", 'O': "AMB"}[e.Class]; class != "" {
		r["class"] = object{"code": class}
	}
	if e.Service != "" {
		r["serviceType"] = object{"coding": []any{object{"code": e.Service}}}
	}
	r["status"] = "in-progress"
	during := object{"start": w.when(e)}
	switch {
	case e.Void:
		r["status"] = "entered-in-error"
	case e.Type == acuity.A08:
		r["status"] = "planned"
	}
	var stays []any
	for i := range events {
		e := &events[i]
		if e.Type == acuity.A03 {
			r["status"] = "finished"
			during["end"] = w.when(e)
			continue
		}
		if e.Place.IsZero() {
			continue
		}
		span := object{"start": w.when(e)}
		stay := object{"location": w.place(r, &e.Place, i), "period": span, "status": "active"}
		if e.Place.Room == "" {
			stay["physicalType"] = object{"coding": []any{object{"code": "wa"}}}
		}
		if i+1 < len(events) && events[i+1].Type == acuity.A02 {
			stay["status"] = "completed"
			span["end"] = w.when(&events[i+1])
		}
		stays = append(stays, stay)
	}
	r["period"] = during
	if stays != nil {
		r["location"] = stays
	}
	w.resources = append(w.resources, r)
}

// place returns a reference to a Location that it adds to the contained resources of r.
func (w *writer) place(r object, l *acuity.Location, n int) object {
	switch {
	case l.Room == "":
		return object{"display": l.PointOfCare}
	case l.Label != "" && l.PointOfCare == "":
		return object{"display": l.Label}
	}
	contained, _ := r["contained"].([]any) //nolint:errcheck // nil at first
	above := ""
	for _, part := range [][2]string{{l.PointOfCare, "wa"}, {l.Room, "ro"}, {l.Bed, "bd"}} {
		if part[0] == "" {
			continue
		}
		id := fmt.Sprint(part[1], n)
		location := object{"resourceType": "Location", "id": id, "name": part[0], "physicalType": object{"coding": []any{object{"code": part[1]}}}}
		if above != "" {
			location["partOf"] = object{"reference": above}
		}
		above = "#" + id
		contained = append(contained, location)
	}
	r["contained"] = contained
	return object{"reference": above}
}
