package schemas

import (
	"errors"

	"svc/acuity"
)

// The reasons for which an input can never be applied.
const (
	reasonSchema   = "unknown_schema"   // written by a newer release, or by another program
	reasonRecord   = "malformed_record" // the bytes do not fit their schema
	reasonHospital = "wrong_hospital"   // key and record name different hospitals
)

// UnknownHospital counts the inputs whose key names no hospital. No hospital can be created
// under this id.
const UnknownHospital = "unknown"

// InputHospital returns the hospital under which an input is counted. It depends on the key alone.
func InputHospital(key []byte) string {
	parsed, err := ParseKey(key)
	if err != nil {
		return UnknownHospital
	}
	return parsed.Hospital
}

// ReadInput reads an observation from its record in the log. An error comes with the stable
// reason why this release can never apply the input.
func ReadInput(key, value []byte) (o *acuity.Observation, reason string, err error) {
	return readInput(key, value, new(acuity.Observation), memory{})
}

func readInput(key, value []byte, into *acuity.Observation, again memory) (o *acuity.Observation, reason string, err error) {
	o, err = decodeObservation(value, into, again)
	switch {
	case err != nil:
		return nil, ReasonOf(err), err
	case string(HospitalOf(key)) != o.Hospital:
		return nil, reasonHospital, errors.New("key and record differ")
	}
	return o, "", nil
}

// ReasonOf returns the stable reason for which a record could not be decoded.
func ReasonOf(err error) string {
	if unknown := (*UnknownSchemaError)(nil); errors.As(err, &unknown) {
		return reasonSchema
	}
	return reasonRecord
}
