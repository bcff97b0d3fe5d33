package hospital_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/acuity"
)

// rooms replaces the locations in a text with the ids of their rooms.
func rooms(text string) string {
	for _, l := range []string{"LDR:A", "LDR:B", "OBOR:1", "MBU:3", "OBTRI:2", "NICU:9", "NBN:8", "PACU:5", "ANTE:6", "OBX:1"} {
		text = strings.ReplaceAll(text, "<"+l+">", own(l))
	}
	list := strings.Split(text, "; ")
	slices.Sort(list) // text order is the order of the ids, which have one digit, or six digits that begin with 9
	return strings.Join(list, "; ")
}

// named returns an empty room with a label.
func named(id int32, label string) acuity.CensusRoom {
	row := empty(id)
	row.Label = label
	return row
}

func visits(rows map[string]decision) map[string]decision {
	for _, row := range rows {
		for i := range row.read {
			row.read[i].want = rooms(row.read[i].want)
		}
	}
	return rows
}

// TestDecisionsVisits covers the decisions on visits and ADT events (docs/decisions.md#event-set).
func TestDecisionsVisits(t *testing.T) {
	couplet := list( // the baby was 6 h 40 min old when mother and baby came to the ward
		message(-500, acuity.A01, "LDR:A"), message(-400, acuity.A01, "v=baby", "mother=v1", "LDR:A"),
		message(0, acuity.A02, "MBU:3"), message(0, acuity.A02, "v=baby", "MBU:3"),
	)
	alone := func(then acuity.CensusRoom) []acuity.Observation { // a newborn alone, and a census row for the newborn's room
		return list(census(0, empty(9)), message(1, acuity.A01, "v=baby", "mother=v1", "NICU:9"), census(10, then))
	}
	admit := message(0, acuity.A01, "LDR:A", "class=I")
	const inA, inB = "<LDR:A> 60 labor-standard/0", "<LDR:B> 60 labor-standard/0"
	decide(t, visits(map[string]decision{
		"A04 is triage, and an A01 of it a conversion with a new clock": {
			say:  list(message(0, acuity.A04, "OBTRI:2", "class=O"), message(100, acuity.A01, "LDR:A", "class=I")),
			read: []axisReading{{19, "<OBTRI:2> 60 triage-initial/0"}, {20, "<OBTRI:2> 30 triage-initial/0"}, {100, inA}},
		},
		"A02 moves with all factors and clocks": {
			say:  list(message(0, acuity.A01, "LDR:A", "class=I", "O45.9"), message(30, acuity.A02, "LDR:B")),
			read: []axisReading{{30, "<LDR:B> 120 high-hemorrhage/4 labor-standard/0"}, {60, "<LDR:B> 60 high-hemorrhage/3 labor-standard/0"}},
		},
		"A02 to the same room is ignored": {
			say: list(admit, message(10, acuity.A02, "LDR:A")), read: []axisReading{{10, inA}}, answers: []string{"+labor-standard", "same_room"},
		},
		"A02 to the same room with a new service is an update": {
			say:  list(message(0, acuity.A01, "3W:7", "class=I", "service=LD"), message(10, acuity.A02, "3W:7", "service=PP"), message(20, acuity.A02, "3W:7", "service=PP")),
			read: []axisReading{{0, own("3W:7") + " 60 labor-standard/0"}, {10, own("3W:7") + " 20 pp-couplet/0"}}, answers: []string{"+labor-standard", "+pp-couplet -labor-standard", "same_room"},
		},
		"A02 to the same room with an explicit primary factor is an update": {
			say:  list(admit, message(10, acuity.A02, "LDR:A", "labor-epidural")),
			read: []axisReading{{10, own("LDR:A") + " 30 labor-epidural/0"}}, answers: []string{"+labor-standard", "+labor-epidural -labor-standard"},
		},
		"A03 frees the room": {
			say: list(admit, message(10, acuity.A03)), read: []axisReading{{10, ""}}, answers: []string{"+labor-standard", "-labor-standard"},
		},
		"A08 never moves": {
			say: list(admit, message(10, acuity.A08, "LDR:B", "O99.213")), read: []axisReading{{10, "<LDR:A> 66 high-obesity-bmi40/1 labor-standard/0"}},
			answers: []string{"+labor-standard", "+high-obesity-bmi40 !place_differs"},
		},
		"the place that a message names is compared with where a census says that she is": {
			say: list(
				census(0, empty(1), empty(2)), message(1, acuity.A01, "#1", "class=I"), census(10, empty(1), holds(2, "visit=v1")),
				message(20, acuity.A08, "#2", "O45.9"), message(21, acuity.A08, "#1"), message(30, acuity.A02, "#1", "from=#2"),
				message(40, acuity.A02, "#2", "from=#2"),
			),
			read: []axisReading{{21, "2 120 high-hemorrhage/4 labor-standard/0"}, {30, "1 120 high-hemorrhage/4 labor-standard/0"}},
			answers: []string{
				"+high-hemorrhage", "!place_differs", "+high-hemorrhage +labor-standard -high-hemorrhage -labor-standard",
				"+high-hemorrhage +labor-standard -high-hemorrhage -labor-standard !prior_place_differs",
			},
		},
		"the prior place of a newborn who moved with the mother": {
			say: list(
				message(0, acuity.A01, "LDR:A", "class=I"), message(5, acuity.A01, "v=baby", "mother=v1", "LDR:A"), message(60, acuity.A02, "MBU:3"),
				message(70, acuity.A02, "v=baby", "NICU:9", "from=MBU:3"),
			),
			read:    []axisReading{{70, "<MBU:3> 60 pp-immediate-recovery-vag/0; <NICU:9> 60 nb-intensive/2"}},
			answers: []string{"+nb-intensive -nb-stabilization"},
		},
		"A11 as if never placed": {
			say: list(admit, message(10, acuity.A11, "LDR:A", "cancels=0")), read: []axisReading{{10, ""}},
		},
		"A12 returns the earlier primary with its clock": {
			say:  list(message(0, acuity.A04, "OBTRI:2", "class=O"), message(10, acuity.A02, "LDR:A"), message(15, acuity.A12, "OBTRI:2", "from=LDR:A", "cancels=10")),
			read: []axisReading{{10, inA}, {19, "<OBTRI:2> 60 triage-initial/0"}, {20, "<OBTRI:2> 30 triage-initial/0"}},
		},
		"A13 opens it again as before": {
			say: list(admit, clinical(1, 1), message(10, acuity.A03), message(15, acuity.A13, "cancels=10")), read: []axisReading{{14, ""}, {15, inA}},
		},
		"a cancel may come first": {
			say: list(message(0, acuity.A11, "at=5", "cancels=0"), late(admit, 1)), read: []axisReading{{1, ""}}, answers: []string{"!cancel_waiting", "cancelled"},
		},
		"a cancel without EVN-6 takes the latest of its class": {
			say:  list(admit, message(10, acuity.A02, "LDR:B"), message(20, acuity.A02, "OBOR:1"), message(30, acuity.A12)),
			read: []axisReading{{20, "<OBOR:1> 120 csection-intraop/2"}, {30, inB}},
		},
		"the place only selects among several": {
			say:  list(admit, message(10, acuity.A02, "LDR:B"), message(20, acuity.A12, "LDR:A", "from=OBOR:1", "cancels=10")),
			read: []axisReading{{20, inA}},
		},
		"PV1-6 selects": {
			say:  list(admit, late(message(10, acuity.A02, "LDR:B", "recorded=10"), 10), late(message(10, acuity.A02, "OBOR:1", "recorded=10"), 11), message(20, acuity.A12, "LDR:A", "from=LDR:B", "cancels=10")),
			read: []axisReading{{20, "<OBOR:1> 120 csection-intraop/2"}},
		},
		"a cancelled admit voids what hung on it": {
			say:  list(admit, message(10, acuity.A02, "LDR:B"), message(20, acuity.A11, "cancels=0"), message(30, acuity.A01, "OBOR:1", "class=I")),
			read: []axisReading{{20, ""}, {30, "<OBOR:1> 120 csection-intraop/2"}},
		},
		"after a cancelled admit a transfer does not open": {
			say: list(admit, message(10, acuity.A11, "cancels=0"), message(20, acuity.A02, "LDR:B")), read: []axisReading{{20, ""}},
		},
		"a re-issue lives": {
			say:  list(admit, late(message(0, acuity.A11, "at=20", "recorded=20", "cancels=0"), 20), late(message(0, acuity.A01, "LDR:A", "class=I", "recorded=30"), 30)),
			read: []axisReading{{20, ""}, {30, inA}},
		},
		"and at least the earliest goes": {
			say: list(late(message(0, acuity.A01, "LDR:A", "class=I", "recorded=30"), 30), late(message(0, acuity.A11, "at=20", "recorded=20", "cancels=0"), 31)), read: []axisReading{{31, ""}},
		},
		"A01 on an inpatient: the primary restarts only with the area": {
			say:  list(message(0, acuity.A01, "OBTRI:2", "class=I"), message(100, acuity.A01, "OBTRI:2", "class=I"), message(130, acuity.A01, "LDR:B", "class=I")),
			read: []axisReading{{119, "<OBTRI:2> 30 triage-admit/0"}, {120, "<OBTRI:2> 30 triage-admit/0 boarder"}, {130, inB}},
		},
		"A04 on an inpatient is an update": {
			say: list(admit, message(10, acuity.A04, "OBTRI:2", "class=O")), read: []axisReading{{10, inA}}, answers: []string{"!place_differs"},
		},
		"A06 behind the discharge places again": {
			say: list(message(0, acuity.A04, "OBTRI:2", "class=O"), message(10, acuity.A03), message(20, acuity.A06, "LDR:A", "class=I")), read: []axisReading{{10, ""}, {20, inA}},
		},
		"A06 of the same time does not": {
			say:     list(message(0, acuity.A04, "OBTRI:2", "class=O"), message(10, acuity.A03), message(10, acuity.A06, "LDR:A", "class=I", "recorded=12")),
			read:    []axisReading{{10, ""}},
			answers: []string{"transfer_after_discharge !transfer_after_discharge"},
		},
		"nor one that comes late": {
			say: list(message(0, acuity.A04, "OBTRI:2", "class=O"), message(10, acuity.A03), late(message(5, acuity.A06, "LDR:A", "class=I"), 20)), read: []axisReading{{20, ""}},
		},
		"nor A07": {
			say: list(message(0, acuity.A01, "LDR:A", "class=I"), message(10, acuity.A03), message(10, acuity.A07, "OBTRI:2", "recorded=12")), read: []axisReading{{10, ""}},
		},
		"an Encounter without a location leaves her where a census saw her": {
			say: list(census(0, holds(1, "labor-standard", "visit=v1")), encounter(10, "E", 10, message(10, acuity.A01, "class=I"))), read: []axisReading{{10, "1 60 labor-standard/0"}},
		},
		"also one that comes first, and one that was made before": {
			say:  list(encounter(0, "E", 0, message(0, acuity.A01, "class=I")), census(10, holds(1, "labor-standard", "visit=v1")), encounter(20, "E", 20, message(5, acuity.A01, "class=I"))),
			read: []axisReading{{0, ""}, {10, "1 60 labor-standard/0"}, {20, "1 60 labor-standard/0"}},
		},
		"and a message without PV1-3": {
			say: list(census(0, holds(1, "labor-standard", "visit=v1")), message(10, acuity.A01, "class=I")), read: []axisReading{{10, "1 60 labor-standard/0"}},
		},
		"one that takes the place away does not": {
			say: list(census(0, holds(1, "labor-standard", "visit=v1")), message(10, acuity.A01, "class=I", "null")), read: []axisReading{{10, ""}},
		},
		"a later place is one": {
			say: list(census(0, holds(1, "labor-standard", "visit=v1"), empty(2)), encounter(10, "E", 10, message(10, acuity.A01, "class=I")), message(20, acuity.A02, "#2")), read: []axisReading{{19, "1 60 labor-standard/0"}, {20, "2 60 labor-standard/0"}},
		},
		"a discharge ends it": {
			say: list(census(0, holds(1, "labor-standard", "visit=v1")), encounter(10, "E", 10, message(10, acuity.A01, "class=I")), encounter(20, "E", 20, message(10, acuity.A01, "class=I"), message(20, acuity.A03))), read: []axisReading{{19, "1 60 labor-standard/0"}, {20, ""}},
		},
		"and so does a census without her": {
			say: list(census(0, holds(1, "labor-standard", "visit=v1")), encounter(10, "E", 10, message(10, acuity.A01, "class=I")), census(20, empty(1))), read: []axisReading{{19, "1 60 labor-standard/0"}, {20, ""}},
		},
		"an Encounter of a ward leaves her in the room of a census": {
			say: list(census(0, holds(1, "labor-standard", "visit=v1")), encounter(10, "E", 10, message(10, acuity.A01, "MBU:", "class=I"))), read: []axisReading{{10, "1 60 labor-standard/0"}},
		},
		"and in that of ADT": {
			say: list(admit, encounter(10, "E", 10, message(5, acuity.A01, "MBU:", "class=I"))), read: []axisReading{{10, inA}},
		},
		"also if it came first": {
			say: list(encounter(0, "E", 0, message(0, acuity.A01, "MBU:", "class=I")), census(10, holds(1, "labor-standard", "visit=v1"))), read: []axisReading{{0, ""}, {10, "1 60 labor-standard/0"}},
		},
		"a ward that is called like a room is that room": {
			say: list(census(0, holds(1, "labor-standard", "visit=v1"), named(2, "MBU")), encounter(10, "E", 10, message(10, acuity.A01, "MBU:", "class=I"))), read: []axisReading{{10, "2 20 pp-couplet/0"}},
		},
		"a message that moves her to a ward does": {
			say: list(admit, message(10, acuity.A02, "MBU:")), read: []axisReading{{10, ""}},
		},
		"A06 is an admission of an open visit": {
			say: list(message(0, acuity.A04, "OBTRI:2", "class=O"), message(10, acuity.A06, "LDR:A", "class=I")), read: []axisReading{{10, inA}},
		},
		"a transfer without an admit opens": {
			say: list(message(0, acuity.A02, "LDR:A")), read: []axisReading{{0, inA}},
		},
		"a transfer after a discharge is ignored": {
			say: list(admit, message(10, acuity.A03), message(20, acuity.A02, "LDR:B")), read: []axisReading{{20, ""}}, answers: []string{"transfer_after_discharge !transfer_after_discharge"},
		},
		"an update alone keeps facts only": {
			say: list(message(0, acuity.A08, "LDR:A", "O99.213"), message(10, acuity.A01, "LDR:A", "class=I")), read: []axisReading{{0, ""}, {10, "<LDR:A> 66 high-obesity-bmi40/1 labor-standard/0"}},
		},
		"equal times": {
			say: list(message(0, acuity.A03), message(0, acuity.A02, "LDR:B"), late(admit, 1)), read: []axisReading{{1, ""}},
		},
		"the same factor in another area runs on, another starts at the event": {
			say:  list(message(0, acuity.A04, "OBTRI:2", "class=O"), late(message(10, acuity.A02, "PACU:5"), 30)),
			read: []axisReading{{30, "<PACU:5> 60 pp-immediate-recovery-vag/0"}, {129, "<PACU:5> 60 pp-immediate-recovery-vag/0"}, {130, "<PACU:5> 30 pp-immediate-recovery-vag/0"}},
		},
		"a discharge alone, then cancelled": {
			say: list(message(10, acuity.A03), message(20, acuity.A13, "cancels=10"), late(admit, 30)), read: []axisReading{{10, ""}, {30, inA}},
		},
		"two in one room count both, flagged after 15 min": {
			say:  list(admit, message(10, acuity.A01, "v=v2", "LDR:A", "class=I")),
			read: []axisReading{{24, "<LDR:A> 120 labor-standard/0"}, {25, "<LDR:A> 120 labor-standard/0 double"}},
		},
		"an admission without a place is unplaced": {
			say: list(message(0, acuity.A01, "class=I"), message(10, acuity.A02, "LDR:A")), read: []axisReading{{0, ""}, {10, inA}},
		},
		"a null place of a transfer takes it away, of an update not": {
			say: list(admit, message(5, acuity.A08, "null"), message(10, acuity.A02, "null")), read: []axisReading{{5, inA}, {10, ""}},
		},
		"more than 5 min ahead is applied at the receipt": {
			say: list(late(message(30, acuity.A04, "OBTRI:2", "class=O"), 0)), read: []axisReading{{19, "<OBTRI:2> 60 triage-initial/0"}, {20, "<OBTRI:2> 30 triage-initial/0"}}, answers: []string{"+triage-initial !time_in_future"},
		},
		"the same event again": {
			say: list(admit, late(admit, 10)), read: []axisReading{{10, inA}}, answers: []string{"+labor-standard", "duplicate"},
		},
		"beds never split a room": {
			say: list(message(0, acuity.A01, "LDR:A:1", "class=I"), message(5, acuity.A02, "LDR:A:2")), read: []axisReading{{5, inA}}, answers: []string{"same_room"},
		},
		"a label of a census names the place": {
			say: list(census(0, acuity.CensusRoom{ID: 7, Label: "ldr 04", Status: acuity.RoomEmpty}), message(1, acuity.A01, "XX:LDR04", "class=I")), read: []axisReading{{1, "7 60 labor-standard/0"}},
		},
		"a numeric room that is a known id": {
			say: list(census(0, empty(7)), message(1, acuity.A01, "LDR:7", "class=I")), read: []axisReading{{1, "7 60 labor-standard/0"}},
		},
		"not if two points of care have one of that number": {
			say: list(census(0, empty(7)), message(1, acuity.A01, "LDR:7", "class=I"), message(2, acuity.A01, "v=v2", "MBU:7", "class=I")), read: []axisReading{{2, own("LDR:7") + " 60 labor-standard/0; " + own("MBU:7") + " 20 pp-couplet/0"}},
		},
		"a label told later takes the patient along": {
			say:  list(admit, clinical(1, atoi(own("LDR:A")), mag().since(1)), census(10, labelled(7, "LDR A"))),
			read: []axisReading{{1, "<LDR:A> 60 high-mag/3 labor-standard/0"}, {10, "7 60 high-mag/3 labor-standard/0"}},
		},
		"a row of the location table told later takes the patient along": {
			say:  list(admit, clinical(1, atoi(own("LDR:A")), mag().since(1)), mapped(10, acuity.Place{PointOfCare: "LDR", Room: "A", HasRoomID: true, RoomID: 7})),
			read: []axisReading{{1, "<LDR:A> 60 high-mag/3 labor-standard/0"}, {10, "7 60 high-mag/3 labor-standard/0"}},
		},
		"a second point of care with the same number leaves her the statements": {
			say: list(
				census(0, empty(7)), message(1, acuity.A01, "LDR:7", "class=I"), clinical(2, 7, mag().since(2)),
				message(3, acuity.A01, "v=v2", "MBU:7", "class=I"),
			),
			read: []axisReading{{2, "7 60 high-mag/3 labor-standard/0"}, {3, own("LDR:7") + " 60 high-mag/3 labor-standard/0; " + own("MBU:7") + " 20 pp-couplet/0"}},
		},
		"a point of care alone is no room": {
			say: list(message(0, acuity.A01, "LDR:", "class=I")), read: []axisReading{{0, ""}}, answers: []string{"!location_without_room"},
		},
		"a bed without a room": {
			say: list(message(0, acuity.A01, "LDR::12", "class=I")), read: []axisReading{{0, ""}}, answers: []string{"!bed_without_room"},
		},
		"a bed without a room, with its row in the location table": {
			say:  list(mapped(0, acuity.Place{PointOfCare: "LDR", Bed: "12", HasRoomID: true, RoomID: 7}), message(1, acuity.A01, "LDR::12", "class=I")),
			read: []axisReading{{1, "7 60 labor-standard/0"}}, answers: []string{"", "+labor-standard"},
		},
		"an admission outside the unit is named": {
			say: list(message(0, acuity.A01, "MEDSURG:998", "class=I")), read: []axisReading{{0, ""}}, answers: []string{"!outside_unit"},
		},
		"a transfer out of the unit is not": {
			say: list(admit, message(5, acuity.A02, "MEDSURG:998"), message(6, acuity.A08, "MEDSURG:998")), read: []axisReading{{6, ""}},
			answers: []string{"+labor-standard", "-labor-standard", ""},
		},
		"a new room of a unit outside": {
			say: list(admit, message(10, acuity.A02, "ICU:4")), read: []axisReading{{10, ""}}, answers: []string{"-labor-standard"},
		},
		"a census overrides what ADT said up to it": {
			say:  list(admit, census(10, holds(7, "visit=v1")), message(20, acuity.A02, "LDR:B")),
			read: []axisReading{{9, inA}, {10, "7 60 labor-standard/0"}, {20, inB}},
		},
		"a visit that the census does not show leaves": {
			say: list(admit, census(10, holds(7, "ap-stable")), late(message(5, acuity.A02, "LDR:B"), 12), message(20, acuity.A02, "OBOR:1")), read: []axisReading{{10, "7 20 ap-stable/1"}, {12, "7 20 ap-stable/1"}, {20, "7 20 ap-stable/1; <OBOR:1> 120 csection-intraop/2"}},
		},
		"a transfer to where the visit was brings it back": {
			say:     list(admit, census(10), message(20, acuity.A02, "LDR:A")),
			read:    []axisReading{{10, ""}, {20, inA}},
			answers: []string{"+labor-standard", "-labor-standard", "+labor-standard"},
		},
		"an admission of the minute in which a census was taken came after it": {
			say:  list(census(10.5, holds(7, "ap-stable")), late(message(10, acuity.A01, "LDR:A", "class=I", "minute"), 11), census(12, holds(7, "ap-stable"))),
			read: []axisReading{{11, "7 20 ap-stable/1; " + own("LDR:A") + " 60 labor-standard/0"}, {12, "7 20 ap-stable/1"}},
		},
		"unless it was known before the census": {
			say:  list(late(message(10, acuity.A01, "LDR:A", "class=I", "minute"), 10.25), census(10.5, holds(7, "ap-stable"))),
			read: []axisReading{{10.5, "7 20 ap-stable/1"}},
		},
		"or a minute before": {
			say:  list(census(10.5, holds(7, "ap-stable")), late(message(9, acuity.A01, "LDR:A", "class=I", "minute"), 11)),
			read: []axisReading{{11, "7 20 ap-stable/1"}},
		},
		"an occupied row without a visit is the ADT visit there": {
			say:  list(message(0, acuity.A01, "#7", "class=I", "labor-epidural", "O45.9"), census(10, holds(7)), message(20, acuity.A02, "LDR:B")),
			read: []axisReading{{10, "7 120 high-hemorrhage/4 labor-epidural/0"}, {20, "<LDR:B> 120 high-hemorrhage/4 labor-standard/0"}},
		},
		"also of a newborn who is alone there": {
			say:  append(alone(holds(9)), census(20, holds(9, "class=N"))),
			read: []axisReading{{1, "9 60 nb-intensive/2"}, {10, "9 60 nb-intensive/2"}, {20, "9 60 nb-intensive/2"}},
		},
		"unless the row tells of a mother: a primary":   {say: alone(holds(9, "ap-stable")), read: []axisReading{{10, "9 80 nb-intensive/2 ap-stable/1"}}},
		"unless the row tells of a mother: a class":     {say: alone(holds(9, "class=I")), read: []axisReading{{10, "9 120 nb-intensive/2 labor-standard/0"}}},
		"unless the row tells of a mother: a delivery":  {say: alone(holds(9, "born=5")), read: []axisReading{{10, "9 90 nb-intensive/2"}}},
		"unless the row tells of a mother: a modifier":  {say: alone(holds(9, "high-obesity-bmi40")), read: []axisReading{{10, "9 96 nb-intensive/2 high-obesity-bmi40/1"}}},
		"unless the row tells of a mother: a diagnosis": {say: alone(holds(9, "O99.213")), read: []axisReading{{10, "9 96 nb-intensive/2 high-obesity-bmi40/1"}}},
		"unless the row tells of a mother: a baby":      {say: alone(holds(9, "baby=nb-continuing")), read: []axisReading{{10, "9 90 nb-intensive/2"}}},
		"an anonymous occupant ends when a visit is placed there": {
			say:  list(census(0, holds(7, "ap-stable")), clinical(1, 7, manual("high-placenta-previa")), message(20, acuity.A01, "#7", "labor-epidural")),
			read: []axisReading{{1, "7 30 high-placenta-previa/2 ap-stable/1"}, {20, "7 30 labor-epidural/0"}},
		},
		"a late placement takes the anonymous occupant over": {
			say:  list(census(0, holds(7, "ap-stable")), clinical(1, 7, manual("high-placenta-previa")), late(message(-5, acuity.A01, "#7", "O99.213"), 20), message(30, acuity.A02, "LDR:B")),
			read: []axisReading{{20, "7 36 high-placenta-previa/2 ap-stable/1 high-obesity-bmi40/1"}, {30, "<LDR:B> 66 high-placenta-previa/2 high-obesity-bmi40/1 labor-standard/0"}},
		},
		"a cancel recorded after the census of an event before it counts": {
			say: list(message(0, acuity.A01, "#7", "class=I"), census(10, holds(7, "visit=v1")), message(20, acuity.A11, "cancels=0")), read: []axisReading{{10, "7 60 labor-standard/0"}, {20, ""}},
		},
		"a late event before the census keeps its diagnoses": {
			say: list(message(0, acuity.A01, "#7", "class=I"), census(10, holds(7, "visit=v1")), late(message(5, acuity.A08, "O45.9"), 12)), read: []axisReading{{12, "7 120 high-hemorrhage/4 labor-standard/0"}},
		},
		"16 a late ADT message puts it right within 24 h": {
			say:  list(clinical(10, 7, manual("high-placenta-previa")), late(message(5, acuity.A01, "#7", "labor-epidural"), 1400)),
			read: []axisReading{{10, "7 30 high-placenta-previa/2"}, {1400, "7 30 high-placenta-previa/2 labor-epidural/0"}},
		},
		"16 later it stays with whom it was": {
			say:  list(message(0, acuity.A01, "#7", "labor-epidural"), clinical(10, 7, manual("high-placenta-previa")), message(20, acuity.A02, "MBU:3"), late(message(5, acuity.A02, "LDR:B"), 1560)),
			read: []axisReading{{20, "<MBU:3> 30 high-placenta-previa/2 pp-couplet/0"}, {1560, "<MBU:3> 30 high-placenta-previa/2 pp-couplet/0"}},
		},
		"16 evidence comes back with the visit": {
			say:  list(message(0, acuity.A01, "#7", "labor-epidural"), clinical(10, 7, manual("high-placenta-previa")), message(20, acuity.A03), message(30, acuity.A13, "cancels=20")),
			read: []axisReading{{20, ""}, {30, "7 30 high-placenta-previa/2 labor-epidural/0"}},
		},
		"an explicit primary holds in its place": {
			say:  list(message(0, acuity.A01, "LDR:A", "labor-epidural"), message(10, acuity.A02, "LDR:B"), message(20, acuity.A02, "MBU:3"), message(30, acuity.A02, "LDR:A")),
			read: []axisReading{{10, "<LDR:B> 30 labor-epidural/0"}, {20, "<MBU:3> 20 pp-couplet/0"}, {30, inA}},
		},
		"no primary from a modifier": {
			say: list(message(0, acuity.A01, "MBU:3", "class=I", "O15.2")), read: []axisReading{{0, "<MBU:3> 60 high-eclampsia/4 high-mag/3 high-preeclampsia/2 pp-couplet/0"}},
		},
		"a snapshot replaces the ADT set only": {
			say:  list(message(0, acuity.A01, "#7", "class=I", "labor-epidural", "O99.213"), census(5, holds(7, "visit=v1", "O13.2")), message(10, acuity.A08, "O66.41")),
			read: []axisReading{{5, "7 36 high-preeclampsia/2 high-obesity-bmi40/1 labor-epidural/0"}, {10, "7 60 labor-tolac/2 high-preeclampsia/2 labor-epidural/0"}},
		},
		"no DG1 changes nothing, clear clears": {
			say:  list(message(0, acuity.A01, "LDR:A", "class=I", "O13.2"), message(5, acuity.A08), message(10, acuity.A08, "clear")),
			read: []axisReading{{5, "<LDR:A> 60 high-preeclampsia/2 labor-standard/0"}, {10, inA}},
		},
		"a delta adds and deletes": {
			say:  list(message(0, acuity.A01, "LDR:A", "class=I", "O13.2"), message(5, acuity.A08, "delta", "O66.41"), message(10, acuity.A08, "delta", "-o132", "-O99")),
			read: []axisReading{{5, "<LDR:A> 60 labor-tolac/2 high-preeclampsia/2 labor-standard/0"}, {10, "<LDR:A> 60 labor-tolac/2 labor-standard/0"}},
		},
		"diagnoses of a cancelled event vanish": {
			say:  list(message(0, acuity.A04, "OBTRI:2", "class=O", "O13.2"), message(10, acuity.A01, "LDR:A", "class=I", "O66.41"), message(20, acuity.A11, "cancels=10")),
			read: []axisReading{{10, "<LDR:A> 60 labor-tolac/2 labor-standard/0"}, {20, "<OBTRI:2> 30 high-preeclampsia/2 triage-initial/0"}},
		},
		"diagnoses of a transfer do not count": {
			say: list(admit, message(10, acuity.A02, "LDR:B", "O13.2")), read: []axisReading{{10, inB}},
		},
		"repeats never restart a clock, a new run does": {
			say:  list(message(0, acuity.A01, "LDR:A", "class=I", "O45.9"), message(50, acuity.A08, "O45.9"), message(70, acuity.A08, "clear"), message(80, acuity.A08, "O45.9")),
			read: []axisReading{{59, "<LDR:A> 120 high-hemorrhage/4 labor-standard/0"}, {60, "<LDR:A> 60 high-hemorrhage/3 labor-standard/0"}, {70, inA}, {80, "<LDR:A> 120 high-hemorrhage/4 labor-standard/0"}},
		},
		"the onset of the first message": {
			say: list(message(30, acuity.A01, "LDR:A", "class=I", "O45.9@0")), read: []axisReading{{59, "<LDR:A> 120 high-hemorrhage/4 labor-standard/0"}, {60, "<LDR:A> 60 high-hemorrhage/3 labor-standard/0"}},
		},
		"birth by a newborn of hers": {
			say:  list(message(0, acuity.A01, "LDR:A", "labor-epidural", "O66.41"), message(10, acuity.A01, "v=baby", "mother=v1", "LDR:A")),
			read: []axisReading{{9, "<LDR:A> 60 labor-tolac/2 labor-epidural/0"}, {10, "<LDR:A> 90 nb-stabilization/1 labor-epidural/0"}},
		},
		"a newborn without a place is as old as its admission": {
			say: list(message(0, acuity.A01, "LDR:A", "class=I"), message(10, acuity.A01, "v=baby", "mother=v1"), message(20, acuity.A02, "MBU:3")),
			read: []axisReading{
				{10, "<LDR:A> 120 nb-stabilization/1 pp-immediate-recovery-vag/0"},
				{54, "<MBU:3> 120 nb-stabilization/1 pp-immediate-recovery-vag/0"},
				{55, "<MBU:3> 60 nb-stabilization/1 pp-immediate-recovery-vag/0"},
			},
		},
		"a placeholder for the birth date is corrected": {
			say:  list(message(0, acuity.A04, "LDR:A", "class=I", "newborn"), message(10, acuity.A08, "type=L"), message(20, acuity.A08, "class=I")),
			read: []axisReading{{0, "<LDR:A> 60 nb-stabilization/1"}, {10, inA}, {20, inA}},
		},
		"a newborn goes with the mother": {
			say:  append(couplet, message(10, acuity.A02, "ANTE:6"), message(20, acuity.A03)),
			read: []axisReading{{10, "<ANTE:6> 40 ap-stable/1 nb-continuing/0"}, {20, ""}},
		},
		"the baby's discharge leaves the mother": {
			say: append(couplet, message(10, acuity.A03, "v=baby")), read: []axisReading{{9, "<MBU:3> 20 pp-couplet/0 nb-continuing/0"}, {10, "<MBU:3> 20 pp-couplet/0"}},
		},
		"baby to NICU leaves the couplet": {
			say:  append(couplet, message(10, acuity.A02, "v=baby", "NICU:9")),
			read: []axisReading{{10, "<MBU:3> 20 pp-couplet/0; <NICU:9> 60 nb-intensive/2"}},
		},
		"30: reasons and tokens": {
			say: list(
				message(0, acuity.A01, "v=a", "LDR:1", "class=I", "reason=cervical ripening"),
				message(0, acuity.A01, "v=b", "LDR:2", "class=I", "reason=Induction of labor"),
				message(0, acuity.A01, "v=c", "LDR:3", "class=I", "O82"),
				message(0, acuity.A01, "v=d", "LDR:4", "class=I", "O34.211"),
				message(0, acuity.A01, "v=e", "LDR:5", "class=I", "O82", "Z37.0"),
				message(0, acuity.A04, "v=f", "OBED:6", "class=O", "reason=leaking fluid"),
				message(0, acuity.A04, "v=g", "OBTRI:7", "class=E", "reason=MVA, trauma"),
				message(0, acuity.A01, "v=h", "OBOR:8", "class=I", "reason=cerclage"),
				message(0, acuity.A01, "v=i", "ANTE:9", "class=I", "reason=unstable"),
				message(0, acuity.A01, "v=j", "WH:1", "class=O"),
				message(0, acuity.A01, "v=k", "L&D:11", "class=I"),
				message(0, acuity.A01, "v=l", "LDR:12", "class=I", "reason=no leaking, early labor"),
			),
			read: []axisReading{{0, strings.Join([]string{
				own("LDR:1") + " 30 labor-ripening/0", own("LDR:2") + " 60 labor-induction/0", own("LDR:3") + " 60 csection-admit/0",
				own("LDR:4") + " 60 labor-standard/0", own("LDR:5") + " 60 pp-csection/1", own("OBED:6") + " 30 triage-rom/0",
				own("OBTRI:7") + " 60 triage-medical-eval/1", own("OBOR:8") + " 60 or-cerclage-placement/1", own("ANTE:9") + " 60 ap-unstable/3",
				own("WH:1") + " 60 triage-initial/0", own("L&D:11") + " 60 labor-standard/0", own("LDR:12") + " 30 labor-active-lt4/0",
			}, "; ")}},
		},
	}))
}

