package rules

// Warnings contains every code for warnings, FHIR issues, refused HL7 messages, and events without effect, sorted by
// code.
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
	{"AE 207", Refused, ByHL7, "The hospital has reached a limit; send the message again later, or ask the operator of the service."},
	{"AR 200", Refused, ByHL7, "The message is not an ADT message; send only ADT messages to this endpoint."},
	{"AR 201", Refused, ByHL7, "MSH-9 has no trigger event; send it in the second component, such as ADT^A01."},
	{"AR 202", Refused, ByHL7, "MSH-11 is not P, and this key accepts only production messages; send P, or use another key for tests."},
	{
		"account_shared", Unused, ByState,
		"More than 50 visits have this account number, so it does not identify a visit; send the visit number in PV1-19.",
	},
	{"action_unknown", Used, ByHL7, "DG1-21 is not A, U or D, so the diagnosis was added; send one of these three, or leave DG1-21 empty."},
	{"admit_cancelled", Known, ByState, "The admission of this event was canceled, so nothing changed; no action is needed."},
	{"adt_extension", Used, ByHL7, "A06, A07 and A13 extend the agreed set of events; the event was applied, and no action is needed."},
	{
		"after_birth", Unused, ByState,
		"The patient has given birth, so this labor or fetal report was not used; if a twin is unborn, send a diagnosis such as O30.009.",
	},
	{"already_discharged", Known, ByState, "The visit was already discharged, so nothing changed; no action is needed."},
	{
		"batch_count", Used, ByHL7,
		"The count in BTS-1 or FTS-1 differs from the number of messages or batches received; check that none was " +
			"lost, and send the missing ones again.",
	},
	{
		"bed_without_room", Unused, ByState,
		"The location names a bed but no room, so the patient was not assigned to a room; " +
			"send the room in PV1-3.2, or add a row with this point of care and bed to the location table.",
	},
	{
		"cancel_too_late", Unused, ByState,
		"The event to cancel is too old to be canceled; if the patient's location is wrong, send an A02 or a census.",
	},
	{
		"cancel_waiting", Unused, ByState,
		"The event to cancel is not known; this cancel is kept for 24 hours. Send the event if it was not sent.",
	},
	{"cancelled", Known, ByState, "The event was canceled by an earlier message, so nothing changed; no action is needed."},
	{
		"census_newer", Unused, ByState,
		"A newer census does not list the visit, so the patient has no room; if she is in the unit, send a transfer (A02) with the current time.",
	},
	{
		"census_older", Known, ByState,
		"A newer census was already applied, so this one changed nothing; check asOf if this census is the newest.",
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
		"The declared character set is unknown; declare one from HL7 table 0211 in MSH-18, such as UNICODE UTF-8.",
	},
	{
		"class_assumed", Used, ByFHIR,
		"The class is not a v3-ActCode code, so the patient was classified as an outpatient; send a code such as IMP, EMER or AMB.",
	},
	{"code_missing", Unused, ByFHIR, "The resource has no code; send at least one coding with a code."},
	{
		"code_unreadable", Unused, ByHL7 | ByFHIR,
		"The code is empty, longer than 64 bytes or not in its table, so it was not used; send a code from the table.",
	},
	{
		"condition_not_supported", Refused, ByFHIR,
		"The condition is not supported, so the resource was not used; " +
			"search by one identifier of the resource, or send If-None-Match: *.",
	},
	{"contained_not_used", Unused, ByFHIR, "Contained clinical resources are not used; send them as separate resources."},
	{"delete_by_search", Refused, ByFHIR, "Deletion by search is not supported, so nothing was deleted; delete by resource id."},
	{
		"delete_ignored", Unused, ByFHIR,
		"A Medication, Location or Patient is not deleted, because other resources may refer to it; send its current content with PUT.",
	},
	{
		"discharge_waiting", Unused, ByState,
		"No admission is known for this discharge, so it has no effect yet; check the visit number, or send the admission.",
	},
	{"duplicate", Known, ByState, "The event was already received, so nothing changed; no action is needed."},
	{"duplicate_field", Refused, ByFHIR, "The object has this field more than once; send it once."},
	{"element_unknown", Unused, ByFHIR, "FHIR R4 has no such element here, so it was not used; check its spelling and the FHIR version."},
	{
		"encoding_escaped", Refused, ByHL7,
		`The message is escaped for HTML or XML; send it unescaped, with MSH-2 as ^~\& and not ^~\&amp;.`,
	},
	{
		"encoding_invalid", Refused, ByHL7,
		`MSH-1 or MSH-2 has a character that is not a valid delimiter; send punctuation, usually | in MSH-1 and ^~\& in MSH-2.`,
	},
	{"encoding_long", Refused, ByHL7, `MSH-2 has more than five characters; send three to five different characters, usually ^~\&.`},
	{
		"encoding_repeated", Refused, ByHL7,
		`MSH-2 repeats a character or that of MSH-1; send three to five different characters, usually ^~\& (in JSON, "^~\\&").`,
	},
	{"encoding_short", Refused, ByHL7, `MSH-2 has fewer than three characters; send three to five different characters, usually ^~\&.`},
	{
		"end_not_used", Unused, ByFHIR,
		"The status says that the resource has not ended, so its end was not used; if it has ended, send a status such as finished, " +
			"completed or resolved.",
	},
	{"escape_unknown", Used, ByHL7, `An escape sequence is unknown or unterminated and was kept as text; send a backslash as \E\.`},
	{
		"event_id_reused", Unused, ByState,
		"The event ID was already used with different content, so this event was not applied; give each event its own ID.",
	},
	{"event_ignored", Unused, ByHL7 | ByState, "This trigger event is not used; no action is needed, and it need not be sent."},
	{
		"event_time_missing", Used, ByHL7 | ByFHIR,
		"The event has no usable time, so the time of the message, the version or the receipt was used; " +
			"send the time of the event.",
	},
	{
		"event_too_old", Unused, ByState,
		"The event is older than the history that is kept, so it was not applied; if the patient's location " +
			"is wrong, send an A02 or a census.",
	},
	{
		"exists", Known, ByState,
		"The resource was to be created only if it did not exist, but it exists, so nothing changed; " +
			"send it without the condition to update it.",
	},
	{
		"facility_differs", Used, ByState,
		"Another facility has a room with this name, and svc does not distinguish facilities, so both count as one room; send a different " +
			"point of care for each facility, or use one hospital per facility.",
	},
	{
		"fetus_unreadable", Unused, ByJSON,
		"The fetus label was not understood, so the signal does not name a fetus; send a label such as A or 2, or words such as twin B.",
	},
	{
		"field_not_used", Unused, ByJSON | ByHL7,
		"The field has no effect in this event, location or room status; send it only where it applies.",
	},
	{
		"if_match_ignored", Used, ByFHIR,
		"If-Match is not evaluated, so the resource was used whatever its version; send meta.lastUpdated or meta.versionId instead.",
	},
	{
		"line_continued", Used, ByHL7,
		`The line does not begin with a segment name and was read as a continuation of the previous field; ` +
			`if it is a segment, begin it with its name, otherwise send the line break as \.br\.`,
	},
	{
		"line_ignored", Unused, ByHL7,
		"The line does not begin with a segment name and was not used; " +
			"if it is a segment, begin it with its name and the field separator.",
	},
	{
		"list_cut", Used, ByFHIR,
		"The list is longer than the limit, so only the first elements were used; send the most important ones first.",
	},
	{
		"location_cut", Used, ByHL7 | ByFHIR,
		"A part of the location is longer than 80 bytes and was truncated; send the short name of the unit, room or bed.",
	},
	{"location_missing", Unused, ByState, "The transfer has no location, so the patient was not moved; send the new location in PV1-3."},
	{
		"location_not_used", Unused, ByFHIR,
		"An Encounter that is planned or of class PRENC does not assign a room, so its location was not used; when the patient arrives, " +
			"send status in-progress and the class of the visit, such as IMP.",
	},
	{
		"location_without_room", Unused, ByState,
		"The location names a unit but no room, so the patient was not assigned to a room; send the room in PV1-3.2, or " +
			"map the location in the location table.",
	},
	{
		"merge_ignored", Unused, ByHL7,
		"Merges, moves and renumbering are not supported; discharge the old visit with an A03, or send a census without it.",
	},
	{
		"method_not_supported", Refused, ByFHIR,
		"The method is not supported, so the entry was not used; send the whole resource with POST or PUT, or DELETE it by id.",
	},
	{
		"modifier_extension", Refused, ByFHIR,
		"The resource has implicitRules, or there is a modifierExtension in the resource, its entry or an element that svc reads. " +
			"Either may change the meaning of the resource; send it without them, or do not send it.",
	},
	{
		"more_not_listed", Used, ByHL7 | ByFHIR | ByJSON,
		"The response omits further warnings, because the list is limited; fix the listed ones, then send the request again.",
	},
	{"not_in_worklist", Unused, ByState, "The code is not in the worklist, so it was not marked; read the worklist again."},
	{
		"not_production", Used, ByHL7,
		"MSH-11 is not P, but the message was applied; send tests to another hospital, or set productionOnly for this key.",
	},
	{
		"not_used", Used, ByFHIR,
		"No other resource in the body refers to this one, so it was stored for later requests; refer to it, or omit it.",
	},
	{"nurse_twice", Used, ByJSON, "The roster lists the nurse more than once, so the nurse was counted once; list each nurse once."},
	{
		"operation_not_supported", Refused, ByFHIR,
		"Operations and searches are not supported, so the entry was not used; send resources with POST or PUT.",
	},
	{
		"outside_unit", Unused, ByState,
		"The location is outside the unit, so the patient was not assigned to any of its rooms; if it belongs to the " +
			"unit, add it to the location table.",
	},
	{
		"part_of_cycle", Unused, ByFHIR | ByState,
		"The partOf chain of the Encounter leads back to itself, so partOf was not used; correct partOf.",
	},
	{
		"part_of_limit", Unused, ByState,
		"More than 50 Encounters are partOf the same one, so none of them was joined to that Encounter; check partOf.",
	},
	{
		"part_of_other_patient", Unused, ByFHIR,
		"The partOf Encounter has a different patient and this one is not a newborn, so partOf was not used; correct subject or partOf.",
	},
	{
		"part_of_unknown_patient", Unused, ByState,
		"The patient of the partOf Encounter is unknown, so the two were not joined; send the Patient with its MR number.",
	},
	{
		"patient_left", Known, ByState,
		"The patient who was in the room at that time has been discharged, so this statement changed nothing; check its time and its room. " +
			"If it was charted late, no action is needed.",
	},
	{
		"place_differs", Unused, ByState,
		"The update names a different location, but an update does not move the patient; send an A02 for a transfer.",
	},
	{
		"preadmission", Unused, ByState,
		"An A01 of class P announces a patient who has not arrived, so she was not assigned to a room; when she arrives, send an A01 " +
			"with her class, such as I.",
	},
	{"prior_place_differs", Used, ByState, "PV1-6 differs from the known location of the visit; check that no transfer was lost."},
	{
		"reference_unresolved", Used, ByFHIR,
		"The Medication or Location is not in the body, so its last known content was used; include it in the Bundle if it is new.",
	},
	{
		"reference_unusable", Unused, ByFHIR,
		"The reference cannot be resolved, or points to a resource of another type; send Type/id, urn:uuid:, #id or an identifier.",
	},
	{"reference_waiting", Unused, ByState, "The visit or patient is not known yet; this fact is kept for 24 hours. Send the admission."},
	{"request_reused", Refused, ByState, "The Idempotency-Key belongs to another body, so this one was not applied; use a new key."},
	{"required", Refused, ByFHIR, "The element is missing; send it."},
	{
		"room_by_number", Used, ByState,
		"Only the number identified the room, because the point of care is unknown; if it is another unit, mark it as outside in the " +
			"location table, otherwise add a row with the point of care.",
	},
	{
		"room_label_differs", Unused, ByState,
		"The room already has another label, and only a census or an administrator can change it, so this label was not used; " +
			"correct one of the two.",
	},
	{"room_not_occupied", Used, ByState, "The room has no known patient; check the room number, or send the admission."},
	{"room_twice", Unused, ByState, "The census lists the room more than once, so only the first row was used; list each room once."},
	{
		"roster_older", Known, ByState,
		"A newer roster was already applied, so this one changed nothing; check asOf if this roster is the newest.",
	},
	{"same_room", Known, ByState, "The visit is already in the room, so nothing changed; no action is needed."},
	{"segment_repeated", Unused, ByHL7, "The segment appears more than once, so only the first was used; send it once per message."},
	{
		"segments_joined", Refused, ByHL7,
		`The segments are on one line; end each with a carriage return (byte 0x0D), not with the two characters \r.`,
	},
	{
		"several_open_visits", Unused, ByState,
		"The patient has several open visits and the message identifies none of them, so it was not applied; send the visit number.",
	},
	{
		"staffing_not_past", Unused, ByState,
		"This staffing record begins after the last full hour, so no hour has changed yet; send the current number to /api/ingest/staffing.",
	},
	{
		"staffing_of_live_hours", Unused, ByState,
		"All hours of this staffing record were observed live and are not evaluated again, so it changed nothing; " +
			"send staffing changes to /api/ingest/staffing when they occur.",
	},
	{
		"staffing_older", Known, ByState,
		"A newer staffing record was already applied, so this one changed nothing; check asOf if this record is the newest.",
	},
	{
		"staffing_too_old", Unused, ByState,
		"This staffing record begins more than 28 days ago, so it was not used; give an asOf within the last 28 days.",
	},
	{
		"statement_older", Known, ByState,
		"A newer statement of the same kind is known, so this one changed nothing; check its time if it is the newest.",
	},
	{"status_not_used", Unused, ByFHIR, "A resource with this status has no facts to use yet; send it again when its status changes."},
	{"status_unknown", Unused, ByFHIR | ByJSON, "The status is not supported; send one that the documentation lists."},
	{
		"subject_differs", Used, ByState,
		"The subject is not the patient of the encounter, so the fact was applied to the patient of the encounter; " +
			"correct subject or encounter.",
	},
	{"superseded", Known, ByFHIR, "Another entry in the body has a newer version of the resource; no action is needed."},
	{"swap_ignored", Unused, ByHL7, "A17 swap has no effect; send an A02 for each of the two patients."},
	{
		"system_assumed", Used, ByHL7 | ByFHIR | ByJSON,
		"The code has no code system, or an ambiguous one, so it was inferred from the code; send the system, such as I10 for ICD-10-CM.",
	},
	{
		"time_in_future", Used, ByHL7 | ByFHIR | ByJSON | ByState,
		"The time is more than five minutes in the future (a hire date: more than one day), so the time of receipt was used; " +
			"check the sender's clock and time zone.",
	},
	{
		"time_unreadable", Unused, ByHL7 | ByFHIR,
		"The time cannot be parsed, so it was treated as missing; send it in the format of HL7 or FHIR, with the offset from UTC.",
	},
	{"too_many_events", Refused, ByState, "The hospital has reached its limit of ADT events; discharge visits that have ended."},
	{"too_many_nurses", Unused, ByState, "The roster lists more than 500 nurses, so only the first 500 were used; send at most 500."},
	{"too_many_plans", Unused, ByState, "More than 48 staffing plans are scheduled, so this one was not used; send it closer to its start."},
	{
		"too_many_references", Refused, ByState,
		"The hospital has reached its limit of visits and patients without an admission; send their admissions first.",
	},
	{
		"too_many_rooms", Refused, ByState,
		"The hospital has reached its limit of rooms; send a census that lists only the rooms of the unit.",
	},
	{
		"too_many_staffings", Unused, ByState,
		"More than 1,000 staffing records from the last 28 days were sent, so the oldest were dropped; send one only when the number changes.",
	},
	{
		"too_many_statements", Refused, ByState,
		"The hospital has reached its limit of clinical statements; discharge visits that have ended.",
	},
	{"too_many_visits", Refused, ByState, "The hospital has reached its limit of visits; discharge visits that have ended."},
	{
		"too_many_visits_of_patient", Refused, ByState,
		"The patient has reached the limit of visits per patient; discharge visits that have ended.",
	},
	{
		"transfer_after_discharge", Unused, ByState,
		"The visit was discharged before the transfer, so the patient was not moved; if the discharge was wrong, cancel it with an A13.",
	},
	{"type", Refused, ByFHIR, "The element has the wrong JSON type; send the type that FHIR R4 defines."},
	{"type_not_used", Unused, ByFHIR, "Resources of this type are not used; no action is needed, and they need not be sent."},
	{"unchanged", Known, ByState, "The request contains only values that are already set, so nothing changed; no action is needed."},
	{
		"unit", Unused, ByFHIR,
		"This code does not support the unit of measure, so the value was not used; send the value in the expected unit.",
	},
	{"unit_missing", Used, ByFHIR, "The value has no unit of measure, so the usual one was assumed; send the unit in UCUM."},
	{"unknown_field", Unused, ByJSON, "The field is unknown and was not used; check its spelling, or omit it."},
	{"update_waiting", Unused, ByState, "No admission is known for this update, so it has no effect yet; send the admission."},
	{
		"url_differs", Used, ByFHIR,
		"The type or id in the request URL differs from that of the resource, which was used; send the same type and id in both.",
	},
	{
		"value_unreadable", Unused, ByFHIR | ByState,
		"The value cannot be parsed, so it was not used; send a number, or one of the words that the code allows.",
	},
	{"version_older", Known, ByState, "A newer version of the resource was already applied, so nothing changed; no action is needed."},
	{
		"visit_by_patient", Used, ByHL7,
		"The visit number is missing, so the message was applied to the patient's only open visit; send the visit number in PV1-19.",
	},
	{
		"visit_twice", Unused, ByState,
		"The census lists the visit in two rooms, so the second row was treated as a patient without a visit; list each visit once.",
	},
	{"visit_unknown", Unused, ByState, "The event matches no known visit or patient, so it was not applied; send the visit number."},
}
