package ingest_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// with returns a copy of a JSON body in which the given JSON value replaces the value of one field. An empty value
// omits the field.
func with(body, field, value string) string {
	i := strings.Index(body, `"`+field+`":`)
	if i < 0 {
		panic("no field " + field)
	}
	start := i + len(field) + 3
	end, depth, quoted := start, 0, false
scan:
	for ; end < len(body); end++ {
		switch c := body[end]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']') && depth == 0, c == ',' && depth == 0:
			break scan
		case c == '}' || c == ']':
			depth--
		}
	}
	if value == "" { // omit the field by giving it an unknown name
		return body[:i] + `"x1":` + body[start:]
	}
	return body[:start] + value + body[end:]
}

const (
	clinicalBody = `{"roomId":4,"roomLabel":"LDR04","signals":[{"kind":"medication","system":"RxNorm","code":"6585","display":"magnesium sulfate","value":"4","status":"active","observedAt":"2026-03-04T15:00:00Z","startedAt":"2026-03-04T14:00:00Z"}]}`
	staffingBody = `{"nursesOnDuty":6,"callStaffAvailable":true,"asOf":"2026-03-04T15:00:00Z"}`
	rosterBody   = `{"asOf":"2026-03-04T15:00:00Z","nurses":[{"externalId":"N1","name":"Somebody","jobCode":"RN","skillLevel":2,"hireDate":"2020-03-04","assignedRoomIds":[4,5]}]}`
	censusBody   = `{"asOf":"2026-03-04T15:00:00Z","totalRooms":20,"rooms":[{"roomId":4,"roomLabel":"LDR04","area":"LD","status":"occupied","visitId":"V1","patientClass":"I","service":"OBS","primaryFactor":"labor-standard","primaryFactorSince":"2026-03-04T14:00:00Z","modifiers":["high-mag"],"diagnoses":[{"system":"ICD-10-CM","code":"O14.1","display":"x","onsetAt":"2026-03-04T14:00:00Z"}],"deliveredAt":"2026-03-04T13:00:00Z","deliveryMode":"cesarean","newborns":[{"visitId":"B1","primaryFactor":"nb-continuing"}]}]}`
	adtBody      = `{"eventId":"E1","eventType":"A01","occurredAt":"2026-03-04T15:00:00Z","recordedAt":"2026-03-04T15:01:00Z","visitId":"V1","patientId":"P1","motherVisitId":"V0","roomId":4,"roomLabel":"LDR04","location":{"pointOfCare":"LD","room":"4","bed":"1","facility":"STMARY"},"priorRoomId":5,"priorLocation":{"pointOfCare":"TRI","room":"2","bed":"1","facility":"STMARY"},"patientClass":"I","service":"OBS","primaryFactor":"labor-standard","diagnoses":[{"system":"I10","code":"O14.1","display":"x","onsetAt":"2026-03-04T14:00:00Z"}],"cancelsOccurredAt":"2026-03-04T14:00:00Z"}`
)

// rules maps an invalid value of a field to the rule that the answer must name.
type rules map[string]string

var (
	tooLong    = func(n int) string { return `"` + strings.Repeat("x", n+1) + `"` }
	identifier = rules{`7`: "type:string", `{}`: "type:string", tooLong(200): "maxLength:200"}
	label      = rules{`7`: "type:string", `["a"]`: "type:string", tooLong(100): "maxLength:100"}
	shortText  = rules{`7`: "type:string", `true`: "type:string", tooLong(64): "maxLength:64"}
	display    = rules{`7`: "type:string", tooLong(2000): "maxLength:2000"}
	dateTime   = rules{
		`7`: "type:string", `"soon"`: "date-time", `"2026-02-29T00:00:00Z"`: "date-time", `"2026-03-04T24:00Z"`: "date-time",
		`"2026-03-04T15:00:60Z"`: "date-time", `"2026-03-04T23:59:61Z"`: "date-time", `"2026-03-04T23:59:60-06:00"`: "date-time",
		`"2026-03-04T15:00:00+25:00"`: "date-time", `"2026-03-04T15:00:00.Z"`: "date-time", `"04/03/2026"`: "date-time",
		`"0001-01-01T00:00:00Z"`: "date-time", `""`: "date-time", `"2026-03-04T15:00Z06"`: "date-time",
	}
	roomID = rules{
		`-1`: "min:0", `2147483648`: "max:2147483647", `99999999999999999999`: "max:2147483647",
		`4.5`: "type:integer", `"4"`: "type:integer", `[4]`: "type:integer", `true`: "type:integer", `1e3`: "type:integer",
	}
	factor = rules{`7`: "type:string", tooLong(64): "maxLength:64"}
	list   = rules{`7`: "type:array", `{}`: "type:array", `"x"`: "type:array"}
	class  = rules{`"i"`: "enum:I|O|E|P|R|B|N|C|U", `"IMP"`: "enum:I|O|E|P|R|B|N|C|U", `7`: "type:string"}
)

