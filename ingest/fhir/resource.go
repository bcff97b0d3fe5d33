package fhir

import (
	"strconv"
	"strings"

	"svc/internal/httpapi/syntax"
)

// kind is the type of a resource.
type kind uint8

const (
	otherKind kind = iota // ignored and counted
	encounterKind
	conditionKind
	observationKind
	administrationKind
	medicationKind
	locationKind
	patientKind
)

var kindNames = [...]string{
	"", "Encounter", "Condition", "Observation", "MedicationAdministration", "Medication", "Location", "Patient",
}

func kindOf(name []byte) kind {
	for k, known := range kindNames {
		if string(name) == known {
			return kind(k)
		}
	}
	return otherKind
}

// isApplied reports whether resources of the kind become events or signals.
func (k kind) isApplied() bool { return k >= encounterKind && k <= administrationKind }

// isNamed reports whether resources of the kind become references: facts that other resources refer to.
func (k kind) isNamed() bool { return k >= medicationKind && k <= patientKind }

// resource is one resource as it was sent. It has fields for every kind.
type resource struct {
	kind                            kind
	contained, rejected, superseded bool
	described                       bool  // whether the resource has no name, so that its key is derived from its content
	deleted                         bool  // whether the request is a DELETE
	missing                         bool  // whether the entry, a DELETE, contains no resource
	onlyNew                         bool  // whether the request is a conditional create, which applies only to an unknown resource
	container, index                int32 // position in the body (see path)
	parent                          int32 // parent of a contained resource

	id, fullURL span
	address     string // URL of the request, if only that URL contains the id
	updated     span   // meta.lastUpdated or, if missing, response.lastModified
	versionID   span   // meta.versionId or, if missing, response.etag

	firstIdentifier, lastIdentifier int32
	firstContained, lastContained   int32

	status             span
	clinical, verified concept // the states of a Condition
	subject, encounter reference
	code               concept
	medication         reference // of a MedicationAdministration
	at, issued         span      // at is the effective time or the onset, if it was sent as a single time
	untimed            string    // element whose time has an unsupported form, or ""
	during             period    // Encounter.period, or a period in effective or onset
	abated             bool
	abatedAt           span
	abatedIn           period

	value                         value
	laboratory                    bool
	firstComponent, lastComponent int32

	// These fields may name the fetus that a resource is about.
	focus               [maxFocus]reference
	focused             int // number of entries in focus
	device, specimen    reference
	firstSite, lastSite int32 // body sites, including those from the extension focusCode

	class                       coding
	service                     concept
	partOf                      reference // of an Encounter or a Location
	firstLocation, lastLocation int32
	firstReason, lastReason     int32

	firstIngredient, lastIngredient int32
	name                            span   // for a Location
	physical                        string // for a Location; see levelOf
	birth, multiple                 span   // for a Patient

	sought          string // identifier value in the ifNoneExist condition, or ""
	used            bool   // whether another resource in the body refers to this one
	key             string // unique within its kind and source
	visit           string // pseudonym of an Encounter's visit, set when first used
	patient, person string // pseudonyms of a Patient, as returned by [index.patientOf]
}

// component is a part of an Observation that has its own code.
type component struct {
	code  concept
	value value
}

// location is an Encounter.location.
type location struct {
	place    reference
	status   span
	physical string // see levelOf
	during   period
}

// ingredient is a part of a Medication.
type ingredient struct {
	code     concept
	item     reference
	inactive bool
}

// typeOf returns the resourceType of the next object, wherever that field is. The scanner stays before the object.
func (p *parser) typeOf() (name []byte) {
	p.peekFields(func(key []byte) bool {
		if string(key) != "resourceType" {
			p.skip()
			return false
		}
		name = p.bytes(p.text())
		return true
	})
	return name
}

// peekFields parses the fields of the next object until read returns true. The scanner stays before the object,
// unless the body is too large.
func (p *parser) peekFields(read func(key []byte) bool) {
	at, mistyped, modified := p.i, p.mistyped, p.modified
	for key := range p.fields() {
		if read(key) {
			break
		}
	}
	if !p.stopped {
		p.i, p.mistyped, p.modified = at, mistyped, modified
	}
}

// resource reads a resource of a kind that svc uses, and returns its index or, if the body contains too many
// resources, -1.
func (p *parser) resource(r resource) int32 {
	n := addResource(p, resource{})
	if n < 0 {
		return -1
	}
	outer := p.modified
	p.mistyped, p.modified, p.cut, p.twice = false, false, false, false
	for key := range p.fields() {
		twice := p.twice
		p.twice = false
		// A null element is absent. It must not replace the value of another element, such as another value[x].
		known := p.null() || p.commonField(&r, n, key) || p.kindField(&r, key)
		if !known {
			p.reportUnknown(&r, key)
			p.skip()
		}
		if p.modified {
			p.modified = false
			rejectModified(p, &r, key)
		}
		if !known {
			continue
		}
		if twice || p.twice { // two fields with the same name are unreliable, even in nested elements
			p.reject(&r, "duplicate_field", elementOf(key))
		}
		if p.mistyped {
			p.reject(&r, "type", elementOf(key))
		}
		if p.cut {
			p.warn(&r, "list_cut", elementOf(key))
		}
		p.mistyped, p.cut, p.twice = false, false, false
	}
	p.modified = outer
	p.resources[n] = r
	return n
}

