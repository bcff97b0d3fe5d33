package ingest

import (
	"encoding/json"
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
// the bodies, and the handlers read the bodies by them (shape.go).
func feedRoutes() []contract.Route[*server] {
	all := []contract.Route[*server]{
		{Operation: contract.Operation{
			Path: "/api/ingest/adt", Scope: access.IngestADT, ID: "sendADT", Summary: "One admit, discharge or transfer event",
			About: "The place of a patient follows from the set of events of the visit, so they may arrive in any order, repeatedly, and be cancelled later.",
			Bodies: jsonBody(maxBody, adtShape{},
				contract.Example{Name: "Admission", Text: `{"eventType":"A01","occurredAt":"2026-03-04T09:29:00-06:00","visitId":"V-1001","patientId":"P-7001","location":{"pointOfCare":"L&D","room":"LDR 4","bed":"01"},"patientClass":"I","diagnoses":[{"system":"ICD-10-CM","code":"O14.13","display":"Severe pre-eclampsia"}]}`},
				contract.Example{Name: "Discharge", Text: `{"eventType":"discharge","occurredAt":"2026-03-06T11:00:00-06:00","visitId":"V-1001"}`}),
			Data: adtAnswer{}, Refuses: factors,
		}, Serve: (*server).adt},
		{Operation: contract.Operation{
			Path: "/api/ingest/batch", Scope: access.IngestBatch, ID: "sendBatch", Summary: "Up to 500 admit, discharge and transfer events",
			About: "Good events are applied, bad ones are listed with what is wrong with them.",
			Bodies: jsonBody(maxBatchBody, batchShape{},
				contract.Example{Name: "Backfill", Text: `{"events":[{"eventType":"A04","occurredAt":"2026-03-04T08:14:00-06:00","visitId":"V-1002","roomId":21,"patientClass":"O"},{"eventType":"A03","occurredAt":"2026-03-04T09:10:00-06:00","visitId":"V-1002"}]}`}),
			Data: batchAnswer{}, Limits: map[string]int64{"eventsPerBatch": itemsAtMost[batchShape]("events"), "smallBodyFacts": limit.LargeFacts, "smallBodyBytes": limit.LargeBytes, "factsPerSecond": limit.FactsPerSecond, "factsAtOnce": limit.FactsAtOnce, "factsUnapplied": limit.FactsUnapplied},
		}, Serve: (*server).batch},
		{Operation: contract.Operation{
			Path: "/api/ingest/census", Scope: access.IngestCensus, ID: "sendCensus", Summary: "All rooms of the unit and who is in them",
			About: "A full snapshot: a room that is not in it leaves the unit. Lists that are left out keep what is known, empty ones clear it.",
			Bodies: jsonBody(maxBody, censusShape{},
				contract.Example{Name: "Three rooms", Text: `{"totalRooms":12,"rooms":[{"roomId":1,"roomLabel":"LDR 1","area":"L&D","status":"occupied","visitId":"V-2001","primaryFactor":"labor-standard","modifiers":["env-interpreter"]},{"roomId":7,"roomLabel":"301","area":"Postpartum","status":"occupied","primaryFactor":"pp-couplet","deliveredAt":"2026-03-04T02:10:00-06:00","deliveryMode":"vaginal","newborns":[{}]},{"roomId":8,"roomLabel":"302","area":"Postpartum","status":"empty"}]}`}),
			Data: censusAnswer{}, Refuses: factors, Limits: map[string]int64{"roomsPerCensus": itemsAtMost[censusShape]("rooms")},
		}, Serve: (*server).census},
		{Operation: contract.Operation{
			Path: "/api/ingest/clinical", Scope: access.IngestClinical, ID: "sendClinical", Summary: "Medications, observations, results and devices of one room",
			About: "A signal that no default rule and no mapping of the hospital knows is kept and listed for its administrators. No signals at all asks what has aged out.",
			Bodies: jsonBody(maxBody, clinicalShape{},
				contract.Example{Name: "Magnesium starts", Text: `{"roomId":1,"signals":[{"kind":"medication","system":"RxNorm","code":"6585","display":"magnesium sulfate","status":"active"}]}`},
				contract.Example{Name: "A score and a trace", Text: `{"roomId":1,"signals":[{"kind":"observation","system":"LOINC","code":"88888-8","display":"MEWS total score","value":5},{"kind":"observation","system":"LOINC","code":"32421-5","value":"Category II"}]}`}),
			Data: clinicalAnswer{}, Refuses: []httpapi.Kind{httpapi.Unprocessable}, Limits: map[string]int64{"signalsPerRequest": itemsAtMost[clinicalShape]("signals"), "jsonDepth": httpapi.MaxDepth, "unpackedFactor": unpackFactor, "unpackedRatio": unpackRatio},
		}, Serve: (*server).clinical},
		{Operation: contract.Operation{
			Path: "/api/ingest/fhir", Scope: access.IngestFHIR, ID: "sendFHIR", Summary: "FHIR R4 resources",
			About: "A Bundle of any type, one resource, an array of them, or {resources}. Encounter, Condition, Observation and MedicationAdministration are applied; Medication, Location and Patient help; all others are ignored and counted. What is wrong with single resources is in issues; the others are applied. To a client that accepts application/fhir+json the answer is a Bundle of type transaction-response or batch-response, to any other body than a Bundle of these types an OperationOutcome, with 422 if none of its resources could be taken.",
			Bodies: []contract.Body{
				{Type: fhirType, Shape: resourcesShape, Limit: maxFHIRBody, Examples: sampleFHIR},
				{Type: jsonType, Shape: resourcesShape, Limit: maxFHIRBody, Examples: sampleFHIR},
			},
			Data: fhirAnswer{}, Bare: []string{fhirType}, Refuses: factors, Limits: map[string]int64{"resourcesPerBody": fhir.MaxResources, "factsPerBody": fhir.MaxFacts},
		}, Serve: (*server).fhir},
		{Operation: contract.Operation{
			Path: "/api/ingest/hl7", Scope: access.IngestHL7, ID: "sendHL7", Summary: "HL7 v2 ADT messages",
			About: "One message, or several, with or without the segments of a batch. As text the answer is the HL7 acknowledgment, with status 200 whatever it says; 400 only if there is no message at all. As JSON it is in the envelope, and a refused message is 422 with the acknowledgment in error.ack.",
			Bodies: []contract.Body{
				{Type: textType, Pattern: "hl7", Limit: maxBody, Examples: []contract.Example{{Name: "Admission", Text: sampleAdmission}}},
				{Type: hl7Type, Pattern: "hl7", Limit: maxBody, Examples: []contract.Example{{Name: "Admission", Text: sampleAdmission}}},
				{Type: jsonType, Limit: maxBody, Shape: hl7Shape{}, Examples: []contract.Example{{Name: "Admission", Text: `{"message":"MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304093010-0600||ADT^A01^ADT_A01|M1003|P|2.5.1\rEVN|A01|20260304092900-0600\rPID|1||MRN7002^^^STMARY^MR\rPV1|1|I|L&D^LDR 5^01|L|||||||||||||||VN9002\r"}`}}},
			},
			Limits: map[string]int64{"messagesPerBody": maxMessages, "segmentsPerMessage": hl7.MaxSegments, "bytesPerField": hl7.MaxField},
			Data:   hl7Answer{}, Bare: []string{textType, hl7Type}, Refuses: []httpapi.Kind{httpapi.Unprocessable},
		}, Serve: (*server).hl7},
		{Operation: contract.Operation{
			Path: "/api/ingest/roster", Scope: access.IngestRoster, ID: "sendRoster", Summary: "Who is on shift, with experience and assignments",
			About: "For the skill axis. Names are accepted and never kept.",
			Bodies: jsonBody(maxBody, rosterShape{},
				contract.Example{Name: "Two nurses", Text: `{"nurses":[{"externalId":"n-17","jobCode":"RN","skillLevel":2,"hireDate":"2014-05-01","assignedRoomIds":[1]},{"externalId":"n-31","skillLevel":0,"assignedRoomIds":[7]}]}`}),
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
			About: "1 to 255 visible characters, new for each request. The same again within 24 hours has no second effect and is answered as the first time, with the header Idempotency-Replayed: true; with another body it is refused.",
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

const sampleAdmission = "MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304093010-0600||ADT^A01^ADT_A01|M1002|P|2.5.1\r" +
	"EVN|A01|20260304092900-0600\rPID|1||MRN7001^^^STMARY^MR\rPV1|1|I|L&D^LDR 4^01|L|||||||||||||||VN9001\r" +
	"DG1|1||O14.13^Severe pre-eclampsia, third trimester^I10||20260304092500-0600|W\r"

var sampleFHIR = []contract.Example{{Name: "Admission with a condition", Text: `{"resourceType":"Bundle","type":"transaction","entry":[{"fullUrl":"urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0","resource":{"resourceType":"Encounter","id":"enc-1","status":"in-progress","class":{"system":"http://terminology.hl7.org/CodeSystem/v3-ActCode","code":"IMP"},"identifier":[{"value":"VN9003"}],"period":{"start":"2026-03-04T09:29:00-06:00"},"location":[{"location":{"display":"LDR 6"},"status":"active"}]}},{"resource":{"resourceType":"Condition","id":"con-1","encounter":{"reference":"urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0"},"clinicalStatus":{"coding":[{"code":"active"}]},"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O14.13"}]}}}]}`}}

// resourcesShape is one resource, or a list of them in either form.
var resourcesShape = contract.AnyOf{resourceShape{}, resourceListShape{}, []json.RawMessage{}}

type resourceShape struct {
	ResourceType any `json:"resourceType" doc:"Of a resource that is taken: its type, or Bundle."`
}

// Open says that the object may have more fields than the named ones.
func (resourceShape) Open() {}

// Open says that the object may have more fields than the named ones.
func (resourceListShape) Open() {}

type resourceListShape struct {
	Resources any `json:"resources" types:"array,object,null"`
}

type adtShape struct {
	EventID           string           `json:"eventId,omitempty" maxLength:"200" doc:"Identity of the event: the same again is a duplicate. Without it the facts are the identity."`
	EventType         string           `json:"eventType" enum:"A01,A02,A03,A04,A08,A11,A12,A13,admit,transfer,discharge,register,update,cancel-admit,cancel-transfer,cancel-discharge" doc:"Name in HL7, or the word."`
	OccurredAt        string           `json:"occurredAt" pattern:"time" doc:"Of a cancel: when it was cancelled. Without an offset it is the time of the hospital."`
	RecordedAt        string           `json:"recordedAt,omitempty" pattern:"time"`
	CancelsOccurredAt string           `json:"cancelsOccurredAt,omitempty" pattern:"time" doc:"Of a cancel: occurredAt of what is cancelled."`
	VisitID           string           `json:"visitId" pattern:"word" maxLength:"200" doc:"Number of the visit, the same in every feed. Only a keyed pseudonym is kept."`
	PatientID         string           `json:"patientId,omitempty" maxLength:"200" doc:"Only a keyed pseudonym is kept."`
	MotherVisitID     string           `json:"motherVisitId,omitempty" maxLength:"200" doc:"Of a newborn."`
	RoomID            int32            `json:"roomId,omitempty" minimum:"0" maximum:"2147483647" doc:"Wins over location."`
	RoomLabel         string           `json:"roomLabel,omitempty" maxLength:"100"`
	Location          *locationShape   `json:"location,omitempty"`
	PriorRoomID       int32            `json:"priorRoomId,omitempty" minimum:"0" maximum:"2147483647"`
	PriorLocation     *locationShape   `json:"priorLocation,omitempty"`
	PatientClass      string           `json:"patientClass,omitempty" enum:"I,O,E,P,R,B,N,C,U" doc:"HL7 table 0004."`
	Service           string           `json:"service,omitempty" maxLength:"64"`
	PrimaryFactor     string           `json:"primaryFactor,omitempty" maxLength:"64" doc:"Id of a primary factor of the catalogue."`
	Diagnoses         []diagnosisShape `json:"diagnoses,omitempty" maxItems:"100" doc:"All diagnoses of the visit; an empty list clears them."`
}

type locationShape struct {
	PointOfCare string `json:"pointOfCare,omitempty" maxLength:"100"`
	Room        string `json:"room,omitempty" maxLength:"100"`
	Bed         string `json:"bed,omitempty" maxLength:"100"`
	Facility    string `json:"facility,omitempty" maxLength:"100"`
}

type diagnosisShape struct {
	System  string `json:"system,omitempty" maxLength:"64" doc:"ICD-10-CM, SNOMED-CT, LOINC, RxNorm, local, or a name of HL7 table 0396."`
	Code    string `json:"code" pattern:"word" maxLength:"64"`
	Display string `json:"display,omitempty" maxLength:"2000"`
	OnsetAt string `json:"onsetAt,omitempty" pattern:"time"`
}

type batchShape struct {
	Events []adtShape `json:"events" minItems:"1" maxItems:"500" open:"true"`
}

type censusShape struct {
	AsOf       string            `json:"asOf,omitempty" pattern:"time"`
	TotalRooms int32             `json:"totalRooms,omitempty" minimum:"0" maximum:"10000" doc:"Rooms of the unit, also those that are not listed."`
	Rooms      []censusRoomShape `json:"rooms" maxItems:"500"`
}

type censusRoomShape struct {
	RoomID             int32            `json:"roomId" minimum:"0" maximum:"2147483647"`
	RoomLabel          string           `json:"roomLabel,omitempty" maxLength:"100"`
	Area               string           `json:"area,omitempty" maxLength:"100"`
	Status             string           `json:"status" enum:"occupied,empty,blocked"`
	VisitID            string           `json:"visitId,omitempty" maxLength:"200"`
	PatientClass       string           `json:"patientClass,omitempty" enum:"I,O,E,P,R,B,N,C,U"`
	Service            string           `json:"service,omitempty" maxLength:"64"`
	PrimaryFactor      string           `json:"primaryFactor,omitempty" maxLength:"64"`
	PrimaryFactorSince string           `json:"primaryFactorSince,omitempty" pattern:"time"`
	Modifiers          []string         `json:"modifiers,omitempty" maxItems:"100" doc:"Ids of modifiers of the catalogue."`
	Diagnoses          []diagnosisShape `json:"diagnoses,omitempty" maxItems:"100"`
	DeliveredAt        string           `json:"deliveredAt,omitempty" pattern:"time"`
	DeliveryMode       string           `json:"deliveryMode,omitempty" enum:"vaginal,cesarean"`
	Newborns           []newbornShape   `json:"newborns,omitempty" maxItems:"10"`
}

type newbornShape struct {
	VisitID       string `json:"visitId,omitempty" maxLength:"200"`
	PrimaryFactor string `json:"primaryFactor,omitempty" maxLength:"64"`
}

type clinicalShape struct {
	RoomID    int32         `json:"roomId" minimum:"0" maximum:"2147483647"`
	RoomLabel string        `json:"roomLabel,omitempty" maxLength:"100"`
	Signals   []signalShape `json:"signals" maxItems:"500"`
}

type signalShape struct {
	Kind       string `json:"kind" enum:"medication,observation,lab,device"`
	System     string `json:"system" enum:"RxNorm,LOINC,SNOMED,local,SNOMED-CT" doc:"local with the id of a factor as code is manual evidence of that factor."`
	Code       string `json:"code" pattern:"word" maxLength:"64"`
	Display    string `json:"display,omitempty" maxLength:"2000" doc:"Some rules match on its words."`
	Value      any    `json:"value,omitempty" types:"string,number" maxLength:"2000" doc:"A text or a number."`
	Status     string `json:"status,omitempty" maxLength:"64" doc:"active if absent. completed, stopped, cancelled and entered-in-error end it, on-hold pauses it."`
	ObservedAt string `json:"observedAt,omitempty" pattern:"time"`
	StartedAt  string `json:"startedAt,omitempty" pattern:"time" doc:"Of a medication: time decay starts here."`
}

type hl7Shape struct {
	Message string `json:"message" pattern:"hl7" doc:"The message, segments ended by CR."`
}

type rosterShape struct {
	AsOf   string       `json:"asOf,omitempty" pattern:"time"`
	Nurses []nurseShape `json:"nurses" maxItems:"500"`
}

type nurseShape struct {
	ExternalID      string  `json:"externalId,omitempty" maxLength:"200"`
	Name            string  `json:"name,omitempty" doc:"Accepted and never kept."`
	JobCode         string  `json:"jobCode,omitempty" maxLength:"64"`
	SkillLevel      int     `json:"skillLevel,omitempty" minimum:"0" maximum:"2" doc:"0 novice, 1 experienced, 2 expert or charge."`
	HireDate        string  `json:"hireDate,omitempty" pattern:"day"`
	AssignedRoomIDs []int32 `json:"assignedRoomIds,omitempty" maxItems:"50" minimum:"0" maximum:"2147483647"`
}

type staffingShape struct {
	NursesOnDuty       int32  `json:"nursesOnDuty" minimum:"0" maximum:"1000"`
	CallStaffAvailable bool   `json:"callStaffAvailable,omitempty" doc:"Absent: as it was."`
	AsOf               string `json:"asOf,omitempty" pattern:"time"`
}