func and(r rules, more ...string) rules {
	all := maps.Clone(r)
	for pair := range slices.Chunk(more, 2) {
		all[pair[0]] = pair[1]
	}
	return all
}

const eventEnum = "enum:A01|A02|A03|A04|A08|A11|A12|A13|admit|transfer|discharge|register|update|cancel-admit|cancel-transfer|cancel-discharge"

// TestFieldsOfBodies covers every field of every body. An invalid value is refused with the field's path and the
// rule. A missing or null field is refused only if it is required.
func TestFieldsOfBodies(t *testing.T) {
	for path, test := range map[string]struct {
		body, prefix string
		fields       map[string]rules // by the path in the body
		required     string
	}{
		"clinical": {body: clinicalBody, required: " roomId signals signals[0].kind signals[0].system signals[0].code ", fields: map[string]rules{
			"roomId": roomID, "roomLabel": label, "signals": and(list, "["+strings.Repeat("0,", 500)+"0]", "maxItems:500"),
			"signals[0].kind":       {`"drug"`: "enum:medication|observation|lab|device", `""`: "enum:medication|observation|lab|device", `1`: "type:string"},
			"signals[0].system":     {`"ICD-10-CM"`: "enum:RxNorm|LOINC|SNOMED|local|SNOMED-CT", `"rxnorm"`: "enum:RxNorm|LOINC|SNOMED|local|SNOMED-CT", `{}`: "type:string"},
			"signals[0].code":       and(shortText, `""`, "minLength:1", `"  "`, "minLength:1"),
			"signals[0].display":    display,
			"signals[0].value":      {`true`: "type:string|number", `{}`: "type:string|number", `[1]`: "type:string|number", tooLong(2000): "maxLength:2000"},
			"signals[0].status":     shortText,
			"signals[0].observedAt": dateTime, "signals[0].startedAt": dateTime,
		}},
		"staffing": {body: staffingBody, required: " nursesOnDuty ", fields: map[string]rules{
			"nursesOnDuty":       {`-1`: "min:0", `1001`: "max:1000", `"6"`: "type:integer", `6.5`: "type:integer"},
			"callStaffAvailable": {`"yes"`: "type:boolean", `1`: "type:boolean"},
			"asOf":               dateTime,
		}},
		"roster": {body: rosterBody, required: " nurses ", fields: map[string]rules{
			"asOf": dateTime, "nurses": and(list, "["+strings.Repeat("0,", 500)+"0]", "maxItems:500"),
			"nurses[0].externalId": identifier, "nurses[0].name": {`7`: "type:string", `{}`: "type:string"}, "nurses[0].jobCode": shortText,
			"nurses[0].skillLevel":      {`3`: "max:2", `-1`: "min:0", `"2"`: "type:integer", `1.5`: "type:integer"},
			"nurses[0].hireDate":        {`"2020"`: "date", `"2020-02-30"`: "date", `"2020-03-04x"`: "date", `7`: "type:string"},
			"nurses[0].assignedRoomIds": and(list, "["+strings.Repeat("0,", 50)+"0]", "maxItems:50"),
		}},
		"census": {body: censusBody, required: " rooms rooms[0].roomId rooms[0].status rooms[0].diagnoses[0].code ", fields: map[string]rules{
			"asOf": dateTime, "totalRooms": {`-1`: "min:0", `10001`: "max:10000", `"20"`: "type:integer"},
			"rooms":           and(list, "["+strings.Repeat("0,", 500)+"0]", "maxItems:500"),
			"rooms[0].roomId": roomID, "rooms[0].roomLabel": label, "rooms[0].area": label,
			"rooms[0].status":  {`"full"`: "enum:occupied|empty|blocked", `"Occupied"`: "enum:occupied|empty|blocked", `7`: "type:string"},
			"rooms[0].visitId": identifier, "rooms[0].patientClass": class, "rooms[0].service": shortText,
			"rooms[0].primaryFactor": factor, "rooms[0].primaryFactorSince": dateTime,
			"rooms[0].modifiers": list, "rooms[0].diagnoses": list,
			"rooms[0].diagnoses[0].system": shortText, "rooms[0].diagnoses[0].code": and(shortText, `""`, "minLength:1"),
			"rooms[0].diagnoses[0].display": display, "rooms[0].diagnoses[0].onsetAt": dateTime,
			"rooms[0].deliveredAt":  dateTime,
			"rooms[0].deliveryMode": {`"forceps"`: "enum:vaginal|cesarean", `7`: "type:string"},
			"rooms[0].newborns":     list, "rooms[0].newborns[0].visitId": identifier, "rooms[0].newborns[0].primaryFactor": factor,
		}},
		"adt": {body: adtBody, required: " eventType occurredAt visitId diagnoses[0].code ", fields: map[string]rules{
			"eventId": identifier, "eventType": {`"A99"`: eventEnum, `"a01"`: eventEnum, `7`: "type:string"},
			"occurredAt": dateTime, "recordedAt": dateTime, "visitId": and(identifier, `""`, "minLength:1"), "patientId": identifier,
			"motherVisitId": identifier, "roomId": roomID, "roomLabel": label, "location": {`7`: "type:object", `[]`: "type:object", `"LD"`: "type:object"},
			"location.pointOfCare": label, "location.room": label, "location.bed": label, "location.facility": label,
			"priorRoomId": roomID, "priorLocation": {`7`: "type:object"}, "priorLocation.pointOfCare": label, "priorLocation.room": label,
			"priorLocation.bed": label, "priorLocation.facility": label, "patientClass": class, "service": shortText,
			"primaryFactor": factor, "diagnoses": list, "diagnoses[0].system": shortText, "diagnoses[0].code": and(shortText, `""`, "minLength:1"),
			"diagnoses[0].display": display, "diagnoses[0].onsetAt": dateTime, "cancelsOccurredAt": dateTime,
		}},
	} {
		t.Run(path, func(t *testing.T) {
			d := open(t)
			if o := d.wantApplied(t, d.post(t, path, test.body)); o.Channel == "" {
				t.Error("no channel")
			}
			for field, wrong := range test.fields {
				for value, rule := range wrong {
					t.Run(field+"="+value[:min(len(value), 30)], func(t *testing.T) {
						d := open(t)
						d.wantRefused(t, d.post(t, path, mutate(test.body, field, value)), http.StatusBadRequest, "invalid_request", field+" "+rule)
					})
				}
				need := strings.Contains(test.required, " "+field+" ")
				for name, value := range map[string]string{"missing": "", "null": "null"} {
					t.Run(field+" "+name, func(t *testing.T) {
						d := open(t)
						a := d.post(t, path, mutate(test.body, field, value))
						if need {
							d.wantRefused(t, a, http.StatusBadRequest, "invalid_request", field+" required")
							return
						}
						d.wantApplied(t, a)
					})
				}
				t.Run(field+" twice", func(t *testing.T) {
					d := open(t)
					name := field[strings.LastIndex(field, ".")+1:]
					body := mutate(test.body, field, `null,"`+name+`":null`)
					d.wantRefused(t, d.post(t, path, body), http.StatusBadRequest, "invalid_request", field+" unique")
				})
			}
			t.Run("not an object", func(t *testing.T) {
				for _, body := range []string{`[]`, `7`, `"x"`, `null`, ` [ ] `} {
					d := open(t)
					d.wantRefused(t, d.post(t, path, body), http.StatusBadRequest, "invalid_request", "type:object")
				}
			})
			t.Run("elements", func(t *testing.T) {
				for field := range test.fields {
					if !strings.HasSuffix(field, "signals") && !strings.HasSuffix(field, "nurses") && !strings.HasSuffix(field, "rooms") &&
						!strings.HasSuffix(field, "diagnoses") && !strings.HasSuffix(field, "newborns") {
						continue
					}
					d := open(t)
					d.wantRefused(t, d.post(t, path, mutate(test.body, field, `[7,"x",null]`)), http.StatusBadRequest, "invalid_request",
						fmt.Sprintf("%[1]s[0] type:object, %[1]s[1] type:object, %[1]s[2] type:object", field))
				}
			})
		})
	}
}

