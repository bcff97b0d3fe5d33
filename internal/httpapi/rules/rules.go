// Package rules explains the rules that requests break, to people.
package rules

import "strings"

// Rule is a broken rule, and what to do about it.
type Rule struct {
	Word  string // the rule of a detail up to the first colon
	About string
}

// All explains the words of the rules of [svc/internal/httpapi.Detail]. The bound of a rule stands
// after a colon: maxLength:100.
var All = []Rule{
	{"required", "It must be there, and not null."},
	{"type", "It must be of this type of JSON."},
	{"enum", "It must be one of these words, in this case."},
	{"minLength", "It must have so many characters beside white space."},
	{"maxLength", "It may have so many characters."},
	{"line", "It must be one line, without control characters."},
	{"minItems", "The list must have so many elements; leave it out instead of sending it empty."},
	{"maxItems", "The list may have so many elements; send the rest in another request."},
	{"items", "The list must have so many elements."},
	{"min", "It must be so much or more."},
	{"max", "It must be so much or less."},
	{"range", "It must lie within these bounds, which count."},
	{"integer", "It must be a whole number within these bounds."},
	{"unique", "It is there twice; only one can hold."},
	{"date-time", "It must be a time of RFC 3339 between 1900 and 2199; without an offset it is one of the hospital."},
	{"date", "It must be a day, as 2026-03-04."},
	{"format", "Check the format: +15555550100 for a phone number, name@hospital.org for an e-mail address."},
	{"ascii", "It must be of visible ASCII characters, so many of them."},
	{"json", "The body must be one text of JSON, of the type that the endpoint takes."},
	{"utf-8", "The body must be in UTF-8."},
	{"depth", "JSON may be nested so deep."},
	{"gzip", "The body is not what Content-Encoding says."},
	{"complete", "The body ended before its Content-Length; send it again."},
	{"after", "It must be later than this field."},
	{"future", "It must lie ahead."},
	{"one_of", "One of these fields must be there."},
	{"iana", "It must be a time zone of the IANA database, as America/Chicago."},
	{"factor", "There is no such factor; /api/public/integration-capabilities lists them."},
	{"primaryFactor", "There is no such primary factor; /api/public/integration-capabilities lists them."},
	{"modifier", "There is no such modifier; /api/public/integration-capabilities lists them."},
	{"key", "The hospital has no key of this id; GET /api/admin/keys lists them."},
	{"recipient", "There is no recipient of this id; GET /api/admin/alerts/recipients lists them."},
	{"webhook", "There is no webhook of this id; GET /api/admin/webhooks lists them."},
	{"in_use", "The path names what uses it; change that first."},
	{"path", "It must be the same as in the path of the URL; leave it out of the body."},
	{"version", "It must be a version in quotes, as it was read: \"57\", or * for any."},
	{"one", "Only one value can be given."},
	{"signal", "A diagnosis has no value to compare: leave out the value, or the kind."},
	{"withoutRoomId", "What is outside of the unit has no room of it: leave out one of both."},
	{"catalogue", "Write it like: 1 until 60m, 1/2 until 24h, 0"},
	{"consistent", "The lines contradict each other; try them with dryRun."},
	{"class4NeedsOneNurse", "A factor of class 4 must ask for a whole nurse."},
	{"cursor", "It must be the cursor of a page of this list; begin without one."},
	{"verb", "The command is of another kind."},
	{"insideGrid", "It must lie within the columns and rows of the layout."},
	{"overlap", "Something else lies on a part of it."},
	{"closed", "It has ended; nothing is left to be done."},
	{"rotating", "A rotation is under way; wait until promoteAt, or end it with an overlap of 0."},
	{"no_address", "The recipient has no address for this channel; set one first."},
	{"secrets_key", "The operator of the service has to set SVC_SECRETS_KEY."},
	{"url_invalid", "It must be an absolute URL."},
	{"scheme_refused", "It must be https."},
	{"user_info_refused", "It must have no name or password."},
	{"host_refused", "Its host must be a name of ASCII letters, or an address in its usual form."},
	{"port_refused", "Its port must be 443, 8443, or one that the operator allows."},
	{"address_refused", "It leads to an address that is never called: of this machine, of its network, reserved."},
	{"address_not_listed", "It leads to a private address that the operator of the service has not allowed."},
	{"unknown_schema", "The record was written by another release; this one cannot read it."},
	{"malformed_record", "The record is damaged."},
	{"wrong_hospital", "The record is of another hospital than its key says."},
	{"maxKeys", "The hospital may have so many valid keys; revoke one."},
	{"maxWalls", "The hospital may have so many walls; revoke one."},
	{"maxLinks", "The hospital may make so many links within a day of their end."},
	{"provider", "The identity provider decides about it."},
	{"name", "The name must be written as the documentation writes it."},
	{"newer_alert", "The level has risen since; look at the newest alert."},
	{"at most", "The newest observation is older; send what happens now."},
	{"at least", "Too few hours were observed; send past events to /api/ingest/batch."},
}

// Explain returns the explanation of a rule; false if there is none.
func Explain(rule string) (Rule, bool) {
	word, _, _ := strings.Cut(rule, ":")
	for _, r := range All {
		if r.Word == word || strings.HasPrefix(r.Word, "at ") && strings.HasPrefix(word, r.Word+" ") {
			return r, true
		}
	}
	return Rule{}, false
}
