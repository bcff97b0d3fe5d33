package fhir

import (
	"bytes"
	"slices"
)

// parser parses the resources of a body into the document.
type parser struct {
	scanner
	*document
	refused *Fault

	cut      bool            // whether a list in the current field was cut because it is too long
	types    map[string]bool // unused resource types that the sender has been warned about
	unserved int             // number of entries with an unsupported request
}

// body parses the whole body.
func (p *parser) body() {
	switch p.space() {
	case '{':
		p.top()
	case '[':
		c := p.contain("", "")
		n := int32(0)
		for l := p.list(); p.next(&l); n++ {
			p.item(c, n, 1)
		}
	default:
		p.skip()
		p.refuse(Fault{Rule: "type:object|array"})
	}
	if p.isConditional() && (len(p.containers) != 1 || p.containers[0] != (container{}) || string(p.b[:1]) == "[") {
		p.refuse(Fault{Path: "If-None-Exist", Rule: "resource"}) // in a Bundle, each entry has its own condition
	}
}

// refuse records why the whole body is refused. A body that is too large is always reported as such.
func (p *parser) refuse(f Fault) {
	if p.refused == nil || f.TooLarge && !p.refused.TooLarge {
		p.refused = &f
	}
	if f.TooLarge {
		p.stop()
	}
}

// isFull reports whether the maximum number of resource parts, such as codings, is stored. If so, it refuses the body
// as too large.
func (p *parser) isFull() bool {
	if p.stored() < maxStored {
		return false
	}
	p.refuse(Fault{Rule: "maxItems", TooLarge: true})
	return true
}

func (p *parser) contain(before, after string) int32 {
	p.containers = append(p.containers, container{before, after})
	return int32(len(p.containers) - 1) //nolint:gosec // one per Bundle
}

// top reads an object that is the whole body: a Bundle, a resource, or an object with the
// list "resources".
func (p *parser) top() {
	name := p.typeOf()
	switch {
	case string(name) == "Bundle":
		p.bundle("Bundle", 0)
	case name != nil:
		c := p.contain("", "")
		if at := p.item(c, -1, maxNested); at >= 0 && !p.stopped {
			q := request{
				parser: p, container: c, index: -1,
				ifNoneExist: []byte(p.IfNoneExist), ifNoneMatch: []byte(p.IfNoneMatch), ifMatch: []byte(p.IfMatch),
			}
			q.readCondition(&p.resources[at])
		}
	default:
		p.untyped()
	}
}

// untyped reads an object without a resourceType.
func (p *parser) untyped() {
	said := false
	for key := range p.fields() {
		switch string(key) {
		case "resources":
			if said {
				p.refuse(Fault{Path: "resources", Rule: "unique"})
				p.skip()
				continue
			}
			said = true
			if c := p.space(); c != '[' && c != '{' && c != 'n' {
				p.refuse(Fault{Path: "resources", Rule: "type:array"})
			}
			c := p.contain("resources", "")
			n := int32(0)
			for l := p.list(); p.next(&l); n++ {
				p.item(c, n, 1)
			}
		default:
			p.skip()
		}
	}
	if !said {
		p.refuse(Fault{Path: "resourceType", Rule: "required"})
	}
}

// bundle reads a Bundle with the given path.
func (p *parser) bundle(path string, level int) {
	of := p.typeOfBundle()
	if level == 0 {
		p.facts.Bundle = of
	}
	said := false
	for key := range p.fields() {
		if string(key) != "entry" {
			p.skip()
			continue
		}
		if said {
			p.refuse(Fault{Path: path + ".entry", Rule: "unique"})
			p.skip()
			continue
		}
		said = true
		c := p.contain(path+".entry", ".resource")
		n := int32(0)
		for l := p.list(); p.next(&l); n++ {
			if level == 0 {
				p.entries = append(p.entries, EntryIgnored)
			}
			p.entry(c, n, level, of)
		}
	}
}

// bundleTypes are the Bundle types of FHIR R4, and notificationType.
var bundleTypes = []string{
	"document", "message", "transaction", "transaction-response", "batch", "batch-response", historyType, "searchset", "collection",
	notificationType,
}

// Types of Bundles that report past requests. R4 sends the notifications of a subscription as history Bundles;
// R5 has a separate type.
const (
	historyType      = "history"
	notificationType = "subscription-notification"
)

