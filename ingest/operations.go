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
)

// Operations are the API operations by which facts come in.
func Operations() []contract.Operation {
	return slices.Concat(contract.Operations(feedRoutes()), contract.Operations(actRoutes()))
}

// actRoutes are the operations of administrators.
func actRoutes() []contract.Route[*acts] {
	return slices.Concat(localSettingsRoutes(), deadLetterRoutes())
}

// feedRoutes are the operations with their handlers. The body shapes below document
// the bodies, and the handlers read the bodies by them.
func feedRoutes() []contract.Route[*server] {
	all := []contract.Route[*server]{
		{Operation: contract.Operation{
			Path: "/api/ingest/adt", Scope: access.IngestADT, ID: "sendADT", Summary: "One admit, discharge or transfer event",
			About: "The place of a patient follows from the set of events of the visit, so they may arrive in any order, repeatedly, and be " +
				"cancelled later.",
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
			Path: "/api/ingest/batch", Scope: access.IngestBatch, ID: "sendBatch", Summary: "Up to 500 admit, discharge and transfer events",
			About: "Good events are applied, bad ones are listed with what is wrong with them.",
			Bodies: jsonBody(maxBatchBody, batchShape{},
				contract.Example{
					Name: "Backfill",
					Text: `{"events":[{"eventType":"A04","occurredAt":"2026-03-04T08:14:00-06:00","visitId":"V-1002","roomId":21,` +
						`"patientClass":"O"},{"eventType":"A03","occurredAt":"2026-03-04T09:10:00-06:00","visitId":"V-1002"}]}`,
				}),
			Data: batchAnswer{}, Limits: map[string]int64{
				"eventsPerBatch": itemsAtMost[batchShape]("events"), "smallBodyFacts": limit.LargeFacts, "smallBodyBytes": limit.LargeBytes,
				"factsPerSecond": limit.FactsPerSecond, "factsAtOnce": limit.FactsAtOnce, "factsUnapplied": limit.FactsUnapplied,
			},
		}, Serve: (*server).batch},
		{Operation: contract.Operation{
			Path: "/api/ingest/census", Scope: access.IngestCensus, ID: "sendCensus", Summary: "All rooms of the unit and who is in them",
			About: "A full snapshot: a room that is not in it leaves the unit. Lists that are left out keep what is known, empty ones clear it.",
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
			Summary: "Medications, observations, results and devices of one room",
			About: "A signal that no default rule and no mapping of the hospital knows is kept and listed for its administrators. " +
				"No signals at all asks what has aged out.",
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
			Data: clinicalAnswer{}, Refuses: []httpapi.Kind{httpapi.Unprocessable},
			Limits: map[string]int64{
				"signalsPerRequest": itemsAtMost[clinicalShape]("signals"), "jsonDepth": httpapi.MaxDepth,
				"unpackedFactor": unpackFactor, "unpackedRatio": unpackRatio,
			},
		}, Serve: (*server).clinical},
		{Operation: contract.Operation{
			Path: "/api/ingest/fhir", Scope: access.IngestFHIR, ID: "sendFHIR", Summary: "FHIR R4 resources",
			About: "A Bundle of any type, one resource, an array of them, or {resources}. " +
				"Encounter, Condition, Observation and MedicationAdministration are applied; Medication, Location and Patient help; all others " +
				"are ignored and counted. What is wrong with single resources is in issues; the others are applied. " +
				"To a client that accepts application/fhir+json the answer is a Bundle of type transaction-response or batch-response, to any " +
				"other body than a Bundle of these types an OperationOutcome, with 422 if none of its resources could be taken.",
			Bodies: []contract.Body{
				{Type: fhirType, Shape: resourcesShape, Limit: maxFHIRBody, Examples: sampleFHIR},
				{Type: jsonType, Shape: resourcesShape, Limit: maxFHIRBody, Examples: sampleFHIR},
			},
			Data: fhirAnswer{}, Bare: []string{fhirType}, Refuses: factors,
			Limits: map[string]int64{"resourcesPerBody": fhir.MaxResources, "factsPerBody": fhir.MaxFacts},
		}, Serve: (*server).fhir},
		{Operation: contract.Operation{
			Path: "/api/ingest/hl7", Scope: access.IngestHL7, ID: "sendHL7", Summary: "HL7 v2 ADT messages",
			About: "One message, or several, with or without the segments of a batch. " +
				"As text the answer is the HL7 acknowledgment, with status 200 whatever it says; 400 only if there is no message at all. " +
				"As JSON it is in the envelope, and a refused message is 422 with the acknowledgment in error.ack.",
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
			Data:   hl7Answer{}, Bare: []string{textType, hl7Type}, Refuses: []httpapi.Kind{httpapi.Unprocessable},
		}, Serve: (*server).hl7},
		{Operation: contract.Operation{
			Path: "/api/ingest/roster", Scope: access.IngestRoster, ID: "sendRoster", Summary: "Who is on shift, with experience and assignments",
			About: "For the skill axis. Names are accepted and never kept.",
			Bodies: jsonBody(maxBody, rosterShape{},
				contract.Example{
					Name: "Two nurses",
					Text: `{"nurses":[{"externalId":"n-17","jobCode":"RN","skillLevel":2,"hireDate":"2014-05-01","assignedRoomIds":[1]},` +
						`{"externalId":"n-31","skillLevel":0,"assignedRoomIds":[7]}]}`,
				}),
			Data: rosterAnswer{}, Limits: map[string]int64{"nursesPerRoster": itemsAtMost[rosterShape]("nurses")},
		}, Serve: (*server).roster},
		{Operation: contract.Operation{
			Path: "/api/ingest/staffing", Scope: access.IngestStaffing, ID: "sendStaffing", Summary: "Nurses on duty",
			About:  "Without the charge nurse. With asOf up to 24 hours ahead it is a plan that takes over then.",
			Bodies: jsonBody(maxBody, staffingShape{}, contract.Example{Name: "Six nurses", Text: `{"nursesOnDuty":6,"callStaffAvailable":true}`}),
			Data:   staffingAnswer{}, Refuses: factors,
		}, Serve: (*server).staffing},
	}
	for i := range all {
		o := &all[i].Operation
		o.Method, o.Group = http.MethodPost, "Feeds"
		o.Parameters = []contract.Parameter{{
			Name: "Prefer", In: "header", Example: "respond-async",
			About: "respond-async: answer as soon as the facts are durable, with applied false and without what they did.",
		}, {
			Name: "Idempotency-Key", In: "header", Example: "5f0c2a4e-1", Pattern: "token",
			About: "1 to 255 visible characters, new for each request. " +
				"The same again within 24 hours has no second effect and is answered as the first time, with the header Idempotency-Replayed: " +
				"true; with another body it is refused.",
		}}
		o.Refuses = append(slices.Clip(o.Refuses), httpapi.Conflict, httpapi.TimedOut)
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

// factors lists the refusal of a body that names an unknown factor: the body is refused
// as a whole.
var factors = []httpapi.Kind{httpapi.Unprocessable}

func jsonBody(limit int64, shape any, examples ...contract.Example) []contract.Body {
	return []contract.Body{{Type: jsonType, Shape: shape, Limit: limit, Examples: examples}}
}
