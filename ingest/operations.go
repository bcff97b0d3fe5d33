package ingest

import (
	"net/http"
	"slices"

	"svc/ingest/fhir"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/problem"
)

// Operations returns the API operations that accept facts.
func Operations() []contract.Operation {
	return slices.Concat(contract.Operations(feedRoutes()), contract.Operations(actRoutes()))
}

// actRoutes returns the operations for administrators.
func actRoutes() []contract.Route[*acts] {
	return slices.Concat(localSettingsRoutes(), deadLetterRoutes())
}

// feedRoutes returns the operations of the feeds, with their handlers. The body shapes below document the bodies, and
// the handlers use them to parse the bodies.
func feedRoutes() []contract.Route[*server] {
	all := []contract.Route[*server]{
		{Operation: contract.Operation{
			Path: "/api/ingest/adt", Scope: access.IngestADT, ID: "sendADT", Summary: "Send one admission, discharge or transfer event",
			About: "The patient's location is derived from all events of the visit, so events may arrive in any order, be repeated, and be " +
				"canceled later.",
			Bodies: jsonBody(maxBody, adtShape{},
				contract.Example{
					Name: "Admission",
					Text: `{"eventType":"A01","occurredAt":"2026-03-04T09:29:00-06:00","visitId":"V-1001","patientId":"P-7001",` +
						`"location":{"pointOfCare":"L&D","room":"LDR 4","bed":"01"},"patientClass":"I","diagnoses":[{"system":"ICD-10-CM",` +
						`"code":"O14.13","display":"Severe pre-eclampsia"}]}`,
				},
				contract.Example{Name: "Discharge", Text: `{"eventType":"discharge","occurredAt":"2026-03-06T11:00:00-06:00","visitId":"V-1001"}`}),
			Data: adtAnswer{}, Refuses: factors,
		}, Serve: (*server).adt},
		{Operation: contract.Operation{
			Path: "/api/ingest/batch", Scope: access.IngestBatch, ID: "sendBatch", Summary: "Send up to 500 admission, discharge and " +
				"transfer events, and past staffing",
			About: "Valid events are applied; invalid ones are listed with their faults. Hours of the last 28 days that svc did not observe " +
				"live are evaluated from the events; staffing lists the nurses on duty in these hours. staffing changes only past hours: send the " +
				"current number to /api/ingest/staffing. A fault in staffing rejects the whole body. For a body with staffing, the key also " +
				"needs the scope ingest:staffing.",
			Bodies: jsonBody(maxBatchBody, batchShape{},
				contract.Example{
					Name: "Backfill",
					Text: `{"events":[{"eventType":"A04","occurredAt":"2026-03-04T08:14:00-06:00","visitId":"V-1002","roomId":21,` +
						`"patientClass":"O"},{"eventType":"A03","occurredAt":"2026-03-04T09:10:00-06:00","visitId":"V-1002"}],` +
						`"staffing":[{"asOf":"2026-03-04T07:00:00-06:00","nursesOnDuty":6,"callStaffAvailable":true},` +
						`{"asOf":"2026-03-04T19:00:00-06:00","nursesOnDuty":5}]}`,
				}),
			Data: batchAnswer{}, Limits: map[string]int64{
				"eventsPerBatch": itemsAtMost[batchShape]("events"), "staffingsPerBatch": itemsAtMost[batchShape]("staffing"),
				"smallBodyFacts": limit.LargeFacts, "smallBodyBytes": limit.LargeBytes,
				"factsPerSecond": limit.FactsPerSecond, "factsAtOnce": limit.FactsAtOnce, "factsUnapplied": limit.FactsUnapplied,
				"largeBodiesAtOnce": limit.LargeAtOnce,
			},
		}, Serve: (*server).batch},
		{Operation: contract.Operation{
			Path: "/api/ingest/census", Scope: access.IngestCensus, ID: "sendCensus", Summary: "Send all rooms of the unit and their patients",
			About: "A full snapshot: rooms that it does not list are removed from the unit. If a list in a row is omitted, the stored list is " +
				"unchanged; an empty list clears it.",
			Bodies: jsonBody(maxBody, censusShape{},
				contract.Example{
					Name: "Three rooms",
					Text: `{"totalRooms":12,"rooms":[{"roomId":1,"roomLabel":"LDR 1","area":"L&D","status":"occupied","visitId":"V-2001",` +
						`"primaryFactor":"labor-standard","modifiers":["env-interpreter"]},` +
						`{"roomId":7,"roomLabel":"301","area":"Postpartum","status":"occupied","primaryFactor":"pp-couplet",` +
						`"deliveredAt":"2026-03-04T02:10:00-06:00","deliveryMode":"vaginal","newborns":[{}]},` +
						`{"roomId":8,"roomLabel":"302","area":"Postpartum","status":"empty"}]}`,
				}),
			Data: censusAnswer{}, Refuses: factors, Limits: map[string]int64{"roomsPerCensus": itemsAtMost[censusShape]("rooms")},
		}, Serve: (*server).census},
		{Operation: contract.Operation{
			Path: "/api/ingest/clinical", Scope: access.IngestClinical, ID: "sendClinical",
			Summary: "Send medications, observations, results and devices for one room",
			About: "A signal that matches no default rule and no mapping of the hospital is stored and listed for administrators. " +
				"A request without signals evaluates which factors have expired.",
			Bodies: jsonBody(maxBody, clinicalShape{},
				contract.Example{
					Name: "Magnesium starts",
					Text: `{"roomId":1,"signals":[{"kind":"medication","system":"RxNorm","code":"6585","display":"magnesium sulfate","status":"active"}]}`,
				},
				contract.Example{
					Name: "A score and a trace",
					Text: `{"roomId":1,"signals":[{"kind":"observation","system":"LOINC","code":"88888-8","display":"MEWS total score","value":5},` +
						`{"kind":"observation","system":"LOINC","code":"32421-5","value":"Category II"}]}`,
				}),
			Data: clinicalAnswer{}, Refuses: []problem.Kind{problem.Unprocessable},
			Limits: map[string]int64{
				"signalsPerRequest": itemsAtMost[clinicalShape]("signals"), "jsonDepth": httpapi.MaxDepth,
				"unpackedFactor": unpackFactor, "unpackedRatio": unpackRatio,
			},
		}, Serve: (*server).clinical},
		{Operation: contract.Operation{
			Path: "/api/ingest/fhir", Scope: access.IngestFHIR, ID: "sendFHIR", Summary: "Send FHIR R4 resources",
			About: "A Bundle of any type, one resource, an array of resources, or {resources}. " +
				"Encounter, Condition, Observation and MedicationAdministration are applied; Medication, Location and Patient support them; other " +
				"types are ignored and counted. Faults in individual resources are listed in issues; the other resources are applied. " +
				"A client that accepts application/fhir+json receives a Bundle of type transaction-response or batch-response, or for any " +
				"other body an OperationOutcome, with 422 if no resource could be applied.",
			Bodies: []contract.Body{
				{Type: fhirType, Shape: resourcesShape, Limit: maxFHIRBody, Examples: sampleFHIR},
				{Type: jsonType, Shape: resourcesShape, Limit: maxFHIRBody, Examples: sampleFHIR},
			},
			Data: fhirAnswer{}, Bare: []string{fhirType}, Refuses: []problem.Kind{problem.Unprocessable, problem.NotSupported},
			Limits: map[string]int64{"resourcesPerBody": fhir.MaxResources, "factsPerBody": fhir.MaxFacts},
		}, Serve: (*server).fhir},
		{Operation: contract.Operation{
			Path: "/api/ingest/hl7", Scope: access.IngestHL7, ID: "sendHL7", Summary: "Send HL7 v2 ADT messages",
			About: "One or more messages, with or without batch segments. " +
				"The text response is the HL7 acknowledgment with status 200, whatever its code; 400 only if the body has no message. " +
				"The JSON response has the acknowledgment in the envelope; a refused message is 422 with the acknowledgment in error.ack.",
			Bodies: []contract.Body{
				{Type: textType, Pattern: "hl7", Limit: maxBody, Examples: []contract.Example{{Name: "Admission", Text: sampleAdmission}}},
				{Type: hl7Type, Pattern: "hl7", Limit: maxBody, Examples: []contract.Example{{Name: "Admission", Text: sampleAdmission}}},
				{Type: jsonType, Limit: maxBody, Shape: hl7Shape{}, Examples: []contract.Example{{
					Name: "Admission",
					Text: `{"message":"MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304093010-0600||ADT^A01^ADT_A01|M1003|P|2.5.1\r` +
						`EVN|A01|20260304092900-0600\rPID|1||MRN7002^^^STMARY^MR\rPV1|1|I|L&D^LDR 5^01|L|||||||||||||||VN9002\r"}`,
				}}},
			},
			Limits: map[string]int64{"messagesPerBody": maxMessages, "segmentsPerMessage": hl7.MaxSegments, "bytesPerField": hl7.MaxField},
			Data:   hl7Answer{}, Bare: []string{textType, hl7Type}, Refuses: []problem.Kind{problem.Unprocessable},
		}, Serve: (*server).hl7},
		{Operation: contract.Operation{
			Path: "/api/ingest/roster", Scope: access.IngestRoster, ID: "sendRoster", Summary: "Send the roster: nurses on shift, with their " +
				"experience and assignments",
			About: "Used for the skill mix. Names are accepted but never stored.",
			Bodies: jsonBody(maxBody, rosterShape{},
				contract.Example{
					Name: "Two nurses",
					Text: `{"nurses":[{"externalId":"n-17","jobCode":"RN","skillLevel":2,"hireDate":"2014-05-01","assignedRoomIds":[1]},` +
						`{"externalId":"n-31","skillLevel":0,"assignedRoomIds":[7]}]}`,
				}),
			Data: rosterAnswer{}, Limits: map[string]int64{"nursesPerRoster": itemsAtMost[rosterShape]("nurses")},
		}, Serve: (*server).roster},
		{Operation: contract.Operation{
			Path: "/api/ingest/staffing", Scope: access.IngestStaffing, ID: "sendStaffing", Summary: "Send the number of nurses on duty",
			About:  "Do not count the charge nurse. If asOf is up to 24 hours ahead, the number is a plan that takes effect at that time.",
			Bodies: jsonBody(maxBody, staffingShape{}, contract.Example{Name: "Six nurses", Text: `{"nursesOnDuty":6,"callStaffAvailable":true}`}),
			Data:   staffingAnswer{}, Refuses: factors,
		}, Serve: (*server).staffing},
	}
	for i := range all {
		o := &all[i].Operation
		o.Method, o.Group = http.MethodPost, "Feeds"
		o.Parameters = []contract.Parameter{{
			Name: "Prefer", In: "header", Example: "respond-async",
			About: "respond-async: respond as soon as the facts are durable, with applied false and without their effect.",
		}, {
			Name: "Idempotency-Key", In: "header", Example: "5f0c2a4e-1", Pattern: "token",
			About: "1 to 255 visible characters, unique for each request. " +
				"A repeat within 24 hours has no further effect and returns the first response with the header Idempotency-Replayed: " +
				"true; a repeat with a different body is refused.",
		}}
		o.Refuses = append(slices.Clip(o.Refuses), problem.Conflict)
		serve := all[i].Serve
		all[i].Serve = func(s *server, w http.ResponseWriter, r *http.Request) {
			s.serveShared(w, r, func(r *http.Request) {
				s.countRefusal(w, r, func(w http.ResponseWriter) {
					if once, ok := s.readIdempotencyKey(w, r); ok {
						serve(s, w, once)
					}
				})
			})
		}
	}
	return all
}

// factors is the kind of refusal for a body that names an unknown factor.
var factors = []problem.Kind{problem.Unprocessable}

func jsonBody(limit int64, shape any, examples ...contract.Example) []contract.Body {
	return []contract.Body{{Type: jsonType, Shape: shape, Limit: limit, Examples: examples}}
}
