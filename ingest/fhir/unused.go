package fhir

import "strings"

// unusedElements are the elements of FHIR R4 that are deliberately not used, for each kind of resource;
// docs/reference/fhir-elements.md lists them. Any other unread element is reported to the sender, because it may be a
// fact under a different name.
var unusedElements = [...]map[string]bool{
	encounterKind: words(`account appointment basedOn classHistory diagnosis episodeOfCare hospitalization length participant
		priority reasonReference serviceProvider statusHistory type`),
	conditionKind:   words(`asserter category evidence note recorder severity stage`),
	observationKind: words(`basedOn derivedFrom hasMember method note partOf performer referenceRange`),
	administrationKind: words(`category device dosage eventHistory instantiates note partOf performer reasonCode reasonReference
		request statusReason supportingInformation`),
	medicationKind: words(`amount batch form manufacturer status`),
	locationKind: words(`address alias availabilityExceptions description endpoint hoursOfOperation managingOrganization mode
		operationalStatus position status telecom type`),
	patientKind: words(`active address communication contact deceasedBoolean deceasedDateTime gender generalPractitioner link
		managingOrganization maritalStatus multipleBirthBoolean name photo telecom`),
}

// ofEveryKind are the unused elements of all resources.
var ofEveryKind = words("extension language modifierExtension text")

func words(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// reportUnknown reports an unread element to the sender, unless it is deliberately unused. A field whose name starts
// with an underscore contains only extensions of an element.
func (d *document) reportUnknown(r *resource, key []byte) {
	if len(key) > 0 && key[0] == '_' || ofEveryKind[string(key)] || unusedElements[r.kind][string(key)] {
		return
	}
	d.warn(r, "element_unknown", shownName(key))
}

// shownName returns the name of a field if it has the form of a FHIR element name, and "?" for any other text, which
// may be a value that must not be repeated to the sender.
func shownName(key []byte) string {
	for _, c := range key {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "?"
		}
	}
	if len(key) == 0 || len(key) > 40 || key[0] < 'a' {
		return "?"
	}
	return string(key)
}