func atoi(text string) int32 {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return int32(n)
}

// labelled returns a census row of an occupied room with a label.
func labelled(id int32, label string) acuity.CensusRoom {
	return acuity.CensusRoom{ID: id, Label: label, Status: acuity.RoomOccupied}
}

// A mother has given birth, wherever her newborn goes. A newborn outside the unit needs no nurse of the unit.
func TestDecisionsNewbornLeaves(t *testing.T) {
	const day = 1440
	mother := message(0, acuity.A01, "LDR:A", "class=I", "O66.41")
	linked, unlinked := message(8, acuity.A01, "v=n1", "mother=v1", "LDR:A"), message(8, acuity.A01, "v=n1", "newborn", "LDR:A")
	const alone, couplet = "<LDR:A> 60 pp-immediate-recovery-vag/0", "<LDR:A> 120 nb-stabilization/1 pp-immediate-recovery-vag/0"
	decide(t, visits(map[string]decision{
		"to a nursery, without a link": {
			say:  list(mother, unlinked, message(20, acuity.A02, "v=n1", "newborn", "NBN:8")),
			read: []axisReading{{8, couplet}, {20, alone + "; <NBN:8> 60 nb-stabilization/1"}},
		},
		"to a NICU, without a link": {
			say:  list(mother, unlinked, message(20, acuity.A02, "v=n1", "newborn", "NICU:9")),
			read: []axisReading{{20, "<NICU:9> 60 nb-intensive/2; " + alone}},
		},
		"in the other order of arrival": {
			say:  list(unlinked, late(mother, 9), message(20, acuity.A02, "v=n1", "newborn", "NICU:9")),
			read: []axisReading{{9, couplet}, {20, "<NICU:9> 60 nb-intensive/2; " + alone}},
		},
		"out of the unit": {
			say:  list(mother, linked, message(20, acuity.A02, "v=n1", "mother=v1", "SURG:1")),
			read: []axisReading{{8, couplet}, {20, alone}},
		},
		"out of the unit, and back": {
			say:  list(mother, linked, message(20, acuity.A02, "v=n1", "mother=v1", "SURG:1"), message(30, acuity.A02, "v=n1", "mother=v1", "LDR:A")),
			read: []axisReading{{20, alone}, {30, couplet}},
		},
		"discharged before the mother, and 7 days have passed": {
			say:  list(mother, linked, message(20, acuity.A03, "v=n1", "mother=v1"), message(9*day, acuity.A08, "LDR:A", "O66.41"), message(10*day, acuity.A03), message(18*day, acuity.A01, "v=v2", "LDR:A", "class=I")),
			read: []axisReading{{20, alone}, {9 * day, "<LDR:A> 20 pp-immediate-recovery-vag/0"}, {18 * day, "<LDR:A> 60 labor-standard/0"}},
		},
	}))
}
