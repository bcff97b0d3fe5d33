package schemas

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/facts"
)

// TestIntakeReadsWhatReadInputReads: an observation that is decoded into reused memory equals one that is decoded
// into new memory. This holds for any previous content of the memory, even after records that cannot be decoded.
func TestIntakeReadsWhatReadInputReads(t *testing.T) {
	observation := recordOf(newest("observation"), EncodeObservation, observationCodec.Decode)
	rapid.Check(t, func(t *rapid.T) {
		var in Intake
		for range 5 {
			o, ok := observation.random(t).(*acuity.Observation)
			if !ok {
				t.Fatal("no observation")
			}
			value, err := EncodeObservation(nil, o)
			if err != nil {
				t.Fatal(err)
			}
			value = value[:len(value)-rapid.SampledFrom([]int{0, 0, 0, 1, len(value) / 3}).Draw(t, "cut")]
			key := []byte(o.Hospital)
			want, reason, fault := ReadInput(key, value)
			got, otherReason, otherFault := in.Read(key, value)
			if reason != otherReason || (fault == nil) != (otherFault == nil) || !reflect.DeepEqual(got, want) {
				t.Fatalf("read %+v (%s), want %+v (%s)", got, otherReason, want, reason)
			}
		}
	})
}

// TestIntakeForgetsLongLists: the memory for a large bundle is not retained for the next input.
func TestIntakeForgetsLongLists(t *testing.T) {
	o := &acuity.Observation{Hospital: "north", Signals: make([]acuity.Signal, 1000)}
	value, err := EncodeObservation(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	var in Intake
	if got, _, err := in.Read([]byte("north"), value); err != nil || len(got.Signals) != 1000 {
		t.Fatal(len(got.Signals), err)
	}
	if n := cap(in.signals); n > keptSignals {
		t.Errorf("memory for %d signals is kept", n)
	}
}

// TestStateIntakeReadsWhatDecodeStateReads: a state record that is decoded into reused memory equals one that is
// decoded into new memory. This holds for any previous content of the memory, even after records that cannot be
// decoded.
func TestStateIntakeReadsWhatDecodeStateReads(t *testing.T) {
	kinds := []record{stateRecord[facts.StatementState](newest("statement-state")), stateRecord[facts.VisitState](newest("visit-state"))}
	rapid.Check(t, func(t *rapid.T) {
		var in StateIntake
		for range 5 {
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			value, err := kind.encode(nil, kind.random(t))
			if err != nil {
				t.Fatal(err)
			}
			value = value[:len(value)-rapid.SampledFrom([]int{0, 0, 0, 1, len(value) / 3}).Draw(t, "cut")]
			want, fault := DecodeState(value)
			got, otherFault := in.Read(value)
			if (fault == nil) != (otherFault == nil) || !reflect.DeepEqual(got, want) {
				t.Fatalf("read %+v (%v), want %+v (%v)", got, otherFault, want, fault)
			}
		}
	})
}
