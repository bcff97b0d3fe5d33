package openapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"svc/internal/httpapi"
)

// capabilityStatement is the resource that FHIR clients request first. The client of HAPI
// sends nothing to a server without one.
type capabilityStatement struct {
	ResourceType string           `json:"resourceType"`
	Status       string           `json:"status"`
	Date         string           `json:"date"`
	Kind         string           `json:"kind"`
	Software     fhirSoftware     `json:"software"`
	Instance     fhirInstance     `json:"implementation"`
	FHIRVersion  string           `json:"fhirVersion"`
	Format       []string         `json:"format"`
	Rest         []fhirCapability `json:"rest"`
}

type fhirSoftware struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type fhirInstance struct {
	Description string `json:"description"`
}

type fhirCapability struct {
	Mode          string            `json:"mode"`
	Documentation string            `json:"documentation"`
	Security      fhirSecurity      `json:"security"`
	Resource      []fhirResource    `json:"resource"`
	Interaction   []fhirInteraction `json:"interaction"`
}

type fhirSecurity struct {
	Description string `json:"description"`
}

type fhirResource struct {
	Type          string `json:"type"`
	Documentation string `json:"documentation"`
}

type fhirInteraction struct {
	Code string `json:"code"`
}

// statementDate is when the statement last changed.
const statementDate = "2026-11-22"

var statement = capabilityStatement{
	ResourceType: "CapabilityStatement", Status: "active", Date: statementDate, Kind: "instance",
	Software: fhirSoftware{"svc", documentVersion}, Instance: fhirInstance{"Maternity acuity and staffing: takes resources in, serves none."},
	FHIRVersion: "4.0.1", Format: []string{"json"},
	Rest: []fhirCapability{{
		Mode:          "server",
		Documentation: "Post a Bundle of type transaction or batch to the base address. A transaction is not all or nothing: what is good is applied, what is bad is told by its entry.",
		Security:      fhirSecurity{"Authorization: Bearer, an API key with the scope ingest:fhir."},
		Resource: []fhirResource{
			{"Condition", "A diagnosis."},
			{"Encounter", "A visit, and where the patient is."},
			{"Location", "Of what an Encounter names."},
			{"Medication", "Of what a MedicationAdministration names."},
			{"MedicationAdministration", "A signal."},
			{"Observation", "A signal."},
			{"Patient", "Only whether it is a newborn, and its pseudonym."},
		},
		Interaction: []fhirInteraction{{"transaction"}, {"batch"}},
	}},
}

func (s *server) statement(w http.ResponseWriter, r *http.Request) {
	httpapi.WriteFHIR(w, r, http.StatusOK, statement)
}

// outcomes documents the answers that FHIR clients get instead of the envelope.
func (w *writer) outcomes(op *huma.Operation) {
	for status, r := range op.Responses {
		if status != "200" {
			r.Content[httpapi.FHIRType] = &huma.MediaType{Schema: w.out.schemaOf(reflect.TypeFor[httpapi.Outcome]())}
		}
	}
}
