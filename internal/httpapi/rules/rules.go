// Package rules explains the rules that requests break, in human-readable sentences.
package rules

import (
	"regexp"
	"strings"
)

// Rule is the explanation of a rule, with the remedy.
type Rule struct {
	Word  string // the rule up to the first colon
	About string
}

// All explains the rules that a [svc/internal/httpapi.Detail] may contain. {n} in About is a placeholder for the
// bound of a rule, which follows its colon: 100 for maxLength:100.
var All = []Rule{
	{"required", "This field is required and must not be null."},
	{"type", "Use a value of type {n}."},
	{"enum", "Use one of {n}, with this capitalization."},
	{"minLength", "Use at least {n} characters, not counting white space."},
	{"maxLength", "Use at most {n} characters."},
	{"line", "Use one line without control characters."},
	{"minItems", "List at least {n} entries, or omit the field."},
	{"maxItems", "List at most {n} entries; send the rest in another request."},
	{"items", "List {n} entries."},
	{"min", "Use {n} or more."},
	{"max", "Use {n} or less."},
	{"range", "Use a number in the range {n}."},
	{"integer", "Use a whole number in the range {n}."},
	{"unique", "This entry is a duplicate; send it once."},
	{"date-time", "Use an RFC 3339 time from 1900 to 2199; without an offset, it is in the time zone of the hospital."},
	{"date", "Use a date such as 2026-03-04."},
	{"format", "Use international format for a phone number, such as +15555550100, or an email address such as name@hospital.org."},
	{"ascii", "Use {n} visible ASCII characters."},
	{"json", "Send one JSON value of the type that the endpoint accepts."},
	{"query", "Percent-encode names and values in the query, and separate parameters with &."},
	{"utf-8", "Send the body in UTF-8."},
	{"depth", "JSON may be nested at most {n} levels deep."},
	{"gzip", "The body is not valid gzip; compress it again, or omit Content-Encoding."},
	{"complete", "The body ended before its Content-Length; send it again."},
	{"after", "Use a time later than {n}."},
	{"future", "Use a time in the future."},
	{"one_of", "Send at least one of {n}."},
	{"iana", "Use an IANA time zone such as America/Chicago."},
	{"factor", "Unknown factor; GET /api/public/integration-capabilities lists all factors."},
	{"primaryFactor", "Unknown primary factor; GET /api/public/integration-capabilities lists all primary factors."},
	{"modifier", "Unknown modifier; GET /api/public/integration-capabilities lists all modifiers."},
	{"key", "The hospital has no key with this id; GET /api/admin/keys lists its keys."},
	{"recipient", "The hospital has no recipient with this id; GET /api/admin/alerts/recipients lists them."},
	{"webhook", "The hospital has no webhook with this id; GET /api/admin/webhooks lists them."},
	{"scope", "This field requires the scope {n}; use a key that has this scope, or omit the field."},
	{"in_use", "The entry at this path still uses the resource; change that entry first."},
	{"path", "Use the same value as in the URL, or omit the field from the body."},
	{"version", "Use the version that was read, in quotes, such as \"57\", or * for any version."},
	{"one", "Send only one value."},
	{"signal", "A diagnosis has no value to compare; omit the value or the kind."},
	{"withoutRoomId", "Send roomId or outside, not both."},
	{"catalogue", "Use a format such as 1 until 60m, 1/2 until 24h, 0"},
	{"consistent", "The values contradict each other; change one of them, and try again with dryRun."},
	{"class4NeedsOneNurse", "A factor of class 4 must require at least one nurse."},
	{"cursor", "The cursor is not from this list; start again without a cursor."},
	{"verb", "The command is not a replay, and only a replay can be stopped."},
	{"insideGrid", "This room or landmark must lie within the columns and rows of the layout."},
	{"overlap", "This room or landmark overlaps another one."},
	{"closed", "This has already ended; no action is needed."},
	{"rotating", "A rotation is in progress; wait until promoteAt, or end it with an overlap of 0."},
	{"no_address", "The recipient has no address for this channel; add one first."},
	{"secrets_key", "The operator of the service must set SVC_SECRETS_KEY."},
	{"url_invalid", "Use an absolute URL without blanks."},
	{"fragment_refused", "Remove the fragment (the # and everything after it) from the URL."},
	{"scheme_refused", "Use an https URL."},
	{"user_info_refused", "Remove the user name and password from the URL."},
	{"host_refused", "Use a host name in ASCII, or an IP address in its standard form."},
	{"port_refused", "Use port 443 or 8443, or another port that the operator allows."},
	{"address_refused", "The URL resolves to a blocked address: loopback, link-local or reserved."},
	{"address_not_listed", "The URL resolves to a private address; ask the operator of the service to allow it."},
	{"unknown_schema", "The record has a schema that this release does not know; retry it after an upgrade."},
	{"malformed_record", "The record is damaged and cannot be read."},
	{"wrong_hospital", "The hospital in the record differs from the hospital in its key."},
	{"maxKeys", "The hospital already has {n} valid keys, the maximum; revoke one."},
	{"maxWalls", "The hospital already has {n} wall displays, the maximum; revoke one."},
	{"maxLinks", "The hospital already created {n} links in the last 24 hours, the maximum; try again later."},
	{"provider", "The identity provider controls this value; change it there."},
	{"name", "Spell this name as in the documentation."},
	{"newer_alert", "The level has risen since this alert; acknowledge the newest alert."},
	{"at most", "The last observed hour is too old; send current data."},
	{"at least", "Too few hours were observed; send past events to /api/ingest/batch."},
}

// Explain returns the explanation of a rule with its bound in place of {n}, and reports whether the rule has an
// explanation.
func Explain(rule string) (Rule, bool) {
	word, _, _ := strings.Cut(rule, ":")
	for _, r := range All {
		if r.Word == word || strings.HasPrefix(r.Word, "at ") && strings.HasPrefix(word, r.Word+" ") {
			r.About = Fill(r.About, rule)
			return r, true
		}
	}
	return Rule{}, false
}

// Fill replaces {n} in the explanation of a rule with the bound of the rule: "at most {n} characters" becomes "at most
// 100 characters" for maxLength:100.
func Fill(about, rule string) string {
	_, bound, _ := strings.Cut(rule, ":")
	return strings.ReplaceAll(about, "{n}", strings.ReplaceAll(ranges.ReplaceAllString(bound, "$1–$2"), "|", ", "))
}

var ranges = regexp.MustCompile(`^(\d[\d.]*)-(\d)`)