// addResource stores a resource, and returns its index. If the maximum number of resources is stored, it refuses the
// body as too large and returns -1.
func addResource(p *parser, r resource) int32 {
	n := int32(len(p.resources)) //nolint:gosec // at most MaxResources
	if n == MaxResources {
		p.refuse(Fault{Rule: "maxItems:" + strconv.Itoa(MaxResources), TooLarge: true})
		return -1
	}
	p.resources = append(p.resources, r)
	return n
}

// rejectModified refuses a resource with a modifier extension, as FHIR requires, because the extension may change the
// meaning of the resource or field that contains it.
func rejectModified(p *parser, r *resource, key []byte) {
	field := modifierExtension
	if string(key) != field {
		field = elementOf(key) + "." + field
	}
	p.reject(r, "modifier_extension", field)
}

// isExtended reports whether the next value contains an extension, that is, whether it is neither null nor an empty
// list. The scanner stays before the value.
func (s *scanner) isExtended() bool {
	switch s.space() {
	case '[':
		return s.b[syntax.AfterSpace(s.b, s.i+1)] != ']'
	case 'n':
		return false
	}
	return true
}

// modifierExtension is the field for extensions that may change the meaning of other elements.
const modifierExtension = "modifierExtension"

// elementOf returns the FHIRPath name of a field. For a choice element such as valueQuantity, the FHIRPath name omits
// the type: it is value.
func elementOf(key []byte) string {
	for _, choice := range []string{"value", "effective", "onset", "abatement"} {
		if len(key) > len(choice) && strings.HasPrefix(string(key), choice) {
			return choice
		}
	}
	switch string(key) {
	case "medicationCodeableConcept", "medicationReference":
		return "medication"
	}
	return string(key)
}

// commonField parses a field that resources of all kinds have. It returns false for any other field.
func (p *parser) commonField(r *resource, n int32, key []byte) bool {
	switch string(key) {
	case "resourceType":
		p.skip()
	case "id":
		r.id = p.text()
	case "implicitRules":
		if p.isExtended() { // implicitRules may change the meaning of every element
			p.reject(r, "modifier_extension", "implicitRules")
		}
		p.skip()
	case "meta":
		sent := p.texts("lastUpdated", "versionId")
		r.updated, r.versionID = sent[0], sent[1]
	case "identifier":
		r.firstIdentifier, r.lastIdentifier = p.identifierList()
	case "contained":
		if r.contained {
			return false
		}
		r.firstContained = int32(len(p.resources)) //nolint:gosec // at most MaxResources
		i := -1
		for l := p.list(); p.next(&l); {
			i++
			inner := otherKind
			if p.space() == '{' && len(p.resources)-int(r.firstContained) < maxContained {
				inner = kindOf(p.typeOf())
			}
			if inner == otherKind {
				p.skip()
				continue
			}
			if inner.isApplied() && inner != encounterKind { // a contained Encounter only identifies a visit
				p.issue(r, severityWarning, "contained_not_used", "contained["+strconv.Itoa(i)+"]")
			}
			p.resource(resource{kind: inner, contained: true, parent: n, container: r.container, index: r.index})
		}
		r.lastContained = int32(len(p.resources)) //nolint:gosec // at most MaxResources
		p.mistyped, p.cut, p.twice = false, false, false
	default:
		return false
	}
	return true
}

// kindField parses a field that is specific to the kind of the resource. It returns false for any other field.
func (p *parser) kindField(r *resource, key []byte) bool {
	switch r.kind {
	case encounterKind:
		return p.encounterField(r, key)
	case conditionKind:
		return p.conditionField(r, key)
	case observationKind:
		return p.observationField(r, key)
	case administrationKind:
		return p.administrationField(r, key)
	case medicationKind:
		return p.medicationField(r, key)
	case locationKind:
		return p.locationField(r, key)
	case patientKind:
		return p.patientField(r, key)
	case otherKind:
	}
	return false
}

// locationField reads a field of a Location.
func (p *parser) locationField(r *resource, key []byte) bool {
	switch string(key) {
	case "name":
		r.name = p.text()
	case "physicalType":
		r.physical = levelOf(p)
	case "partOf":
		r.partOf = p.reference()
	default:
		return false
	}
	return true
}

// patientField parses a field of a Patient. The birth date is used only to decide whether the patient is a newborn;
// it is not stored.
func (p *parser) patientField(r *resource, key []byte) bool {
	switch string(key) {
	case "birthDate":
		r.birth = p.text()
	case "multipleBirthInteger":
		r.multiple = p.number()
	default:
		return false
	}
	return true
}
