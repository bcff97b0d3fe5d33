package fhir

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"svc/acuity"
	"svc/ingest/hl7"
)

// request is Bundle.entry.request: the requested operation for an entry. For a body that is a single resource, it
// contains the conditions from the HTTP headers, and index is -1.
type request struct {
	*parser
	container, index int32

	method, url                       []byte // the method is in upper case
	ifNoneExist, ifNoneMatch, ifMatch []byte
}

// requestOf returns the request of the next object, which is an entry of a Bundle. The request is parsed before the
// resource, because it determines whether the resource is parsed at all.
func (p *parser) requestOf(c, n int32) request {
	q := request{parser: p, container: c, index: n}
	p.peekFields(func(key []byte) bool {
		if string(key) != "request" {
			p.skip()
			return false
		}
		for key := range p.fields() {
			switch string(key) {
			case "method":
				q.method = bytes.ToUpper(p.bytes(p.text()))
			case "url":
				q.url = p.bytes(p.text())
			case "ifNoneExist":
				q.ifNoneExist = p.bytes(p.text())
			case "ifNoneMatch":
				q.ifNoneMatch = p.bytes(p.text())
			case "ifMatch":
				q.ifMatch = p.bytes(p.text())
			default:
				p.skip()
			}
		}
		return true
	})
	return q
}

// isServed reports whether the request is supported. If the request is not supported, isServed declines the entry,
// and no part of the entry is applied. In a Bundle that reports past requests, an entry contains the whole resource
// even if the request was a PATCH, or a GET such as Subscription/<id>/$status.
func (q *request) isServed(of string) bool {
	address, _, searches := bytes.Cut(q.url, []byte("?"))
	last := address[bytes.LastIndexByte(address, '/')+1:]
	past := of == historyType || of == notificationType
	switch method := string(q.method); {
	case past && (method == "GET" || method == "HEAD" || method == "PATCH"):
		return true
	case method == "GET" || method == "HEAD":
		q.decline(EntryNotAllowed, "method_not_supported", "method")
	case method == "PATCH":
		q.decline(EntryNotSupported, "method_not_supported", "method")
	case method == "DELETE" && searches:
		q.decline(EntryNotSupported, "delete_by_search", "url")
	case bytes.HasPrefix(last, []byte("$")), string(last) == "_search":
		q.decline(EntryNotSupported, "operation_not_supported", "url")
	case !slices.Contains([]string{"", "POST", "PUT", "DELETE"}, method):
		q.decline(EntryNotSupported, "method_not_supported", "method")
	default:
		return true
	}
	return false
}

// decline records an entry as rejected because its request is not supported.
func (q *request) decline(became Entry, code, field string) {
	if q.stopped {
		return
	}
	q.facts.Received++
	q.facts.Rejected++
	q.setResult(q.container, q.index, became)
	q.addIssue(severityError, code, field)
	q.unserved++
}

// addIssue adds an issue about a field of the request.
func (q *request) addIssue(severity, code, field string) {
	at := origin{container: q.container, index: q.index}
	path := strings.TrimSuffix(at.path(q.containers), ".resource")
	q.appendIssue(placedIssue{Issue{severity, code, path + ".request." + field}, q.container, q.index})
}

// readCondition parses the conditions of a request. If a condition cannot be evaluated, the resource is rejected,
// because applying it anyway could readmit a discharged patient. An ifMatch condition is ignored with a warning.
func (q *request) readCondition(r *resource) {
	if len(q.ifMatch) > 0 {
		if q.index < 0 {
			q.warn(r, "if_match_ignored", "")
		} else {
			q.addIssue(severityWarning, "if_match_ignored", "ifMatch")
		}
	}
	if query := q.ifNoneExist; len(query) > 0 {
		value, alone := identifierIn(query[bytes.IndexByte(query, '?')+1:])
		if r.onlyNew, r.sought = true, value; !alone || !q.hasIdentifier(r, value) {
			q.rejectCondition(r, "ifNoneExist")
		}
	}
	if _, query, searches := bytes.Cut(q.url, []byte("?")); searches && !r.deleted {
		if value, alone := identifierIn(query); !alone || !q.hasIdentifier(r, value) {
			q.rejectCondition(r, "url")
		}
	}
	if len(q.ifNoneMatch) > 0 {
		if r.onlyNew = true; string(bytes.TrimSpace(q.ifNoneMatch)) != "*" {
			q.rejectCondition(r, "ifNoneMatch")
		}
	}
}

