package verify

import (
	"fmt"
	"reflect"
	"strings"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// Fault is the stable code of a difference.
type Fault string

// These are the faults of the changelog, of the snapshots, and of the view.
const (
	LostInput      Fault = "lost_input"      // no change has an input
	AppliedTwice   Fault = "applied_twice"   // two changes have the same input
	Swapped        Fault = "swapped"         // inputs were applied in another order than in the log
	ForeignInput   Fault = "foreign_input"   // a change names an input that the log does not have
	MissingVersion Fault = "missing_version" // a change is missing
	DoubledVersion Fault = "doubled_version" // two changes have the same version
	WrongChange    Fault = "wrong_change"    // a change differs from the change computed from the log
	Unreadable     Fault = "unreadable"      // this release cannot decode a record of the changelog or a snapshot

	MissingSnapshot Fault = "missing_snapshot" // the snapshots topic does not have a full hour
	DoubledSnapshot Fault = "doubled_snapshot" // the topic has the hour twice
	WrongSnapshot   Fault = "wrong_snapshot"   // the record differs from the snapshot computed from the log
	ForeignSnapshot Fault = "foreign_snapshot" // the log does not make this hour

	MissingState Fault = "missing_state"  // a record of the state is missing
	WrongState   Fault = "wrong_state"    // the record has another value
	LostTomb     Fault = "lost_tombstone" // the record exists although it should not

	MissingField Fault = "missing_field" // a field of the view is missing
	StaleField   Fault = "stale_field"   // the field has another value
	ForeignField Fault = "foreign_field" // the field exists although it should not
	StaleView    Fault = "stale_view"    // the whole view has an older version
	WrongDerived Fault = "wrong_derived" // the derived values differ from those derived from the facts
)

// Difference is the first position of a hospital at which the changelog, the snapshots or the view differ from those
// computed from the log. It has keys, versions and positions, never a value of a patient.
type Difference struct {
	Fault    Fault  `json:"fault"`
	Hospital string `json:"hospital"`
	Key      string `json:"key"`             // key of the record; for a field of the view, "view " and its name
	Version  int64  `json:"version"`         // 0: the record has no version
	Input    string `json:"input,omitempty"` // partition:offset in the observations
	Detail   string `json:"detail,omitempty"`
}

// Error returns the difference on one line.
func (d *Difference) Error() string {
	text := fmt.Sprintf("%s: %s at %s", d.Hospital, d.Fault, d.Key)
	if d.Version != 0 {
		text += fmt.Sprintf(", version %d", d.Version)
	}
	if d.Input != "" {
		text += ", input " + d.Input
	}
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	return text
}

func position(p stream.Position) string { return fmt.Sprintf("%d:%d", p.Partition, p.Offset) }

// changedFields returns the names of the fields in which two changes differ.
func changedFields(got, want *acuity.Change) string {
	text := joined(differentFields(reflect.ValueOf(*got), reflect.ValueOf(*want)))
	if got.Level != want.Level {
		text += fmt.Sprintf(": level %s, computed from the log %s", got.Level, want.Level)
	}
	return text
}

func joined(fields []string) string { return strings.Join(fields, ", ") }

// differentFields returns the names of the fields in which two structures differ. Unexported fields are not encoded, and
// an empty list equals a missing one.
func differentFields(a, b reflect.Value) (fields []string) {
	for i := range a.NumField() {
		if !a.Type().Field(i).IsExported() || reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			continue
		}
		if a.Field(i).Kind() == reflect.Slice && a.Field(i).Len()+b.Field(i).Len() == 0 {
			continue
		}
		fields = append(fields, a.Type().Field(i).Name)
	}
	return fields
}

// sameRecord reports whether two state records have the same content, even if they have different schema versions.
func sameRecord(written, made []byte) bool {
	if string(written) == string(made) {
		return true
	}
	s, err := schemas.DecodeState(written)
	if err != nil {
		return false
	}
	again, err := schemas.EncodeState(nil, s)
	return err == nil && string(again) == string(made)
}
