package evidence

import (
	"hash/maphash"
	"strings"

	"svc/acuity"
)

// Version is a version of a resource. A resource is an object that has an identity at the sender, as in FHIR
// (docs/decisions.md#resource-identity).
type Version struct {
	Resource  string         // pseudonym, followed for a component by a dot and the component's index
	UpdatedAt acuity.Instant // 0: not sent
	ID        int64          // version number, which increases with each version; 0: not sent
	// ObservedFrom is the start of the interval that was sent as the observation time; 0 means that the time was exact.
	ObservedFrom acuity.Instant
	// StartedFrom is the start of the interval that was sent as the start of the resource; 0 means that the start was
	// exact.
	StartedFrom acuity.Instant
	// Subject is the patient that the version names. It is stored until it is known whether the visit has the same
	// patient; nil means that it is not needed.
	Subject *Subject

	hash uint64 // hash of the resource
}

// Subject is a patient in a resource: a pseudonym and, optionally, an additional pseudonym, as in [acuity.Signal].
type Subject struct{ Patient, Subject string }

// described is the prefix of the Resource of a statement that was sent without an identifier. The content identifies
// such a resource among the statements about the same visit or patient.
const described = "~"

// IsDescribed reports whether the resource has no identifier.
func (v *Version) IsDescribed() bool { return strings.HasPrefix(v.Resource, described) }

// seed is the seed for hashing resources. The hashes never leave the process.
var seed = maphash.MakeSeed()

// VersionOf returns the version in a signal, or nil if the signal has no resource.
func VersionOf(s *acuity.Signal) *Version {
	if s.Resource == "" {
		return nil
	}
	return &Version{strings.Clone(s.Resource), s.UpdatedAt, s.VersionID, s.ObservedFrom, s.StartedFrom, nil, maphash.String(seed, s.Resource)}
}
