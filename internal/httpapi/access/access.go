// Package access decides who may do what. It contains the hospitals' API keys, the scopes, and the check of a
// presented token.
//
// A key belongs to one hospital. Its token is shown once, when the key is created. Only the SHA-256 of the token is
// stored, so a reader of the settings topic cannot use a key. A lookup costs one hash and one map access, the same
// for a known, an unknown and a revoked token.
package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Scope is a permission of a key.
type Scope string

// The eleven scopes of the specification, and Admin for the administration endpoints of the key's hospital.
const (
	IngestADT      Scope = "ingest:adt"
	IngestHL7      Scope = "ingest:hl7"
	IngestFHIR     Scope = "ingest:fhir"
	IngestCensus   Scope = "ingest:census"
	IngestStaffing Scope = "ingest:staffing"
	IngestClinical Scope = "ingest:clinical"
	IngestRoster   Scope = "ingest:roster"
	IngestBatch    Scope = "ingest:batch"
	ReadStatus     Scope = "read:status"
	ReadUnitState  Scope = "read:unit-state"
	ReadPredict    Scope = "read:predict"
	Admin          Scope = "admin"

	// Acknowledge is the part of [Admin] that allows a signed-in person to acknowledge an alert. No key can have this
	// scope.
	Acknowledge Scope = "acknowledge"
)

// Scopes returns all scopes except [Admin], in the order of the specification.
func Scopes() []Scope {
	return []Scope{
		IngestADT, IngestHL7, IngestFHIR, IngestCensus, IngestStaffing, IngestClinical,
		IngestRoster, IngestBatch, ReadStatus, ReadUnitState, ReadPredict,
	}
}