// mutate replaces the field at a path. It searches for an inner field only after the field that
// contains it.
func mutate(body, path, value string) string {
	steps := strings.Split(strings.ReplaceAll(path, "[0]", ""), ".")
	at := 0
	for _, step := range steps[:len(steps)-1] {
		at += strings.Index(body[at:], `"`+step+`":`) + 1
	}
	return body[:at] + with(body[at:], steps[len(steps)-1], value)
}

// TestAllFaultsAtOnce: a refusal lists all broken rules at once, in the order in which the body is read.
func TestAllFaultsAtOnce(t *testing.T) {
	d := open(t)
	a := d.post(t, "clinical", `{"roomId":-1,"signals":[{"kind":"x","code":7},5,{"kind":"lab","system":"LOINC","code":"1","observedAt":"x"}]}`)
	d.wantRefused(t, a, http.StatusBadRequest, "invalid_request",
		"roomId min:0, signals[0].kind enum:medication|observation|lab|device, signals[0].system required, signals[0].code type:string, "+
			"signals[1] type:object, signals[2].observedAt date-time")
}

func TestFactorsThatDoNotExist(t *testing.T) {
	for name, test := range map[string]struct{ path, body, want string }{
		"census primary":      {"census", mutate(censusBody, "rooms[0].primaryFactor", `"nothing"`), "rooms[0].primaryFactor primaryFactor"},
		"census modifier":     {"census", mutate(censusBody, "rooms[0].modifiers", `["high-mag","nothing","labor-standard"]`), "rooms[0].modifiers[1] modifier, rooms[0].modifiers[2] modifier"},
		"modifier as primary": {"census", mutate(censusBody, "rooms[0].primaryFactor", `"high-mag"`), "rooms[0].primaryFactor primaryFactor"},
		"census newborn":      {"census", mutate(censusBody, "rooms[0].newborns[0].primaryFactor", `"nothing"`), "rooms[0].newborns[0].primaryFactor primaryFactor"},
		"adt primary":         {"adt", mutate(adtBody, "primaryFactor", `"nothing"`), "primaryFactor primaryFactor"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.wantRefused(t, d.post(t, test.path, test.body), http.StatusUnprocessableEntity, "unprocessable", test.want)
		})
	}
	t.Run("malformed comes first", func(t *testing.T) {
		d := open(t)
		body := mutate(mutate(adtBody, "primaryFactor", `"nothing"`), "visitId", "null")
		d.wantRefused(t, d.post(t, "adt", body), http.StatusBadRequest, "invalid_request", "visitId required, primaryFactor primaryFactor")
	})
	t.Run("modifier of another type", func(t *testing.T) {
		d := open(t)
		d.wantRefused(t, d.post(t, "census", mutate(censusBody, "rooms[0].modifiers", `[7]`)), http.StatusBadRequest, "invalid_request", "rooms[0].modifiers[0] type:string")
	})
	t.Run("room of another type", func(t *testing.T) {
		d := open(t)
		d.wantRefused(t, d.post(t, "roster", mutate(rosterBody, "nurses[0].assignedRoomIds", `[7,"8",-1]`)), http.StatusBadRequest, "invalid_request",
			"nurses[0].assignedRoomIds[1] type:integer, nurses[0].assignedRoomIds[2] min:0")
	})
	t.Run("room listed twice", func(t *testing.T) {
		d := open(t)
		d.wantRefused(t, d.post(t, "census", `{"rooms":[{"roomId":1,"status":"empty"},{"roomId":1,"status":"empty"}]}`), http.StatusUnprocessableEntity, "unprocessable", "rooms[1].roomId unique")
	})
}

