package rules

// Warning explains the code of a warning, an issue or a refusal.
type Warning struct {
	Code   string
	Effect Effect
	Raised Raised
	// Message says in one sentence what was found and what the sender can do.
	Message string
}

// Effect is what became of the fact that a warning is about.
type Effect uint8

// The effects.
const (
	Used    Effect = iota // it is used, as the message says
	Known                 // it is older than, or equal to, what is known: nothing changed
	Unused                // it is not used, at least not now
	Refused               // the message, resource or item with it was refused
)

// String is the name of the effect in docs/.
func (e Effect) String() string { return [...]string{"used", "known", "not used", "refused"}[e] }

// Raised says where a code is raised.
type Raised uint8

// The places where codes are raised.
const (
	ByHL7   Raised = 1 << iota // reading HL7 v2
	ByFHIR                     // reading FHIR
	ByJSON                     // reading the JSON feeds
	ByState                    // applying a fact to what is known
)

// Warnings has every code of the warnings of all feeds, of the issues of FHIR, of refused HL7
// messages, and of events without effect, in the order of the codes.
var Warnings = []Warning{
	{"AE 100", Refused, ByHL7, "No usable MSH segment was found; begin each message with MSH and its delimiters."},
	{
		"AE 101", Refused, ByHL7,
		"A required field is empty; send a control ID in MSH-10, and a visit number in PV1-19 or a patient number in PID-3.",
	},
	{
		"AE 102", Refused, ByHL7,
		"A limit is exceeded; send at most 1,000 messages in a body, 1,000 segments in a message and 64 KiB in a field.",
	},
	{
		"AE 207", Refused, ByHL7,
		"The hospital has reached one of its limits; send the message again later, or ask the operator of the service.",
	},
	{"AR 200", Refused, ByHL7, "The message is not an ADT message; send only ADT messages to this address."},
	{"AR 201", Refused, ByHL7, "MSH-9 names no trigger event; send it in the second component, such as ADT^A01."},
	{"AR 202", Refused, ByHL7, "MSH-11 is not P, and this key accepts only production messages; send P, or use another key for tests."},
	{
		"account_shared", Unused, ByState,
		"More than 50 visits have this account number, so it is not used as a name of the visit; send the visit number in PV1-19.",
	},
	{
		"action_unknown", Used, ByHL7,
		"DG1-21 is not A, U or D, so the diagnosis was added; send one of the three, or leave DG1-21 empty.",
	},
	{
		"admit_cancelled", Known, ByState,
		"The admission that the event belongs to was canceled, so nothing changed; no action is needed.",
	},
	{"adt_extension", Used, ByHL7, "A06, A07 and A13 are not among the agreed events but were applied; no action is needed."},
	{"already_discharged", Known, ByState, "The visit was already discharged, so nothing changed; no action is needed."},
	{
		"batch_count", Used, ByHL7,
		"The count in BTS-1 or FTS-1 is not the number of messages or batches received; check that none was " +
			"lost, and send the missing ones again.",
	},
	{
		"bed_without_room", Unused, ByState,
		"The location names a bed but no room, so the patient is in no room; " +
			"send the room in PV1-3.2, or add a row with this point of care and bed to the location table.",
	},
	{
		"cancel_too_late", Unused, ByState,
		"The event to cancel is too old to be canceled by itself; if the patient is not where she should be, send an A02 or a census.",
	},
	{
		"cancel_waiting", Unused, ByState,
		"No event that this cancel could cancel is known; it waits 24 hours, so send the event if it was not sent.",
	},
	{"cancelled", Known, ByState, "The event was canceled by one that came before it, so nothing changed; no action is needed."},
	{
		"census_older", Known, ByState,
		"A newer census is known, so this one changed nothing; check the time in asOf if it was meant to be the newest.",
	},
	{
		"charset_assumed", Used, ByHL7,
		"No character set is declared and the text is not UTF-8, so it was read as Windows-1252; declare the character set in MSH-18.",
	},
	{
		"charset_invalid", Used, ByHL7,
		"The text is declared as UTF-8 but is not, so it was read as Windows-1252; declare the actual character set in MSH-18.",
	},
	{
		"charset_unknown", Used, ByHL7,
		"The declared character set is not known; declare one of HL7 table 0211 in MSH-18, such as UNICODE UTF-8.",
	},
	{
		"class_assumed", Used, ByFHIR,
		"The class is not a code of v3-ActCode, so the patient counts as an outpatient; send a code such as IMP, EMER or AMB.",
	},
	{"code_missing", Unused, ByFHIR, "There is no code that says what this is about; send at least one coding with a code."},
	{
		"code_unreadable", Unused, ByHL7 | ByFHIR,
		"The code is empty, too long or not in its table, so it was not used; send a code of the table, of at most 64 bytes.",
	},
	{
		"condition_not_supported", Refused, ByFHIR,
		"The condition cannot be evaluated, so the resource was not used; " +
			"search by one identifier that the resource has, or send If-None-Match: *.",
	},
	{
		"delete_by_search", Refused, ByFHIR,
		"Deleting what a search finds is not supported, so nothing was deleted; delete by resource id.",
	},
	{
		"delete_ignored", Unused, ByFHIR,
		"A Medication, Location or Patient is kept, because other resources may name it; send it as it is now with PUT.",
	},
	{
		"discharge_waiting", Unused, ByState,
		"The discharge ends no visit, because no admission is known; check the visit number, or send the admission.",
	},
	{"duplicate", Known, ByState, "The same event is known already, so nothing changed; no action is needed."},
	{"duplicate_field", Refused, ByFHIR, "The object has this field twice; send it once."},
	{
		"element_unknown", Unused, ByFHIR,
		"The element is not one that FHIR R4 has here, so it was not used; check its spelling and the version of FHIR.",
	},
	{
		"encoding_escaped", Refused, ByHL7,
		`The message is escaped for HTML or XML; send it unescaped, so that MSH-2 is ^~\& and not ^~\&amp;.`,
	},
	{
		"encoding_invalid", Refused, ByHL7,
		`MSH-1 or MSH-2 has a character that cannot be a delimiter; send punctuation, usually | in MSH-1 and ^~\& in MSH-2.`,
	},
	{"encoding_long", Refused, ByHL7, `MSH-2 has more than five characters; send three to five different ones, usually ^~\&.`},
	{
		"encoding_repeated", Refused, ByHL7,
		`MSH-2 has a character twice, or that of MSH-1; send three to five different ones, usually ^~\& (in JSON, "^~\\&").`,
	},
	{"encoding_short", Refused, ByHL7, `MSH-2 has fewer than three characters; send three to five different ones, usually ^~\&.`},
	{"escape_unknown", Used, ByHL7, `An escape sequence is unknown or not closed and was kept as text; send a backslash as \E\.`},
	{
		"event_id_reused", Unused, ByState,
		"The event ID was used before with other content, so this event was not applied; give each event an ID of its own.",
	},
	{"event_ignored", Unused, ByHL7 | ByState, "This trigger event has no effect here; no action is needed, and it need not be sent."},
	{
		"event_time_missing", Used, ByHL7 | ByFHIR,
		"The event has no usable time, so the time of the message or version, or else of receipt, was used; " +
			"send the time of the event.",
	},
	{
		"event_too_old", Unused, ByState,
		"The event is older than the events that are kept one by one, so it was not applied; if the patient " +
			"is not where she should be, send an A02 or a census.",
	},
	{
		"exists", Known, ByState,
		"The resource was to be created only if it does not exist, and it does, so nothing changed; " +
			"send it without the condition to update it.",
	},
	{
		"fetus_unreadable", Unused, ByJSON,
		"The field does not say which fetus it is, so the signal names none; send a label such as A or 2, or words such as twin B.",
	},
	{
		"field_not_used", Unused, ByJSON,
		"The field has no effect with an event of this type or a room in this state; send it with one that it belongs to.",
	},
	{
		"if_match_ignored", Used, ByFHIR,
		"The resource was used whatever its version; send meta.lastUpdated or meta.versionId, which order versions.",
	},
	{
		"line_continued", Used, ByHL7,
		`The line does not begin with a segment name and counts as text of the field before it; ` +
			`if it is a segment, begin it with its name, else send the line break as \.br\.`,
	},
	{
		"line_ignored", Unused, ByHL7,
		"The line does not begin with a segment name and was not used; " +
			"if it is a segment, begin it with its name and the field separator.",
	},
	{
		"list_cut", Used, ByFHIR,
		"The list has more elements than are read, so only the first ones were used; send the ones that matter first.",
	},
	{
		"location_cut", Used, ByHL7 | ByFHIR,
		"A part of the location is longer than 80 bytes and was cut; send the short name of the unit, room or bed.",
	},
	{"location_missing", Unused, ByState, "The transfer names no location, so nobody was moved; send the new location in PV1-3."},
	{
		"location_without_room", Unused, ByState,
		"The location names a unit but no room, so the patient is in no room; send the room in PV1-3.2, or " +
			"map the location in the location table.",
	},
	{
		"merge_ignored", Unused, ByHL7,
		"Merging, moving and renumbering have no effect here; discharge the old visit with an A03, or send a census without it.",
	},
	{
		"method_not_supported", Refused, ByFHIR,
		"The method is not supported, so the entry was not used; send the whole resource with POST or PUT, or DELETE it by id.",
	},
	{
		"modifier_extension", Refused, ByFHIR,
		"The resource, its entry or an element that is read has a modifierExtension, which may change its meaning; " +
			"send the resource without it, or do not send it.",
	},
	{
		"more_not_listed", Used, ByFHIR | ByJSON,
		"There are more warnings than one answer lists; mend those that are listed, and send it again.",
	},
	{"not_in_worklist", Unused, ByState, "The code is not in the worklist, so it was not marked; read the worklist again."},
	{
		"not_production", Used, ByHL7,
		"MSH-11 is not P, but the message was applied; send tests to another hospital, or set productionOnly for this key.",
	},
	{
		"not_used", Used, ByFHIR,
		"No other resource of the body refers to this one, so it is kept for later ones; refer to it, or leave it out.",
	},
	{
		"operation_not_supported", Refused, ByFHIR,
		"Operations and searches are not supported, so the entry was not used; send resources with POST or PUT.",
	},
	{
		"outside_unit", Unused, ByState,
		"The location is outside the unit, so the patient is in none of its rooms; if it belongs to the " +
			"unit, add it to the location table.",
	},
	{
		"part_of_cycle", Unused, ByFHIR | ByState,
		"The chain of partOf leads back to the Encounter itself, so it names no whole; correct partOf.",
	},
	{
		"part_of_limit", Unused, ByState,
		"More than 50 Encounters are partOf the same one, so none of them is joined with it; check partOf.",
	},
	{
		"part_of_other_patient", Unused, ByFHIR,
		"The whole has another patient and this one is not a newborn, so partOf was not used; correct subject or partOf.",
	},
	{
		"part_of_unknown_patient", Unused, ByState,
		"Whether the whole has the same patient is not known, so the two stay apart; send the Patient with its MR number.",
	},
	{
		"place_differs", Unused, ByState,
		"The update names another location than the visit has and moves nobody; send an A02 if the patient was moved.",
	},
	{"prior_place_differs", Used, ByState, "PV1-6 is not where the visit was; check that no transfer was lost."},
	{
		"reference_unresolved", Used, ByFHIR,
		"The Medication or Location is not in the body, so what is known of it is used; send it in the same Bundle if it is new.",
	},
	{
		"reference_unusable", Unused, ByFHIR,
		"The reference leads nowhere, or to a resource of another type; send Type/id, urn:uuid:, #id or an identifier.",
	},
	{"reference_waiting", Unused, ByState, "The visit or patient is not known yet; this waits 24 hours for it, so send the admission."},
	{"required", Refused, ByFHIR, "The element is missing; send it."},
	{
		"room_label_differs", Unused, ByState,
		"A census or an administrator labels the room differently, so this label was not used; correct one of the two.",
	},
	{"room_not_occupied", Used, ByState, "No patient is known to be in the room; check the room number, or send the admission."},
	{"room_twice", Unused, ByState, "The census lists the room twice, so only the first row was used; list each room once."},
	{
		"roster_older", Known, ByState,
		"A newer roster is known, so this one changed nothing; check the time in asOf if it was meant to be the newest.",
	},
	{"same_room", Known, ByState, "The visit is already in the room, so nothing changed; no action is needed."},
	{"segment_repeated", Unused, ByHL7, "The segment is there more than once, so only the first was used; send it once in a message."},
	{
		"segments_joined", Refused, ByHL7,
		`The segments lie in one line; end each with a carriage return, the byte 0x0D, and not with the two characters \r.`,
	},
	{
		"several_open_visits", Unused, ByState,
		"The patient has several open visits, and the message names the room of none, so it was not applied; send the visit number.",
	},
	{
		"staffing_older", Known, ByState,
		"A newer staffing is known, so this one changed nothing; check the time in asOf if it was meant to be the newest.",
	},
	{
		"status_not_used", Unused, ByFHIR,
		"A resource in this state says nothing yet, so it was not used; send it again in a later state.",
	},
	{"status_unknown", Unused, ByFHIR | ByJSON, "The status is not one of the known ones; send one that the documentation lists."},
	{
		"subject_differs", Used, ByState,
		"The subject is not the patient of the encounter, so the statement counts for the patient of the encounter; " +
			"correct subject or encounter.",
	},
	{"superseded", Known, ByFHIR, "Another entry of the body has a newer version of this resource; no action is needed."},
	{"swap_ignored", Unused, ByHL7, "A17 swap has no effect; send an A02 for each of the two patients."},
	{
		"system_assumed", Used, ByHL7 | ByFHIR | ByJSON,
		"The code has no code system or an ambiguous one, so its form decided; send the system, such as I10 for ICD-10-CM.",
	},
	{
		"time_in_future", Used, ByHL7 | ByFHIR | ByJSON | ByState,
		"The time is more than five minutes ahead, so the time of receipt was used; check clock and time zone of the sender.",
	},
	{
		"time_unreadable", Unused, ByHL7 | ByFHIR,
		"The time cannot be read, so it counts as absent; send it in the format of HL7 or FHIR, with the offset from UTC.",
	},
	{"too_many_events", Refused, ByState, "The hospital has reached its limit of ADT events; discharge visits that have ended."},
	{
		"too_many_nurses", Unused, ByState,
		"The roster lists more nurses than a hospital may have, so the rest was not used; send at most 500.",
	},
	{"too_many_plans", Unused, ByState, "More than 48 staffing plans lie ahead, so the last was not used; send it nearer to its time."},
	{
		"too_many_references", Refused, ByState,
		"The limit of visits and patients that nothing but statements name is reached; send the admissions first.",
	},
	{
		"too_many_rooms", Refused, ByState,
		"The hospital has reached its limit of rooms in use; send a census with the rooms of the unit alone.",
	},
	{
		"too_many_statements", Refused, ByState,
		"The hospital has reached its limit of clinical statements; discharge visits that have ended.",
	},
	{"too_many_visits", Refused, ByState, "The hospital has reached its limit of visits; discharge visits that have ended."},
	{
		"too_many_visits_of_patient", Refused, ByState,
		"The patient has as many visits as one patient may have; discharge those that have ended.",
	},
	{
		"transfer_after_discharge", Unused, ByState,
		"The visit was discharged before the transfer, so nobody was moved; if the discharge was wrong, cancel it with an A13.",
	},
	{"type", Refused, ByFHIR, "The element has another JSON type than FHIR defines; send the type of the element."},
	{
		"type_not_used", Unused, ByFHIR,
		"Resources of this type are not used; no action is needed, and they need not be sent.",
	},
	{
		"unit", Unused, ByFHIR,
		"The unit is not the one in which this code is read, so the value was not used; send the value in the expected unit.",
	},
	{"unit_missing", Used, ByFHIR, "The value has no unit, so the usual one was assumed; send the unit in UCUM."},
	{"unknown_field", Unused, ByJSON, "The field is not known and was not used; check its spelling, or leave it out."},
	{
		"value_unreadable", Unused, ByFHIR | ByState,
		"The value cannot be read, so it was not used; send a number, or one of the words of the code.",
	},
	{"version_older", Known, ByState, "A newer version of the resource is known, so nothing changed; no action is needed."},
	{
		"visit_by_patient", Used, ByHL7,
		"There is no visit number, so the message belongs to the only open visit of the patient; send the visit number in PV1-19.",
	},
	{
		"visit_twice", Unused, ByState,
		"The census has the visit in two rooms, so the second row counts as a patient without a visit; list each visit once.",
	},
	{"visit_unknown", Unused, ByState, "The event names no known visit or patient, so it was not applied; send the visit number."},
}

// IsRoutine reports whether a feed of a whole hospital gets a warning all day, because most of what it
// sends has no effect in this unit.
func IsRoutine(code string) bool { return code == "event_ignored" || code == "outside_unit" }