// ParseScopes reads a comma-separated list; "all" means [Scopes]. The error names every
// unknown scope.
func ParseScopes(list string) ([]Scope, error) {
	known := append(Scopes(), Admin)
	var scopes []Scope
	var unknown []string
	for name := range strings.SplitSeq(list, ",") {
		switch scope := Scope(strings.TrimSpace(name)); {
		case scope == "":
		case scope == "all":
			scopes = append(scopes, Scopes()...)
		case slices.Contains(known, scope):
			scopes = append(scopes, scope)
		default:
			unknown = append(unknown, string(scope))
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unknown scope: %s", strings.Join(unknown, ", "))
	}
	if len(scopes) == 0 {
		return nil, fmt.Errorf("no scope is given; the scopes are %s, %s and all", joinScopes(Scopes()), Admin)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

func joinScopes(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return strings.Join(names, ", ")
}

// PagesSource is the source of the data that people enter on the pages; see [Key].Source.
const PagesSource = "pages"

// Key is an API key as it is stored, without its token.
type Key struct {
	ID string // "key_" + 16 hex; names the key in lists, logs, audit and limits
	// Source is the id of the first key of the lineage, which a rotation copies to the new key. It identifies the
	// sender in observations, so that a resource keeps its identity when the key is rotated. If Source is empty, ID
	// takes its place; see [Key.Lineage].
	Source   string
	Hospital string
	Name     string // name of the integration
	Hash     [sha256.Size]byte
	// Prefix is the first 8 characters of the token, so that a person can find the key in the configuration of a
	// sender. It reveals 4 of the 64 random hex digits; 240 bits remain unknown. It is "" for a key that is older than
	// this field.
	Prefix    string
	Scopes    []Scope // ascending
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // in the future during the overlap of a rotation; zero: not revoked
	Rate      float64   // requests per second; 0: no limit
	Burst     int
}

// Lineage identifies the keys that succeed each other by rotation. It is Source or, for a key that is older than that
// field, the key's id.
func (k *Key) Lineage() string {
	if k.Source == "" {
		return k.ID
	}
	return k.Source
}

// Valid reports whether the key may be used at the given time.
func (k *Key) Valid(now time.Time) bool {
	return (k.RevokedAt.IsZero() || now.Before(k.RevokedAt)) && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Allows reports whether the key has a scope.
func (k *Key) Allows(scope Scope) bool {
	_, found := slices.BinarySearch(k.Scopes, scope)
	return found
}

// The default limits for a key.
const (
	DefaultRate  = 50
	DefaultBurst = 200
)

// These constants bound the limits that a key may have.
const (
	leastRate = 0.01 // one request in 100 s
	mostRate  = 100_000
	mostBurst = 1_000_000
)

// Limit is the rate limit of a key.
type Limit struct {
	Rate  float64 // requests per second; 0: no limit
	Burst int     // maximum number of requests at once
}

// Limits checks a rate and a burst, and returns them as a Limit. If the rate is 0, the key has no limit, whatever the
// burst is. If only the burst is 0, it becomes the number of requests in four seconds at that rate, but at least 1.
// The default limits have the same ratio.
func Limits(rate float64, burst int) (Limit, error) {
	switch {
	case rate == 0:
		return Limit{}, nil
	case !(rate >= leastRate && rate <= mostRate):
		return Limit{}, fmt.Errorf("rate must be 0 for no limit, or %v to %v requests per second", leastRate, mostRate)
	case burst < 0 || burst > mostBurst:
		return Limit{}, fmt.Errorf("burst must be 1 to %d requests", mostBurst)
	case burst == 0:
		burst = max(int(rate*DefaultBurst/DefaultRate), 1)
	}
	return Limit{rate, burst}, nil
}

// Mint creates a key and its token. The token is displayed once and never stored. The key is a copy of the template
// with a new ID, Hash, Prefix and CreatedAt, and with sorted Scopes; it is not revoked. If the template has a Source,
// the key continues that lineage; otherwise, Mint sets Source.
func Mint(template Key, now time.Time) (key Key, token string) {
	token = tokenPrefix + RandomHex(32)
	key = template
	key.ID = "key_" + RandomHex(8)
	key.Source = key.Lineage()
	key.Hash, key.Prefix = Hash(token), token[:prefixLength]
	key.CreatedAt, key.RevokedAt = now.UTC().Truncate(time.Millisecond), time.Time{}
	key.Scopes = slices.Sorted(slices.Values(template.Scopes))
	return key, token
}

const (
	tokenPrefix  = "svc_"
	prefixLength = 8 // characters
)

// RandomHex returns the given number of random bytes in hexadecimal, two digits per byte.
func RandomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never returns an error: crypto/rand ends the program instead
	return hex.EncodeToString(b)
}

// Hash returns the SHA-256 of a token. Only the hash is stored.
func Hash(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// ErrOvertaken means that a change was not applied because the hospital's settings were changed after the caller had
// read them.
var ErrOvertaken = errors.New("the settings of the hospital were changed by another process")

// Hospital is one hospital: the tenant to which all other data belongs.
type Hospital struct {
	ID        string
	Name      string
	Zone      string // IANA name of the zone for times without an offset
	CreatedAt time.Time
	Senders   []Sender
	// Version is the version of the last change to the zone or the senders; 0 means that neither was ever changed.
	Version int64
}

// Sender configures how the messages of one key are interpreted. The zero value is standard HL7.
type Sender struct {
	Key            string // id of the key, or of an earlier key in its lineage
	OriginalMode   bool   // whether to acknowledge in original mode, whatever the message requests
	ProductionOnly bool   // whether to refuse a message whose processing id (MSH-11) is not production
}

var hospitalID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// reservedID is not allowed as the id of a hospital, because the processor uses it to count records with an invalid
// key.
const reservedID = "unknown"

// Check returns every error in the id, name and zone of the hospital.
func (h *Hospital) Check() error {
	var faults []error
	if !hospitalID.MatchString(h.ID) {
		faults = append(faults, fmt.Errorf("hospital id must match %s", hospitalID))
	}
	if h.ID == reservedID {
		faults = append(faults, fmt.Errorf("hospital id %q is reserved for records without a hospital", reservedID))
	}
	if !NameFits(h.Name) {
		faults = append(faults, fmt.Errorf("hospital name must have at most %d characters, on one line, without control characters", MostName))
	}
	// "Local" would be a different zone on each machine.
	if _, err := time.LoadLocation(h.Zone); err != nil || h.Zone == "" || h.Zone == "Local" {
		faults = append(faults, errors.New("timezone must be an IANA name such as America/Chicago"))
	}
	return errors.Join(faults...)
}