// rejectCondition rejects a resource because its condition cannot be evaluated.
func (q *request) rejectCondition(r *resource, field string) {
	if q.index < 0 { // the condition is in an HTTP header
		q.document.reject(r, "condition_not_supported", "")
		return
	}
	r.rejected = true
	q.addIssue(severityError, "condition_not_supported", field)
	q.setResult(q.container, q.index, EntryNotSupported)
	q.unserved++
}

// checkURL warns about a request whose URL names a resource of a different type or id. FHIR requires them to be equal.
func (q *request) checkURL(r *resource) {
	if bytes.IndexByte(q.url, '?') >= 0 {
		return // the condition is checked separately
	}
	name, id := cutReference(q.url)
	if name != nil && (kindOf(name) != r.kind || !r.id.empty() && !bytes.Equal(id, q.bytes(r.id))) {
		q.addIssue(severityWarning, "url_differs", "url")
	}
}

// readDeletion parses a DELETE entry that contains no resource. The URL of the request identifies the resource to
// delete.
func (q *request) readDeletion(modified, etag span) {
	name, id := cutReference(q.url)
	switch k := kindOf(name); {
	case k.isApplied() && len(id) > 0:
		addResource(q.parser, resource{
			kind: k, deleted: true, missing: true, container: q.container, index: q.index, address: string(q.url),
			updated: modified, versionID: etag,
		})
	case k.isNamed():
		q.addIssue(severityWarning, "delete_ignored", "url")
	case len(id) == 0 || name == nil:
		q.decline(EntryRejected, "required", "url")
	}
}

// isConditional reports whether the request headers contain a condition.
func (o *Options) isConditional() bool { return o.IfNoneExist+o.IfNoneMatch+o.IfMatch != "" }

// identifierIn returns the value of the identifier parameter in a search, or "" if there is none. alone reports
// whether the search consists of one identifier with a single value; it may also have the parameters _format and
// _pretty.
func identifierIn(query []byte) (value string, alone bool) {
	alone = true
	for part := range bytes.SplitSeq(query, []byte("&")) {
		name, text, _ := bytes.Cut(part, []byte("="))
		if len(part) == 0 || string(name) == "_format" || string(name) == "_pretty" {
			continue
		}
		plain, err := url.QueryUnescape(string(text))
		if string(name) != "identifier" || value != "" || err != nil || strings.Contains(plain, ",") { // a comma separates several values
			alone = false
			continue
		}
		value = plain[strings.LastIndexByte(plain, '|')+1:]
	}
	return value, alone && value != ""
}

// hasIdentifier reports whether a resource has an identifier with the given value.
func (d *document) hasIdentifier(r *resource, value string) bool {
	for _, id := range d.identifiers[r.firstIdentifier:r.lastIdentifier] {
		if string(d.bytes(id.value)) == value {
			return true
		}
	}
	return false
}

// here returns a span that begins at the end of a list with n elements. The end of the span is set later.
func (m *mapper) here(n int) acuity.Span { return acuity.Span{From: int32(n)} } //nolint:gosec // at most MaxFacts

// create records that the facts of a resource belong to a conditional create; first holds the positions at which
// these facts begin. create adds every name under which svc may already know the resource: its pseudonym, the
// identifier in the condition, the names of its references and, for an Encounter, the pseudonyms of its visit.
func (m *mapper) create(r *resource, first acuity.Create) {
	first.Events.To, first.Signals.To = m.here(len(m.facts.Events)).From, m.here(len(m.facts.Signals)).From
	first.References.To = m.here(len(m.facts.References)).From
	first.Names = []string{resourceOf(m, r)}
	if r.sought != "" {
		first.Names = append(first.Names, m.Pseudonym(KindResource, m.Source+"\x00"+kindNames[r.kind]+"?identifier="+r.sought))
	}
	for _, f := range m.facts.References[first.References.From:] {
		first.Names = append(first.Names, f.Name)
	}
	if r.kind == encounterKind {
		first.Names = append(first.Names, m.visit(r))
		for _, name := range []string{r.sought, m.nameOf(r)} {
			if name != "" {
				first.Names = append(first.Names, m.Pseudonym(hl7.KindVisit, name))
			}
		}
	}
	slices.Sort(first.Names)
	first.Names = slices.Compact(first.Names)
	m.facts.Creates = append(m.facts.Creates, first)
}