// typeOfBundle returns the type of the Bundle that is the next object, or "" if the type is unknown. The type usually
// precedes the entries.
func (p *parser) typeOfBundle() (of string) {
	p.peekFields(func(key []byte) bool {
		if string(key) != "type" {
			p.skip()
			return false
		}
		if i := slices.Index(bundleTypes, string(p.bytes(p.text()))); i >= 0 {
			of = bundleTypes[i]
		}
		return true
	})
	return of
}

// entry reads an entry of a Bundle. The last argument is the Bundle's type.
func (p *parser) entry(c, n int32, level int, of string) {
	if p.space() != '{' {
		p.skip()
		p.countNonResource(c, n, "type", "")
		return
	}
	q := p.requestOf(c, n)
	if !q.isServed(of) {
		p.skip()
		return
	}
	var fullURL, modified, etag span
	at, twice := int32(-1), false
	p.modified = false
	said := false
	for key := range p.fields() {
		switch string(key) {
		case "fullUrl":
			fullURL = p.text()
		case "resource":
			if p.null() {
				continue
			}
			if said {
				p.skip()
				twice = true
				continue
			}
			said = true
			at = p.item(c, n, level+1)
		case "response":
			sent := p.texts("lastModified", "etag")
			modified, etag = sent[0], sent[1]
		default:
			p.skip()
		}
	}
	method := string(q.method)
	gone := method == "DELETE"
	switch {
	case p.stopped:
	case at >= 0:
		r := &p.resources[at]
		r.fullURL, r.deleted = fullURL, gone
		if (method == "PUT" || gone) && bytes.IndexByte(q.url, '?') < 0 && r.id.empty() {
			r.address = string(q.url) // only the URL contains the id
		}
		if method == "PUT" || gone {
			q.checkURL(r)
		}
		if r.updated.empty() {
			r.updated = modified
		}
		if r.versionID.empty() {
			r.versionID = etag
		}
		if p.modified {
			p.reject(r, "modifier_extension", "")
		}
		if twice {
			p.reject(r, "duplicate_field", "")
		}
		q.readCondition(r)
	case gone && !said:
		q.readDeletion(modified, etag)
	case !said && (method == "POST" || method == "PUT"):
		p.countNonResource(c, n, "required", "")
	}
}

// item parses one element of a list of resources and counts it. It returns the index of the stored resource, or -1 if
// the element is not a resource of a kind that the decoder uses.
func (p *parser) item(c, n int32, level int) int32 {
	if p.space() != '{' {
		p.skip()
		p.countNonResource(c, n, "type", "")
		return -1
	}
	name := p.typeOf()
	k := kindOf(name)
	switch {
	case p.stopped:
	case string(name) == "Bundle" && level <= maxNested:
		at := p.containers[c]
		r := resource{container: c, index: n}
		path := "Bundle"
		if at.before != "" || n >= 0 {
			path = p.path(&r)
		}
		p.setResult(c, n, EntryApplied) // errors in the resource appear as issues
		p.bundle(path, level)
	case len(name) == 0:
		p.skip()
		p.countNonResource(c, n, "required", "resourceType")
	case k == otherKind:
		if len(p.types) < maxTypes && !p.types[string(name)] {
			if p.types == nil {
				p.types = map[string]bool{}
			}
			p.types[string(name)] = true
			p.issue(&resource{container: c, index: n}, severityInformation, "type_not_used", "")
		}
		p.skip()
		p.facts.Received++
		p.facts.Ignored++
	default:
		p.facts.Received++
		return p.resource(resource{kind: k, container: c, index: n})
	}
	return -1
}

// countNonResource counts an element that is not a resource as received and rejected.
func (p *parser) countNonResource(c, n int32, code, field string) {
	if !p.stopped {
		p.facts.Received++
		p.facts.Rejected++
		p.setResult(c, n, EntryRejected)
		p.reject(&resource{container: c, index: n}, code, field)
	}
}

// cutReference returns the type and id at the end of a reference or URL. If there is only one segment, it is the id
// or, if a slash follows it, the type.
func cutReference(b []byte) (name, id []byte) {
	if i := bytes.IndexAny(b, "?#"); i >= 0 {
		b = b[:i]
	}
	if i := bytes.Index(b, []byte("/_history/")); i >= 0 {
		b = b[:i]
	}
	all := len(b)
	b = bytes.TrimRight(b, "/") // some senders end URLs with a slash
	i := bytes.LastIndexByte(b, '/')
	switch {
	case i < 0 && len(b) < all:
		return b, nil // a type without an id
	case i < 0:
		return nil, b
	}
	name, id = b[:i], b[i+1:]
	return name[bytes.LastIndexByte(name, '/')+1:], id
}
