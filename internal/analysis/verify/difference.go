package verify

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/internal/stream"
	"svc/schemas"
)

// Fault is the stable code of a difference.
type Fault string

// Faults in the changelog, in the snapshots, and in the view.
const (
	LostInput      Fault = "lost_input"      // the changelog has no change for an input
	AppliedTwice   Fault = "applied_twice"   // two changes name the same input
	Swapped        Fault = "swapped"         // the order of two inputs differs from their order in the log
	ForeignInput   Fault = "foreign_input"   // a change names an input that the log does not contain
	MissingVersion Fault = "missing_version" // the changelog skips a version
	DoubledVersion Fault = "doubled_version" // two changes have the same version
	WrongChange    Fault = "wrong_change"    // a change differs from the change computed from the log
	Unreadable     Fault = "unreadable"      // this release cannot decode a changelog record or a snapshot

	MissingSnapshot Fault = "missing_snapshot" // an hour is missing from the snapshots topic
	DoubledSnapshot Fault = "doubled_snapshot" // the snapshots topic contains an hour twice
	WrongSnapshot   Fault = "wrong_snapshot"   // a snapshot differs from the one computed from the log
	ForeignSnapshot Fault = "foreign_snapshot" // the snapshots topic contains an hour that the log does not produce

	MissingState Fault = "missing_state"  // a state record is missing from the changelog
	WrongState   Fault = "wrong_state"    // a state record has a wrong value
	LostTomb     Fault = "lost_tombstone" // a state record exists that should have been deleted

	MissingField Fault = "missing_field" // a field of the view is missing
	StaleField   Fault = "stale_field"   // a field of the view has a wrong value
	ForeignField Fault = "foreign_field" // the view has a field that should not exist
	StaleView    Fault = "stale_view"    // the whole view has an older version
	WrongDerived Fault = "wrong_derived" // values derived from the unit's facts differ from those of the unit
)

// Difference is the first difference between the changelog, snapshots or view of a hospital and those computed from
// the log. It contains keys, versions and positions, never patient data.
type Difference struct {
	Fault    Fault  `json:"fault"`
	Hospital string `json:"hospital"`
	Key      string `json:"key"`             // key of the record; for a field of the view, "view " and its name
	Version  int64  `json:"version"`         // 0: the record has no version
	Input    string `json:"input,omitempty"` // partition:offset in the observations topic
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

// laterWarnings are the codes of warnings that release 0.1.0 did not have (version_older: not for statements). They have no
// effect on the state.
var laterWarnings = []string{
	"after_birth", "census_newer", "facility_differs", "patient_left", "preadmission", "room_by_number", "statement_older",
	"version_older", hospital.ReasonUnchanged,
}

// placedWarnings are the codes of warnings to which release 0.1.0 gave no path, so each occurred at most
// once in a change.
var placedWarnings = []string{"reference_waiting", "value_unreadable"}

// WarningsAsRecorded returns the warnings computed for a change. If release 0.1.0 wrote the recorded change, the result
// omits the warnings and paths that this release did not have.
func WarningsAsRecorded(computed, recorded []acuity.Warning) (all []acuity.Warning) {
	for _, w := range computed {
		if !slices.Contains(recorded, w) {
			if slices.Contains(laterWarnings, w.Code) {
				continue
			}
			bare := acuity.Warning{Code: w.Code}
			if slices.Contains(placedWarnings, w.Code) && slices.Contains(recorded, bare) {
				w = bare
			}
		}
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// PreviewAsRecorded returns the computed preview of a dry run with the warnings that [WarningsAsRecorded] returns.
func PreviewAsRecorded(computed, recorded *acuity.Preview) *acuity.Preview {
	if computed == nil || recorded == nil {
		return computed
	}
	p := *computed
	p.Warnings = WarningsAsRecorded(computed.Warnings, recorded.Warnings)
	return &p
}

// changedFields returns the names of the fields in which two changes differ.
func changedFields(got, want *acuity.Change) string {
	text := joined(differentFields(reflect.ValueOf(*got), reflect.ValueOf(*want)))
	if got.Level != want.Level {
		text += fmt.Sprintf(": level %s, but %s computed from the log", got.Level, want.Level)
	}
	return text
}

func joined(fields []string) string { return strings.Join(fields, ", ") }

// differentFields returns the names of the fields in which two structures differ. Unexported fields are ignored,
// because they are not encoded. An empty list equals a missing list.
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
