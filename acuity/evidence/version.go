package evidence

import (
	"hash/maphash"
	"strings"

	"svc/acuity"
)

// Version is a version of a resource. A resource is what the sender keeps as one thing,
// as in FHIR (docs/decisions.md#resource-identity).
type Version struct {
	Resource  string         // pseudonym; a component adds a dot and its index
	UpdatedAt acuity.Instant // 0: not said
	ID        int64          // grows with each version; 0: not said
	// ObservedFrom is the start of the interval that was sent as the time of the observation; 0: that was exact.
	ObservedFrom acuity.Instant
	// StartedFrom is the start of the interval that was sent as the start of the resource; 0: that was exact.
	StartedFrom acuity.Instant
	// Subject is the patient whom the version names, until the patient of the visit that it names is known; nil: not
	// needed.
	Subject *Subject

	hash uint64 // of the resource
}

// Subject is a patient as a resource names one: a pseudonym, and a further one or nothing, as in [acuity.Signal].
type Subject struct{ Patient, Subject string }

// described begins the resource of a statement without an identifier. Its content
// identifies it among the statements of its visit or patient.
const described = "~"

// IsDescribed reports whether the resource has no identifier.
func (v *Version) IsDescribed() bool { return strings.HasPrefix(v.Resource, described) }

// seed is the seed of the hashes of resources, which never leave the process.
var seed = maphash.MakeSeed()

// VersionOf returns the version that a signal is; nil: it has no resource.
func VersionOf(s *acuity.Signal) *Version {
	if s.Resource == "" {
		return nil
	}
	return &Version{strings.Clone(s.Resource), s.UpdatedAt, s.VersionID, s.ObservedFrom, s.StartedFrom, nil, maphash.String(seed, s.Resource)}
}