// TestUnknownFields: an unknown field causes a warning with its path but never its value. If the name could contain
// personal data, the path omits it.
func TestUnknownFields(t *testing.T) {
	d := open(t)
	a := d.post(t, "census", `{"extra":1,"rooms":[{"roomId":1,"status":"empty","bedCount":{"a":[1,"]"]},"Canary Patient, born":"Canary"}]}`)
	d.wantApplied(t, a)
	if got, want := a.warnings(), "unknown_field@rooms[0].bedCount, unknown_field@rooms[0].?, unknown_field@extra"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnknownFieldsOfABatch: the events of a batch are decoded one after another into the same memory. An event must
// not overwrite the fields of the batch itself, which are still needed.
func TestUnknownFieldsOfABatch(t *testing.T) {
	d := open(t)
	one := func(visit, extra string) string {
		return `{"eventType":"A01","occurredAt":"2026-03-04T15:00:00Z","visitId":"` + visit + `",` + extra + `"location":{"room":"4","ward":1}}`
	}
	a := d.post(t, "batch", `{"first":1,"events":[`+one("V1", "")+","+one("V2", `"nurse":2,`)+`],"last":3}`)
	d.wantApplied(t, a)
	want := "unknown_field@events[0].location.ward, unknown_field@events[1].location.ward, unknown_field@events[1].nurse, unknown_field@first, unknown_field@last"
	if got := a.warnings(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCensusOfMoreRoomsThanThereAre: a census must not list more rooms than totalRooms
// (docs/decisions.md#census-rows).
func TestCensusOfMoreRoomsThanThereAre(t *testing.T) {
	d := open(t)
	d.wantRefused(t, d.post(t, "census", `{"totalRooms":1,"rooms":[{"roomId":1,"status":"empty"},{"roomId":2,"status":"empty"}]}`),
		http.StatusBadRequest, "invalid_request", "totalRooms min:number of rooms")
}

// TestPlanTooFarAhead: a plan that is further ahead than the contract allows is refused like a number that exceeds
// its maximum.
func TestPlanTooFarAhead(t *testing.T) {
	d := open(t)
	d.wantRefused(t, d.post(t, "staffing", `{"nursesOnDuty":4,"asOf":"2026-03-05T15:30:01Z"}`),
		http.StatusBadRequest, "invalid_request", "asOf max:24h ahead")
}

// TestBodiesThatContradictThemselves: a well-formed body that contradicts itself gets a different error than a
// malformed one.
func TestBodiesThatContradictThemselves(t *testing.T) {
	d := open(t)
	d.wantRefused(t, d.post(t, "census", `{"rooms":[{"roomId":1,"status":"empty"},{"roomId":1,"status":"empty"}]}`),
		http.StatusUnprocessableEntity, "unprocessable", "rooms[1].roomId unique")
}

// TestByteOrderMarkIsSkipped: every feed accepts a byte order mark before the JSON, because some editors write one.
func TestByteOrderMarkIsSkipped(t *testing.T) {
	for path, body := range map[string]string{
		"census": `{"rooms":[{"roomId":1,"status":"empty"}]}`, "staffing": `{"nursesOnDuty":3}`,
		"clinical": `{"roomId":1,"signals":[]}`, "roster": `{"nurses":[]}`,
		"adt":   `{"eventType":"A01","occurredAt":"2026-03-04T09:29:00-06:00","visitId":"V-1"}`,
		"batch": `{"events":[{"eventType":"A01","occurredAt":"2026-03-04T09:29:00-06:00","visitId":"V-1"}]}`,
		"hl7":   `{"message":"MSH|^~\\&|E|M|S|M|20260304093010-0600||ADT^A01|M1|P|2.5.1\rPID|1||M1\rPV1|1|I|L^R1|||||||||||||||V1"}`,
		"fhir":  `{"resourceType":"Condition","id":"c","subject":{"reference":"Patient/p"},"code":{"coding":[{"code":"O14.13"}]}}`,
	} {
		d := open(t)
		d.wantApplied(t, d.post(t, path, "\ufeff"+body))
	}
}
