package fhir

import (
	"bytes"
	"slices"
)

// body reads all of the body.
func (d *decoder) body() {
	switch d.space() {
	case '{':
		d.top()
	case '[':
		c := d.contain("", "")
		n := int32(0)
		for l := d.list(); d.next(&l); n++ {
			d.item(c, n, 1)
		}
	default:
		d.skip()
		d.refuse(Fault{Rule: "type:object|array"})
	}
	if d.space(); d.fault == "" && d.i < len(d.b) {
		d.fail(ruleJSON)
	}
	if d.fault != "" && (d.refused == nil || !d.refused.TooLarge) {
		d.refused = &Fault{Rule: d.fault}
	}
}

func (d *decoder) contain(before, after string) int32 {
	d.containers = append(d.containers, container{before, after})
	return int32(len(d.containers) - 1) //nolint:gosec // one per Bundle
}

// top reads an object that is the whole body: a Bundle, a resource, or an object with the
// list "resources".
func (d *decoder) top() {
	name := d.typeOf()
	switch {
	case string(name) == "Bundle":
		d.bundle("Bundle", 0)
	case name != nil:
		c := d.contain("", "")
		d.item(c, -1, maxNested)
	default:
		d.untyped()
	}
}

// untyped reads an object without a resourceType.
func (d *decoder) untyped() {
	said := false
	for key := range d.fields() {
		switch string(key) {
		case "resources":
			if said {
				d.refuse(Fault{Path: "resources", Rule: "unique"})
				d.skip()
				continue
			}
			said = true
			if c := d.space(); c != '[' && c != '{' && c != 'n' {
				d.refuse(Fault{Path: "resources", Rule: "type:array"})
			}
			c := d.contain("resources", "")
			n := int32(0)
			for l := d.list(); d.next(&l); n++ {
				d.item(c, n, 1)
			}
		default:
			d.skip()
		}
	}
	if !said {
		d.refuse(Fault{Path: "resourceType", Rule: "required"})
	}
}

// bundle reads a Bundle with the given path.
func (d *decoder) bundle(path string, level int) {
	said := false
	for key := range d.fields() {
		if string(key) == "type" && level == 0 {
			d.bundleType(d.text())
			continue
		}
		if string(key) != "entry" {
			d.skip()
			continue
		}
		if said {
			d.refuse(Fault{Path: path + ".entry", Rule: "unique"})
			d.skip()
			continue
		}
		said = true
		c := d.contain(path+".entry", ".resource")
		n := int32(0)
		for l := d.list(); d.next(&l); n++ {
			if level == 0 {
				d.entries = append(d.entries, EntryIgnored)
			}
			d.entry(c, n, level)
		}
	}
}

// bundleTypes are the Bundle types of FHIR R4.
var bundleTypes = []string{"document", "message", "transaction", "transaction-response", "batch", "batch-response", "history", "searchset", "collection"}

// bundleType records the type of the Bundle that is the body, if that type exists.
func (d *decoder) bundleType(name span) {
	if i := slices.Index(bundleTypes, string(d.bytes(name))); i >= 0 {
		d.facts.Bundle = bundleTypes[i]
	}
}

// settle records the result of an entry in the Bundle that is the body. If Bundles are
// nested, only the outer one counts; its container is the first.
func (d *decoder) settle(container, index int32, became Entry) {
	if container == 0 && index >= 0 && int(index) < len(d.entries) {
		d.entries[index] = max(d.entries[index], became)
	}
}

// entry reads an entry of a Bundle.
func (d *decoder) entry(c, n int32, level int) {
	var fullURL, method, url, modified span
	at, twice := int32(-1), false
	said := false
	for key := range d.fields() {
		switch string(key) {
		case "fullUrl":
			fullURL = d.text()
		case "resource":
			if d.space() == 'n' {
				d.skip()
				continue
			}
			if said {
				d.skip()
				twice = true
				continue
			}
			said = true
			at = d.item(c, n, level+1)
		case "request":
			method, url = d.request()
		case "response":
			modified = d.response()
		default:
			d.skip()
		}
	}
	gone := string(d.bytes(method)) == "DELETE"
	switch {
	case d.fault != "":
	case at >= 0:
		r := &d.resources[at]
		r.fullURL, r.deleted = fullURL, gone
		if r.updated.empty() {
			r.updated = modified
		}
		if twice {
			d.reject(r, "duplicate_field", "")
		}
	case gone && !said:
		name, id := cutReference(d.bytes(url))
		switch k := kindOf(name); {
		case k.applied() && len(id) > 0 && len(d.resources) < MaxResources:
			d.resources = append(d.resources, resource{
				kind: k, deleted: true, container: c, index: n, url: url, updated: modified,
			})
		case kindOf(id).applied() && bytes.IndexByte(d.bytes(url), '?') >= 0: // the delete names a search, so its targets are unknown
			d.warn(&resource{container: c, index: n}, "delete_by_search", "")
		}
	}
}

func (d *decoder) request() (method, url span) {
	for key := range d.fields() {
		switch string(key) {
		case "method":
			method = d.text()
		case "url":
			url = d.text()
		default:
			d.skip()
		}
	}
	return method, url
}

func (d *decoder) response() (modified span) {
	for key := range d.fields() {
		if string(key) == "lastModified" {
			modified = d.text()
		} else {
			d.skip()
		}
	}
	return modified
}

// item reads one element of a list of resources and counts it. It returns the number of
// the resource; -1 if the decoder does not use that kind.
func (d *decoder) item(c, n int32, level int) int32 {
	if d.space() != '{' {
		d.skip()
		d.useless(c, n, "type", "")
		return -1
	}
	name := d.typeOf()
	k := kindOf(name)
	switch {
	case d.fault != "":
	case string(name) == "Bundle" && level <= maxNested:
		at := d.containers[c]
		r := resource{container: c, index: n}
		path := "Bundle"
		if at.before != "" || n >= 0 {
			path = d.path(&r)
		}
		d.settle(c, n, EntryApplied) // faults in the resource appear as its issues
		d.bundle(path, level)
	case len(name) == 0:
		d.skip()
		d.useless(c, n, "required", "resourceType")
	case k == otherKind:
		d.skip()
		d.facts.Received++
		d.facts.Ignored++
	default:
		d.facts.Received++
		return d.resource(resource{kind: k, container: c, index: n})
	}
	return -1
}

// useless counts an element that is no resource.
func (d *decoder) useless(c, n int32, code, field string) {
	if d.fault == "" {
		d.facts.Received++
		d.facts.Rejected++
		d.settle(c, n, EntryRejected)
		d.reject(&resource{container: c, index: n}, code, field)
	}
}

// cutReference returns the type and id at the end of a reference or URL. A single segment
// is only the id.
func cutReference(b []byte) (name, id []byte) {
	if i := bytes.IndexAny(b, "?#"); i >= 0 {
		b = b[:i]
	}
	if i := bytes.Index(b, []byte("/_history/")); i >= 0 {
		b = b[:i]
	}
	i := bytes.LastIndexByte(b, '/')
	if i < 0 {
		return nil, b
	}
	name, id = b[:i], b[i+1:]
	return name[bytes.LastIndexByte(name, '/')+1:], id
}
