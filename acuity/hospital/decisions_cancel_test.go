package hospital_test

import (
	"testing"

	"svc/acuity"
)

// TestDecisionsCancelledAdmission: canceling an admission cancels its repetitions, but no other admission
// (docs/decisions.md#cancelled-admit).
func TestDecisionsCancelledAdmission(t *testing.T) {
	const A01, A02, A11 = acuity.A01, acuity.A02, acuity.A11
	decide(t, visits(map[string]decision{
		"a pre-admission is canceled": {
			say:  list(message(0, A01, "LDR:A", "class=P"), message(60, A01, "LDR:A", "class=I"), message(65, A11, "LDR:A", "cancels=0")),
			read: []axisReading{{66, "<LDR:A> 60 labor-standard/0"}},
		},
		"an admission is corrected, without the time of the record": {
			say:  list(message(0, A01, "LDR:A", "class=I"), message(60, A11, "LDR:A", "cancels=0"), late(message(5, A01, "LDR:A", "class=I"), 61)),
			read: []axisReading{{62, "<LDR:A> 60 labor-standard/0"}},
		},
		"an admission that moved the patient back is canceled": {
			say: list(message(0, A01, "LDR:A", "class=I"), message(10, A02, "LDR:B"), message(20, A01, "LDR:A", "class=I"),
				message(30, A11, "LDR:A", "cancels=20")),
			read: []axisReading{{31, "<LDR:B> 60 labor-standard/0"}},
		},
		"a new admission at the instant of the cancel": {
			say: list(message(0, A01, "LDR:A", "class=I", "recorded=0"), message(150, A11, "LDR:A", "cancels=0", "recorded=150"),
				message(150, A01, "LDR:A", "class=I", "recorded=150")),
			read: []axisReading{{151, "<LDR:A> 60 labor-standard/0"}},
		},
		"a new admission at the instant of a cancel that names no admission": {
			say: list(message(0, A01, "LDR:A", "class=I", "recorded=0"), message(150, A11, "LDR:A", "recorded=150"),
				message(150, A01, "LDR:A", "class=I", "recorded=150")),
			read: []axisReading{{151, "<LDR:A> 60 labor-standard/0"}},
		},
		"a repetition with a different time": {
			say: list(message(0, A01, "LDR:A", "class=I", "recorded=0"), message(5, A01, "LDR:A", "class=I", "recorded=5"),
				message(150, A11, "LDR:A", "cancels=0", "recorded=150")),
			read: []axisReading{{151, ""}},
		},
		"a transfer after a pre-admission": {
			say:  list(message(0, A01, "OBX:1", "class=P"), message(10, A02, "OBX:2")),
			read: []axisReading{{11, own("OBX:2") + " 60 labor-standard/0"}},
		},
	}))
}
