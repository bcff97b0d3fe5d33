package verify

import (
	"fmt"
	"reflect"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// Fault is the stable code of a difference.
type Fault string

// The faults of the changelog and of the view.
const (
	LostInput      Fault = "lost_input"      // an input is in no change
	AppliedTwice   Fault = "applied_twice"   // an input is in two changes
	Swapped        Fault = "swapped"         // inputs were applied in another order than the log has
	ForeignInput   Fault = "foreign_input"   // a change names an input that the log does not have
	MissingVersion Fault = "missing_version" // a change is not there
	DoubledVersion Fault = "doubled_version" // two changes have one version
	WrongChange    Fault = "wrong_change"    // a change differs from the one that the log makes
	Unreadable     Fault = "unreadable"      // a record of the changelog that this release cannot read

	MissingState Fault = "missing_state"  // a record of the state is not there
	WrongState   Fault = "wrong_state"    // it has another value
	LostTomb     Fault = "lost_tombstone" // it exists and should not

	MissingField Fault = "missing_field" // of the view
	StaleField   Fault = "stale_field"   // it has another value
	ForeignField Fault = "foreign_field" // it exists and should not
	StaleView    Fault = "stale_view"    // the whole view has an older version
	WrongDerived Fault = "wrong_derived" // the derived values differ from those that the facts make
)

// Difference is the first position of a hospital at which the changelog or the view differs from the changes computed
// from the log. It has keys, versions and positions, never a value of a patient.
type Difference struct {
	Fault    Fault  `json:"fault"`
	Hospital string `json:"hospital"`
	Key      string `json:"key"` // of the record; for a field of the view "view " and its name
	Version  int64  `json:"version"`
	Input    string `json:"input,omitempty"` // partition:offset in the observations
	Detail   string `json:"detail,omitempty"`
}

// Error returns the difference in one line.
func (d *Difference) Error() string {
	text := fmt.Sprintf("%s: %s at %s, version %d", d.Hospital, d.Fault, d.Key, d.Version)
	if d.Input != "" {
		text += ", input " + d.Input
	}
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	return text
}

func position(p stream.Position) string { return fmt.Sprintf("%d:%d", p.Partition, p.Offset) }

// changedFields names the fields in which two changes differ. Unexported fields are not on the
// wire, and an empty list equals none.
func changedFields(got, want *acuity.Change) string {
	a, b := reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem()
	text := ""
	for i := range a.NumField() {
		if !a.Type().Field(i).IsExported() || reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			continue
		}
		if a.Field(i).Kind() == reflect.Slice && a.Field(i).Len()+b.Field(i).Len() == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += a.Type().Field(i).Name
	}
	if got.Level != want.Level {
		text += fmt.Sprintf(": level %s, the log makes %s", got.Level, want.Level)
	}
	return text
}

// sameRecord reports whether two state records have the same content, whatever the schema version
// of the written one.
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
